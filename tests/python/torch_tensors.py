#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PyTorch side of initial values.

    torch_tensors.py MODEL DEFAULT DATA KINDS SEED    check the initial values in MODEL; DEFAULT is a model without them

SEED is that of the experiment. KINDS is a JSON list of [tensor, kind]. Needs PyTorch and the standard library.
"""
import json
import math
import sys

import torch
from torch import nn

from random_draws import initial_normals, initial_values
from torch_peer import network, read, samples


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


def first_images(data, normalize):
    """Those that whitening takes."""
    images, _, ids = samples(data, normalize)
    return images[torch.tensor(ids).argsort()][:5000]


def drawn(seed, name, shape, bound):
    """The values of a tensor uniform in ±bound."""
    layer, _, last = name.rpartition(".")
    values = initial_values(seed, layer, math.prod(shape), last == "bias")
    return (torch.tensor(values) * torch.tensor(bound)).view(shape)


def check_draws(kind, name, w, seed):
    """Every value, as drawn."""
    fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(w)
    if kind == "kaiming_normal":
        values = initial_normals(seed, name.rpartition(".")[0], w.numel())
        theirs = torch.tensor(values).view(w.shape) * math.sqrt(2 / fan_in)
    else:
        theirs = drawn(seed, name, w.shape, math.sqrt(6 / (fan_in + fan_out * (kind == "xavier_uniform"))))
    off = (w - theirs).abs().max().item()
    print(f"{kind}: off by {off:.3g}")
    if not off <= 1e-6:
        sys.exit(f"{kind}: not the numbers of docs/formats.md")


def initialise(net, seed, kinds, images):
    """Gives the tensors of `net` the values that a training begins with; kinds: those of single tensors, by name."""
    for layer, module in net.named_modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)):
            module.reset_parameters()
        if not isinstance(module, (nn.Conv2d, nn.Linear)):
            continue
        for name, tensor in module.named_parameters():
            with torch.no_grad():
                tensor.copy_(drawn(seed, f"{layer}.{name}", tensor.shape, module.weight[0].numel() ** -0.5))
    with torch.no_grad():
        for name, tensor in net.named_parameters():
            kind = kinds.get(name, "default")
            if kind == "whiten":
                filters = whitened(images, tensor.shape)
                peak = filters.gather(1, filters.abs().argmax(1, keepdim=True)).sign()
                peak[filters.shape[1]:] *= -1
                tensor.copy_((filters * peak).view(tensor.shape))
            elif kind == "dirac":
                nn.init.dirac_(tensor[:tensor.shape[1]])
            elif kind == "zero":
                tensor.zero_()
            elif kind != "default":
                sys.exit(f"{name}: no '{kind}' here")


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    model, default, data, kinds, seed = sys.argv[1:]
    net, normalize = network(model)
    values, defaults = net.state_dict(), read(default)[0]
    for name, kind in json.loads(kinds):
        w = values[name]
        if kind == "whiten":
            check_whitened(w, first_images(data, normalize))
        elif kind == "dirac":
            check_dirac(w, defaults[name])
        elif kind in ("zero", "one"):
            near(f"{name}: {kind}", (w - float(kind == "one")).abs().max().item(), 0, 0)
        elif kind == "default":
            near(name, (w - defaults[name]).abs().max().item(), 0, 0)
        else:
            check_moments(kind, w)
            check_draws(kind, name, w, int(seed))


if __name__ == "__main__":
    main()
