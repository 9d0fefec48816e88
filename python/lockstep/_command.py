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
import os
import re
import sys

from ._tools import ToolError
from ._torch import from_torch, name_of, state


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
    from ._translate import unwrapped

    count = sum(p.numel() for p in state(dict(unwrapped(module).named_parameters()), translation).values())
    print("%s: %d layers, %s parameters, %d classes" % (translation.paths["model"], len(translation.layers),
                                                         format(count, ","), translation.classes), flush=True)
