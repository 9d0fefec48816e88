# SPDX-License-Identifier: MIT
"""Translates a torch.nn.Module into the layers of a model file.

Forward runs three times on a small example: twice in training mode, and once in evaluation. It has to be the same network
each time; what a model file cannot say is refused, with the line of the source. A Trace follows each run."""
import copy
import fnmatch
import functools

import torch

from ._trace import Trace, inputs_of, name_here, rewired  # noqa: F401
from ._value import INPUT, Unsupported, failure  # noqa: F401

DROPS = ("dropout", "dropout2d", "stochastic_depth")


class Translation:
    """The layers of a module, in order.

    layers        [(kind, options)]; options are complete: with `name`, `from` and, of several inputs, `with`
    lines         {name of a layer: 'FILE:LINE: TEXT: ' of its operation}
    tensors       {name of a tensor here: (its name in the module or None, its value in the shape here)}
    frozen        the names of the tensors here that training does not change
    normalize     (mean, std, the largest value of a pixel): forward normalises its input so; or None
    sync          is its batch norm SyncBatchNorm?
    notes         what the user should know
    classes       the number of outputs
    multiply_adds of a sample, forward"""

    def __init__(self, module, example):
        inner = unwrapped(module)
        check_looked_into(inner)
        module = ready(inner)
        module.train()
        trace, again = Trace(module, example), Trace(module, example)
        module.eval()
        evaluation = Trace(module, example)
        check_same(trace, again, "forward does something else when it runs again")
        check_same(trace, evaluation, "forward is another one in evaluation (model.eval())")
        self.layers, self.lines, self.classes, self.notes = trace.layers, trace.lines, trace.classes, trace.notes
        self.check_output(trace)
        self.sync = is_synchronised(inner)
        self.frozen, stopped = frozen_tensors(trace)
        self.tensors = {name: (own.target, own.tensor) for name, own in trace.tensors.items()}
        self.multiply_adds = sum(torch.Size(trace.shapes[name.rpartition(".")[0]]).numel() * value[0].numel()
                                 for name, (_, value) in self.tensors.items() if value.dim() > 1)
        self.normalize = self.normalisation(trace) if trace.affine else None
        self.notes += ["%s%s drops in evaluation, too; here it does not" % (evaluation.lines[options["name"]], kind)
                       for kind, options in evaluation.layers if kind in DROPS]
        if stopped:
            self.notes.append("no gradient reaches them, so they are not trained: " + ", ".join(patterns(stopped, self.tensors)))
        read = {own.target for own in trace.tensors.values()}
        left = sorted({name.rpartition(".")[0] or name for name, _ in module.named_parameters() if name not in read})
        if left:
            self.notes.append("left out, because the output does not depend on them: " + ", ".join(left))

    def check_output(self, trace):
        kind = next((kind for kind, options in self.layers if options["name"] == trace.output), None)
        if self.classes < 2:
            raise Unsupported("one output: the loss here is cross entropy, which has an output for each of the two classes: "
                              "nn.Linear(…, 2), and no sigmoid")
        if kind in ("sigmoid", "hard_sigmoid"):
            raise Unsupported("%s%s: cross entropy is the loss here, and takes the logits: leave it out"
                              % (self.lines[trace.output], kind))

    def normalisation(self, trace):
        """What forward does to its input before anything else, as a mean and a standard deviation of pixels from 0 to 1."""
        channels = trace.shapes[INPUT][0]
        scale, shift = [torch.as_tensor(number, dtype=torch.float64).expand(channels) for number in trace.affine]
        for largest, least in ((1, 0), (255, 1 / 16)):
            mean, std = -shift / scale / largest, 1 / scale / largest
            if bool(((mean >= 0) & (mean <= 1) & (std > least) & (std <= 1)).all()):
                self.notes.append("%sforward normalises its input, which is taken to have pixels from 0 to %d; `normalize` of the "
                                  "experiment does it here" % (trace.affine_line, largest))
                return [float("%.7g" % x) + 0.0 for x in mean.tolist()], [float("%.7g" % x) for x in std.tolist()], largest
        if shift.any() or len(set(scale.tolist())) > 1:
            raise Unsupported("%sthe input's normalisation is `normalize: {mean: …, std: …}` of the experiment, of pixels from 0 to "
                              "1: leave it out of forward" % trace.affine_line)
        name = trace.free_name("scale")
        self.lines[name] = trace.affine_line
        self.notes.append("%sthe pixels are normalised here before forward scales them" % trace.affine_line)
        self.layers = [("scale", {"name": name, "factor": scale[0].item(), "from": INPUT})] + [
            (kind, rewired(options, {INPUT: name})) for kind, options in self.layers]
        return None


# ---- The module ----

def unwrapped(module):
    """The module inside of DataParallel, DistributedDataParallel and torch.compile."""
    while inside(module) is not None:
        module = inside(module)
    return module


def inside(module):
    if isinstance(module, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
        return module.module
    return getattr(module, "_orig_mod", None)


def check_looked_into(module):
    for name, layer in module.named_modules():
        why = None
        if isinstance(layer, torch.jit.ScriptModule) and hasattr(layer, "_c"):
            why = "a compiled module shows none of its operations; PYTORCH_JIT=0 leaves it as Python"
        elif any(torch.nn.parameter.is_lazy(tensor) for tensor in layer.parameters(recurse=False)):
            why = "it has no sizes yet: run the module once before, as in `net(torch.zeros(1, 3, 32, 32))`"
        elif getattr(getattr(layer, "weight", None), "grad_fn", None) is not None:
            why = "its weight is computed from other tensors, which no layer here does"
        elif layer._backward_hooks or any(parameter._backward_hooks for parameter in layer.parameters(recurse=False)):
            why = "a hook of its own changes or sees its gradient, which no layer here has"
        if why:
            raise Unsupported("%s (%s): %s" % (name or "the network", type(layer).__name__, why))


def ready(module):
    """A copy that runs on any machine: batch norm is not synchronised, wrappers pass on what they get."""
    try:
        module = copy.deepcopy(module)
    except Exception as e:
        raise Unsupported("the module cannot be copied (copy.deepcopy): %s: %s" % (type(e).__name__, e)) from e
    for layer in module.modules():
        layer._compiled_call_impl = None
        if isinstance(layer, torch.nn.SyncBatchNorm):
            layer.forward = functools.partial(torch.nn.modules.batchnorm._BatchNorm.forward, layer)
        elif inside(layer) is not None:
            layer.forward = inside(layer)
    return module


def is_synchronised(module):
    norms = [layer for layer in module.modules() if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)]
    synchronised = [layer for layer in norms if isinstance(layer, torch.nn.SyncBatchNorm)]
    if synchronised and len(synchronised) < len(norms):
        raise Unsupported("some of its batch norms are SyncBatchNorm and some are not: `sync_batch_norm` is one setting here")
    return bool(synchronised)


# ---- One network? ----

def prints(trace, ids):
    """{layer: a number that layers with the same history share}, without the layers that drop at random."""
    found = {INPUT: -1}
    for kind, options in trace.layers:
        read = tuple(found[name] for name in inputs_of(options))
        said = tuple((key, str(value)) for key, value in options.items() if key not in ("name", "from", "with"))
        own = tuple((own.target or own.tensor.numpy().tobytes()) for name, own in trace.tensors.items()
                    if name.rpartition(".")[0] == options["name"])
        found[options["name"]] = read[0] if kind in DROPS else ids.setdefault((kind, said, own, read), len(ids))
    return found


def check_same(trace, other, why):
    ids = {}
    first, second = prints(trace, ids), prints(other, ids)
    if first[trace.output] == second[other.output] and str(trace.affine) == str(other.affine):
        return
    for these, them, at in ((second, first, other), (first, second, trace)):
        for kind, options in at.layers:
            if these[options["name"]] not in them.values():
                raise Unsupported("%s%s" % (at.lines[options["name"]], why))
    raise Unsupported("%s%s" % (trace.affine_line or other.affine_line, why))


# ---- What is trained ----

def frozen_tensors(trace):
    """The tensors that training does not change, and those among them that no gradient reaches."""
    some, every = {trace.output: True}, {trace.output: True}  # does a gradient reach a layer, on one way, on all of them
    for layer in reversed(list(trace.shapes)):
        ways = [name for name in trace.readers.get(layer, ()) if name not in trace.stopped]
        if layer in trace.stopped:
            some[layer] = every[layer] = False
        elif trace.readers.get(layer):
            some[layer] = any(some[name] for name in ways)
            every[layer] = len(ways) == len(trace.readers[layer]) and all(every[name] for name in ways)
    frozen, stopped = [], []
    for name, own in trace.tensors.items():
        layer, _, end = name.rpartition(".")
        if end not in ("weight", "bias"):
            continue
        if own.trained and some[layer] and not every[layer]:
            raise Unsupported("%s%s: a gradient reaches it on one way, and is stopped on another (no_grad, detach): no layer does "
                              "this" % (trace.lines[layer], name))
        if own.trained and not some[layer]:
            stopped.append(name)
        if not own.trained or not some[layer]:
            frozen.append(name)
    return frozen, stopped


def patterns(names, among):
    """Patterns of few words for these names, that match no others among `among`."""
    names, others, found = list(names), [name for name in among if name not in set(names) and "running_" not in name], []
    candidates = {}
    for name in names:
        parts = name.split(".")
        for pattern in [".".join(parts[:i]) + ".*" for i in range(1, len(parts))] + ["*." + ".".join(parts[-i:]) for i in (1, 2)]:
            if pattern not in candidates and not any(fnmatch.fnmatchcase(other, pattern) for other in others):
                candidates[pattern] = {n for n in names if fnmatch.fnmatchcase(n, pattern)}
    left = set(names)
    while left:
        best = max(candidates, key=lambda pattern: len(candidates[pattern] & left), default=None)
        if best is None or len(candidates[best] & left) < 2:
            return found + [name for name in names if name in left]
        found.append(best)
        left -= candidates[best]
    return found
