# SPDX-License-Identifier: MIT
"""A torch.nn.Module as a model file, with its weights and experiments that train it."""
import json
import os
import re
import struct
import tempfile

from ._tools import ToolError, run

KNOWN_DATA = {(3, 32, 32): "cifar10", (1, 28, 28): "mnist"}


FILES = {"model": "models/%s.yaml", "weights": "models/%s.safetensors", "single": "%s.yaml", "ddp": "%s-ddp4.yaml"}


def from_torch(module, example, name=None, out="experiments", dataset=None, source=None, force=False):
    """Writes the files of a module; returns its Translation, whose `paths` name them, and whose `notes` say what was left
    out. `example`: a tensor of one sample or more, as the network takes them. `source`: where the module comes from, for a
    comment. `force`: replaces files that exist, of experiments only what the module decides. Raises Unsupported, with the
    line of the source, for what a model file cannot say; FileExistsError; ToolError if the tools refuse the model."""
    translation = translated(module, example, name, out, dataset, source, force)
    write(translation)
    return translation


def translated(module, example, name=None, out="experiments", dataset=None, source=None, force=False):
    """As from_torch, but writes nothing: `files` of the result has the content of each."""
    from ._translate import Translation

    translation = Translation(module, example)
    name = name or name_of(type(module).__name__)
    shape = tuple(example.shape[1:])
    dataset = dataset or KNOWN_DATA.get(shape, name)
    translation.paths = {kind: os.path.join(out, path % name) for kind, path in FILES.items()}
    taken = [path for path in translation.paths.values() if os.path.exists(path)]
    if taken and not force:
        raise FileExistsError("'%s' exists: --force replaces it, another --name or --out leaves it" % taken[0])
    own = weights(module, translation)
    texts = {"model": model_text(name, shape, translation, source), "ddp": DDP % (name, name),
             "single": experiment_text(name, dataset) + decided_text(name, translation)}
    for kind in ("single", "ddp"):
        texts[kind] = merged(translation.paths[kind], texts[kind])
    translation.files = {"weights": safetensors(own), **{kind: text.encode() for kind, text in texts.items()}}
    check_accepted(translation, name)
    return translation


def write(translation):
    """All files, or none: those that exist stay until all others are on the disk."""
    made = []
    try:
        for kind, path in translation.paths.items():
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            made.append(path + ".new~")
            with open(made[-1], "wb") as file:
                file.write(translation.files[kind])
        for path in translation.paths.values():
            os.replace(path + ".new~", path)
    finally:
        for path in made:
            if os.path.isfile(path):
                os.remove(path)


def name_of(what):
    """'models.ResNet18(10)' is resnet18."""
    return re.sub(r"[^a-z0-9]+", "-", what.partition("(")[0].rpartition(".")[2].lower()).strip("-")


def check_accepted(translation, name):
    """The tools read the files, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "models"))
        for kind, path in FILES.items():
            with open(os.path.join(folder, path % name), "wb") as file:
                file.write(translation.files[kind])
        try:
            run("train-single", "--experiment", os.path.join(folder, FILES["single"] % name), "--print-parameters")
        except ToolError as e:
            raise refused(e, translation, os.path.join(folder, ""), name) from e


def refused(e, translation, folder, name):
    """What the tools say of the files: of a layer with the line of the user's source, else with the place that a file will
    have."""
    from ._translate import Unsupported

    said = str(e).partition("train-single: ")[2] or str(e)
    place = re.search(re.escape(os.path.join(folder, FILES["model"] % name)) + r":(\d+):\d+: ", said)
    layer = int(place[1]) - FIRST_LAYER if place else -1
    if not 0 <= layer < len(translation.layers):
        for kind, path in FILES.items():
            said = said.replace(os.path.join(folder, path % name), translation.paths[kind])
        return Unsupported(said) if e.code == 3 else ToolError(said, e.code)
    name = translation.layers[layer][1]["name"]
    return Unsupported("%s%s: %s" % (translation.lines[name], name, said[place.end():]))


DDP = "schema: lockstep.experiment/1\nname: %s-ddp4\nbase: %s\nstrategy: ddp\nworld_size: 4\n"


# ---- The texts ----

FIRST_LAYER = 6  # its line in the model file

def model_text(name, shape, translation, source):
    lines = ["# Written by lockstep.from_torch%s." % (" from " + source if source else ""),
             "schema: lockstep.model/1", "name: " + name, "input: [%d, %d, %d]" % shape, "layers:"]
    before = "input"
    for kind, options in translation.layers:
        default = {**DEFAULTS, **({"stride": 1, "groups": 1} if kind == "conv" else {"stride": options.get("size")})}
        shown = {key: value for key, value in options.items() if key not in default or value != default[key]}
        if shown.get("from") == before:
            del shown["from"]
        lines.append("- %s: %s" % (kind, flow(shown)))
        before = options["name"]
    return "\n".join(lines) + "\n"


# Options that are left out at these values.
DEFAULTS = {"padding": 0, "bias": True, "eps": 1e-5, "momentum": 0.1}


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


PATTERNS = 24  # at most, in an experiment
DECIDED = "# What the module decides; from_torch --force writes these lines anew.\n"


def decided_text(name, translation):
    lines = []
    if translation.sync:
        lines.append("sync_batch_norm: true")
    if translation.normalize:
        lines.append("normalize: {mean: %s, std: %s}" % tuple(map(flow, translation.normalize[:2])))
    values = {tensor: constant_of(tensor, translation) for tensor in translation.tensors}
    if "" in values.values():
        lines.append("initial_weights: {file: models/%s.safetensors}" % name)
        translation.notes.append(
            "the experiment begins with the module's own values (`initial_weights`), because no layer begins with those of "
            + ", ".join(tensor for tensor, value in values.items() if value == ""))
        values = {}
    text = "".join(line + "\n" for line in lines) + tensors_text(translation, values)
    return DECIDED + text if text else ""


def tensors_text(translation, values):
    """The tensors that training does not change, and those that begin with values that their layer has not by itself."""
    from ._translate import Unsupported, patterns

    lines = ["  %s: {trained_epochs: 0}\n" % flow(pattern) for pattern in patterns(translation.frozen, translation.tensors)]
    for init in ("one", "zero"):
        names = [tensor for tensor, value in values.items() if value == init]
        lines += ["  %s: {init: %s}\n" % (flow(pattern), init) for pattern in patterns(names, translation.tensors)]
    if len(lines) > PATTERNS:
        raise Unsupported("%d patterns say which of its tensors are not trained, or begin with other values; an experiment "
                          "has %d" % (len(lines), PATTERNS))
    return "tensors:\n" + "".join(lines) if lines else ""


def constant_of(name, translation):
    """How a tensor begins that is no weight or bias of a layer of PyTorch's own: "one" or "zero"; "" if only its values
    say it; None if it is such a weight, or has the values with which its layer begins."""
    target, value = translation.tensors[name]
    layer, _, end = name.rpartition(".")
    kind = next(kind for kind, options in translation.layers if options["name"] == layer)
    if end.startswith("running_") or target and target.endswith("." + end):
        return None
    number = next((number for number in (0, 1) if (value == number).all()), None)
    if kind.endswith("_norm") and number == (end == "weight"):
        return None
    return {0: "zero", 1: "one", None: ""}[number]


def merged(path, text):
    """The text of an experiment that may exist: its recipe as it was edited, and what the module decides."""
    if not os.path.exists(path):
        return text
    with open(path, encoding="utf-8") as file:
        recipe = file.read().partition(DECIDED)[0]
    decided = text.partition(DECIDED)
    return recipe + decided[1] + decided[2]


def frozen_text(translation):
    return tensors_text(translation, {})


# ---- The weights ----

def state(tensors, translation):
    """Those of the module that are in the model file, under their names there."""
    return {name: tensors[target].reshape(value.shape) for name, (target, value) in translation.tensors.items()
            if target in tensors}


def full_state(module, translation):
    """The same of the module's state_dict, with the constants that are not in it."""
    held = state(module.state_dict(), translation)
    return {name: held.get(name, value) for name, (_, value) in translation.tensors.items()}


def state_dict(module, trained):
    """The state_dict of a module with the tensors of a trained model: lockstep.read(RUN)["train/model"]. What the model
    lacks, because the module's forward does not use it, stays as it is in the module."""
    import torch

    from ._translate import name_here, unwrapped

    state, inner = dict(module.state_dict()), unwrapped(module)
    front = "".join(name + "." for name, layer in module.named_modules() if layer is inner and name)
    places = {}
    for name in state:
        layer, _, end = name[len(front):].rpartition(".")
        for key in ("%s.%s" % (name_here(layer), end), name_here(name[len(front):]) + ".weight"):
            if key in trained:
                places[key] = name
    if set(places) != set(trained) and hasattr(trained, "metadata"):
        places = {key: front + target for key, target in traced_places(inner, trained) if target}
    for key, name in places.items():
        state[name] = torch.tensor(trained[key]).reshape(state[name].shape)
    return state


def traced_places(module, trained):
    """(name here, name in the module) of all tensors, for names that do not say it."""
    import torch

    from ._translate import Translation

    shape = json.loads(trained.metadata["model"])["input"]
    translation = Translation(module, torch.zeros(1, *shape))
    return [(name, target) for name, (target, _) in translation.tensors.items() if target in module.state_dict()]


def weights(module, translation):
    from ._translate import unwrapped

    return {name: tensor.detach().float().contiguous() for name, tensor in full_state(unwrapped(module), translation).items()}


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
