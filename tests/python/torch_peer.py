#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PyTorch side of a comparison: builds the network that a checkpoint describes, and runs it.

    torch_peer.py logits MODEL DATA PREDICTIONS      compare PyTorch's logits with evaluate's predictions, also of
                                                     several views of each image
    torch_peer.py invent MODEL DATA CHECKPOINT       write a checkpoint of the same network with other weights;
                                                     print PyTorch's accuracy with it

MODEL is a model.st.zst, whose metadata hold the network and the normalisation. Files with the ending .zst are read
through the zstd program or, where it is missing, pyarrow. Otherwise needs PyTorch and the standard library.

The rule of all comparisons with PyTorch: PyTorch computes in double, where the rounding of its processor, threads and
version is far below any limit; Lockstep has the same bits everywhere; so the verdict is the same everywhere. How far
single precision may be off is measured: PyTorch computes again, in double, from weights that are moved by roundings at
the beginning and after every step (`move`). The limit is FACTOR times the distance that this makes, or a small bound.
Where rounding could decide which way a gradient takes (at a ReLU's zero, among the values of a max pool), the distance
would be a matter of luck: trainings are compared without these layers, single steps from weights that are not near.
"""
import ctypes
import json
import shutil
import struct
import subprocess
import sys

import torch
from torch import nn

import safetensors_reader
import safetensors_writer

ROUNDING = 2.0 ** -24  # of single precision, relative
DRAWS = 2              # results from moved weights
FACTOR = 4             # times the largest distance of these
BOUND = 5e-5           # of the way of a tensor
LOSS_BOUND = 1e-6      # of a loss
LOGIT_BOUND = 1e-5     # of the largest logit

DTYPES = {"U8": torch.uint8, "U32": torch.int64, "I64": torch.int64, "F32": torch.float32, "F64": torch.float64}


def decompressed(path):
    """The content of a .zst file. A machine with a GPU may lack zstd; pyarrow is often beside its PyTorch."""
    if shutil.which("zstd"):
        return subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    try:
        import pyarrow
    except ImportError as e:
        raise ImportError(f"cannot decompress '{path}': neither the program zstd nor pyarrow is installed") from e
    with pyarrow.input_stream(path, compression="zstd") as stream:
        return stream.read()


def read(path):
    """{name: tensor} and metadata."""
    if path.endswith(".zst"):
        data = decompressed(path)
    else:
        with open(path, "rb") as file:
            data = file.read()
    tensors, metadata = safetensors_reader.read(data)
    return {name: torch.tensor(values, dtype=DTYPES[dtype]).reshape(shape)
            for name, (dtype, shape, values) in tensors.items() if dtype in DTYPES}, metadata


def others(options):
    """The names of a layer's inputs after the first."""
    names = options.get("with", [])
    return names if isinstance(names, list) else [names]


class Net(nn.Module):
    """The layers of a model description, under the same names."""

    def __init__(self, description):
        super().__init__()
        self.order = []                   # names, each with the names of its inputs
        values = {"input": torch.zeros([1] + description["input"])}
        before = "input"
        for entry in description["layers"]:
            (kind, options), = entry.items()
            inputs = [options.get("from", before)] + others(options)
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


class Function(nn.Module):
    """A function of its inputs; a vector of features counts at all positions of an image."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *values):
        wide = max(x.dim() for x in values)
        return self.function(*[x.reshape(x.shape + (1,) * (wide - x.dim())) for x in values])


def shuffle(x, groups):
    """nn.ChannelShuffle, which has no gradient in PyTorch 1.13."""
    return x.reshape(len(x), groups, -1, *x.shape[2:]).transpose(1, 2).reshape(x.shape)


class StochasticDepth(nn.Module):
    """That of torchvision in evaluation; torch_training.py replaces it."""

    def __init__(self, p, mode):
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, x):
        return x


class LayerNorm(nn.LayerNorm):
    """Over the channels of each position, as torchvision's LayerNorm2d."""

    def forward(self, x):
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


# The modules of PyTorch by our words for them: those without "_" and of any case, and without "2d" if that is missing.
MODULES = {name.lower(): module for name, module in vars(nn).items() if isinstance(module, type)}
MODULES["stochasticdepth"] = StochasticDepth
OTHER_KEYS = {"size": "kernel_size"}


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
    if kind == "layer_norm":
        return LayerNorm(shape[1], o["eps"])
    if kind == "log_softmax":
        return nn.LogSoftmax(dim=1)
    if kind == "unflatten":
        return nn.Unflatten(1, o["size"])
    if kind == "scale":
        return Scale(o["factor"])
    if kind == "concat":
        return Function(lambda *values: torch.cat(values, 1))
    if kind == "slice":
        return Function(lambda x: x[:, slice(*o["channels"])])
    if kind == "shuffle":
        return Function(lambda x: shuffle(x, o["groups"]))
    if "with" in o:
        return Function(getattr(torch, kind))
    word = kind.replace("_", "")
    keys = OTHER_KEYS if "stride" in o else {}
    options = {keys.get(key, key): tuple(value) if isinstance(value, list) else value
               for key, value in o.items() if key not in ("name", "from")}
    return (MODULES.get(word) or MODULES[word + "2d"])(**options)


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


def normalised(images, normalize, dtype=torch.float64):
    mean, std = [torch.tensor(normalize[key], dtype=dtype).view(1, -1, 1, 1) for key in ("mean", "std")]
    return images.to(dtype).div(255).sub(mean).div(std)


def samples(path, normalize):
    """Normalised images, labels and ids of a dataset file."""
    tensors, _ = read(path)
    return normalised(tensors["images"], normalize), tensors["labels"].long(), tensors["ids"].tolist()


def move(net, draws):
    """Moves the weights by up to a rounding of single precision, at random; after a step, those that have a gradient."""
    parameters = list(net.parameters())
    with torch.no_grad():
        for p in [p for p in parameters if p.grad is not None] or parameters:
            p.mul_(1 + ROUNDING * (2 * torch.rand(p.shape, generator=draws, dtype=p.dtype) - 1))


def keep_freed_memory():
    """Freed tensors stay with the process, which otherwise spends half as long on new pages as on the arithmetic."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        for threshold in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
            library.mallopt(threshold, 1 << 30)


def exact_and_moved(run):
    """The results of run(after): the exact one and the others. `run` calls after(net) at the beginning and after steps."""
    keep_freed_memory()
    draws = [torch.Generator().manual_seed(i) for i in range(DRAWS)]
    return [run(lambda net: None)] + [run(lambda net, d=d: move(net, d)) for d in draws]


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
    logits = infer_views(net.double(), x, metadata.get("views", "none"))
    distance = ((logits - theirs["logits"]).abs().max() / logits.abs().max()).item()
    print(f"largest difference of the logits: {distance:.3g} of the largest logit")
    if not distance <= LOGIT_BOUND:
        sys.exit(f"more than {LOGIT_BOUND}")


def invent(model, data, checkpoint):
    torch.manual_seed(7)
    net, normalize = network(model)
    net, (x, y, _) = net.double(), samples(data, normalize)
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
    net = net.float()
    safetensors_writer.save(checkpoint, net.state_dict())
    print(f"{(infer(net.double(), x).argmax(1) == y).double().mean().item():.9g}")


def read_order(path):
    with open(path, "rb") as file:
        data = file.read()
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def run_command(commands, usage):
    """Runs that of the command line, {name: (function, number of arguments)}."""
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not command or len(sys.argv) != 2 + count:
        sys.exit(usage)
    torch.set_num_threads(1)
    command(*sys.argv[2:])


if __name__ == "__main__":
    run_command({"logits": (compare_logits, 3), "invent": (invent, 3)}, __doc__)
