# SPDX-License-Identifier: MIT
"""Translates a torch.nn.Module into the layers of a model file.

Translation runs `forward` once, on a small example in training mode. Its tensors are Values, which tell every operation
on them to Translation, so that sizes are plain numbers and any Python is followed. An operation is one of three:

    a layer           has a row in OPERATIONS, and becomes a layer of the model file
    a move            copies values to other places (view, permute, slices, padding; MOVES); whether the moves between
                      two layers are a flatten, a slice, a shuffle, a stride or a padding is seen from where each value
                      ends, so that it does not matter how they were written
    a size            or the like (SIZES): a plain number

Everything else is refused with the line of the source that has it, as is a forward that draws random numbers by itself:
what it does next time is another network.
"""
import copy
import functools
import importlib
import os
import random
import re
import traceback

import torch

INPUT = "input"  # the name of the network's input in model files
EXAMPLES = 2     # samples that pass through the network


class Unsupported(ValueError):
    """What a model file cannot say. The message begins with the line of the user's source, where that is known."""


class Value(torch.Tensor):
    """A tensor of the network: the output of `layer` if `places` is None; otherwise its values at other places.
    `places`: for each value its index in that output (as EXAMPLES samples), -1 for a zero."""

    @staticmethod
    def of(translation, layer, tensor, places=None):
        value = plain_tensor(tensor).as_subclass(Value)
        value.translation, value.layer, value.places = translation, layer, places
        return value

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        value = next(a for a in flat([args, kwargs or {}]) if isinstance(a, Value))
        with torch._C.DisableTorchFunction():
            return value.translation.operation(function.__name__, None, function, args, kwargs or {})

    def moved(self):
        """The places, also of an output that was not moved."""
        if self.places is not None:
            return self.places
        return torch.arange(self.numel()).reshape(self.shape)


def hidden(layer):
    """Why a module cannot be looked into, or None."""
    if isinstance(layer, torch.jit.ScriptModule) and hasattr(layer, "_c"):
        return "a compiled module shows none of its operations; PYTORCH_JIT=0 leaves it as Python"
    if layer._parameters.get("weight") is None and getattr(layer, "weight", None) is not None:
        return "its weight is computed from other tensors, which no layer here does"
    return None


def draws():
    """The states of the generators that forward may draw from."""
    return torch.get_rng_state().tolist(), random.getstate()


def name_here(target):
    """The name of a layer that has the tensors of a module, of the letters that model files take."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", target)


def plain_tensor(tensor):
    return tensor.as_subclass(torch.Tensor)


def word(text):
    """One spelling of modules, functions and methods: 'ReLU6', 'relu6' and 'relu6_' are the same, as are 'AvgPool2d' and
    'avg_pool2d'."""
    return text.replace("_", "").lower()


NOT_THE_USERS = ("<", *[os.path.dirname(file) + os.sep for file in (__file__, torch.__file__, importlib.__file__)])


def line_of(frames):
    """'FILE:LINE: TEXT: ' of the innermost line that is neither PyTorch's nor Python's nor ours, or ''."""
    for frame in reversed(frames):
        if not frame.filename.startswith(NOT_THE_USERS):
            return "%s:%d: %s: " % (os.path.basename(frame.filename), frame.lineno, frame.line)
    return ""


def failure(what, e):
    """Unsupported for an exception of the user's code, which can raise anything."""
    said = "%s: %s" % (type(e).__name__, (str(e) or "no message").splitlines()[0])
    line = line_of(traceback.extract_tb(e.__traceback__))
    if isinstance(e, SyntaxError) and e.filename:
        line, said = "%s:%s: " % (os.path.basename(e.filename), e.lineno), "%s: %s" % (type(e).__name__, e.msg)
    return Unsupported("%s%s fails: %s" % (line, what, said))


class Translation:
    """The layers of a module, in order.

    layers        [(kind, options)]; options are complete: with `name`, `from` and, of several inputs, `with`
    tensors       {name of a layer: the qualified name of its module} of those with tensors
    reshaped      {name of a tensor here: (its name in the module, its shape here)} of those that differ from the module's
    notes         what the user should know
    lines         {name of a layer: 'FILE:LINE: TEXT: ' of its operation}
    classes       the number of outputs"""

    def __init__(self, module, example):
        self.layers, self.shapes, self.used, self.found = [], {}, {INPUT}, {}
        self.tensors, self.reshaped, self.owners, self.notes, self.lines = {}, {}, {}, [], {}
        for name, layer in module.named_modules():
            why = hidden(layer)
            if why:
                raise Unsupported("%s (%s): %s" % (name or "the network", type(layer).__name__, why))
        # The example changes no statistics of the user's module.
        module = copy.deepcopy(module).train()
        self.names = {layer: name for name, layer in module.named_modules()}
        self.parameters = {parameter: name for name, parameter in module.named_parameters()}
        for layer in self.names:
            if is_whole(layer):
                layer.forward = functools.partial(self.whole, layer, layer.forward)
        self.shapes[INPUT] = tuple(example.shape[1:])
        self.outermost = len(traceback.extract_stack())
        with torch.no_grad():
            self.end(self.call(module, Value.of(self, INPUT, example[:1].expand(EXAMPLES, *example.shape[1:]).clone())))

    def call(self, module, value):
        before = draws()
        try:
            result = module(value)
        except Unsupported:
            raise
        except Exception as e:
            raise failure("forward", e) from e
        if draws() != before:
            raise Unsupported("forward draws random numbers by itself, and does what they say: no layer does. Those that drop "
                              "something at random are nn.Dropout, nn.Dropout2d and torchvision.ops.StochasticDepth")
        return result

    # ---- Operations ----

    def whole(self, layer, forward, *args, **kwargs):
        """Called in place of the forward of a layer of torch.nn."""
        name = next(base.__name__ for base in type(layer).__mro__ if is_known(base))
        if not any(isinstance(a, Value) for a in flat([args, kwargs])):
            return forward(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            return self.operation(name, layer, forward, args, kwargs)

    def operation(self, name, module, call, args, kwargs):
        self.what, name = name, word(name)
        if module is not None and self.names[module]:
            self.what = "%s (%s)" % (self.names[module], self.what)
        if not args:
            args, kwargs = (kwargs["input"],), {key: value for key, value in kwargs.items() if key != "input"}
        if name in SIZES:
            return call(*real(args), **real(kwargs))
        if name in MOVES:
            return self.move(name, module, call, args, kwargs)
        if name not in OPERATIONS:
            self.refuse("no layer does this" + NEAREST.get(name, ""))
        row = OPERATIONS[name]
        if name == "layernorm" and module is None:
            module = self.owner_of(args, kwargs)
        elif row.make is not multiply and any(isinstance(a, torch.Tensor) and not isinstance(a, Value)
                                              for a in flat([args, kwargs])):
            self.refuse("a tensor of the module's own is an input of no layer here")
        given, options = list(args[row.inputs:]), {}
        for i, (key, default) in enumerate(row.options.items()):
            options[key] = given[i] if i < len(given) else kwargs.get(key, default)
            if module is not None:
                options[key] = getattr(module, key)
        with torch.random.fork_rng(devices=[]):
            output = call(*real(args), **real(kwargs))
        result = row.make(self, args[:row.inputs], options, output, module)
        if getattr(module, "inplace", False) or kwargs.get("inplace") or name in ("iadd", "imul") or (
                module is None and self.what.endswith("_") and not self.what.startswith("_")):
            # Whoever reads the input from now on reads the result.
            args[0].layer, args[0].places = result.layer, result.places
        return result

    def owner_of(self, args, kwargs):
        """The nn.LayerNorm whose tensors are the arguments of F.layer_norm, as in torchvision's LayerNorm2d."""
        size, weight, bias, eps = [kwargs.get(key, args[i] if i < len(args) else default) for i, (key, default) in
                                   enumerate((("normalized_shape", None), ("weight", None), ("bias", None), ("eps", 1e-5)), 1)]
        for module in self.names:
            if isinstance(module, torch.nn.LayerNorm) and module.weight is weight and module.bias is bias:
                if weight is not None and tuple(size) == tuple(module.normalized_shape) and eps == module.eps:
                    return module
        self.refuse("its tensors are not those of an nn.LayerNorm: use that module")

    def end(self, result):
        """The logits; auxiliary outputs that exist in training only are left out."""
        self.what = "the output"
        values = [v for v in flat([result]) if isinstance(v, Value)]
        if not values:
            self.refuse("the network returns no tensor that depends on its input")
        if len(values) > 1:
            self.notes.append("the first output is the network's; the auxiliary outputs of training are left out")
        self.output = self.settle(values[0])
        if len(self.shapes[self.output]) != 1:
            self.refuse("of the shape %s for a sample; expected one value per class" % (self.shapes[self.output],))
        self.classes = self.shapes[self.output][0]
        self.drop_unread()

    def refuse(self, why):
        raise Unsupported("%s%s: %s" % (self.line(), self.what, why))

    def line(self):
        return line_of(traceback.extract_stack()[self.outermost:])

    # ---- Layers ----

    def put(self, kind, inputs, output, options=None, module=None, name=None):
        """Adds a layer that reads these layers; returns its output."""
        target = self.names[module] if module is not None else None
        own = name_here(target or "")
        name = name or (own if own and own not in self.used else self.free_name(kind))
        if module is not None and any(True for _ in module.parameters()):
            if own != (target or ""):
                self.notes.append("'%s' is '%s' here" % (target, name))
            if own and name != own:
                self.refuse("the layer is used twice: here every layer has tensors of its own")
            self.check_tensors(module)
            self.tensors[name] = target
        self.used.add(name)
        options = {key: number(value) for key, value in (options or {}).items()}
        named = {"name": name, **options, "from": inputs[0]}
        if len(inputs) > 1:
            named["with"] = inputs[1] if kind in PAIRS else list(inputs[1:])
        self.layers.append((kind, named))
        self.shapes[name], self.lines[name] = tuple(output.shape[1:]), self.line()
        return Value.of(self, name, output)

    def check_tensors(self, module):
        """Each tensor of a layer here is its own."""
        for end, tensor in module.named_parameters():
            if self.owners.setdefault(tensor, module) is not module:
                self.refuse("its %s is also that of '%s': here every layer has tensors of its own"
                            % (end, self.names[self.owners[tensor]]))

    def put_factors(self, image, parameter, output):
        """A factor for each channel: a convolution of single channels."""
        name, channels = name_here(self.parameters[parameter]), image.shape[1]
        if name in self.used:
            self.refuse("the parameter is used twice: here every layer has tensors of its own")
        self.reshaped[name + ".weight"] = self.parameters[parameter], (channels, 1, 1, 1)
        return self.put("conv", [self.settle(image)], output,
                        {"out": channels, "kernel": 1, "groups": channels, "bias": False}, name=name)

    def made_of(self, value, kind):
        """The layer that a layer of this kind reads to make the value, or None."""
        return next((o["from"] for k, o in self.layers if k == kind and o["name"] == value.layer), None)

    def free_name(self, kind):
        i = 1
        while "%s%d" % (kind, i) in self.used or "%s%d" % (kind, i) in self.names.values():
            i += 1
        return "%s%d" % (kind, i)

    def drop_unread(self):
        """Removes the layers that the output does not depend on."""
        wanted, kept = {self.output}, []
        for kind, options in reversed(self.layers):
            if options["name"] in wanted:
                kept.append((kind, options))
                more = options.get("with", [])
                wanted |= {options["from"], *([more] if isinstance(more, str) else more)}
        self.layers = kept[::-1]
        names = {options["name"] for _, options in kept}
        self.tensors = {name: target for name, target in self.tensors.items() if name in names}
        self.reshaped = {name: of for name, of in self.reshaped.items() if name.rpartition(".")[0] in names}
        read = {target for target, _ in self.reshaped.values()}
        left = {name for layer, name in self.names.items() if name not in self.tensors.values() and any(
            self.parameters[parameter] not in read for parameter in layer.parameters(recurse=False))}
        left = sorted(left)
        if left:
            self.notes.append("left out, because the output does not depend on them: " + ", ".join(left))

    # ---- Moves ----

    def move(self, name, module, call, args, kwargs):
        """Lets the operation move the places of the values instead of the values."""
        value = args[0]
        if name in ("view", "reshape", "flatten") and value.dim() == 4 and value.places is not None and (
                call(value.moved(), *real(args[1:]), **real(kwargs)).dim() == 2):
            value = Value.of(self, self.settle(value), value)  # the last place that tells rows from columns
        if name in ("pad", "zeropad2d", "constantpad2d"):
            width = module.padding if module is not None else kwargs.get("pad", args[1] if len(args) > 1 else None)
            mode = kwargs.get("mode", args[2] if len(args) > 2 else "constant")
            fill = module.value if module is not None else kwargs.get("value", args[3] if len(args) > 3 else 0)
            if mode != "constant" or fill:
                self.refuse("padding is with zeros here")
            moved = torch.nn.functional.pad(value.moved(), width, value=-1)
        elif name == "expandas":
            moved = value.moved().expand(real(args[1]).shape)
        else:
            moved = call(value.moved(), *real(args[1:]), **real(kwargs))
        if isinstance(moved, torch.Tensor):
            return self.at(value, moved)
        return type(moved)(self.at(value, places) for places in moved)

    def at(self, value, places):
        return Value.of(self, value.layer, torch.zeros(places.shape), places)

    def value_of(self, layer):
        return torch.zeros(EXAMPLES, *self.shapes[layer])

    def settle(self, value):
        """The layer whose output a value is; adds those that move values there."""
        if value.places is None:
            return value.layer
        source = self.shapes[value.layer]
        places, per_sample = value.places[0], torch.Size(source).numel()
        second = torch.where(places >= 0, places + per_sample, places)
        if value.places.shape[0] != EXAMPLES or not torch.equal(value.places[1], second):
            self.refuse("values move between samples")
        key = (value.layer, tuple(places.shape), places.numpy().tobytes())
        if key not in self.found:
            self.found[key] = self.move_layers(value.layer, source, places)
        return self.found[key]

    def move_layers(self, layer, source, places):
        if places.shape == source and torch.equal(places.flatten(), torch.arange(places.numel())):
            return layer
        if places.dim() == 1 and len(source) == 3:
            rows, columns = source[1:]
            if places.numel() % (rows * columns) == 0:
                image = self.settle_image(layer, source, places.reshape(-1, rows, columns))
                return self.put("flatten", [image], self.value_of(image).flatten(1)).layer
        if places.dim() == 3 and len(source) == 3:
            return self.settle_image(layer, source, places)
        if places.dim() == 3 and len(source) == 1 and torch.equal(places.flatten(), torch.arange(source[0])):
            return self.put("unflatten", [layer], torch.zeros(EXAMPLES, *places.shape), {"size": list(places.shape)}).layer
        if places.dim() == 1 and len(source) == 1:
            return self.settle_image(layer, (*source, 1, 1), places.view(-1, 1, 1))
        self.refuse("it moves values as no layer does")

    def settle_image(self, layer, source, places):
        """Rows and columns by a crop and a stride, channels by a slice or a shuffle, then zeros around all."""
        moved = self.origins(source, places)
        zeros, kept = [], []
        for line in moved:
            known = [i for i, at in enumerate(line) if at >= 0]
            if not known or known != list(range(known[0], known[-1] + 1)):
                self.refuse("it puts zeros between values")
            zeros.append((known[0], len(line) - 1 - known[-1]))
            kept.append(line[known[0]:known[-1] + 1])
        channels, rows, columns = kept
        strides = [self.stride(line, size) for line, size in zip((rows, columns), source[1:])]
        if strides == [1, 1]:
            zeros[1:] = [(front - line[0], back - (size - 1 - line[-1]))
                         for (front, back), line, size in zip(zeros[1:], (rows, columns), source[1:])]
        else:
            layer = self.crop(layer, (rows, columns), strides)
            output = self.value_of(layer)[:, :, ::strides[0], ::strides[1]]
            layer = self.once("avg_pool", layer, output, {"size": 1, "stride": strides})
        groups, start = self.range_of_shuffle(channels, source[0])
        if groups > 1:
            shuffled = self.value_of(layer).unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)
            layer = self.once("shuffle", layer, shuffled, {"groups": groups})
        if len(channels) < source[0]:
            taken = [start, start + len(channels)]
            layer = self.put("slice", [layer], self.value_of(layer)[:, taken[0]:taken[1]], {"channels": taken}).layer
        if any(any(pair) for pair in zeros):
            padding = [zero for pair in reversed(zeros) for zero in pair]
            output = torch.nn.functional.pad(self.value_of(layer), padding)
            layer = self.put("zero_pad", [layer], output, {"padding": padding if any(zeros[0]) else padding[:4]}).layer
        return layer

    def origins(self, source, places):
        """Where each channel, row and column comes from; -1: zeros."""
        channels, rows, columns = source
        parts = [places // (rows * columns), places // columns % rows, places % columns]
        lines = []
        for axis, part in enumerate(parts):
            part = torch.where(places >= 0, part, torch.full_like(part, -1)).movedim(axis, 0).flatten(1)
            lines.append(part.max(1).values.tolist())
        c, r, k = [torch.tensor(line) for line in lines]
        again = (c.view(-1, 1, 1) * rows + r.view(1, -1, 1)) * columns + k.view(1, 1, -1)
        zero = (c < 0).view(-1, 1, 1) | (r < 0).view(1, -1, 1) | (k < 0).view(1, 1, -1)
        if not torch.equal(torch.where(zero, torch.full_like(again, -1), again), places):
            self.refuse("it moves values as no layer does")
        return lines

    def stride(self, line, size):
        step = line[1] - line[0] if len(line) > 1 else size if line == [0] else 1
        if step < 1 or line != list(range(line[0], line[-1] + 1, step)):
            self.refuse("it takes some rows or columns that no stride gives")
        return step

    def crop(self, layer, lines, strides):
        """Takes away what is in front of the first row and column, and what a stride would take behind the last."""
        padding = []
        for line, step, size in reversed(list(zip(lines, strides, self.shapes[layer][1:]))):
            behind = size - 1 - line[-1]
            padding += [-line[0], -behind if behind >= step else 0]
        if not any(padding):
            return layer
        cropped = torch.nn.functional.pad(self.value_of(layer), padding)
        return self.once("zero_pad", layer, cropped, {"padding": padding})

    def range_of_shuffle(self, channels, count):
        """(groups, start): these channels are those from `start` on after a shuffle of so many groups; 1: none."""
        for groups in range(1, max(count, 2)):
            if count % groups == 0:
                order = torch.arange(count).view(groups, -1).t().flatten().tolist()
                start = order.index(channels[0])
                if order[start:start + len(channels)] == channels:
                    return groups, start
        self.refuse("it orders channels as no shuffle does")

    def once(self, kind, layer, output, options):
        """A layer that several readers share."""
        key = (kind, layer, str(options))
        if key not in self.found:
            self.found[key] = self.put(kind, [layer], output, options).layer
        return self.found[key]


# ---- The layers ----

class Operation:
    """How an operation of PyTorch becomes a layer. make(translation, inputs, options, output, module).
    inputs: the number of its tensors. options: PyTorch's names, in the order of the function's
    arguments, with their defaults."""

    def __init__(self, make, inputs=1, **options):
        self.make, self.inputs, self.options = make, inputs, options


def is_known(base):
    return base.__module__.startswith("torch.nn.") or base.__name__ == "StochasticDepth"


def is_whole(module):
    """Layers of torch.nn stay whole, as does torchvision's random one; all other modules are looked into."""
    inside = type(module).forward.__module__
    return (inside.startswith("torch.nn.") and not inside.endswith(".container")) or type(module).__name__ == "StochasticDepth"


def flat(values):
    """The leaves of nested lists, tuples and dicts."""
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, (list, tuple)):
        return [values]
    return [leaf for value in values for leaf in flat(value)]


def real(arguments):
    """Tensors in place of Values."""
    if isinstance(arguments, dict):
        return {key: real(value) for key, value in arguments.items()}
    if type(arguments) in (list, tuple):
        return type(arguments)(map(real, arguments))
    return plain_tensor(arguments) if isinstance(arguments, Value) else arguments


def number(value):
    """A plain value for YAML: pairs of equal numbers are one."""
    if isinstance(value, (tuple, list)):
        value = list(value)
        return value[0] if len(value) == 2 and value[0] == value[1] and not isinstance(value[0], list) else value
    return value


def pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def is_channels_last(t, value):
    """Is it a whole output, as [N, H, W, C]?"""
    if value.dim() != 4 or value.places is None:
        return False
    places, order = value.places[0].permute(2, 0, 1), torch.arange(value[0].numel())
    return (tuple(places.shape) == t.shapes[value.layer] and torch.equal(places.flatten(), order)
            and not torch.equal(value.places[0].flatten(), order))


def of_image(t, value, make):
    """What make(image) gives for a value [N, H, W, C] as an image, as [N, H, W, C] again."""
    made = make(t.at(value, value.moved().permute(0, 3, 1, 2)))
    return t.at(made, made.moved().permute(0, 2, 3, 1))


def plain(kind):
    """A layer of one input whose options have PyTorch's names, and that does the same to every value."""
    def make(t, inputs, options, output, module):
        value = inputs[0]
        if is_channels_last(t, value):
            return of_image(t, value, lambda image: make(t, [image], options, output.permute(0, 3, 1, 2), module))
        return t.put(kind, [t.settle(value)], output, options, module)
    return make


def must(t, holds, why):
    if not holds:
        t.refuse(why)


def conv(t, inputs, options, output, module):
    must(t, module is not None, "the weights of F.conv2d belong to no layer: use nn.Conv2d")
    must(t, pair(module.dilation) == (1, 1), "dilation is 1 here")
    must(t, module.padding_mode == "zeros", "padding is with zeros here")
    kernel, stride, padding = pair(module.kernel_size), pair(module.stride), module.padding
    if padding == "valid":
        padding = 0
    elif padding == "same":
        must(t, all(k % 2 for k in kernel), "padding='same' needs odd kernels here")
        padding = [k // 2 for k in kernel]
    given = {"out": module.out_channels, "kernel": kernel, "stride": stride, "padding": padding, "groups": module.groups,
             "bias": module.bias is not None}
    return t.put("conv", [t.settle(inputs[0])], output, given, module)


def linear(t, inputs, options, output, module):
    must(t, module is not None, "the weights of F.linear belong to no layer: use nn.Linear")
    value, given = inputs[0], {"out": module.out_features, "bias": module.bias is not None}
    if output.dim() == 2:
        return t.put("linear", [t.settle(value)], output, given, module)
    must(t, is_channels_last(t, value), "a linear layer takes a vector, of a sample or of each position: flatten first")
    made = of_image(t, value, lambda image: t.put("conv", [t.settle(image)], output.permute(0, 3, 1, 2),
                                                  {**given, "kernel": 1}, module))
    t.reshaped[made.layer + ".weight"] = t.names[module] + ".weight", (module.out_features, module.in_features, 1, 1)
    return made


def batch_norm(t, inputs, options, output, module):
    must(t, module is not None, "the tensors of F.batch_norm belong to no layer: use nn.BatchNorm2d")
    must(t, module.affine, "batch norm has a weight and a bias here (affine=True)")
    must(t, module.momentum is not None or not module.track_running_stats, "momentum=None is not here: give it a number")
    given = {"eps": module.eps, "momentum": module.momentum}
    if not module.track_running_stats:
        given = {"eps": module.eps, "track_running_stats": False}
    return t.put("batch_norm", [t.settle(inputs[0])], output, given, module)


def group_norm(t, inputs, options, output, module):
    must(t, module is not None and module.affine, "group norm has a weight and a bias here: nn.GroupNorm with affine=True")
    return t.put("group_norm", [t.settle(inputs[0])], output, {"groups": module.num_groups, "eps": module.eps}, module)


def layer_norm(t, inputs, options, output, module):
    value = inputs[0]
    must(t, value.dim() in (2, 4) and tuple(module.normalized_shape) == tuple(value.shape[-1:]),
         "layer norm is over the features of a sample, or over the channels of each position, here")
    must(t, module.elementwise_affine and module.bias is not None, "layer norm has a weight and a bias here")
    given = {"eps": module.eps}
    if value.dim() == 2:
        return t.put("layer_norm", [t.settle(value)], output, given, module)
    return of_image(t, value, lambda image: t.put("layer_norm", [t.settle(image)], output.permute(0, 3, 1, 2), given, module))


def instance_norm(t, inputs, options, output, module):
    must(t, module is not None and module.affine,
         "instance norm has a weight and a bias here: nn.InstanceNorm2d with affine=True")
    must(t, not module.track_running_stats, "instance norm keeps no statistics here (track_running_stats=False)")
    return t.put("instance_norm", [t.settle(inputs[0])], output, {"eps": module.eps}, module)


def local_response_norm(t, inputs, options, output, module):
    must(t, options["beta"] in (0.25, 0.5, 0.75, 1), "beta is 0.25, 0.5, 0.75 or 1 here")
    given = {key: options[key] for key in ("size", "alpha", "beta", "k")}
    return t.put("local_response_norm", [t.settle(inputs[0])], output, given, module)


def gelu(t, inputs, options, output, module):
    must(t, options["approximate"] == "none", "GELU is that of the error function here (approximate='none')")
    return plain("gelu")(t, inputs, {}, output, module)


def max_pool(t, inputs, options, output, module):
    must(t, pair(options["dilation"]) == (1, 1), "dilation is 1 here")
    must(t, not options["return_indices"], "the places of the largest values are no output here")
    return pool("max_pool", t, inputs, options, output, module)


def avg_pool(t, inputs, options, output, module):
    must(t, options["divisor_override"] is None, "divisor_override is not here")
    return pool("avg_pool", t, inputs, options, output, module)


LARGEST_WINDOW = 255  # values in that of a max pool


def pool(kind, t, inputs, options, output, module):
    size = options["kernel_size"]
    given = {"size": pair(size), "stride": pair(options["stride"] or size), "padding": pair(options["padding"])}
    more = {"ceil_mode": True} if options["ceil_mode"] else {}
    if not options.get("count_include_pad", True):
        more["count_include_pad"] = False
    layer = t.settle(inputs[0])
    if kind == "max_pool" and given["size"][0] * given["size"][1] > LARGEST_WINDOW:
        # The largest of a row's largest: of several, too, the first one, as in one window.
        row = {"size": (1, given["size"][1]), "stride": (1, given["stride"][1]), "padding": (0, given["padding"][1])}
        rows = torch.nn.functional.max_pool2d(t.value_of(layer), *row.values(), ceil_mode=bool(more))
        layer = t.put(kind, [layer], rows, {**row, **more}).layer
        given = {key: (value[0], int(key != "padding")) for key, value in given.items()}
    return t.put(kind, [layer], output, {**given, **more}, module)


def adaptive_avg_pool(t, inputs, options, output, module):
    if output.shape == inputs[0].shape:
        return inputs[0]
    if output.shape[2:] == (1, 1):
        return t.put("global_avg_pool", [t.settle(inputs[0])], output, {}, module)
    return t.put("adaptive_avg_pool", [t.settle(inputs[0])], output, {"output_size": tuple(output.shape[2:])}, module)


def adaptive_max_pool(t, inputs, options, output, module):
    size, made = inputs[0].shape[2:], output.shape[2:]
    must(t, all(a % b == 0 for a, b in zip(size, made)), "the windows have unlike sizes, which max_pool has not")
    window = {"kernel_size": [a // b for a, b in zip(size, made)], "stride": None, "padding": 0, "ceil_mode": False}
    return pool("max_pool", t, inputs, window, output, module)


def mean(t, inputs, options, output, module):
    value, dim = inputs[0], options["dim"]
    axes = sorted(d % value.dim() for d in (dim if isinstance(dim, (tuple, list)) else [dim])) if dim is not None else []
    if axes == [1, 2] and is_channels_last(t, value):
        value, axes = t.at(value, value.moved().permute(0, 3, 1, 2)), [2, 3]
        must(t, not options["keepdim"], "keepdim is for rows and columns behind the channels here")
    must(t, value.dim() == 4 and axes == [2, 3], "a mean is over all rows and columns here: x.mean((2, 3))")
    pooled = value.mean((2, 3), keepdim=True)
    made = t.put("global_avg_pool", [t.settle(value)], pooled)
    return made if options["keepdim"] else t.at(made, made.moved().flatten(1))


def dropout(kind):
    def make(t, inputs, options, output, module):
        if module is None and options["training"] is None:
            t.notes.append("%sF.%s without `training` drops in evaluation, too; here it does not" % (t.line(), kind))
        if not options["p"] or module is None and options["training"] is False:
            return inputs[0]
        return plain(kind)(t, inputs, {"p": options["p"]}, output, module)
    return make


def stochastic_depth(t, inputs, options, output, module):
    given = {"p": options["p"], "mode": options["mode"]}
    return t.put("stochastic_depth", [t.settle(inputs[0])], output, given, module)


def add(t, inputs, options, output, module):
    values = [v for v in inputs if isinstance(v, Value)]
    must(t, len(values) == 2, "adding a constant is not here")
    must(t, options["alpha"] == 1, "alpha is 1 here")
    must(t, values[0].shape == values[1].shape, "both inputs of a sum have one shape here")
    return t.put("add", [t.settle(v) for v in values], output)


def multiply(t, inputs, options, output, module):
    values = [v for v in inputs if isinstance(v, Value)]
    others = [v for v in inputs if isinstance(v, torch.Tensor) and not isinstance(v, Value)]
    if others:
        return factors(t, values[0], others[0], output)
    if len(values) == 1:
        return scale(t, values[0], next(v for v in inputs if not isinstance(v, Value)), output)
    for a, b in (values, values[::-1]):
        if t.made_of(a, "sigmoid") == b.layer and b.places is None and a.places is None:
            return t.put("silu", [b.layer], output)
    for whole, gate in (values, values[::-1]):
        if whole.shape == output.shape and gate_layer(t, gate) and (whole.places is None or not gate_layer(t, whole)):
            return t.put("multiply", [t.settle(whole), gate_layer(t, gate)], output)
    must(t, values[0].shape == values[1].shape,
         "the second input of a product has the first one's shape, or one value per channel")
    return t.put("multiply", [t.settle(v) for v in values], output)


def gate_layer(t, value):
    """The layer with one value per channel that this value repeats over rows and columns, or None."""
    source = t.shapes[value.layer]
    if value.dim() != 4 or torch.Size(source).numel() != source[0]:
        return None
    first = value.moved()[0]
    if first.shape[0] == source[0] and torch.equal(first, torch.arange(source[0]).view(-1, 1, 1).expand(first.shape)):
        return value.layer
    return None


def factors(t, value, parameter, output):
    """One factor for each channel that the module learns, as the layer scale of ConvNeXt."""
    last = is_channels_last(t, value)
    shape = (value.shape[3],) if last else (value.shape[1], 1, 1)
    must(t, value.dim() == 4 and parameter in t.parameters and tuple(parameter.shape) == shape,
         "a factor is a number, or a parameter with one value per channel: [channels, 1, 1]")
    if last:
        return of_image(t, value, lambda image: t.put_factors(image, parameter, output.permute(0, 3, 1, 2)))
    return t.put_factors(value, parameter, output)


def scale(t, value, factor, output):
    must(t, isinstance(factor, (int, float)) and factor != 0, "a factor is a number other than 0")
    return t.put("scale", [t.settle(value)], output, {"factor": float(factor)})


def divide(t, inputs, options, output, module):
    must(t, isinstance(inputs[0], Value) and isinstance(inputs[1], (int, float)), "only constants divide")
    return scale(t, inputs[0], 1 / inputs[1], output)


def concat(t, inputs, options, output, module):
    values = inputs[0]
    must(t, options["dim"] % output.dim() == 1, "only channels are put side by side: dim=1")
    return values[0] if len(values) == 1 else t.put("concat", [t.settle(v) for v in values], output)


def upsample(t, inputs, options, output, module):
    must(t, options["mode"] == "nearest", "only mode='nearest' is here")
    factors = [b / a for a, b in zip(inputs[0].shape[2:], output.shape[2:])]
    must(t, all(f == int(f) for f in factors), "the factors are whole numbers here")
    return t.put("upsample", [t.settle(inputs[0])], output, {"scale_factor": [int(f) for f in factors]}, module)


def log_softmax(t, inputs, options, output, module):
    must(t, options["dim"] in (1, -1) or options["dim"] is None and output.dim() == 2, "log_softmax is over the classes")
    return t.put("log_softmax", [t.settle(inputs[0])], output, {}, module)


OPERATIONS = {
    "conv2d": Operation(conv),
    "linear": Operation(linear),
    "batchnorm1d": Operation(batch_norm), "batchnorm2d": Operation(batch_norm), "batchnorm": Operation(batch_norm),
    "groupnorm": Operation(group_norm), "layernorm": Operation(layer_norm), "instancenorm2d": Operation(instance_norm),
    "instancenorm": Operation(instance_norm),
    "localresponsenorm": Operation(local_response_norm, size=None, alpha=1e-4, beta=0.75, k=1.0),
    "maxpool2d": Operation(max_pool, kernel_size=None, stride=None, padding=0, dilation=1, ceil_mode=False,
                           return_indices=False),
    "avgpool2d": Operation(avg_pool, kernel_size=None, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                           divisor_override=None),
    "adaptiveavgpool2d": Operation(adaptive_avg_pool), "adaptivemaxpool2d": Operation(adaptive_max_pool),
    "mean": Operation(mean, dim=None, keepdim=False),
    "relu": Operation(plain("relu")),
    "gelu": Operation(gelu, approximate="none"),
    "silu": Operation(plain("silu")), "mish": Operation(plain("mish")),
    "relu6": Operation(plain("relu6")),
    "leakyrelu": Operation(plain("leaky_relu"), negative_slope=0.01),
    "elu": Operation(plain("elu"), alpha=1.0), "celu": Operation(plain("celu"), alpha=1.0),
    "tanh": Operation(plain("tanh")), "sigmoid": Operation(plain("sigmoid")),
    "hardsigmoid": Operation(plain("hard_sigmoid")), "hardswish": Operation(plain("hard_swish")),
    "softplus": Operation(plain("softplus"), beta=1, threshold=20),
    "dropout": Operation(dropout("dropout"), p=0.5, training=None),
    "dropout2d": Operation(dropout("dropout2d"), p=0.5, training=None),
    "featuredropout": Operation(dropout("dropout2d"), p=0.5, training=None),
    "stochasticdepth": Operation(stochastic_depth, p=None, mode=None),
    "add": Operation(add, 2, alpha=1), "iadd": Operation(add, 2, alpha=1), "radd": Operation(add, 2, alpha=1),
    "mul": Operation(multiply, 2), "imul": Operation(multiply, 2), "rmul": Operation(multiply, 2),
    "multiply": Operation(multiply, 2),
    "truediv": Operation(divide, 2), "div": Operation(divide, 2),
    "cat": Operation(concat, dim=0), "concat": Operation(concat, dim=0),
    "upsample": Operation(upsample, mode="nearest"), "upsamplingnearest2d": Operation(upsample, mode="nearest"),
    "interpolate": Operation(upsample, size=None, scale_factor=None, mode="nearest"),
    "logsoftmax": Operation(log_softmax, dim=None),
}

PAIRS = ("add", "multiply")  # layers of exactly two inputs

MOVES = {"view", "reshape", "flatten", "permute", "transpose", "swapaxes", "movedim", "contiguous", "clone", "chunk", "split",
         "unsqueeze", "squeeze", "expand", "expandas", "narrow", "getitem", "pad", "zeropad2d", "constantpad2d", "identity",
         "channelshuffle", "unflatten"}

SIZES = {"size", "get", "dim", "numel", "len", "nelement", "ndimension", "iscontiguous", "stride"}

# What to take instead.
NEAREST = {
    "softmax": ": cross entropy contains it, so that the network ends with its logits",
    "convtranspose2d": "; the nearest is upsample and a convolution",
    "prelu": "; the nearest is leaky_relu with a fixed slope",
    "multiheadattention": ": there is no attention here",
    "bernoulli": "; to skip a branch at random use torchvision.ops.StochasticDepth",
    "sub": "; a sum with a scale of -1 is the same",
}
