# SPDX-License-Identifier: MIT
"""What passes through a network while it is translated: tensors that tell each operation on them, and refusals of it."""
import os
import traceback

import torch

INPUT = "input"  # the name of the network's input in model files
OWN_FOLDERS = tuple(os.path.dirname(file) + os.sep for file in (__file__, torch.__file__))
IMPORT_FOLDER = os.path.join(os.path.dirname(os.__file__), "importlib") + os.sep


class Unsupported(ValueError):
    """What a model file cannot say. The message begins with the line of the user's source, where that is known."""


class Value(torch.Tensor):
    """A tensor of the network.

    layer     whose output it is
    places    for each value its index in that output (as of EXAMPLES samples), -1 for a zero; None: the output as it is
    affine    (scale, shift) of that output that no layer has yet; of the input one pair, or one per channel; None: (1, 0)
    line      where it got them
    why       of a number that no layer gives, such as a mean of everything: the refusal if an operation reads it; or None
    stale     was it changed in place through another tensor?"""

    @staticmethod
    def of(trace, layer, tensor, places=None, affine=None, why=None):
        value = plain_tensor(tensor).as_subclass(Value)
        value.trace, value.layer, value.places, value.affine, value.why, value.stale = trace, layer, places, affine, why, False
        value.line = tensor.line if isinstance(tensor, Value) else ""
        return value

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        value = next(a for a in flat([args, kwargs or {}]) if isinstance(a, Value))
        with torch._C.DisableTorchFunction():
            return value.trace.operation(function, args, kwargs or {})

    def moved(self):
        """The places, also of an output that was not moved."""
        if self.places is not None:
            return self.places
        return torch.arange(self.numel()).reshape(self.shape)


def plain_tensor(tensor):
    return tensor.as_subclass(torch.Tensor)


def flat(values):
    """The leaves of nested lists, tuples and dicts."""
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, (list, tuple)):
        return [values]
    return [leaf for value in values for leaf in flat(value)]


def mapped(change, arguments):
    """Nested lists, tuples and dicts with change(value) for each Value."""
    if isinstance(arguments, dict):
        return {key: mapped(change, value) for key, value in arguments.items()}
    if type(arguments) in (list, tuple):
        return type(arguments)(mapped(change, value) for value in arguments)
    return change(arguments) if isinstance(arguments, Value) else arguments


def real(arguments):
    """Tensors in place of Values."""
    return mapped(plain_tensor, arguments)


def word(text):
    """One spelling of modules, functions and methods: 'ReLU6', 'relu6' and 'relu6_' are the same, as are 'AvgPool2d' and
    'avg_pool2d'."""
    return text.replace("_", "").lower()


def line_of(frames):
    """'FILE:LINE: TEXT: ' of the innermost line that is neither PyTorch's nor Python's nor ours, or ''."""
    for frame in reversed(frames):
        if not frame.filename.startswith(("<", IMPORT_FOLDER) + OWN_FOLDERS):
            return "%s:%d: %s: " % (os.path.basename(frame.filename), frame.lineno, frame.line)
    return ""


def failure(what, e):
    """Unsupported for an exception of the user's code, which can raise anything."""
    said = "%s: %s" % (type(e).__name__, (str(e) or "no message").splitlines()[0])
    line = line_of(traceback.extract_tb(e.__traceback__))
    if isinstance(e, SyntaxError) and e.filename:
        line, said = "%s:%s: " % (os.path.basename(e.filename), e.lineno), "%s: %s" % (type(e).__name__, e.msg)
    return Unsupported("%s%s fails: %s" % (line, what, said))
