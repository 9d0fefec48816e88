#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PyTorch side of a comparison: builds the network that a checkpoint describes, and runs it.

    torch_peer.py logits MODEL DATA PREDICTIONS      compare PyTorch's logits with evaluate's predictions
    torch_peer.py invent MODEL DATA CHECKPOINT       write a checkpoint of the same network with other weights;
                                                     print PyTorch's accuracy with it
    torch_peer.py losses MODEL INIT DATA ORDER OPTIONS   train, print the loss of every step

MODEL is a model.st.zst, whose metadata hold the network and the normalisation. INIT holds the initial
weights. OPTIONS is JSON: batch, lr, and optionally momentum, nesterov, weight_decay, milestones, gamma,
warmup_epochs. Files with the ending .zst are read through the zstd program. Needs PyTorch and the standard library.
"""
import json
import struct
import subprocess
import sys

import torch
from torch import nn

import safetensors_reader
import safetensors_writer

DTYPES = {"U8": torch.uint8, "U32": torch.int64, "I64": torch.int64, "F32": torch.float32, "F64": torch.float64}


def read(path):
    """{name: tensor} and metadata."""
    if path.endswith(".zst"):
        data = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    else:
        with open(path, "rb") as file:
            data = file.read()
    tensors, metadata = safetensors_reader.read(data)
    return {name: torch.tensor(values, dtype=DTYPES[dtype]).reshape(shape)
            for name, (dtype, shape, values) in tensors.items() if dtype in DTYPES}, metadata


class Net(nn.Module):
    """The layers of a model description, under the same names."""

    def __init__(self, description):
        super().__init__()
        self.order = []                   # names, each with the names of its inputs
        values = {"input": torch.zeros([1] + description["input"])}
        before = "input"
        for entry in description["layers"]:
            (kind, options), = entry.items()
            inputs = [options.get("from", before)] + ([options["with"]] if kind == "add" else [])
            module = make_layer(kind, options, values[inputs[0]].shape).eval()
            before = options["name"]
            self.add_module(before, module)
            self.order.append((before, inputs))
            with torch.no_grad():
                values[before] = module(*[values[i] for i in inputs])
        self.train()

    def forward(self, x):
        values = {"input": x}
        for name, inputs in self.order:
            x = values[name] = getattr(self, name)(*[values[i] for i in inputs])
        return x


class Add(nn.Module):
    def forward(self, a, b):
        return a + b


def make_layer(kind, o, shape):
    if kind == "conv":
        return nn.Conv2d(shape[1], o["out"], o["kernel"], o["stride"], o["padding"], bias=o["bias"])
    if kind == "linear":
        return nn.Linear(shape[1], o["out"], bias=o["bias"])
    if kind == "batch_norm":
        return (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(shape[1], o["eps"], o["momentum"])
    if kind == "max_pool":
        return nn.MaxPool2d(o["size"], o["stride"], o["padding"])
    if kind == "avg_pool":
        return nn.AvgPool2d(o["size"], o["stride"], o["padding"])
    if kind == "dropout":
        return nn.Dropout(o["p"])
    return {"relu": nn.ReLU, "flatten": nn.Flatten, "add": Add, "gelu": nn.GELU, "silu": nn.SiLU}[kind]()


def load(net, tensors):
    """load_state_dict; only the step counters of batch norm, which Lockstep does not write, may be missing."""
    missing, unexpected = net.load_state_dict(tensors, strict=False)
    wrong = unexpected + [name for name in missing if not name.endswith("num_batches_tracked")]
    if wrong:
        sys.exit("the state_dict differs in " + ", ".join(wrong))


def network(path):
    """The network that a model.st.zst describes, with its weights, and its normalisation."""
    tensors, metadata = read(path)
    net = Net(json.loads(metadata["model"]))
    load(net, tensors)
    return net, json.loads(metadata["normalize"])


def samples(path, normalize):
    """Normalised images, labels and ids of a dataset file."""
    tensors, _ = read(path)
    mean, std = [torch.tensor(normalize[key]).view(1, -1, 1, 1) for key in ("mean", "std")]
    return (tensors["images"].float().div(255).sub(mean).div(std), tensors["labels"].long(), tensors["ids"].tolist())


def infer(net, x):
    net.eval()
    with torch.no_grad():
        return net(x)


def compare_logits(model, data, predictions):
    net, normalize = network(model)
    x, y, ids = samples(data, normalize)
    theirs, _ = read(predictions)
    if theirs["ids"].tolist() != ids or theirs["labels"].tolist() != y.tolist():
        sys.exit("the predictions are of other samples")
    logits = infer(net, x)
    distance = ((logits - theirs["logits"]).abs().max() / logits.abs().max()).item()
    print(f"largest difference of the logits: {distance:.3g} of the largest logit")
    if not distance <= 1e-5:
        sys.exit("more than 1e-5")


def invent(model, data, checkpoint):
    torch.manual_seed(7)
    net, normalize = network(model)
    x, y, _ = samples(data, normalize)
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.reset_parameters()
        elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(8):                    # also updates the running statistics
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    safetensors_writer.save(checkpoint, net.state_dict())
    print(f"{(infer(net, x).argmax(1) == y).double().mean().item():.9g}")


def rate(o, step, steps):
    epoch, rise = step // steps, o.get("warmup_epochs", 0) * steps
    lr = o["lr"] * o.get("gamma", 1.0) ** sum(epoch >= m for m in o.get("milestones", []))
    return lr * (step + 1) / rise if step < rise else lr


def losses(net, x, y, ids, order, o):
    """The loss of every step over `order`, which lists ids epoch after epoch; an epoch's last batch is smaller."""
    place = {sample: i for i, sample in enumerate(ids)}
    steps, result = -(-len(ids) // o["batch"]), []
    optimizer = torch.optim.SGD(net.parameters(), lr=o["lr"], momentum=o.get("momentum", 0.0),
                                nesterov=o.get("nesterov", False), weight_decay=o.get("weight_decay", 0.0))
    net.train()
    for first in range(0, len(order), len(ids)):
        for at in range(first, first + len(ids), o["batch"]):
            batch = [place[i] for i in order[at:min(at + o["batch"], first + len(ids))]]
            for group in optimizer.param_groups:
                group["lr"] = rate(o, len(result), steps)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x[batch]), y[batch])
            loss.backward()
            optimizer.step()
            result.append(loss.item())
    return result


def read_order(path):
    with open(path, "rb") as file:
        data = file.read()
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def print_losses(model, init, data, order, options):
    net, normalize = network(model)
    load(net, read(init)[0])
    x, y, ids = samples(data, normalize)
    for loss in losses(net, x, y, ids, read_order(order), json.loads(options)):
        print(f"{loss:.9g}")


def main():
    commands = {"logits": (compare_logits, 3), "invent": (invent, 3), "losses": (print_losses, 5)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not command or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    command(*sys.argv[2:])


if __name__ == "__main__":
    main()
