#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockstep.from_torch, for torch_server.py.

    from_torch.py ARGUMENT...                     as python3 -m lockstep.from_torch ARGUMENT...
    from_torch.py strict FILE.py:NAME MODEL       loads a model.st.zst into that module, with strict=True
    from_torch.py train FILE.py:NAME DATA OUT     lockstep.train for an epoch; the module then has the run's weights
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
sys.dont_write_bytecode = True

import lockstep  # noqa: E402
from lockstep._command import load, main  # noqa: E402


def strict(source, model):
    from torch_peer import read

    return print(load(source).load_state_dict(read(model)[0], strict=True))


def train(source, data, out):
    module = load(source)
    state, run = lockstep.train(module, data, out, epochs=1, optimizer={"kind": "adam", "lr": 0.001})
    print(module.load_state_dict(state, strict=True), run["manifest"]["results"]["epochs"][0]["loss"])


if __name__ == "__main__":
    command = {"strict": strict, "train": train}.get(sys.argv[1])
    sys.exit(command(*sys.argv[2:]) if command else main())
