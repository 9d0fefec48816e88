#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random networks against PyTorch: the logits, and every tensor after one step of SGD.

    torch_graphs.py BIN FOLDER FIRST COUNT    networks FIRST to FIRST + COUNT - 1; FOLDER keeps the files of
                                              those that differ
    torch_graphs.py show NUMBER               print a network

The number of a network is the seed of its layers, weights, images and settings. The rule is that of torch_peer.py. An
error is a distance from PyTorch's values in double, of a tensor relative to the way that the step should have taken it.
Networks are avoided of which some value is so close to a ReLU's zero, or to another of its pool's window, that rounding
decides about the gradient.
Prints a line for each network, and the errors of all. Needs PyTorch and the standard library.
"""
import json
import math
import os
import random
import shutil
import subprocess
import sys

import torch
from torch import nn

import safetensors_writer
from torch_peer import BOUND, FACTOR, Net, exact_and_moved, load, make_layer, others, read

SMALL = 0.1            # a way counts as at least this part of the furthest: that of a bias before a norm is none
CLOSE = 2e-6           # to a kink, in units of a value's size


# ---- Networks ----

NUMBERED = [("mish", {}), ("sigmoid", {}), ("tanh", {}), ("relu6", {}), ("hard_sigmoid", {}), ("hard_swish", {}),
            ("leaky_relu", {"negative_slope": [0.01, 0.2]}), ("elu", {"alpha": [1.0, 0.7]}),
            ("celu", {"alpha": [1.0, 1.5]}), ("softplus", {"beta": [1.0, 2.0], "threshold": [20.0]})]
# Where the derivative of an activation jumps.
KINKS = {nn.ReLU: (0,), nn.LeakyReLU: (0,), nn.ELU: (0,), nn.ReLU6: (0, 6), nn.Hardsigmoid: (-3, 3),
         nn.Hardswish: (-3, 3)}


class Graph:
    """Builds a description with all options, and the text of a model file, which has `residual`."""

    def __init__(self, number):
        self.random = r = random.Random(number)
        self.input = [r.choice([1, 2, 3, 3, 4]), r.randint(5, 15), r.randint(5, 15)]
        self.samples = r.choice([4, 5, 13, 16, 17, 24, 33, 40])
        self.classes = r.randint(2, 12)
        self.layers, self.text, self.shapes, self.before = [], [], {"input": self.input}, "input"
        self.unread = set()
        pooled = random.Random(-number).random() < 0.15
        self.image(r.randint(2, 9), pooled)
        if not pooled:
            self.vector(r.randint(0, 4))

    def description(self):
        return {"schema": "lockstep.model/1", "name": "random", "input": self.input, "layers": self.layers}

    def put(self, text, kind, **options):
        """Adds a layer to the description and its entry to `text`."""
        name = options["name"] = f"{kind}{len(self.layers)}"
        source = options.get("from", self.before)
        shape = self.shapes[source]
        self.layers.append({kind: dict(options, **{"from": source})})
        text.append({kind: dict(options)})
        module = make_layer(kind, options, [0] + shape)
        values = [torch.zeros([2] + self.shapes[name]) for name in [source] + others(options)]
        with torch.no_grad():
            self.shapes[name] = list(module.eval()(*values).shape[1:])
        self.before = name
        return name

    def shape(self):
        return self.shapes[self.before]

    def pair(self, low, high):
        a, b = self.random.randint(low, high), self.random.randint(low, high)
        return a if self.random.random() < 0.6 else [a, b]

    # Layers that keep the shape.

    def resize(self, text):
        """Zeros around it, less of it, or copies, unless it is large."""
        least = 0 if min(self.shape()) < 3 else -1
        sides = [self.random.randint(least, 2) for _ in range(self.random.choice([4, 6]))]
        if self.random.random() < 0.6:
            self.put(text, "zero_pad", padding=self.random.choice([1, sides]))
        elif math.prod(self.shape()) < 3000:
            self.put(text, "upsample", scale_factor=self.pair(1, 2))

    def even(self, text):
        r, image = self.random, len(self.shape()) == 3
        kind = r.choice(["relu", "relu", "gelu", "silu", "batch_norm", "scale", "group_norm", "layer_norm", "other"]
                        + ["pool", "local_response_norm"] * image)
        if kind == "batch_norm":
            self.put(text, "batch_norm", eps=r.choice([1e-5, 1e-3, 0.1]), momentum=r.choice([0.1, 0.4, 1.0]))
        elif kind == "other":
            self.numbered(text)
        elif kind == "scale":
            self.put(text, "scale", factor=r.choice([-1.5, 0.25, 0.7, 2.0]))
        elif kind == "pool":
            self.put(text, r.choice(["max_pool", "avg_pool"]), size=3, stride=1, padding=1)
        elif kind == "group_norm":
            channels, values = self.shape()[0], math.prod(self.shape())
            groups = r.choice([g for g in range(1, channels + 1) if channels % g == 0])
            if values > groups:                        # PyTorch refuses groups of one value
                self.put(text, kind, groups=groups, eps=r.choice([1e-5, 1e-3, 0.1]))
        elif kind == "layer_norm":
            whole = image and r.random() < 0.3
            if whole:
                size = self.shape()
                self.put(text, "flatten")
            if self.shape()[0] > 2:                    # those of fewer are hardly more than their signs
                self.put(text, kind, eps=r.choice([1e-5, 1e-3, 0.1]))
            if whole:
                self.put(text, "unflatten", size=size)
        elif kind == "local_response_norm":
            self.put(text, kind, size=r.randint(1, 6), beta=r.choice([0.25, 0.5, 0.75, 0.75, 1.0]),
                     alpha=r.choice([1e-4, 0.3, 1.0]), k=r.choice([0.5, 1.0, 2.0]))
        else:
            self.put(text, kind)

    def numbered(self, text):
        kind, options = self.random.choice(NUMBERED)
        self.put(text, kind, **{key: self.random.choice(values) for key, values in options.items()})

    def same_conv(self, text, channels, **more):
        kernel = self.random.choice([1, 3, 3, 5])
        self.conv(text, channels, kernel, 1, kernel // 2, **more)

    def conv(self, text, channels, kernel, stride, padding, **more):
        inputs = self.shapes[more.get("from", self.before)][0]
        shared = [g for g in (1, 2, 3, 4, inputs) if inputs % g == 0 and channels % g == 0]
        groups = self.random.choice(shared) if self.random.random() < 0.4 else 1
        if kernel == 1 and groups == inputs:       # multiples of single channels: after them batch norm has no gradient
            groups = 1
        bias = self.random.random() < 0.7
        self.put(text, "conv", out=channels, kernel=kernel, stride=stride, padding=padding, bias=bias, groups=groups,
                 **more)

    # Layers that change it.

    def fits(self, kernel, stride, padding):
        k, p = [v if isinstance(v, list) else [v, v] for v in (kernel, padding)]
        return all(size + 2 * pad >= window for size, window, pad in zip(self.shape()[1:], k, p))

    def channels(self):
        return self.random.choice([3, 4, 6, 8, 12, 16, 17, 20, 32, 36])

    def any_conv(self, text):
        kernel, stride = self.pair(1, 5), self.random.choice([1, 1, 2, self.pair(1, 3)])
        padding = self.pair(0, 2)
        if self.fits(kernel, stride, padding):
            self.conv(text, self.channels(), kernel, stride, padding)
        else:
            self.same_conv(text, self.channels())

    def any_pool(self, text):
        if self.random.random() < 0.1:
            self.put(text, "adaptive_avg_pool", output_size=self.pair(2, 7))
            return
        size = self.random.choice([2, 2, 3, self.pair(1, 3)])
        padding = 0 if self.random.random() < 0.6 or size != 3 else 1
        stride = size if self.random.random() < 0.6 else self.random.randint(1, 2)
        if self.fits(size, stride, padding):
            kind = self.random.choice(["max_pool", "avg_pool"])
            more = {"ceil_mode": True} if self.random.random() < 0.3 else {}
            if kind == "avg_pool" and self.random.random() < 0.3:
                more["count_include_pad"] = False
            self.put(text, kind, size=size, stride=stride, padding=padding, **more)

    # Branches.

    def residual(self, text):
        """The input reaches the end of the body, or that of a shortcut with its geometry."""
        r, start, body, shortcut = self.random, self.before, [], []
        channels, height, width = self.shape()
        changes = r.random() < 0.5 and min(height, width) > 3
        out, stride = (self.channels(), r.choice([1, 2])) if changes else (channels, 1)
        for _ in range(r.randint(0, 2)):
            self.even(body)
        self.conv(body, out, 3, stride, 1)
        for _ in range(r.randint(0, 2)):
            self.even(body)
        if r.random() < 0.5:
            self.same_conv(body, out)
        end = self.before
        entry = {"body": body}
        if changes or r.random() < 0.2:
            self.before = start
            if stride == 2 and r.random() < 0.5:
                self.put(shortcut, "avg_pool", size=3, stride=2, padding=1)
                self.conv(shortcut, out, 1, 1, 0)
            else:
                self.conv(shortcut, out, 1, stride, 0)
            if r.random() < 0.5:
                self.put(shortcut, "batch_norm", eps=1e-5, momentum=0.1)
            entry["shortcut"] = shortcut
        other = end if shortcut else start
        if not shortcut:
            self.before = end
        self.put([], "add", **{"with": other})
        entry["name"] = self.before
        text.append({"residual": entry})

    def add(self, text):
        """An earlier value of the same shape; it may be the same value."""
        same = [name for name, shape in self.shapes.items() if shape == self.shape()]
        self.put(text, self.random.choice(["add", "multiply"]), **{"with": self.random.choice(same)})

    def gate(self, text):
        """Squeeze and excitation: a factor for each channel, in either order, by convolutions or linear layers."""
        r, value = self.random, self.before
        channels, height, width = self.shape()
        self.put(text, "avg_pool", size=[height, width], stride=[height, width], padding=0)
        if r.random() < 0.5:
            self.put(text, "flatten")
            self.linear_to(text, 3)
            self.put(text, "relu")
            self.linear_to(text, channels)
        else:
            self.conv(text, 3, 1, 1, 0)
            self.put(text, "silu")
            self.conv(text, channels, 1, 1, 0)
        self.put(text, r.choice(["sigmoid", "hard_sigmoid"]))
        gate = self.before
        if r.random() < 0.5:
            self.put(text, "multiply", **{"from": value, "with": gate})
        else:
            self.put(text, "multiply", **{"with": value})

    def beside(self, text):
        """Earlier values of the same height and width, or vectors, beside the present one."""
        same = [name for name, shape in self.shapes.items() if shape[1:] == self.shape()[1:]]
        names = [self.random.choice(same) for _ in range(self.random.choice([1, 1, 2, 3]))]
        if sum(self.shapes[name][0] for name in names + [self.before]) <= 80:
            self.put(text, "concat", **{"with": names})

    def some_channels(self, text):
        channels = self.shape()[0]
        if channels > 2:
            first = self.random.randint(0, channels - 2)
            self.put(text, "slice", channels=[first, self.random.randint(first + 2, channels)])

    def split(self, text):
        """A layer on one half of the channels, as in ShuffleNet V2."""
        start, half = self.before, self.shape()[0] // 2
        if self.shape()[0] % 2 or half < 2:
            return
        self.put(text, "slice", channels=[0, half])
        kept = self.before
        self.put(text, "slice", **{"channels": [half, 2 * half], "from": start})
        self.same_conv(text, half)
        self.put(text, "concat", **{"from": kept, "with": [self.before]})
        self.put(text, "shuffle", groups=2)

    def branch(self, text):
        """A layer that reads an earlier value of the same height and width, and the sum with the present one."""
        end, shape = self.before, self.shape()
        same = [name for name, other in self.shapes.items() if len(other) == 3 and other[1:] == shape[1:]]
        source = self.random.choice(same)
        self.same_conv(text, shape[0], **{"from": source})
        if self.random.random() < 0.5:
            self.even(text)
        self.put(text, "add", **{"with": end})

    # Parts.

    def image(self, length, pooled):
        """`pooled`: it ends in the logits."""
        for _ in range(length):
            parts = [self.any_conv, self.any_conv, self.any_pool, self.even, self.even, self.residual, self.add,
                     self.branch, self.resize, self.gate, self.beside, self.some_channels, self.split]
            self.random.choice(parts)(self.text)
        if pooled:
            self.conv(self.text, self.classes, 1, 1, 0)
            self.even(self.text)
        if pooled or self.random.random() < 0.3:
            height, width = self.shape()[1:]
            self.put(self.text, "avg_pool", size=[height, width], stride=[height, width], padding=0)
        self.put(self.text, "flatten")

    def vector(self, length):
        for _ in range(length):
            if self.random.random() < 0.5:
                self.linear(self.random.randint(3, 40))
            else:
                self.random.choice([self.even, self.add, self.beside, self.some_channels])(self.text)
        self.linear(self.classes)
        if self.random.random() < 0.3:
            self.put(self.text, "scale", factor=self.random.choice([0.125, -2.0, 3.0]))
        if self.random.random() < 0.2:
            self.even(self.text)

    def linear(self, features):
        self.linear_to(self.text, features)

    def linear_to(self, text, features):
        self.put(text, "linear", out=features, bias=self.random.random() < 0.8)


# ---- The judge ----

def near(values, others):
    """Some pair differs, but by little."""
    distance = (values - others).abs()
    return bool(((distance > 0) & (distance < CLOSE * values.abs().max())).any())


def window_close(pool, x, windows):
    """Of a window, the largest value and one that differs."""
    size, stride, pad = [v if isinstance(v, (list, tuple)) else [v, v]
                         for v in (pool.kernel_size, pool.stride, pool.padding)]
    end = [max(p, (windows[2 + i] - 1) * stride[i] + size[i] - p - x.shape[2 + i]) for i, p in enumerate(pad)]
    x = nn.functional.pad(x, (pad[1], end[1], pad[0], end[0]), value=-1e30)
    windows = x.unfold(2, size[0], stride[0]).unfold(3, size[1], stride[1]).flatten(4)
    return near(windows.max(4, keepdim=True).values, windows.masked_fill(windows < -1e29, float("inf")))


def watch_kinks(net):
    """A list that a forward pass extends for each layer whose gradient rounding might decide."""
    found = []

    def look(module, inputs, output):
        x = inputs[0].detach()
        kinks = KINKS.get(type(module))
        if (any(near(x, torch.full_like(x, at)) for at in kinks) if kinks
                else window_close(module, x, output.shape)):
            found.append(module)
    for module in net.modules():
        if type(module) in (*KINKS, nn.MaxPool2d):
            module.register_forward_hook(look)
    return found


def randomise(net, generator):
    """Weights of PyTorch's sizes; batch norm's away from 1 and 0."""
    for module in net.modules():
        for name, tensor in list(module.named_parameters(recurse=False)) + list(module.named_buffers(recurse=False)):
            if not tensor.dtype.is_floating_point:
                continue
            low, high = {"running_mean": (-0.3, 0.3), "running_var": (0.5, 2.0)}.get(name, (-0.5, 0.5))
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                high = (3 / module.weight[0].numel()) ** 0.5
                low = -high
            elif name == "weight":
                low, high = 0.5, 1.5
            with torch.no_grad():
                tensor.copy_(torch.rand(tensor.shape, generator=generator) * (high - low) + low)


class Work:
    """A network with its weights and images."""

    def __init__(self, number, attempt):
        self.graph = graph = Graph(number)
        generator = torch.Generator().manual_seed(number * 1000 + attempt)
        self.options = random.Random(~number)
        self.net = Net(graph.description())
        randomise(self.net, generator)
        shape = [graph.samples] + graph.input
        self.images = torch.randint(256, shape, generator=generator).to(torch.uint8)
        self.labels = torch.randint(graph.classes, [graph.samples], generator=generator)
        channels = graph.input[0]
        self.mean, self.std = [0.401 + 0.1 * c for c in range(channels)], [0.2 + 0.03 * c for c in range(channels)]
        self.settings = {"lr": self.options.choice([1.0, 4.0]), "momentum": 0.9,
                         "nesterov": self.options.random() < 0.5,
                         "weight_decay": self.options.choice([0.0, 0.001])}
        self.smoothing = self.options.choice([0.0, 0.1])

    def pixels(self):
        mean, std = [torch.tensor(v).double().view(1, -1, 1, 1) for v in (self.mean, self.std)]
        return self.images.double().div(255).sub(mean).div(std)

    def run(self, after, precision=torch.double):
        """Logits in inference, tensors after a step, and whether rounding might decide."""
        net = Net(self.graph.description())
        load(net, self.net.state_dict())
        net = net.to(precision)
        after(net)
        x = self.pixels().to(precision)
        with torch.no_grad():
            logits = net.eval()(x)
        kinks = watch_kinks(net.train())
        optimizer = torch.optim.SGD(net.parameters(), **self.settings)
        nn.functional.cross_entropy(net(x), self.labels, label_smoothing=self.smoothing).backward()
        optimizer.step()
        after(net)
        return logits.double(), {name: value.double() for name, value in net.state_dict().items()}, bool(kinks)


def prepare(number):
    """The network's work and PyTorch's results, of which the first is exact."""
    for attempt in range(40):
        work = Work(number, attempt)
        results = exact_and_moved(work.run)
        if not any(kinks for _, _, kinks in results):
            # In double, a gradient that is 0 stays so, such as that of a bias before batch norm, moved or not; in single
            # precision, which is last, it does not.
            results.append(work.run(lambda net: None, torch.float))
            return work, [result[:2] for result in results]
    return None


# ---- Lockstep ----

def run(*command, **environment):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, **environment))
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}: {result.stderr}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def write_files(work, folder):
    graph, n, settings = work.graph, work.graph.samples, work.settings
    write(f"{folder}/model.yaml", "schema: lockstep.model/1\nname: random\n"
          f"input: {graph.input}\nlayers:\n" + "".join(f"- {json.dumps(item)}\n" for item in graph.text))
    write(f"{folder}/step.yaml", f"""schema: lockstep.experiment/1
name: random
dataset: random
model: {folder}/model.yaml
virtual_shards: 1
global_batch: {n}
epochs: 1
normalize: {{mean: {json.dumps(work.mean)}, std: {json.dumps(work.std)}}}
label_smoothing: {work.smoothing}
optimizer: {json.dumps(dict(settings, kind="sgd"))}
""")
    data = {"images": work.images, "labels": work.labels.to(torch.uint8),
            "ids": ("U32", [n], torch.arange(n, dtype=torch.int32).numpy().tobytes())}
    safetensors_writer.save(f"{folder}/data.safetensors", data, {
        "dataset": "random", "split": "train", "classes": json.dumps([str(i) for i in range(graph.classes)]),
        "mean": json.dumps(work.mean), "std": json.dumps(work.std)})
    state = {k: v for k, v in work.net.state_dict().items() if v.dtype.is_floating_point}
    safetensors_writer.save(f"{folder}/init.safetensors", state)


def lockstep(work, binaries, folder):
    """The logits, and the tensors after the step."""
    write_files(work, folder)
    data, init = f"{folder}/data.safetensors", f"{folder}/init.safetensors"
    run(f"{binaries}/evaluate", "-q", "--model", init, "--architecture", f"{folder}/model.yaml", "--data", data,
        "--mean", ",".join(map(str, work.mean)), "--std", ",".join(map(str, work.std)), "--out", f"{folder}/evaluate")
    train = (f"{binaries}/train-single", "-q", "--experiment", f"{folder}/step.yaml", "--train", data, "--init", init)
    run(*train, "--threads", "1", "--out", f"{folder}/train")
    run(*train, "--threads", "2", "--out", f"{folder}/again", LOCKSTEP_ISA="baseline")
    after, again = [read(f"{folder}/{out}/model.st.zst")[0] for out in ("train", "again")]
    for name, value in after.items():
        if not torch.equal(value, again[name]):
            sys.exit(f"{folder}: {name} has other bits with other threads and instructions")
    return (read(f"{folder}/evaluate/predictions.st.zst")[0]["logits"].double(),
            {name: value.double() for name, value in after.items()})


# ---- The comparison ----

def rms(tensor):
    return tensor.norm().item() / tensor.numel() ** 0.5


def errors(work, exact, logits, after):
    """Name: error. Of the logits, and of each tensor."""
    before = {name: value.double() for name, value in work.net.state_dict().items()}
    ways = {name: rms(exact[1][name] - before[name]) for name in after if name in before}
    furthest = max(ways.values())
    found = {"logits": (logits - exact[0]).abs().max().item() / exact[0].abs().max().item()}
    for name in sorted(after):
        found[name] = rms(after[name] - exact[1][name]) / max(ways[name], SMALL * furthest)
    return found


def compare(number, binaries, folder):
    """The largest error of Lockstep, how far roundings move PyTorch, and what is wrong."""
    prepared = prepare(number)
    if not prepared:
        return None
    work, (exact, *moved) = prepared
    os.makedirs(folder)
    ours = lockstep(work, binaries, folder)
    if set(ours[1]) != {name for name in exact[1] if not name.endswith("num_batches_tracked")}:
        sys.exit(f"network {number}: other tensors than PyTorch's")
    our = errors(work, exact, *ours)
    *moves, single = [errors(work, exact, logits, {name: after[name] for name in ours[1]}) for logits, after in moved]
    far = {name: max([move[name] for move in moves] + [min(single[name], BOUND)]) for name in our}
    wrong = [f"{name}: off by {our[name]:.2g}, roundings move it by {far[name]:.2g}"
             for name in our if not our[name] <= max(FACTOR * far[name], BOUND)]
    return max(our.values()), max(far.values()), wrong


def main():
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["show"] and len(sys.argv) == 3:
        for item in Graph(int(sys.argv[2])).text:
            print(json.dumps(item))
        return
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    binaries, folder, first, count = *sys.argv[1:3], *map(int, sys.argv[3:])
    ours, moved, failed, left_out = [], [], 0, 0
    for number in range(first, first + count):
        result = compare(number, binaries, f"{folder}/{number}")
        if not result:
            left_out += 1
            print(f"network {number}: left out, too close to a kink")
            continue
        if not result[2]:
            shutil.rmtree(f"{folder}/{number}")
        ours.append(result[0])
        moved.append(result[1])
        failed += bool(result[2])
        print(f"network {number}: off by at most {result[0]:.2g}, roundings move it by {result[1]:.2g}"
              + "".join(f"\n    {line}" for line in result[2]), flush=True)
    for who, values in ("Lockstep", sorted(ours)), ("roundings", sorted(moved)):
        if values:
            print(f"{who}: median {values[len(values) // 2]:.2g}, largest {values[-1]:.2g}")
    print(f"{len(ours)} networks compared, {failed} too far off, {left_out} left out")
    if failed or left_out * 10 > count:
        sys.exit(1)


if __name__ == "__main__":
    main()
