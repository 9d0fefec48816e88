# SPDX-License-Identifier: MIT
"""Trains a torch.nn.Module with the tools."""
import os
import tempfile
import warnings

from ._read import read
from ._tools import run
from ._torch import flow, from_torch, state_dict


def train(module, data, out, **settings):
    """Trains on one device, from the module's weights. Returns the state_dict afterwards, and the run as lockstep.read does.

        state, run = lockstep.train(net, "artifacts/data/cifar10", "run", epochs=5, optimizer={"kind": "adam", "lr": 0.001})
        net.load_state_dict(state)

    `data`: a folder with train.st.zst, and perhaps test.st.zst. `out`: the folder of the run. `settings`: keys of an
    experiment (docs/formats.md). Warns of what differs from the module. Raises Unsupported for what a model file cannot say,
    and ToolError."""
    import torch

    samples = read(os.path.join(data, "train.st.zst"))
    example = torch.zeros(1, *samples["images"].shape[1:])
    arguments = ["--train", os.path.join(data, "train.st.zst"), "--out", out]
    if os.path.exists(os.path.join(data, "test.st.zst")):
        arguments += ["--test", os.path.join(data, "test.st.zst")]
    for key, value in settings.items():
        arguments += ["--set", "%s=%s" % (key, flow(value))]
    with tempfile.TemporaryDirectory() as folder:
        made = from_torch(module, example, "net", folder, samples.metadata["dataset"])
        for note in made.notes:
            warnings.warn(note, stacklevel=2)
        run("train-single", "-q", "--experiment", made.paths["single"], "--init", made.paths["weights"], *arguments)
    trained = read(out)
    return state_dict(module, trained["model"]), trained
