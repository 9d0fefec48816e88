# SPDX-License-Identifier: MIT
"""Follows a forward, once: its layers, from the operations on its tensors.

The tensors are Values, which tell every operation on them to the Trace, so that sizes are plain numbers and any Python is
followed. An operation is one of these:

    a layer           has a row in OPERATIONS, and becomes a layer of the model file. The operation and its tensors say
                      which; the module in which it happens gives a name to layers without tensors, and to messages
    a move            copies values to other places (view, permute, slices, padding; MOVES): _moves.py
    a size            or the like (SIZES): a plain number
    nothing           as a move to another device (KEPT)

Everything else is refused with the line of the source that has it.
"""
import collections
import contextlib
import functools
import random
import re
import sys
import traceback
import warnings
import weakref

import torch

from ._layers import DECISIONS, KEPT, MOVES, NEAREST, OPERATIONS, QUESTIONS, SIZES, is_random_depth
from ._moves import EXAMPLES, settle, with_affine
from ._value import INPUT, Unsupported, Value, failure, flat, line_of, mapped, plain_tensor, real, word

# A tensor of a layer. target: its name in the module, or None of a constant; tensor: in its shape here.
Own = collections.namedtuple("Own", "target tensor trained")


def name_here(target):
    """The name of a layer that has the tensors of a module, of the letters that model files take."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", target)


def own_tensors(module):
    """{(address, number of values): (name, is it trained)} of parameters and buffers."""
    named = [(name, tensor, tensor.requires_grad) for name, tensor in module.named_parameters()]
    named += [(name, tensor, False) for name, tensor in module.named_buffers()]
    return {(tensor.data_ptr(), tensor.numel()): (name, trained) for name, tensor, trained in named if tensor.numel()}


def is_whole(module):
    """Layers of torch.nn give names to what happens in them, as does the random one of torchvision and timm; all other modules
    are looked into."""
    inside = type(module).forward.__module__
    return (inside.startswith("torch.nn.modules.") and not inside.endswith(".container")) or is_random_depth(module)


def draws():
    """The states of the generators that forward may draw from."""
    numpy = sys.modules.get("numpy")
    return torch.get_rng_state().tolist(), random.getstate(), str(numpy.random.get_state()) if numpy else None


def eager():
    """Functions under torch.compile are followed as they are written."""
    set_stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
    return set_stance("force_eager") if set_stance else contextlib.nullcontext()


class Trace:
    """layers        [(kind, options)]; options are complete: with `name`, `from` and, of several inputs, `with`
    tensors       {name of a tensor here: Own}
    lines         {name of a layer: 'FILE:LINE: TEXT: ' of its operation}
    stopped       the layers through which no gradient flows, because of no_grad or detach
    affine        (scale, shift) of the input in front of all layers, or None
    notes         what the user should know"""

    def __init__(self, module, example):
        self.layers, self.shapes, self.used, self.found = [], {INPUT: tuple(example.shape[1:])}, {INPUT}, {}
        self.tensors, self.owners, self.lines, self.stopped, self.notes = {}, {}, {}, set(), []
        self.inside, self.views, self.what, self.grad = [], {}, "", True
        self.affine, self.affine_line, self.reads = None, "", False
        self.names = {layer: name for name, layer in module.named_modules()}
        self.own, self.dtype = own_tensors(module), example.dtype
        self.training = module.training
        batch = example[:1].expand(EXAMPLES, *example.shape[1:]).clone()
        whole = {layer: layer.forward for layer in self.names if is_whole(layer)}
        for layer, forward in whole.items():
            layer.forward = functools.partial(self.layer_of_torch, layer, forward)
        try:
            self.end(self.run(module, Value.of(self, INPUT, batch)))
        finally:
            for layer, forward in whole.items():
                layer.forward = forward

    def run(self, module, value):
        before = draws()
        self.outermost = len(traceback.extract_stack())
        try:
            with torch.enable_grad(), warnings.catch_warnings(), eager():
                warnings.simplefilter("ignore")
                result = module(value)
        except Unsupported as e:
            raise Unsupported("%s; before, forward draws random numbers" % e) if draws() != before else e
        except Exception as e:
            raise failure("forward" if self.training else "forward in evaluation", e) from e
        if draws() != before:
            raise Unsupported("forward draws random numbers by itself, and does what they say: no layer does. Those that drop "
                              "something at random are nn.Dropout, nn.Dropout2d and torchvision.ops.StochasticDepth")
        return result

    # ---- Operations ----

    def layer_of_torch(self, layer, forward, *args, **kwargs):
        """Called in place of the forward of a layer of torch.nn."""
        self.inside.append(layer)
        try:
            values = [a for a in flat([args, kwargs]) if isinstance(a, Value)]
            if values and (is_random_depth(layer) or word(type(layer).__name__) in NEAREST):
                with torch._C.DisableTorchFunction():
                    return self.operation(forward, args, kwargs, type(layer).__name__)
            return forward(*args, **kwargs)
        finally:
            self.inside.pop()

    def operation(self, function, args, kwargs, spelled=None):
        spelled = spelled or function.__name__
        self.what, self.grad = self.called(spelled), torch.is_grad_enabled()
        values = [a for a in flat([args, kwargs]) if isinstance(a, Value)]
        if spelled == "__get__":
            return self.attribute(function.__self__.__name__, function, args)
        name = word(spelled)
        if not self.grad and name not in SIZES:
            self.check_gradient()
        if any(getattr(value, "stale", False) for value in values):
            self.refuse("its input was changed in place through another view of it")
        if name in SIZES:
            return function(*real(args), **real(kwargs))
        unknown = [value.why for value in values if value.why]
        if spelled in DECISIONS:
            raise Unsupported("%sforward goes on by a value of the network (if, while, assert, float): a model file does the same "
                              "with every image" % self.line())
        if name in QUESTIONS:
            return self.unknown(function, args, kwargs, unknown[0] if unknown else self.refusal("no layer does this"))
        if unknown:
            raise Unsupported(unknown[0])
        return self.watched(self.layer_or_move(name, spelled, function, args, kwargs))

    def layer_or_move(self, name, spelled, function, args, kwargs):
        if not args:
            first = next(key for key, value in kwargs.items() if flat(value) and isinstance(flat(value)[0], Value))
            args, kwargs = (kwargs[first],), {key: value for key, value in kwargs.items() if key != first}
        if name in KEPT:
            return self.kept(name, spelled, function, args, kwargs)
        if name in MOVES:
            return self.move(name, function, args, kwargs)
        if name not in OPERATIONS:
            self.refuse("no layer does this" + NEAREST.get(name, ""))
        return self.layer(OPERATIONS[name], spelled, function, args, kwargs)

    def layer(self, row, spelled, function, args, kwargs):
        if not row.affine:
            args, kwargs = mapped(self.plain, args), mapped(self.plain, kwargs)
        given = list(args[row.inputs:])
        options = {key: given[i] if i < len(given) else kwargs.get(key, default)
                   for i, (key, default) in enumerate(row.options.items())}
        before = len(self.layers)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            output = function(*real(args), **real(kwargs))
            if isinstance(output, torch.Tensor) and output.dtype != self.dtype:
                self.refuse("it computes in %s; arithmetic is in float32 here" % str(output.dtype)[len("torch."):])
            result = row.make(self, args[:row.inputs], options, output)
        if not self.grad:
            new = {options["name"] for _, options in self.layers[before:]}
            self.stopped |= {name for name in new if name == result.layer or name + ".weight" in self.tensors}
            result = self.detached(result)
        if kwargs.get("inplace") or word(spelled) in ("iadd", "isub", "imul", "itruediv", "idiv") or (
                spelled.endswith("_") and not spelled.startswith("_")):
            self.change(args[0], result)
        return result

    def called(self, spelled):
        """What a message calls the operation."""
        if not self.inside:
            return spelled
        layer = self.inside[-1]
        return "%s (%s)" % (self.names[layer], type(layer).__name__) if self.names.get(layer) else type(layer).__name__

    def attribute(self, name, function, args):
        if name in ("T", "mT", "H", "mH"):
            return self.watched(self.move("transpose", lambda tensor: getattr(tensor, name), args, {}))
        if name == "data":
            return self.watched(self.detached(args[0]))
        result = function(*real(args))
        if isinstance(result, torch.Tensor):
            self.what = name
            self.refuse("no layer does this")
        return result

    def kept(self, name, spelled, function, args, kwargs):
        """An operation that changes no value, but perhaps the type or the gradient. `to` and the like are not executed: the
        device may not be there."""
        if name == "type" and len(args) == 1 and not kwargs:
            return function(*real(args))
        kinds = [a if isinstance(a, torch.dtype) else a.dtype for a in flat([args[1:], kwargs])
                 if isinstance(a, (torch.dtype, torch.Tensor))]
        kinds += [function(*real(args), **real(kwargs)).dtype] if name == "type" else []
        if any(kind != self.dtype for kind in kinds) or name in ("half", "double", "bfloat16"):
            self.refuse("arithmetic is in float32 here")
        result = self.detached(args[0]) if name == "detach" else args[0]
        if spelled.endswith("_"):
            self.change(args[0], result)
        return result

    def unknown(self, function, args, kwargs, why):
        with torch.no_grad():
            output = function(*real(args), **real(kwargs))
        return mapped_tensors(lambda tensor: Value.of(self, INPUT, tensor, why=why), output)

    def check_gradient(self):
        """Under no_grad: is it the user's, or does PyTorch run the forward of a function with a gradient of its own?"""
        frame = sys._getframe(2)
        while frame:
            first = next(iter(frame.f_locals.values()), None)  # the class of `apply`, or the context of `forward`
            kind = first if isinstance(first, type) else type(first)
            if issubclass(kind, torch._C._FunctionBase):
                self.grad = kind.__name__.startswith("CheckpointFunction")
                if not self.grad:
                    self.refuse("a torch.autograd.Function has a gradient of its own, which no layer here has")
                return
            frame = frame.f_back

    # ---- The output ----

    def end(self, result):
        """The logits; auxiliary outputs that exist in training only are left out."""
        self.what, self.inside = "the output", []
        values = [v for v in flat([result]) if isinstance(v, Value)]
        if not values:
            self.refuse("the network returns no tensor that depends on its input")
        if values[0].why:
            raise Unsupported(values[0].why)
        if len(values) > 1:
            self.notes.append("the first output is the network's; the auxiliary outputs of training are left out")
        self.output = settle(self, values[0])
        if len(self.shapes[self.output]) != 1:
            self.refuse("of the shape %s for a sample; expected one value per class" % (self.shapes[self.output],))
        self.classes = self.shapes[self.output][0]
        self.drop_unread()

    def drop_unread(self):
        """Removes the layers that the output does not depend on, and those that only stop a gradient."""
        source_of, self.readers, kept = {}, {self.output: set()}, []
        for kind, options in self.layers:
            if kind == "detach":
                source_of[options["name"]] = source_of.get(options["from"], options["from"])
        for kind, options in reversed(self.layers):
            if options["name"] in self.readers:
                for name in inputs_of(options):
                    self.readers.setdefault(name, set()).add(options["name"])
                if kind != "detach":
                    kept.append((kind, rewired(options, source_of)))
        self.layers = kept[::-1]
        names = {options["name"] for _, options in kept}
        self.tensors = {name: own for name, own in self.tensors.items() if name.rpartition(".")[0] in names}
        self.output = source_of.get(self.output, self.output)

    def refusal(self, why):
        return "%s%s: %s" % (self.line(), self.what, why)

    def refuse(self, why):
        raise Unsupported(self.refusal(why))

    def line(self):
        return line_of(traceback.extract_stack()[self.outermost:])

    # ---- Layers ----

    def put(self, kind, inputs, output, options=None, own=None, is_part=False):
        """Adds a layer that reads these layers; returns its output. `own`: {"weight": tensor, …} of the module, in the
        shapes that they have here. is_part: of an operation of several layers, not the
        one that has its name."""
        found = {end: self.find(end, tensor) for end, tensor in (own or {}).items()}
        name = self.free_name(kind) if is_part else self.name_of(kind, found)
        for end, tensor in found.items():
            self.tensors["%s.%s" % (name, end)] = tensor
        self.used.add(name)
        named = {"name": name, **{key: number(value) for key, value in (options or {}).items()}, "from": inputs[0]}
        if len(inputs) > 1:
            named["with"] = inputs[1] if kind in ("add", "multiply") else list(inputs[1:])
        self.layers.append((kind, named))
        self.lines[name] = self.line()
        self.shapes[name] = tuple(output.shape[1:])
        return Value.of(self, name, output)

    def name_of(self, kind, found):
        """The name of the module, or of the parameter, whose tensors these are; of a layer without tensors that of the module
        of torch.nn, or a new one."""
        for end, own in found.items():
            if own.target:
                target = own.target[:-len(end) - 1] if own.target.endswith("." + end) else own.target
                self.check_owner(found, target)
                name = name_here(target)
                if name in self.used and not any(tensor.trained for tensor in found.values()):
                    return self.free_name(kind)  # a constant may be in many layers
                if name in self.used:
                    self.refuse("'%s' is already the name of another layer: names differ here by more than blanks and signs"
                                % name)
                if name != target:
                    self.notes.append("'%s' is '%s' here" % (target, name))
                return name
        hint = name_here(self.names.get(self.inside[-1], "")) if self.inside else ""
        return hint if hint and hint not in self.used else self.free_name(kind)

    def check_owner(self, found, name):
        """Each tensor that a layer changes is its own."""
        for end, own in found.items():
            if not own.target or not own.trained and not end.startswith("running_"):
                continue
            owner = self.owners.setdefault(own.target, name)
            if owner != name or any(tensor.target == own.target for tensor in self.tensors.values()):
                hint = self.names.get(self.inside[-1]) if self.inside else name
                self.refuse("the layer is used twice: here every layer has tensors of its own" if hint in (None, owner) else
                            "its %s is also that of '%s': here every layer has tensors of its own" % (end, owner))

    def find(self, end, tensor):
        """Where a tensor of a layer comes from: a view of all of a parameter's values is that parameter."""
        key = (tensor.data_ptr(), tensor.numel())
        if key in self.own and tensor.is_contiguous():
            target, trained = self.own[key]
            return Own(target, tensor.detach(), trained)
        if isinstance(tensor, torch.nn.Parameter):
            self.refuse("its %s is no parameter of the network, and no optimizer would train it: modules in a plain list or dict "
                        "belong to it as nn.ModuleList or nn.ModuleDict, and tensors as nn.Parameter of a module" % end)
        if tensor.requires_grad or not self.grad:
            self.refuse("its %s is computed from other tensors, which no layer here does" % end)
        return Own(None, tensor.clone(), False)

    def made_of(self, value):
        """(kind, what it reads) of the layer whose output a value is."""
        return next(((kind, options["from"]) for kind, options in self.layers if options["name"] == value.layer), (None, None))

    def free_name(self, kind):
        i = 1
        while "%s%d" % (kind, i) in self.used or "%s%d" % (kind, i) in self.names.values():
            i += 1
        return "%s%d" % (kind, i)

    # ---- Moves, and tensors that share their memory ----

    def move(self, name, function, args, kwargs):
        """Lets the operation move the places of the values, too."""
        value = args[0] if self.grad else self.detached(args[0])
        if name in ("pad", "zeropad2d", "constantpad2d"):
            mode, fill = [kwargs.get(key, args[i] if len(args) > i else None) for i, key in ((2, "mode"), (3, "value"))]
            if mode not in (None, "constant") or fill:
                self.refuse("padding is with zeros here")
        with torch.no_grad():
            tensors = function(*real(args), **real(kwargs))
            if name in ("view", "reshape", "flatten") and value.dim() == 4 and value.places is not None and tensors.dim() == 2:
                layer = settle(self, value)  # the last place that tells rows from columns
                value = Value.of(self, layer, value, affine=value.affine if layer == INPUT else None)
            if name == "pad":
                width = kwargs.get("pad", args[1] if len(args) > 1 else None)
                places = torch.nn.functional.pad(value.moved(), width, value=-1)
            else:
                places = function(value.moved(), *real(args[1:]), **real(kwargs))
        if isinstance(places, torch.Tensor):
            return self.at(value, tensors, places)
        return type(places)(self.at(value, *both) for both in zip(tensors, places))

    def at(self, value, tensor, places):
        """The values of a value at other places."""
        moved = Value.of(self, value.layer, tensor, places, value.affine)
        moved.line = value.line
        return moved

    def plain(self, value):
        """A value whose scale is that of a layer. The input keeps its own: the experiment has it."""
        if value.affine is None or value.layer == INPUT:
            return value
        return Value.of(self, with_affine(self, value), value, value.places)

    def detached(self, value):
        """The same, without a gradient."""
        if value.layer == INPUT or value.layer in self.stopped:
            return value
        name = self.free_name("detach")
        self.layers.append(("detach", {"name": name, "from": value.layer}))
        self.shapes[name] = self.shapes[value.layer]
        self.used.add(name)
        self.stopped.add(name)
        return Value.of(self, name, value, value.places, value.affine)

    def watched(self, result):
        """Remembers who shares the memory of a result."""
        for value in flat([result]):
            if isinstance(value, Value):
                self.views.setdefault(memory_of(value), []).append(weakref.ref(value))
        return result

    def change(self, value, result):
        """In place: who has the same values reads the result from now on; who has some of them, can no longer be read."""
        places = value.moved()
        sharing = [other for other in (view() for view in self.views.get(memory_of(value), ())) if other is not None]
        for other in sharing:
            if other is not value and other.layer == value.layer:
                if torch.equal(other.moved(), places):
                    other.layer, other.places, other.affine = result.layer, result.places, result.affine
                else:
                    other.stale = other.stale or bool(torch.isin(other.moved(), places[places >= 0]).any())
        value.layer, value.places, value.affine = result.layer, result.places, result.affine

    # ---- The input ----

    def normalise(self, value):
        """The input is read with the scale and shift that the value has: one for all who read it."""
        if not self.reads:
            self.reads, self.affine, self.affine_line = True, value.affine, value.line
        elif not is_same(self.affine, value.affine):
            self.refuse("the input is read with another scale or shift elsewhere; the experiment has one (`normalize`)")


def is_same(a, b):
    if a is None or b is None:
        return a is b
    return all(torch.equal(torch.as_tensor(x), torch.as_tensor(y)) for x, y in zip(a, b))


def memory_of(value):
    tensor = plain_tensor(value)
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()).data_ptr()


def mapped_tensors(change, result):
    if isinstance(result, (list, tuple)):
        return tuple(mapped_tensors(change, item) for item in result)
    return change(result) if isinstance(result, torch.Tensor) else result


def inputs_of(options):
    """The layers that a layer reads."""
    more = options.get("with", [])
    return [options["from"], *([more] if isinstance(more, str) else more)]


def rewired(options, source_of):
    """A layer's options with other names of what it reads."""
    new = {key: source_of.get(value, value) if key in ("from", "with") and isinstance(value, str) else value
           for key, value in options.items()}
    if isinstance(new.get("with"), list):
        new["with"] = [source_of.get(name, name) for name in new["with"]]
    return new


def number(value):
    """A plain value for YAML: pairs of equal numbers are one."""
    if isinstance(value, (tuple, list)):
        value = list(value)
        return value[0] if len(value) == 2 and value[0] == value[1] and not isinstance(value[0], list) else value
    return value
