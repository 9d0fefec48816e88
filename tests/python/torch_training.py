#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Training in PyTorch, over the samples of a run and with its random draws, by the rule in torch_peer.py.

    torch_training.py MODEL INIT DATA ORDER OPTIONS [OTHER...]

Compares the losses in the steps.st.zst next to MODEL, and MODEL, with those of PyTorch; and fails if the same limits
let a training pass that differs by the keys of an OTHER.

MODEL is a model.st.zst, whose metadata hold the network and the normalisation; INIT the file of the initial weights, or
`-` for those that OPTIONS draw; DATA a data set; ORDER the ids in the order of training. OPTIONS is JSON: batch, and
optionally
    kind (a class, in lower case), lr, momentum, nesterov, weight_decay, betas, eps    of the optimizer of PyTorch
    points, one_cycle (the arguments of OneCycleLR), plateau (the arguments of ReduceLROnPlateau), cosine (true, or "by epoch"), milestones,
        gamma, warmup_epochs    of the rate
    lr_scaling, as in an experiment: the lr is then that of base_batch
    shards (batch norm takes its statistics over each one; without it over the whole step)
    tensors (a list of [pattern, settings], as in an experiment), average, clip_norm, drop_last, label_smoothing
    seed, augment, mixup, classes, as in an experiment
Needs PyTorch and the standard library.
"""
import copy
import fnmatch
import itertools
import json
import math
import os
import sys

import torch
from torch import nn

from random_draws import dropped
from torch_augment import augment, mix
from torch_peer import BOUND, FACTOR, LOSS_BOUND, Net, StochasticDepth, exact_and_moved, load, network, normalised, read, \
    read_order
from torch_tensors import first_images, initialise

ARGUMENTS = ("lr", "momentum", "nesterov", "weight_decay", "betas", "rho", "eps")


class Data:
    """The samples of a data set, as bytes."""

    def __init__(self, path, normalize):
        tensors, _ = read(path)
        self.images, self.labels, self.ids = tensors["images"], tensors["labels"].long(), tensors["ids"].tolist()
        self.place, self.normalize = {sample: i for i, sample in enumerate(self.ids)}, normalize
        self.drawn = {}                               # batches: drawing them takes longer than a step

    def draw(self, ids, epoch, o):
        rows = [self.place[i] for i in ids]
        images, labels = self.images[rows], self.labels[rows]
        if "augment" in o:
            images = augment(images, ids, epoch, dict(o, mean=self.normalize["mean"]))
        if "mixup" in o:
            images, labels = mix(images, labels, ids, epoch, o)
        return images, labels

    def batch(self, ids, epoch, o, dtype):
        key = str((ids, epoch, o.get("seed"), o.get("augment"), o.get("mixup"), o.get("classes")))
        if key not in self.drawn:
            self.drawn[key] = self.draw(ids, epoch, o)
        images, labels = self.drawn[key]
        return normalised(images, self.normalize, dtype), labels


# ---- Dropout ----

class Dropout(nn.Module):
    """Of the step's samples, with the draws of random_draws.py: each for a value, a channel or a sample. With mode 'batch'
    all samples of a shard have the draw of the first one."""
    KINDS = {nn.Dropout: None, nn.Dropout2d: 2, StochasticDepth: 1}  # dimensions of x that the draws have; None: all

    def __init__(self, name, module, o):
        super().__init__()
        self.name, self.p, self.dimensions = name, module.p, self.KINDS[type(module)]
        self.seed, self.shards = o.get("seed"), o.get("shards", 1)
        self.by_shard = getattr(module, "mode", None) == "batch"
        self.ids, self.epoch = [], 0

    def forward(self, x):
        size, ids = list(x.shape[:self.dimensions]), torch.tensor(self.ids)
        if self.by_shard:
            ids = torch.cat([part[:1].expand(len(part)) for part in ids.tensor_split(self.shards)])
        gone = [dropped(self.seed, self.name, self.p, self.epoch, i, math.prod(size[1:])) for i in ids.tolist()]
        return x.masked_fill(torch.tensor(gone).view(size + [1] * (x.dim() - len(size))), 0) / (1 - self.p)


def draw_dropout(net, o):
    """Replaces the layers whose draws would be PyTorch's."""
    found = [Dropout(name, module, o) for name, module in net.named_modules()
             if type(module) in Dropout.KINDS and module.p > 0]
    for layer in found:
        net.put(layer.name, layer)
    return found


# ---- Shards ----

def split_norms(net, shards):
    """Batch norm takes each shard's part of the step by itself. Its running statistics are the mean of those that the
    parts would leave, weighted by their samples. The first parts are the larger ones, as in Lockstep."""
    def split(norm):
        whole = norm.forward

        def forward(x):
            begin, results = (norm.running_mean, norm.running_var), []
            ends = [torch.zeros_like(value) for value in begin]
            for part in x.tensor_split(shards):
                norm.running_mean, norm.running_var = [value.clone() for value in begin]
                results.append(whole(part))
                for end, value in zip(ends, (norm.running_mean, norm.running_var)):
                    end.add_(value, alpha=len(part) / len(x))
            norm.running_mean, norm.running_var = ends
            return torch.cat(results)
        norm.forward = forward
    for module in net.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            split(module)


# ---- The rate ----

def linear(points, epoch):
    """As numpy.interp."""
    for (a, low), (b, high) in zip(points, points[1:]):
        if a <= epoch < b:
            return low + (high - low) * (epoch - a) / (b - a)
    return points[0][1] if epoch < points[0][0] else points[-1][1]


def cycle(optimizer, o, total):
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, o["lr"], total, cycle_momentum=False, **o["one_cycle"])


def warm_cosine(optimizer, rise, total):
    """A line from 1 / rise to 1, then half a cosine."""
    make = torch.optim.lr_scheduler
    cosine = make.CosineAnnealingLR(optimizer, total - rise)
    if rise == 0:
        return cosine
    line = make.LinearLR(optimizer, 1 / rise, total_iters=rise - 1)
    return make.SequentialLR(optimizer, [line, cosine], [rise])


def rates_of(make, o, total):
    """The rates of a schedule of PyTorch, for all steps."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=o["lr"])
    schedule, rates = make(optimizer), []
    for step in range(total):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        if step + 1 < total:
            schedule.step()
    return rates


def rate(o, step, steps):
    if "points" in o:
        return o["lr"] * linear(o["points"], step / steps)
    epoch, rise = step // steps, o.get("warmup_epochs", 0) * steps
    lr = o["lr"] * o.get("gamma", 1.0) ** sum(epoch >= m for m in o.get("milestones", []))
    return lr * (step + 1) / rise if step < rise else lr


class Plateau:
    """The rates of ReduceLROnPlateau, which is stepped with the mean loss of each epoch."""

    def __init__(self, o):
        self.optimizer = torch.optim.SGD([torch.zeros(1)], lr=o["lr"])
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, **o["plateau"])
        self.epoch, self.sum, self.samples = 0, 0.0, 0

    def rate(self, epoch):
        if epoch != self.epoch:
            self.schedule.step(self.sum / self.samples)
            self.epoch, self.sum, self.samples = epoch, 0.0, 0
        return self.optimizer.param_groups[0]["lr"]

    def add(self, loss, samples):
        self.sum, self.samples = self.sum + loss * samples, self.samples + samples


def scaling(o):
    if "lr_scaling" not in o:
        return 1.0
    ratio = o["batch"] / o["lr_scaling"]["base_batch"]
    return {"linear": ratio, "sqrt": math.sqrt(ratio)}[o["lr_scaling"]["kind"]]


def rates(o, steps, total):
    """Of all steps."""
    if "one_cycle" in o:
        found = rates_of(lambda optimizer: cycle(optimizer, o, total), o, total)
    elif o.get("cosine") == "by epoch":
        epochs = -(-total // steps)
        by_epoch = rates_of(lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs), o, epochs)
        found = [by_epoch[step // steps] for step in range(total)]
    elif o.get("cosine"):
        rise = o.get("warmup_epochs", 0) * steps
        found = rates_of(lambda optimizer: warm_cosine(optimizer, rise, total), o, total)
    else:
        found = [rate(o, step, steps) for step in range(total)]
    return [scaling(o) * lr for lr in found]


# ---- The optimizer ----

def settings_of(name, o):
    found = {"lr_factor": 1.0, "weight_decay": o.get("weight_decay", 0.0), "trained_epochs": math.inf, "frozen_epochs": 0,
             "init": "default"}
    for pattern, given in o.get("tensors", []):
        if fnmatch.fnmatchcase(name, pattern):
            found.update(given)
    return found


def make_optimizer(net, o):
    """A group for each tensor."""
    groups = [{"params": [parameter], **settings_of(name, o)} for name, parameter in net.named_parameters()]
    kind, = [c for name, c in vars(torch.optim).items() if name.lower() == o.get("kind", "sgd") and isinstance(c, type)]
    return kind(groups, **{key: o[key] for key in ARGUMENTS if key in o})


class Average:
    """Of the floating-point entries of a state_dict, by lerp_."""

    def __init__(self, net, o):
        self.o = o
        self.state = {k: v.clone() for k, v in net.state_dict().items()}

    def take(self, net, step, total):
        o, ahead = self.o, self.o["kind"] == "lookahead"
        if step % o.get("every", 1):
            return
        share = o["decay"] ** o["every"] * (step / total) ** o.get("ramp", 0) if ahead else o["decay"]
        with torch.no_grad():
            for name, value in net.state_dict().items():
                if value.dtype.is_floating_point:
                    self.state[name].lerp_(value, 1 - share)
                    if ahead:
                        value.copy_(self.state[name])


# ---- The steps ----

def cut(order, samples, o):
    """The steps of all epochs, as (epoch, ids), and the steps of a whole epoch. The last step of an epoch is smaller."""
    used = samples // o["batch"] * o["batch"] if o.get("drop_last") else samples
    steps = [(first // used, order[at:min(at + o["batch"], first + used)])
             for first in range(0, len(order), used) for at in range(first, min(first + used, len(order)), o["batch"])]
    return steps, -(-used // o["batch"])


def losses(net, data, order, o, after=lambda net: None):
    """Trains over `order`, which lists ids epoch after epoch, and yields the loss of every step."""
    steps, per_epoch = cut(order, len(data.ids), o)
    total = len(steps)
    scheduled = rates(o, per_epoch, total)
    plateau = Plateau(o) if "plateau" in o else None
    optimizer = make_optimizer(net, o)
    average = Average(net, o["average"]) if "average" in o else None
    dropout = draw_dropout(net, o)
    if "shards" in o:
        split_norms(net, o["shards"])
    net.train()
    after(net)
    for step, (epoch, ids) in enumerate(steps):
        for layer in dropout:
            layer.ids, layer.epoch = ids, epoch
        images, labels = data.batch(ids, epoch, o, next(net.parameters()).dtype)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels, label_smoothing=o.get("label_smoothing", 0.0))
        loss.backward()
        if plateau:
            scheduled[step] = plateau.rate(epoch)
            plateau.add(loss.item(), len(ids))
        for group in optimizer.param_groups:
            group["lr"] = group["lr_factor"] * scheduled[step]
            if not group["frozen_epochs"] <= epoch < group["trained_epochs"]:
                group["params"][0].grad = None        # PyTorch passes over it: no share of the norm, no momentum, no decay
        if "clip_norm" in o:
            torch.nn.utils.clip_grad_norm_(net.parameters(), o["clip_norm"])
        optimizer.step()
        after(net)
        if average:
            average.take(net, step + 1, total)
        yield loss.item()
    if average:
        net.load_state_dict(average.state)


def doubles(net):
    return {name: value.double().clone() for name, value in net.state_dict().items()
            if value.dtype.is_floating_point}


# ---- The comparison ----

def beginning(init, net, data, normalize, o):
    """The network in double, with the weights that the training begins with."""
    if init == "-":
        kinds = {name: settings_of(name, o)["init"] for name, _ in net.named_parameters()}
        initialise(net, o["seed"], kinds, first_images(data, normalize))
    else:
        load(net, read(init)[0])
    return net.double()


class Comparison:
    """Of a run with trainings in PyTorch, from the weights of `net`."""

    def __init__(self, model, net, data, order):
        self.net, self.data, self.order, self.begins, self.nearest = net, data, order, doubles(net), 0
        self.losses = read(os.path.join(os.path.dirname(model), "steps.st.zst"))[0]["loss"].tolist()
        self.tensors = {name: value.double() for name, value in read(model)[0].items()}

    def train(self, o, after=lambda net: None):
        """The losses, one by one, and a function for the tensors after the last one."""
        net = copy.deepcopy(self.net)
        return losses(net, self.data, self.order, o, after), lambda: doubles(net)

    def measure(self, o):
        """Sets the limit of each step's loss, which does not fall, and of each tensor. The exact training."""
        def run(after):
            values, ends = self.train(o, after)
            return list(values), ends()
        (rights, ends), *moved = exact_and_moved(run)
        far = [max(abs(other - right) for other in others) / right
               for right, *others in zip(rights, *[values for values, _ in moved])]
        self.limits = [max(FACTOR * most, LOSS_BOUND) for most in itertools.accumulate(far, max)]
        self.tensor_limits = {name: max(FACTOR * max(self.off(far[name], name, right) for _, far in moved), BOUND)
                              for name, right in ends.items()}
        return rights, lambda: ends

    def off(self, value, name, right):
        """In parts of the tensor's way, or of its size if it is constant."""
        way = (right - self.begins[name]).norm().item() or right.norm().item() or 1
        return (value - right).norm().item() / way

    def beyond(self, what, off, limit):
        self.nearest = max(self.nearest, off / limit)
        return "" if off <= limit else f"{what} is off by {off:.2g}, more than {limit:.2g}"

    def difference(self, rights, ends):
        """Where the run leaves a training, or nothing."""
        for step, (loss, right, limit) in enumerate(zip(self.losses, rights, self.limits), 1):
            found = self.beyond(f"step {step}: the loss", abs(loss - right) / right, limit)
            if found:
                return found
        found = [self.beyond(name, self.off(self.tensors[name], name, right), self.tensor_limits[name])
                 for name, right in ends().items()]
        return ", ".join(filter(None, found))


def compare(model, init, data, order, options, *others, make=Net):
    torch.set_num_threads(1)
    o = json.loads(options)
    net, normalize = network(model, make)
    comparison = Comparison(model, beginning(init, net, data, normalize, o), Data(data, normalize), read_order(order))
    rights, ends = comparison.measure(o)
    if len(comparison.losses) != len(rights) or set(comparison.tensors) != set(ends()):
        sys.exit(f"{len(comparison.losses)} steps instead of {len(rights)}, or other tensors")
    wrong = comparison.difference(rights, ends)
    if wrong:
        sys.exit(wrong)
    print(f"{len(rights)} losses from {rights[0]:.4g} to {rights[-1]:.4g}, {len(ends())} tensors: "
          f"off by at most {comparison.nearest:.2g} of a limit")
    for other in others:
        found = comparison.difference(*comparison.train({**o, **json.loads(other)}))
        print(f"with {other}: {found or 'no difference'}")
        if not found:
            sys.exit("the comparison would let this pass")


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    compare(*sys.argv[1:])
