# SPDX-License-Identifier: MIT
"""A torch.nn.Module as a model file, with its weights and experiments that train it.

    python -m lockstep.from_torch net.py:Net --input 3,32,32 [--out DIR] [--name NAME] [--dataset NAME] [--force] [--check]

net.py:Net is a class or a function without arguments, or a call: 'net.py:VGG("vgg16")'; torchvision.models:resnet18
names a module that can be imported. THE CODE IS EXECUTED: give it only files that you would run.

Writes into DIR (experiments):
    models/NAME.yaml            the layers, under the module's own names
    models/NAME.safetensors     its weights, for `initial_weights` of an experiment
    NAME.yaml, NAME-ddp4.yaml   experiments: one device, and four ranks of DistributedDataParallel

A small network is then compared with PyTorch, a large one with --check. The exit code is 3 for a module that a model file
cannot say, and 4 if the comparison finds another network; both write nothing.

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
from ._torch import name_of, state, translated, write


SMALL = 100e6  # multiply-adds of a sample: that is compared in some seconds


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
    parser.add_argument("--force", action="store_true", help="replace files that exist; a recipe that was edited stays")
    check = parser.add_mutually_exclusive_group()
    check.add_argument("--check", action="store_true", help="compare an evaluation and a step of training with PyTorch's, and "
                       "print by how much they differ (default: compare where it takes seconds)")
    check.add_argument("--no-check", action="store_true", help="compare nothing")
    given = parser.parse_args(arguments)
    if not re.fullmatch(r"\d+,\d+,\d+", given.input):
        parser.error("--input '%s': expected C,H,W, such as 3,32,32" % given.input)
    try:
        import torch
    except (ImportError, OSError) as e:  # OSError: a library that it needs
        print("from_torch: " + why_no_torch(e), file=sys.stderr)
        return 1
    name = given.name or name_of(given.source.partition(":")[2])
    shape = tuple(map(int, given.input.split(",")))
    from ._translate import Unsupported
    try:
        torch.manual_seed(0)
        module = load(given.source)
        example = torch.randn(1, *shape)
        translation = translated(module, example, name, given.out, given.dataset, given.source, given.force)
        describe(module, translation)
        if not is_same(module, translation, shape, given):
            return 4
        write(translation)
    except (ValueError, OSError, ToolError) as e:
        print("from_torch: %s" % e, file=sys.stderr)
        codes = {Unsupported: 3, ValueError: 2, FileExistsError: 2, OSError: 1}
        return e.code if isinstance(e, ToolError) else next(code for kind, code in codes.items() if isinstance(e, kind))
    return 0


def why_no_torch(e):
    if isinstance(e, ModuleNotFoundError) and e.name == "torch":
        return ("PyTorch is not installed for '%s': `%s -m pip install torch` in a virtual environment, or on Debian "
                "`apt install python3-torch` for /usr/bin/python3" % (sys.executable, sys.executable))
    return "PyTorch cannot be imported by '%s': %s" % (sys.executable, (str(e) or type(e).__name__).splitlines()[0])


def is_same(module, translation, shape, given):
    """Compares with PyTorch, if that is wanted, or takes seconds."""
    if given.no_check:
        return True
    if not given.check and translation.multiply_adds > SMALL:
        print("from_torch: not compared with PyTorch, which takes longer for a network of this size: --check does",
              file=sys.stderr)
        return True
    from ._check import compare
    report, same = compare(module, translation, shape)
    print(report if given.check or not same else report.splitlines()[-1])
    if not same:
        print("from_torch: nothing was written; --no-check would write it as it is", file=sys.stderr)
    return same


def describe(module, translation):
    for note in translation.notes:
        print("from_torch: " + note, file=sys.stderr)
    from ._translate import unwrapped

    count = sum(p.numel() for p in state(dict(unwrapped(module).named_parameters()), translation).values())
    print("%s: %d layers, %s parameters, %d classes" % (translation.paths["model"], len(translation.layers),
                                                         format(count, ","), translation.classes), flush=True)
