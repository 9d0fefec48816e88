#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockstep.from_torch, for torch_server.py.

    from_torch.py ARGUMENT...                     as python3 -m lockstep.from_torch ARGUMENT...
    from_torch.py strict FILE.py:NAME MODEL       loads a model.st.zst into that module, with strict=True
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
sys.dont_write_bytecode = True

from lockstep._torch import load, main  # noqa: E402


def strict(source, model):
    from torch_peer import read

    return print(load(source).load_state_dict(read(model)[0], strict=True))


if __name__ == "__main__":
    sys.exit(strict(*sys.argv[2:]) if sys.argv[1:2] == ["strict"] else main())
