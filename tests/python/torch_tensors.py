#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PyTorch side of the settings of tensors: parameter groups, frozen tensors, initial values.

    torch_tensors.py train MODEL INIT DATA ORDER OPTIONS   train; print the loss of every step, and compare the
                                                           weights at the end with MODEL
    torch_tensors.py init MODEL DEFAULT DATA KINDS         check the initial values in MODEL; DEFAULT is a model
                                                           without them

OPTIONS is JSON: batch, kind (sgd, adamw), the arguments of the optimizer, and tensors: a list of [pattern, settings],
as in an experiment. KINDS is a JSON list of [tensor, kind]. Needs PyTorch and the standard library.
"""
import fnmatch
import json
import math
import sys

import torch
from torch import nn

from torch_peer import load, network, read, read_order, samples


# ---- Training ----

def settings_of(name, o):
    found = {"lr_factor": 1.0, "weight_decay": o["arguments"].get("weight_decay", 0.0), "trained_epochs": None}
    for pattern, given in o["tensors"]:
        if fnmatch.fnmatchcase(name, pattern):
            found.update(given)
    return found


def make_optimizer(net, o):
    groups = []
    for name, parameter in net.named_parameters():
        s = settings_of(name, o)
        groups.append({"params": [parameter], "lr": o["arguments"]["lr"] * s["lr_factor"],
                       "weight_decay": s["weight_decay"], "trained_epochs": s["trained_epochs"]})
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[o["kind"]]
    return kind(groups, **o["arguments"])


def train(model, init, data, order, options):
    o = json.loads(options)
    ends, normalize = network(model)
    net, _ = network(model)
    load(net, read(init)[0])
    begins = {name: value.clone() for name, value in net.state_dict().items()}
    x, y, ids = samples(data, normalize)
    place, order = {sample: i for i, sample in enumerate(ids)}, read_order(order)
    optimizer = make_optimizer(net, o)
    net.train()
    for first in range(0, len(order), len(ids)):
        for at in range(first, first + len(ids), o["batch"]):
            batch = [place[i] for i in order[at:min(at + o["batch"], first + len(ids))]]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x[batch]), y[batch])
            loss.backward()
            for group in optimizer.param_groups:
                if group["trained_epochs"] is not None and first // len(ids) >= group["trained_epochs"]:
                    group["params"][0].grad = None        # PyTorch passes over it: no momentum, no decay
            optimizer.step()
            print(f"{loss.item():.9g}")
    compare(net, ends, begins, o)


def compare(net, ends, begins, o):
    """The weights at the end agree; a tensor that is never trained keeps its bits."""
    theirs = ends.state_dict()
    for name, parameter in net.named_parameters():
        way = (parameter.detach() - begins[name]).norm().item()
        off = (parameter.detach() - theirs[name]).norm().item()
        if settings_of(name, o)["trained_epochs"] == 0:
            if not torch.equal(theirs[name], begins[name]):
                sys.exit(f"{name}: it has changed")
        elif way == 0 or off > 0.01 * way:
            sys.exit(f"{name}: off by {off:.3g} after a way of {way:.3g}")


# ---- Initial values ----

def whitened(images, shape):
    """Rows: the eigenvectors of the patches' second moments, divided by the root of their eigenvalue, and negatives."""
    patches = images.unfold(2, shape[2], 1).unfold(3, shape[3], 1).permute(0, 2, 3, 1, 4, 5)
    patches = patches.reshape(-1, shape[1] * shape[2] * shape[3]).double()
    values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
    filters = (vectors / torch.sqrt(values + 5e-4)).T.flip(0)
    return torch.cat([filters, -filters])[:shape[0]]


def check_whitened(w, images):
    theirs, ours = whitened(images, w.shape), w.reshape(len(w), -1).double()
    half = ours[:ours.shape[1]]
    for row in half:
        if row[row.abs().argmax()] < 0:
            sys.exit("whiten: the largest value of a filter is negative")
    if not torch.equal(ours[len(half):], -half[:len(ours) - len(half)]):
        sys.exit("whiten: the second half is not the first, negated")
    signs = torch.sign((theirs * ours).sum(1, keepdim=True))
    off = ((theirs * signs - ours).norm(dim=1) / theirs.norm(dim=1)).max().item()
    print(f"whiten: off by {off:.3g}")
    if not off < 1e-5:
        sys.exit("more than 1e-5")


def near(what, got, wanted, bound):
    if not abs(got - wanted) <= bound:
        sys.exit(f"{what}: {got:.5g} instead of {wanted:.5g}")


def check_moments(kind, w):
    """Mean, deviation, fourth moment and extremes, within five deviations of their estimates."""
    n, (fan_in, fan_out) = w.numel(), nn.init._calculate_fan_in_and_fan_out(w)
    deviation = math.sqrt(2 / (fan_in + fan_out)) if kind == "xavier_uniform" else math.sqrt(2 / fan_in)
    x, normal = w.double().flatten() / deviation, kind == "kaiming_normal"
    fourth = 3 if normal else 1.8
    eighth = 105 if normal else 9
    near(f"{kind}: mean", x.mean().item(), 0, 5 / math.sqrt(n))
    near(f"{kind}: variance", (x * x).mean().item(), 1, 5 * math.sqrt((fourth - 1) / n))
    near(f"{kind}: fourth moment", (x ** 4).mean().item(), fourth, 5 * math.sqrt((eighth - fourth ** 2) / n))
    near(f"{kind}: neighbours", (x[:-1] * x[1:]).mean().item(), 0, 5 / math.sqrt(n))
    pairs = (x[0::2][:n // 2] * x[1::2]).mean().item()
    near(f"{kind}: pairs", pairs, 0, 5 / math.sqrt(n / 2))
    largest = x.abs().max().item()
    if not (3 < largest < 6.8 if normal else 1.72 < largest <= math.sqrt(3) * (1 + 1e-6)):
        sys.exit(f"{kind}: the largest value is {largest:.5g} deviations")


def check_dirac(w, default):
    theirs = default.clone()
    nn.init.dirac_(theirs[:w.shape[1]])
    if not torch.equal(w, theirs):
        sys.exit("dirac: not that of torch.nn.init")


def init(model, default, data, kinds):
    net, normalize = network(model)
    values, defaults = net.state_dict(), read(default)[0]
    images, _, ids = samples(data, normalize)
    first = images[torch.tensor(ids).argsort()][:5000]
    for name, kind in json.loads(kinds):
        w = values[name]
        if kind == "whiten":
            check_whitened(w, first)
        elif kind == "dirac":
            check_dirac(w, defaults[name])
        elif kind in ("zero", "one"):
            near(f"{name}: {kind}", (w - float(kind == "one")).abs().max().item(), 0, 0)
        elif kind == "default":
            near(name, (w - defaults[name]).abs().max().item(), 0, 0)
        else:
            check_moments(kind, w)


def main():
    commands = {"train": (train, 5), "init": (init, 4)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not command or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    command(*sys.argv[2:])


if __name__ == "__main__":
    main()
