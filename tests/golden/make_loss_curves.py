#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the golden files of tests/bats/loss-curves.bats: PyTorch's losses over 50 steps of SGD.

Writes into its own folder, for lenet and lenet-bn, NAME-init.safetensors (initial weights, by PyTorch) and
loss-curves.safetensors: the losses from these weights, the order of the samples, and in the metadata the content hash
of the images. Images and order come from synth-cifar and train-single (in build/bin, or in the folder BIN); the test
checks that they have not changed. Needs PyTorch and the zstd program.
"""
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile

import torch

sys.dont_write_bytecode = True
FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(FOLDER, "..", "..")
BIN = os.environ.get("BIN", os.path.join(ROOT, "build", "bin"))
sys.path.insert(0, os.path.join(FOLDER, "..", "python"))
import safetensors_writer  # noqa: E402
import torch_peer  # noqa: E402
import torch_training  # noqa: E402

# Learning rates: lenet learns nothing in 50 steps at the experiments' 0.001. With batch norm the
# rate is the experiments': at 0.01 a single ReLU whose input rounds to the other side of zero
# changes the loss of step 50 by a percent, also between PyTorch in float and PyTorch in double.
MODELS = {"lenet": 0.05, "lenet-bn": 0.001}
SAMPLES = 610  # 10 steps per epoch of at most 64, the last one with 34
EXPERIMENT = """schema: lockstep.experiment/1
name: loss-curves
dataset: synthetic
model: {models}/{model}.yaml
strategy: single
world_size: 1
virtual_shards: 1
global_batch: 64
epochs: 5
seed: 1
optimizer: {{kind: sgd, lr: {lr}, momentum: 0.9}}
"""


def call(tool, *arguments):
    subprocess.run([os.path.join(BIN, tool), "-q", *arguments], check=True)


def train(folder, model, lr):
    """Trains with Lockstep, to get the order of the samples and the description of the network."""
    experiment = os.path.join(folder, model + ".yaml")
    with open(experiment, "w", encoding="ascii") as file:
        file.write(EXPERIMENT.format(models=os.path.join(ROOT, "experiments", "models"), model=model, lr=lr))
    order = os.path.join(folder, model + ".order")
    call("train-single", "--experiment", experiment, "--train", os.path.join(folder, "data", "train.st.zst"),
         "--out", os.path.join(folder, model), "--dump-order", order)
    return os.path.join(folder, model, "model.st.zst"), torch_peer.read_order(order)


def main():
    torch.manual_seed(20240521)
    torch.set_num_threads(1)
    tensors = {}
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        call("synth-cifar", "--train", str(SAMPLES), "--test", "10", "--out", data)
        data = os.path.join(data, "train.st.zst")
        content = subprocess.run(["zstd", "-dcq", data], check=True, stdout=subprocess.PIPE).stdout
        for model, lr in MODELS.items():
            trained, order = train(folder, model, lr)
            _, metadata = torch_peer.read(trained)
            net = torch_peer.Net(json.loads(metadata["model"]))
            safetensors_writer.save(os.path.join(FOLDER, model + "-init.safetensors"), net.state_dict())
            samples = torch_training.Data(data, json.loads(metadata["normalize"]))
            curve = list(torch_training.losses(net, samples, order, {"batch": 64, "lr": lr, "momentum": 0.9}))
            tensors[model] = torch.tensor(curve, dtype=torch.float64)
            print(f"{model}: loss {curve[0]:.6f} to {curve[-1]:.6f} in {len(curve)} steps")
    tensors["order"] = ("U32", [len(order)], struct.pack(f"<{len(order)}I", *order))
    safetensors_writer.save(os.path.join(FOLDER, "loss-curves.safetensors"), tensors, {
        "images": hashlib.sha256(content).hexdigest(),
        "made_by": f"make_loss_curves.py, PyTorch {torch.__version__}, float32"})


if __name__ == "__main__":
    main()
