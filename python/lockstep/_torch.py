# SPDX-License-Identifier: MIT
"""A torch.nn.Module as a model file, with its weights and experiments that train it.

    python -m lockstep.from_torch net.py:Net --input 3,32,32 [--out DIR] [--name NAME] [--dataset NAME] [--check]

net.py:Net is a class or a function without arguments, or a call: 'net.py:VGG("vgg16")'; torchvision.models:resnet18
names a module that can be imported. THE CODE IS EXECUTED: give it only files that you would run.

Writes into DIR (experiments):
    models/NAME.yaml            the layers, under the module's own names
    models/NAME.safetensors     its weights, for `initial_weights` of an experiment
    NAME.yaml, NAME-ddp4.yaml   experiments: one device, and four ranks of DistributedDataParallel

The exit code is 3 for a module that a model file cannot say, and 4 if --check finds another network.

A trained model goes back by its names:
    trained = lockstep.read("artifacts/NAME/seed-42")["train/model"]
    net.load_state_dict(lockstep.state_dict(net, trained))
"""
import argparse
import importlib
import importlib.util
import json
import os
import re
import struct
import sys

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


def refused(e, translation):
    """A tool's refusal of a layer: with the line of the user's source instead of that of the file, which is removed."""
    from ._translate import Unsupported

    place = re.search(re.escape(translation.paths["model"]) + r":(\d+):\d+: ", str(e))
    layer = int(place[1]) - FIRST_LAYER if place else -1
    if not 0 <= layer < len(translation.layers):
        return e
    name = translation.layers[layer][1]["name"]
    return Unsupported("%s%s: %s" % (translation.written[name], name, str(e)[place.end():]))


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


# ---- The command ----

def load(source):
    """The module that FILE.py:NAME, or MODULE:NAME, makes. Executes the file; raises Unsupported if that fails."""
    import torch

    from ._translate import failure
    where, colon, what = source.partition(":")
    if not colon or not what:
        raise ValueError("'%s': expected FILE.py:NAME" % source)
    if where.endswith(".py"):
        if not os.path.isfile(where):
            raise ValueError("no file '%s'" % where)
        sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
        spec = importlib.util.spec_from_file_location(os.path.basename(where)[:-3], where)
    try:
        if where.endswith(".py"):
            code = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = code
            spec.loader.exec_module(code)
        else:
            code = importlib.import_module(where)
        made = eval(what, vars(code))  # what the user has named
        made = made if isinstance(made, torch.nn.Module) else made()
    except (Exception, SystemExit) as e:
        raise failure("'%s'" % source, e) from e
    if not isinstance(made, torch.nn.Module):
        raise ValueError("'%s' makes no torch.nn.Module, but a %s" % (source, type(made).__name__))
    return made


def name_of(what):
    """'models.ResNet18(10)' is resnet18."""
    return re.sub(r"[^a-z0-9]+", "-", what.partition("(")[0].rpartition(".")[2].lower()).strip("-")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m lockstep.from_torch", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("source", metavar="FILE.py:NAME")
    parser.add_argument("--input", required=True, metavar="C,H,W", help="the shape of a sample")
    parser.add_argument("--out", default="experiments", metavar="DIR", help="a folder of experiments (default: experiments)")
    parser.add_argument("--name", help="of the model and its experiment (default: NAME in small letters)")
    parser.add_argument("--dataset", help="of the experiment (default: cifar10 for 3,32,32, mnist for 1,28,28)")
    parser.add_argument("--check", action="store_true", help="compare an evaluation and a step of training with PyTorch's")
    given = parser.parse_args(arguments)
    if not re.fullmatch(r"\d+,\d+,\d+", given.input):
        parser.error("--input '%s': expected C,H,W, such as 3,32,32" % given.input)
    try:
        import torch
    except ImportError:
        print("from_torch: PyTorch is not installed for '%s'" % sys.executable, file=sys.stderr)
        return 1
    name = given.name or name_of(given.source.partition(":")[2])
    shape = tuple(map(int, given.input.split(",")))
    from ._translate import Unsupported
    try:
        torch.manual_seed(0)
        module = load(given.source)
        example = torch.randn(1, *shape)
        translation = from_torch(module, example, name, given.out, given.dataset, given.source)
        describe(module, translation)
        if given.check:
            from ._check import compare
            report, same = compare(module, translation, shape)
            print(report)
            return 0 if same else 4
    except (Unsupported, ValueError, FileExistsError, ToolError) as e:
        print("from_torch: %s" % e, file=sys.stderr)
        return e.code if isinstance(e, ToolError) else 3 if isinstance(e, Unsupported) else 2
    return 0


def describe(module, translation):
    for note in translation.notes:
        print("from_torch: " + note, file=sys.stderr)
    count = sum(p.numel() for p in state(dict(module.named_parameters()), translation).values())
    print("%s: %d layers, %s parameters, %d classes" % (translation.paths["model"], len(translation.layers),
                                                         format(count, ","), translation.classes), flush=True)


if __name__ == "__main__":
    sys.exit(main())
