#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Training in PyTorch, over the samples of a run and with its random draws.

    torch_training.py losses MODEL INIT DATA ORDER OPTIONS   train from INIT; print the loss of every step; with average
                                                             or tensors, compare the weights at the end with MODEL
    torch_training.py recipe MODEL DATA ORDER OPTIONS        train from the initial values of the options, in double
                                                             and in float; compare the losses in the steps.st.zst next
                                                             to MODEL, and MODEL, with those of double; the errors of
                                                             float are the yardstick

MODEL is a model.st.zst, whose metadata hold the network and the normalisation; DATA a data set; ORDER the ids in the
order of training. OPTIONS is JSON: batch, and optionally
    kind (sgd, adam, adamw), lr, momentum, nesterov, weight_decay, betas, eps    of the optimizer of PyTorch
    points, one_cycle (the arguments of OneCycleLR), cosine (true), milestones, gamma, warmup_epochs    of the rate
    lr_scaling, as in an experiment: the lr is then that of base_batch
    shards (batch norm takes its statistics over each one; without it over the whole step)
    tensors (a list of [pattern, settings], as in an experiment), average, clip_norm, drop_last, label_smoothing
    seed, augment, mixup, classes, as in an experiment
Needs PyTorch and the standard library.
"""
import fnmatch
import json
import math
import sys

import torch
from torch import nn

from random_draws import dropped
from torch_augment import augment, mix
from torch_peer import load, network, normalised, read, read_order, run_command, steps_of
from torch_tensors import first_images, initialise

ARGUMENTS = ("lr", "momentum", "nesterov", "weight_decay", "betas", "eps")
FACTOR = 4             # times the error of single precision
BOUND = 1e-5           # of the way of a tensor
LOSS_BOUND = 1e-6      # of a loss


class Data:
    """The samples of a data set, as bytes."""

    def __init__(self, path, normalize):
        tensors, _ = read(path)
        self.images, self.labels, self.ids = tensors["images"], tensors["labels"].long(), tensors["ids"].tolist()
        self.place, self.normalize = {sample: i for i, sample in enumerate(self.ids)}, normalize

    def batch(self, ids, epoch, o, dtype):
        rows = [self.place[i] for i in ids]
        images, labels = self.images[rows], self.labels[rows]
        if "augment" in o:
            images = augment(images, ids, epoch, dict(o, mean=self.normalize["mean"]))
        if "mixup" in o:
            images, labels = mix(images, labels, ids, epoch, o)
        return normalised(images, self.normalize, dtype), labels


# ---- Dropout ----

class Dropout(nn.Module):
    """Of the step's samples, with the draws of random_draws.py."""

    def __init__(self, name, p, seed):
        super().__init__()
        self.name, self.p, self.seed, self.ids, self.epoch = name, p, seed, [], 0

    def forward(self, x):
        gone = [dropped(self.seed, self.name, self.p, self.epoch, i, x[0].numel()) for i in self.ids]
        return x.masked_fill(torch.tensor(gone).view(x.shape), 0) / (1 - self.p)


def draw_dropout(net, o):
    """Replaces the layers whose draws would be PyTorch's."""
    found = [Dropout(name, module.p, o.get("seed")) for name, module in net.named_modules()
             if isinstance(module, nn.Dropout) and module.p > 0]
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


def scaling(o):
    if "lr_scaling" not in o:
        return 1.0
    ratio = o["batch"] / o["lr_scaling"]["base_batch"]
    return {"linear": ratio, "sqrt": math.sqrt(ratio)}[o["lr_scaling"]["kind"]]


def rates(o, steps, total):
    """Of all steps."""
    if "one_cycle" in o:
        found = rates_of(lambda optimizer: cycle(optimizer, o, total), o, total)
    elif o.get("cosine"):
        rise = o.get("warmup_epochs", 0) * steps
        found = rates_of(lambda optimizer: warm_cosine(optimizer, rise, total), o, total)
    else:
        found = [rate(o, step, steps) for step in range(total)]
    return [scaling(o) * lr for lr in found]


# ---- The optimizer ----

def settings_of(name, o):
    found = {"lr_factor": 1.0, "weight_decay": o.get("weight_decay", 0.0), "trained_epochs": None, "init": "default"}
    for pattern, given in o.get("tensors", []):
        if fnmatch.fnmatchcase(name, pattern):
            found.update(given)
    return found


def make_optimizer(net, o):
    """A group for each tensor."""
    groups = [{"params": [parameter], **settings_of(name, o)} for name, parameter in net.named_parameters()]
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[o.get("kind", "sgd")]
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


def losses(net, data, order, o):
    """Trains over `order`, which lists ids epoch after epoch. The loss of every step."""
    steps, per_epoch = cut(order, len(data.ids), o)
    total, result = len(steps), []
    scheduled = rates(o, per_epoch, total)
    optimizer = make_optimizer(net, o)
    average = Average(net, o["average"]) if "average" in o else None
    dropout = draw_dropout(net, o)
    if "shards" in o:
        split_norms(net, o["shards"])
    net.train()
    for step, (epoch, ids) in enumerate(steps):
        for layer in dropout:
            layer.ids, layer.epoch = ids, epoch
        images, labels = data.batch(ids, epoch, o, next(net.parameters()).dtype)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels, label_smoothing=o.get("label_smoothing", 0.0))
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = group["lr_factor"] * scheduled[step]
            if group["trained_epochs"] is not None and epoch >= group["trained_epochs"]:
                group["params"][0].grad = None        # PyTorch passes over it: no share of the norm, no momentum, no decay
        if "clip_norm" in o:
            torch.nn.utils.clip_grad_norm_(net.parameters(), o["clip_norm"])
        optimizer.step()
        result.append(loss.item())
        if average:
            average.take(net, step + 1, total)
    if average:
        net.load_state_dict(average.state)
    return result


def doubles(net):
    return {name: value.double().clone() for name, value in net.state_dict().items()
            if value.dtype.is_floating_point}


def print_losses(model, init, data, order, options):
    net, normalize = network(model)
    load(net, read(init)[0])
    o, begins = json.loads(options), doubles(net)
    for loss in losses(net, Data(data, normalize), read_order(order), o):
        print(f"{loss:.9g}")
    if "average" in o:
        compare_weights(net, model)
    if "tensors" in o:
        compare_ways(net, begins, model, o)


def compare_weights(net, model):
    """The weights at the end are those of the file, but for rounding."""
    ours = net.state_dict()
    for name, theirs in read(model)[0].items():
        distance = ((ours[name] - theirs).norm() / theirs.norm().clamp(min=1e-3)).item()
        if not distance <= 1e-3:
            sys.exit(f"{name} differs by {distance:.3g}")


def compare_ways(net, begins, model, o):
    """The same, measured by the way of each parameter; one that is never trained keeps its bits."""
    ours, theirs = doubles(net), {name: value.double() for name, value in read(model)[0].items()}
    for name, _ in net.named_parameters():
        way, off = [(ours[name] - other).norm().item() for other in (begins[name], theirs[name])]
        if settings_of(name, o)["trained_epochs"] == 0:
            if not torch.equal(theirs[name], begins[name]):
                sys.exit(f"{name}: it has changed")
        elif way == 0 or not off <= 0.01 * way:
            sys.exit(f"{name}: off by {off:.3g} after a way of {way:.3g}")


# ---- A recipe ----

class Trained:
    """A training from the initial values of the options: losses, and tensors at the beginning and the end."""

    def __init__(self, model, data, order, o, dtype):
        net, normalize = network(model)
        kinds = {name: settings_of(name, o)["init"] for name, _ in net.named_parameters()}
        initialise(net, o["seed"], kinds, first_images(data, normalize, torch.float64))
        net = net.to(dtype)
        self.begins = doubles(net)
        self.losses = losses(net, Data(data, normalize), read_order(order), o)
        self.ends = doubles(net)


def compare_recipe(model, data, order, options):
    o = json.loads(options)
    exact, single = [Trained(model, data, order, o, dtype) for dtype in (torch.float64, torch.float32)]
    ours = steps_of(model)
    if len(ours) != len(exact.losses):
        sys.exit(f"{len(ours)} steps instead of {len(exact.losses)}")
    mine, yardstick = 0, 0
    for step, (loss, right, other) in enumerate(zip(ours, exact.losses, single.losses), 1):
        off = abs(loss - right) / right
        mine, yardstick = max(mine, off), max(yardstick, abs(other - right) / right)
        if not off <= max(FACTOR * yardstick, LOSS_BOUND):
            sys.exit(f"step {step}: the loss is off by {off:.2g}, PyTorch's by {yardstick:.2g} at most until then")
    print(f"{len(ours)} losses from {exact.losses[0]:.4g} to {exact.losses[-1]:.4g}: off by at most {mine:.2g}, "
          f"PyTorch by {yardstick:.2g}")
    compare_tensors(exact, {name: value.double() for name, value in read(model)[0].items()}, single.ends)


def compare_tensors(exact, ours, theirs):
    """Errors relative to the way of a tensor; a constant one's to its size."""
    if set(ours) != set(theirs):
        sys.exit("other tensors than PyTorch's")
    for name, right in exact.ends.items():
        way = (right - exact.begins[name]).norm().item() or right.norm().item()
        mine, their = [(tensors[name] - right).norm().item() / way for tensors in (ours, theirs)]
        print(f"{name}: off by {mine:.2g} of its way, PyTorch by {their:.2g}")
        if not mine <= max(FACTOR * their, BOUND):
            sys.exit(f"more than {FACTOR} times PyTorch's error")


if __name__ == "__main__":
    run_command({"losses": (print_losses, 5), "recipe": (compare_recipe, 4)}, __doc__)
