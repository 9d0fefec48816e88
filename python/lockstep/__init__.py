# SPDX-License-Identifier: MIT
"""Lockstep's tools, and a reader of their files.

    import lockstep

    run = lockstep.read("artifacts/ddp4/seed-42")    # a folder: a mapping that reads on demand
    run["train/model"]["conv1.weight"]               # tensors: NumPy arrays
    run["train/model"].metadata["model"]             # their metadata
    net.load_state_dict(lockstep.state_dict(net, run["train/model"]))    # in a torch.nn.Module
    run["train/steps"]["loss"]                       # series: a pandas DataFrame, or a dict of NumPy arrays
    run["train/manifest"]["results"]["test_accuracy"]       # manifests and other YAML files: dicts
    lockstep.read("artifacts/ddp4/report/report.csv")       # the figures of a report or a comparison: also a table

    lockstep.runs("artifacts")    # kept runs: accuracy, seconds_per_epoch, path, settings; a DataFrame, or a list of dicts

    lockstep.run("evaluate", "--model", "model.st.zst", "--data", "test.st.zst", "--out", "evaluation")

    lockstep.from_torch(net, torch.zeros(1, 3, 32, 32), "net")      # a torch.nn.Module as a model file and experiments
    state, run = lockstep.train(net, "data", "run", epochs=5)       # trains it, and gives its state_dict back

The bundled tools read the files, and refuse damaged files with a message (ToolError). Only NumPy is required;
PyTorch by from_torch and train.
"""
from ._read import Folder, Tensors, read, runs
from ._tools import ToolError, run
from ._torch import from_torch, state_dict
from ._train import train

__all__ = ["Folder", "Tensors", "ToolError", "from_torch", "read", "run", "runs", "state_dict", "train"]
