#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PyTorch side of a comparison: builds the network that a checkpoint describes, and runs it.

    torch_peer.py logits MODEL DATA PREDICTIONS      compare PyTorch's logits with evaluate's predictions, also of
                                                     several views of each image
    torch_peer.py invent MODEL DATA CHECKPOINT       write a checkpoint of the same network with other weights;
                                                     print PyTorch's accuracy with it
    torch_peer.py losses MODEL INIT DATA ORDER OPTIONS   train, print the loss of every step
    torch_peer.py step BEFORE AFTER DATA ORDER OPTIONS   compare one step, from BEFORE to AFTER, with that of
                                                     PyTorch in double; PyTorch in float is the yardstick

MODEL is a model.st.zst, whose metadata hold the network and the normalisation. INIT holds the initial
weights. OPTIONS is JSON: batch, lr, and optionally momentum, nesterov, weight_decay, milestones, gamma,
warmup_epochs, points, one_cycle (the options of OneCycleLR), label_smoothing,
clip_norm, drop_last, mixup ({alpha, seed}), average (then the weights in MODEL are compared, too). Files with the ending .zst are read through the zstd program. Needs PyTorch and the standard library.
"""
import json
import math
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
            self.put(before, module)
            self.order.append((before, inputs))
            with torch.no_grad():
                values[before] = module(*[values[i] for i in inputs])
        self.train()

    def put(self, name, module):
        """'block1.conv1' is the module 'conv1' of 'block1'."""
        *outer, inner = name.split(".")
        place = self
        for part in outer:
            if part not in dict(place.named_children()):
                place.add_module(part, nn.Module())
            place = place.get_submodule(part)
        place.add_module(inner, module)

    def forward(self, x):
        values = {"input": x}
        for name, inputs in self.order:
            x = values[name] = self.get_submodule(name)(*[values[i] for i in inputs])
        return x


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x


class Add(nn.Module):
    def forward(self, a, b):
        return a + b


def make_layer(kind, o, shape):
    if kind == "conv":
        return nn.Conv2d(shape[1], o["out"], o["kernel"], o["stride"], o["padding"],
                         groups=o.get("groups", 1), bias=o["bias"])
    if kind == "linear":
        return nn.Linear(shape[1], o["out"], bias=o["bias"])
    if kind == "batch_norm":
        return (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(shape[1], o["eps"], o["momentum"])
    if kind == "group_norm":
        return nn.GroupNorm(o["groups"], shape[1], o["eps"])
    if kind == "max_pool":
        return nn.MaxPool2d(o["size"], o["stride"], o["padding"])
    if kind == "avg_pool":
        return nn.AvgPool2d(o["size"], o["stride"], o["padding"])
    if kind == "dropout":
        return nn.Dropout(o["p"])
    if kind == "scale":
        return Scale(o["factor"])
    return {"relu": nn.ReLU, "flatten": nn.Flatten, "add": Add, "gelu": nn.GELU, "silu": nn.SiLU}[kind]()


def load(net, tensors):
    """load_state_dict; only the step counters of batch norm, which Lockstep does not write, may be missing."""
    missing, unexpected = net.load_state_dict(tensors, strict=False)
    wrong = unexpected + [name for name in missing if not name.endswith("num_batches_tracked")]
    if wrong:
        sys.exit("the state_dict differs in " + ", ".join(wrong))


def network(path, make=Net):
    """The network that a model.st.zst describes, or another with its tensors; and its normalisation."""
    tensors, metadata = read(path)
    net = make(json.loads(metadata["model"]))
    load(net, tensors)
    return net, json.loads(metadata["normalize"])


def samples(path, normalize, dtype=torch.float32):
    """Normalised images, labels and ids of a dataset file."""
    tensors, _ = read(path)
    mean, std = [torch.tensor(normalize[key], dtype=dtype).view(1, -1, 1, 1) for key in ("mean", "std")]
    return (tensors["images"].to(dtype).div(255).sub(mean).div(std), tensors["labels"].long(), tensors["ids"].tolist())


def infer(net, x):
    net.eval()
    with torch.no_grad():
        return net(x)


def infer_views(net, x, kind):
    """The mean over the views of cifar10-airbench: shares of the shifts, halved between an image and its mirror image."""
    if kind == "none":
        return infer(net, x)
    height, width = x.shape[2:]
    padded = nn.functional.pad(x, (1, 1, 1, 1), "reflect")
    shifts = {"mirror": {0: 1}, "mirror-shift": {0: 0.5, -1: 0.25, 1: 0.25}}[kind]
    mean = 0
    for shift, share in shifts.items():
        view = padded[:, :, 1 + shift:1 + shift + height, 1 + shift:1 + shift + width]
        mean = mean + share / 2 * (infer(net, view) + infer(net, view.flip(3)))
    return mean


def compare_logits(model, data, predictions, make=Net):
    net, normalize = network(model, make)
    x, y, ids = samples(data, normalize)
    theirs, metadata = read(predictions)
    if theirs["ids"].tolist() != ids or theirs["labels"].tolist() != y.tolist():
        sys.exit("the predictions are of other samples")
    logits = infer_views(net, x, metadata.get("views", "none"))
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


def linear(points, epoch):
    """As numpy.interp."""
    for (a, low), (b, high) in zip(points, points[1:]):
        if a <= epoch < b:
            return low + (high - low) * (epoch - a) / (b - a)
    return points[0][1] if epoch < points[0][0] else points[-1][1]


def cycle(o, total):
    """The rates of OneCycleLR, for all steps."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=o["lr"])
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, o["lr"], total, cycle_momentum=False, **o["one_cycle"])
    rates = []
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


def compare_weights(net, model):
    """Exits unless the weights are those of the file, but for rounding."""
    ours = net.state_dict()
    for name, theirs in read(model)[0].items():
        distance = ((ours[name] - theirs).norm() / theirs.norm().clamp(min=1e-3)).item()
        if not distance <= 1e-3:
            sys.exit(f"{name} differs by {distance:.3g}")


def philox(seed, counter):
    """Philox4x32-10 (Salmon et al., 2011)."""
    c, keys = counter, [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ keys[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ keys[1], a & 0xFFFFFFFF]
        keys = [keys[0] + 0x9E3779B9 & 0xFFFFFFFF, keys[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


def mixup_share(o, epoch, sample):
    """Beta(alpha, alpha) by Jöhnk's method, in units of 2^-16."""
    element = 0
    while True:
        block = philox(o["seed"], [18 << 24, epoch, sample, element // 4])
        u, v = [((word >> 8) + 0.5) / 2 ** 24 for word in block[element % 4:element % 4 + 2]]
        x, y = u ** (1 / o["alpha"]), v ** (1 / o["alpha"])
        if x + y <= 1:
            return math.floor(x / (x + y) * 65536 + 0.5)
        element += 2


def mix(x, y, ids, epoch, o, normalize):
    """Blends each image, as bytes, with the one before it; the labels become probabilities."""
    mean, std = [torch.tensor(normalize[key]).view(1, -1, 1, 1) for key in ("mean", "std")]
    pixels = x.mul(std).add(mean).mul(255).round().long()
    share = torch.tensor([mixup_share(o, epoch, i) for i in ids]).view(-1, 1, 1, 1)
    mixed = (pixels * (65536 - share) + pixels.roll(1, 0) * share + 32768) // 65536
    labels, share = nn.functional.one_hot(y, o["classes"]), share.view(-1, 1) / 65536
    return mixed.float().div(255).sub(mean).div(std), labels * (1 - share) + labels.roll(1, 0) * share


def losses(net, x, y, ids, order, o, normalize):
    """The loss of every step over `order`, which lists ids epoch after epoch; an epoch's last batch is smaller."""
    place = {sample: i for i, sample in enumerate(ids)}
    used = len(ids) // o["batch"] * o["batch"] if o.get("drop_last") else len(ids)   # of an epoch
    steps, result = -(-used // o["batch"]), []
    cycled = cycle(o, steps * len(order) // used) if "one_cycle" in o else None
    optimizer = torch.optim.SGD(net.parameters(), lr=o["lr"], momentum=o.get("momentum", 0.0),
                                nesterov=o.get("nesterov", False), weight_decay=o.get("weight_decay", 0.0))
    total, average = steps * len(order) // used, Average(net, o["average"]) if "average" in o else None
    net.train()
    for first in range(0, len(order), used):
        for at in range(first, first + used, o["batch"]):
            batch = [place[i] for i in order[at:min(at + o["batch"], first + used)]]
            for group in optimizer.param_groups:
                group["lr"] = cycled[len(result)] if cycled else rate(o, len(result), steps)
            optimizer.zero_grad()
            images, labels = x[batch], y[batch]
            if "mixup" in o:
                images, labels = mix(images, labels, [ids[i] for i in batch], first // used, o["mixup"], normalize)
            loss = nn.functional.cross_entropy(net(images), labels, label_smoothing=o.get("label_smoothing", 0.0))
            loss.backward()
            if "clip_norm" in o:
                torch.nn.utils.clip_grad_norm_(net.parameters(), o["clip_norm"])
            optimizer.step()
            result.append(loss.item())
            if average:
                average.take(net, len(result), total)
    if average:
        net.load_state_dict(average.state)
    return result


def step(net, x, y, batch, o):
    """The tensors after one step of SGD on the samples of `batch`."""
    optimizer = torch.optim.SGD(net.parameters(), lr=o["lr"], momentum=o.get("momentum", 0.0),
                                nesterov=o.get("nesterov", False), weight_decay=o.get("weight_decay", 0.0))
    net.train()
    nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
    optimizer.step()
    return {name: value.double() for name, value in net.state_dict().items()}


def compare_step(before, after, data, order, options, make=Net):
    o = json.loads(options)
    net, normalize = network(before, make)
    x, y, ids = samples(data, normalize)
    place = {sample: i for i, sample in enumerate(ids)}
    batch = [place[i] for i in read_order(order)[:o["batch"]]]
    start = {name: value.double().clone() for name, value in net.state_dict().items()}
    exact = step(network(before, make)[0].double(), samples(data, normalize, torch.float64)[0], y, batch, o)
    theirs, ours = step(net, x, y, batch, o), read(after)[0]
    for name, value in ours.items():
        change = (exact[name] - start[name]).norm().item()
        mine, their = [(t[name].double() - exact[name]).norm().item() / change for t in (ours, theirs)]
        print(f"{name}: off by {mine:.2g} of its change, PyTorch by {their:.2g}")
        if not mine <= max(4 * their, 1e-5):
            sys.exit("more than four times PyTorch's error")


def read_order(path):
    with open(path, "rb") as file:
        data = file.read()
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def print_losses(model, init, data, order, options):
    net, normalize = network(model)
    load(net, read(init)[0])
    x, y, ids = samples(data, normalize)
    o = json.loads(options)
    for loss in losses(net, x, y, ids, read_order(order), o, normalize):
        print(f"{loss:.9g}")
    if "average" in o:
        compare_weights(net, model)


def main():
    commands = {"logits": (compare_logits, 3), "invent": (invent, 3), "losses": (print_losses, 5),
                "step": (compare_step, 5)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not command or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    command(*sys.argv[2:])


if __name__ == "__main__":
    main()
