# SPDX-License-Identifier: MIT
"""A torch.nn.Module as a model file, with its weights and experiments that train it."""
import json
import os
import re
import struct

from ._tools import ToolError, run

KNOWN_DATA = {(3, 32, 32): "cifar10", (1, 28, 28): "mnist"}


def from_torch(module, example, name=None, out="experiments", dataset=None, source=None):
    """Writes the files of a module; returns its Translation, whose `paths` name them, and whose `notes` say what was left
    out. `example`: a tensor of one sample or more, as the network takes them. `source`: where the module comes from, for a
    comment. Raises Unsupported, with the line of the source, for what a model file cannot say; FileExistsError; ToolError
    if the tools refuse the model."""
    from ._translate import Translation

    translation = Translation(module, example)
    name = name or name_of(type(module).__name__)
    shape = tuple(example.shape[1:])
    dataset = dataset or KNOWN_DATA.get(shape, name)
    files = {
        "model": ("models/%s.yaml", model_text(name, shape, translation, source).encode()),
        "weights": ("models/%s.safetensors", safetensors(weights(module, translation))),
        "single": ("%s.yaml", (experiment_text(name, dataset) + frozen_text(frozen(module, translation))).encode()),
        "ddp": ("%s-ddp4.yaml", (DDP % (name, name)).encode()),
    }
    translation.paths = {kind: os.path.join(out, path % name) for kind, (path, _) in files.items()}
    taken = [path for path in translation.paths.values() if os.path.exists(path)]
    if taken:
        raise FileExistsError("'%s' exists: give another --name or --out" % taken[0])
    os.makedirs(os.path.join(out, "models"), exist_ok=True)
    written = []
    try:
        for kind, path in translation.paths.items():
            written.append(path)
            with open(path, "xb") as file:
                file.write(files[kind][1])
        run("train-single", "--experiment", translation.paths["single"], "--print-parameters")
    except BaseException as e:
        for path in written:
            if os.path.exists(path):
                os.remove(path)
        if isinstance(e, ToolError) and e.code == 3:
            raise refused(e, translation) from e
        raise
    return translation


def name_of(what):
    """'models.ResNet18(10)' is resnet18."""
    return re.sub(r"[^a-z0-9]+", "-", what.partition("(")[0].rpartition(".")[2].lower()).strip("-")


def refused(e, translation):
    """A tool's refusal of a layer: with the line of the user's source instead of that of the file, which is removed."""
    from ._translate import Unsupported

    place = re.search(re.escape(translation.paths["model"]) + r":(\d+):\d+: ", str(e))
    layer = int(place[1]) - FIRST_LAYER if place else -1
    if not 0 <= layer < len(translation.layers):
        return e
    name = translation.layers[layer][1]["name"]
    return Unsupported("%s%s: %s" % (translation.lines[name], name, str(e)[place.end():]))


DDP = "schema: lockstep.experiment/1\nname: %s-ddp4\nbase: %s\nstrategy: ddp\nworld_size: 4\n"


# ---- The texts ----

FIRST_LAYER = 6  # its line in the model file

def model_text(name, shape, translation, source):
    lines = ["# Written by lockstep.from_torch%s." % (" from " + source if source else ""),
             "schema: lockstep.model/1", "name: " + name, "input: [%d, %d, %d]" % shape, "layers:"]
    before = "input"
    for kind, options in translation.layers:
        default = {**DEFAULTS, "stride": 1 if kind == "conv" else options.get("size")}
        shown = {key: value for key, value in options.items() if key not in default or value != default[key]}
        if shown.get("from") == before:
            del shown["from"]
        lines.append("- %s: %s" % (kind, flow(shown)))
        before = options["name"]
    return "\n".join(lines) + "\n"


# Options that are left out at these values.
DEFAULTS = {"padding": 0, "bias": True, "groups": 1, "eps": 1e-5, "momentum": 0.1}


def flow(value):
    """YAML of one line."""
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (key, flow(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(map(flow, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        is_plain = re.fullmatch(r"[A-Za-z_][\w.-]*", value) and value.lower() not in ("true", "false", "null", "yes", "no")
        return value if is_plain else '"%s"' % value
    return "%.9g" % value if isinstance(value, float) else str(value)


def experiment_text(name, dataset):
    return """\
# The recipe is a beginning: see docs/formats.md, "Experiments", for all settings.
schema: lockstep.experiment/1
name: %s
dataset: %s
model: %s
global_batch: 64
epochs: 10
optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}
""" % (name, dataset, name)


def frozen_text(tensors):
    return "tensors:\n" + "".join("  %s: {trained_epochs: 0}\n" % flow(tensor) for tensor in tensors) if tensors else ""


def frozen(module, translation):
    """The names of the parameters that the module does not train (requires_grad)."""
    parameters = dict(module.named_parameters())
    return [name for name, tensor in state(parameters, translation).items() if not tensor.requires_grad]


# ---- The weights ----

def state(tensors, translation):
    """Those of the layers in the model file, under their names there."""
    names = {"%s.%s" % (target, end): "%s.%s" % (name, end)
             for name, target in translation.tensors.items() for end in ("weight", "bias", "running_mean", "running_var")}
    names.update({target: name for name, (target, _) in translation.reshaped.items()})
    shapes = {name: shape for name, (_, shape) in translation.reshaped.items()}
    return {names[key]: value.reshape(shapes.get(names[key], value.shape)) for key, value in tensors.items() if key in names}


def state_dict(module, trained):
    """The state_dict of a module with the tensors of a trained model: lockstep.read(RUN)["train/model"]. What the model
    lacks, because the module's forward does not use it, stays as it is in the module."""
    import torch

    from ._translate import name_here

    state = dict(module.state_dict())
    for name, tensor in state.items():
        layer, _, end = name.rpartition(".")
        for key in ("%s.%s" % (name_here(layer), end), name_here(name) + ".weight"):
            if key in trained:
                state[name] = torch.tensor(trained[key]).reshape(tensor.shape)
    return state


def weights(module, translation):
    return {name: tensor.detach().float().contiguous() for name, tensor in state(module.state_dict(), translation).items()}


def safetensors(tensors):
    """The bytes of a file with these tensors of single precision."""
    header, content = {}, []
    for name, tensor in tensors.items():
        data = tensor.cpu().numpy().astype("<f4").tobytes()
        at = sum(map(len, content))
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        content.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(content)
