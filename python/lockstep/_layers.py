# SPDX-License-Identifier: MIT
"""Which layers the operations of PyTorch are: a row of OPERATIONS each. In the functions `t` is the Trace that gets the layers,
`output` the tensor that PyTorch computed; tensors of the module are among the options, under the names that PyTorch's
functions give them."""
import numbers

import torch

from ._moves import reshaped, settle, value_of
from ._value import INPUT, Value


class Operation:
    """How an operation of PyTorch becomes a layer. make(t, inputs, options, output). inputs: the number of its tensors.
    options: PyTorch's names, in the order of the function's arguments, with their defaults. affine: it takes values whose
    scale and shift no layer has yet."""

    def __init__(self, make, inputs=1, affine=False, **options):
        self.make, self.inputs, self.affine, self.options = make, inputs, affine, options


def must(t, holds, why):
    if not holds:
        t.refuse(why)


def pair(value):
    if isinstance(value, (tuple, list)):
        return tuple(value) if len(value) == 2 else (value[0], value[0])
    return value, value


# ---- Images ----

def image_of(t, value, axis=1):
    """A value as an image whose channels are one of its axes; its other axes are rows and columns."""
    moved = value.moved().movedim(axis % value.dim(), 1)
    rest = moved.shape[2:]
    if len(rest) != 2:
        source = t.shapes[value.layer]
        is_source = len(source) == 3 and source[1] * source[2] == rest.numel()
        moved = moved.reshape(*moved.shape[:2], *(source[1:] if is_source else (rest.numel(), 1)))
    return Value.of(t, value.layer, torch.zeros(moved.shape), moved, value.affine)


def back(t, made, shape, axis=1):
    """An image with its channels at an axis again; the other axes are those of this shape."""
    axis, rest = axis % len(shape), list(shape[1:])
    del rest[axis - 1]
    moved = made.moved()
    moved = moved.reshape(*moved.shape[:2], *rest).movedim(1, axis)
    return Value.of(t, made.layer, torch.zeros(moved.shape), moved, made.affine)


def on_image(t, value, make, axis=1):
    """What make(image) gives, with the channels at their axis again."""
    if value.dim() == 4 and axis == 1:
        return make(value)
    return back(t, make(image_of(t, value, axis)), value.shape, axis)


def is_free(t, value, axis):
    """Is it the whole output of a layer, with its channels at this axis?"""
    image = image_of(t, value, axis)
    order = torch.arange(image.numel()).view(image.shape)
    return tuple(image.shape[1:]) == t.shapes[value.layer] and torch.equal(image.moved(), order)


def axis_of(t, value):
    """The axis of the channels: the last one, where that is how a layer's output lies."""
    if value.dim() > 2 and value.places is not None and not is_free(t, value, 1) and is_free(t, value, -1):
        return value.dim() - 1
    return 1


# ---- Functions of each element ----

def plain(kind):
    """A layer of one input whose options have PyTorch's names, and that does the same to every value."""
    def make(t, inputs, options, output):
        return elementwise(t, kind, inputs[0], {key: value for key, value in options.items() if key != "inplace"})
    return make


def elementwise(t, kind, value, options=None):
    if value.dim() in (2, 4) and axis_of(t, value) == 1:
        return t.put(kind, [settle(t, value)], value, options)
    return on_image(t, value, lambda image: t.put(kind, [settle(t, image)], image, options), axis_of(t, value))


def gelu(t, inputs, options, output):
    must(t, options["approximate"] == "none", "GELU is that of the error function here (approximate='none')")
    return elementwise(t, "gelu", inputs[0])


def clamp(t, inputs, options, output):
    """Relu6, relu, and the hard sigmoid as it is often written: relu6(x + 3) / 6."""
    value, limits = inputs[0], (*options.values(), None)[:2]
    if value.affine and value.layer != INPUT and limits[0] == 0 and limits[1]:
        slope, middle = [number / limits[1] for number in value.affine]
        if abs(slope - 1 / 6) < 1e-6 and abs(middle - 0.5) < 1e-6:
            return scaled(t, elementwise(t, "hard_sigmoid", Value.of(t, value.layer, value, value.places)), limits[1])
    must(t, limits[0] == 0 and (limits[1] is None or limits[1] > 0), "the lower limit is 0 here, as that of relu and relu6")
    if limits[1] is None:
        return elementwise(t, "relu", t.plain(value))
    six = elementwise(t, "relu6", t.plain(scaled(t, value, 6 / limits[1])))
    return scaled(t, six, limits[1] / 6)


def relu6(t, inputs, options, output):
    return clamp(t, inputs, {"min": 0, "max": 6}, output)


def prelu(t, inputs, options, output):
    """relu(x) - weight · relu(-x)."""
    value, weight = inputs[0], options["weight"]
    must(t, value.dim() == 4 and weight.numel() == value.shape[1],
         "a slope for all channels together is not here; nn.PReLU(channels) has one for each, and leaky_relu a fixed one")
    layer = settle(t, value)

    def put(kind, *layers, **options):
        return t.put(kind, layers, value, options, is_part=True).layer
    slopes = put_channels(t, put("scale", put("relu", put("scale", layer, factor=-1.0)), factor=-1.0), value, weight, None)
    return t.put("add", [put("relu", layer), slopes.layer], value)


# ---- Layers with tensors ----

def conv(t, inputs, options, output):
    value, weight = inputs[0], options["weight"]
    kernel, padding = tuple(weight.shape[2:]), options["padding"]
    must(t, all(d == 1 or k == 1 for d, k in zip(pair(options["dilation"]), kernel)), "dilation is 1 here")
    layer = settle(t, value)
    if padding == "same":
        total = [k - 1 for k in kernel]
        padding = [all_zeros // 2 for all_zeros in total]
        if any(all_zeros % 2 for all_zeros in total):
            front, behind = [n // 2 for n in total], [n - n // 2 for n in total]
            width = [front[1], behind[1], front[0], behind[0]]
            padded = torch.nn.functional.pad(value_of(t, layer), width)
            layer, padding = t.put("zero_pad", [layer], padded, {"padding": width}, is_part=True).layer, 0
    return put_conv(t, layer, output, weight, options["bias"], stride=pair(options["stride"]),
                    padding=0 if padding == "valid" else pair(padding), groups=options["groups"])


def put_conv(t, layer, output, weight, bias, **options):
    given = {"out": weight.shape[0], "kernel": tuple(weight.shape[2:]), **options, "bias": bias is not None}
    return t.put("conv", [layer], output, given, tensors(weight=weight, bias=bias))


def conv1d(t, inputs, options, output):
    """Along the rows of an image of one column."""
    options = dict(options, weight=options["weight"].unsqueeze(-1))
    for key, other in ("stride", 1), ("padding", 0), ("dilation", 1):
        value = options[key]
        options[key] = value if isinstance(value, str) else ((value[0] if isinstance(value, (tuple, list)) else value), other)
    value = inputs[0]
    image = Value.of(t, value.layer, value.unsqueeze(-1), value.moved().unsqueeze(-1), value.affine)
    made = conv(t, [image], options, output.unsqueeze(-1))
    return Value.of(t, made.layer, output, made.moved().squeeze(-1))


def linear(t, inputs, options, output):
    value, weight, bias = inputs[0], options["weight"], options["bias"]
    if value.dim() == 2:
        return t.put("linear", [settle(t, value)], output, {"out": weight.shape[0], "bias": bias is not None},
                     tensors(weight=weight, bias=bias))
    must(t, value.dim() > 2, "a linear layer takes a vector, of a sample or of each position")

    def make(image):
        made = torch.zeros(image.shape[0], weight.shape[0], *image.shape[2:])
        return put_conv(t, settle(t, image), made, weight[:, :, None, None], bias)
    return on_image(t, value, make, -1)


def matmul(t, inputs, options, output):
    value, other = inputs
    must(t, isinstance(value, Value) and not isinstance(other, Value) and other.dim() == 2,
         "no layer multiplies two values of the network as matrices, as attention does")
    must(t, other.t().is_contiguous(), "a matrix of a linear layer has its outputs first here: x @ weight.t()")
    return linear(t, [value], {"weight": other.t(), "bias": None}, output)


def batch_norm(t, inputs, options, output):
    value, names = inputs[0], ("weight", "bias", "running_mean", "running_var")
    is_kept = options["running_mean"] is not None
    if t.training:
        must(t, options["training"], "it is in evaluation mode while the network trains: its statistics are used, and stay as "
             "they are; here they are the batch's, and follow it")
    must(t, is_kept, "batch norm has running statistics here (track_running_stats=True): without them the class of an image "
         "depends on the images beside it")
    must(t, t.training or not options["training"], "it normalises by the batch in evaluation, too")
    must(t, options["momentum"] is not None and not cumulative(t), "momentum=None is not here: give it a number")
    own = with_constants(value.shape[1], **{name: options[name] for name in names})
    given = {"eps": options["eps"], "momentum": options["momentum"]}
    if value.dim() == 2:
        return t.put("batch_norm", [settle(t, value)], value, given, own)
    return on_image(t, value, lambda image: t.put("batch_norm", [settle(t, image)], image, given, own))


def cumulative(t):
    return bool(t.inside) and getattr(t.inside[-1], "momentum", 0) is None


def group_norm(t, inputs, options, output):
    value = inputs[0]
    own = with_constants(value.shape[1], weight=options["weight"], bias=options["bias"])
    given = {"groups": options["num_groups"], "eps": options["eps"]}
    must(t, value.dim() > 2, "group norm is of an image here")
    return on_image(t, value, lambda image: t.put("group_norm", [settle(t, image)], image, given, own))


def layer_norm(t, inputs, options, output):
    value, size = inputs[0], options["normalized_shape"]
    must(t, tuple(size) == tuple(value.shape[-1:]),
         "layer norm is over the features of a sample, or over the channels of each position, here")
    own = with_constants(value.shape[-1], weight=options["weight"], bias=options["bias"])
    given = {"eps": options["eps"]}
    if value.dim() == 2:
        return t.put("layer_norm", [settle(t, value)], value, given, own)
    return on_image(t, value, lambda image: t.put("layer_norm", [settle(t, image)], image, given, own), -1)


def instance_norm(t, inputs, options, output):
    value = inputs[0]
    must(t, options["use_input_stats"] and options["running_mean"] is None,
         "instance norm keeps no statistics here (track_running_stats=False)")
    own = with_constants(value.shape[1], weight=options["weight"], bias=options["bias"])
    return t.put("instance_norm", [settle(t, value)], output, {"eps": options["eps"]}, own)


def tensors(**own):
    """Those that are there."""
    return {end: tensor for end, tensor in own.items() if tensor is not None}


def with_constants(channels, **own):
    """Weights and biases of a norm; those that PyTorch's has not are ones and zeros."""
    constant = {"weight": torch.ones(channels), "bias": torch.zeros(channels)}
    return {end: constant[end] if tensor is None else tensor for end, tensor in own.items()}


def put_channels(t, layer, image, factors, shifts):
    """A factor and a shift of each channel: a convolution of single channels."""
    channels = image.shape[1]
    weight = torch.ones(channels, 1, 1, 1) if factors is None else factors.reshape(channels, 1, 1, 1)
    return put_conv(t, layer, image, weight, None if shifts is None else shifts.reshape(channels), groups=channels)


# ---- Pools ----

def max_pool(t, inputs, options, output):
    must(t, pair(options["dilation"]) == (1, 1), "dilation is 1 here")
    must(t, not options["return_indices"], "the places of the largest values are no output here")
    return pool("max_pool", t, inputs, options)


def avg_pool(t, inputs, options, output):
    must(t, options["divisor_override"] is None, "divisor_override is not here")
    return pool("avg_pool", t, inputs, options)


LARGEST_WINDOW = 255  # values in that of a max pool


def pool(kind, t, inputs, options):
    value, size = inputs[0], pair(options["kernel_size"])
    must(t, value.dim() == 4, "a pool is of an image here")
    stride, padding = pair(options["stride"] or size), pair(options["padding"])
    given = {"ceil_mode": True} if options["ceil_mode"] else {}
    if not options.get("count_include_pad", True):
        given["count_include_pad"] = False
    windows = [(size, stride, padding)]
    if kind == "max_pool" and size[0] * size[1] > LARGEST_WINDOW:
        # The largest of a row's largest: of several, too, the first one, as in one window.
        windows = [((1, size[1]), (1, stride[1]), (0, padding[1])), ((size[0], 1), (stride[0], 1), (padding[0], 0))]
    for window in windows:
        made = torch.nn.functional.max_pool2d(torch.zeros(value.shape), *window, ceil_mode=bool(options["ceil_mode"]))
        value = t.put(kind, [settle(t, value)], made, {**dict(zip(("size", "stride", "padding"), window)), **given})
    return value


def adaptive_avg_pool(t, inputs, options, output):
    if output.shape == inputs[0].shape:
        return inputs[0]
    if output.shape[2:] == (1, 1):
        return t.put("global_avg_pool", [settle(t, inputs[0])], output)
    return t.put("adaptive_avg_pool", [settle(t, inputs[0])], output, {"output_size": tuple(output.shape[2:])})


def adaptive_avg_pool1d(t, inputs, options, output):
    must(t, output.shape[-1] == 1, "only the mean of all positions is here: AdaptiveAvgPool1d(1)")
    return mean(t, inputs, {"dim": -1, "keepdim": True}, output)


def adaptive_max_pool(t, inputs, options, output):
    size, made = inputs[0].shape[2:], output.shape[2:]
    must(t, not options["return_indices"], "the places of the largest values are no output here")
    must(t, all(a % b == 0 for a, b in zip(size, made)), "the windows have unlike sizes, which max_pool has not")
    return largest(t, inputs[0], [a // b for a, b in zip(size, made)])


def largest(t, value, size):
    return pool("max_pool", t, [value], {"kernel_size": size, "stride": None, "padding": 0, "ceil_mode": False})


def mean(t, inputs, options, output, name="mean"):
    return over_positions(t, inputs[0], options, output, "a %s is over all rows and columns here: x.%s((2, 3))" % (name, name),
                          lambda image: t.put("global_avg_pool", [settle(t, image)], image[:, :, :1, :1]))


def total(t, inputs, options, output):
    made = mean(t, inputs, options, output, "sum")
    return made if made.why else scaled(t, made, inputs[0].numel() // output.numel())


def amax(t, inputs, options, output):
    return over_positions(t, inputs[0], options, output,
                          "the largest value is that of all rows and columns here: x.amax((2, 3))",
                          lambda image: largest(t, image, image.shape[2:]))


def over_positions(t, value, options, output, why, make):
    """make(image): one value for each channel of an image."""
    dim = options["dim"]
    if dim is None or dim == ():
        return Value.of(t, INPUT, output, why=t.refusal(why))
    axes = sorted(d % value.dim() for d in (dim if isinstance(dim, (tuple, list)) else [dim]))
    channels = [axis for axis in range(1, value.dim()) if axis not in axes]
    must(t, value.dim() > 2 and len(channels) == 1 and 0 not in axes, why)
    made = make(image_of(t, value, channels[0]))
    moved = made.moved().flatten(1)
    shape = [1 if axis in axes else size for axis, size in enumerate(value.shape)]
    return Value.of(t, made.layer, output, moved.reshape(shape) if options["keepdim"] else moved)


# ---- What is dropped at random ----

def dropout(kind):
    def make(t, inputs, options, output):
        if not options["p"] or not options["training"]:
            return inputs[0]
        must(t, kind == "dropout" or inputs[0].dim() == 4 and axis_of(t, inputs[0]) == 1,
             "it drops channels, of an image, here")
        return elementwise(t, kind, inputs[0], {"p": options["p"]})
    return make


def is_random_depth(layer):
    """torchvision's layer, or timm's: a skip at random, which would else draw its own numbers."""
    return type(layer).__name__ in ("StochasticDepth", "DropPath")


def stochastic_depth(t, inputs, options, output):
    layer = t.inside[-1]
    p, mode = layer.p if hasattr(layer, "p") else layer.drop_prob, getattr(layer, "mode", "row")
    kept = 1 / (1 - p) if 0 <= p < 1 and layer.training else 1
    samples = type(layer).forward(layer, torch.ones(64, 2, 1, 1)).flatten(1)
    dropped = (samples[:, :1] == 0).expand(samples.shape)
    must(t, torch.allclose(samples, torch.where(dropped, torch.zeros(()), torch.full((), float(kept)))),
         "it does something else than to drop whole samples, and to divide the others by the probability that they stay")
    return elementwise(t, "stochastic_depth", inputs[0], {"p": p, "mode": mode}) if p and layer.training else inputs[0]


# ---- Arithmetic ----

def scaled(t, value, factor=1, shift=0):
    """A value times a number, plus another. The layer that reads it makes a layer of that, or the experiment does."""
    must(t, is_number(shift, 0) or value.places is None or bool((value.places >= 0).all()),
         "adding a constant to zeros around an image is not here")
    scale, offset = value.affine or (1, 0)
    affine = (scale * factor, offset * factor + shift)
    if is_number(affine[0], 1) and is_number(affine[1], 0):
        affine = None
    result = Value.of(t, value.layer, value, value.places, affine)
    result.line = t.line()
    return result


def is_number(value, number):
    return bool((torch.as_tensor(value) == number).all())


def constant(t, value, other):
    """A number, or of the input one for each channel, that a tensor of the module's is and stays; None: it is neither."""
    if not isinstance(other, torch.Tensor):
        must(t, isinstance(other, numbers.Real), "a %s is no operand here" % type(other).__name__)
        return float(other)
    own = t.find("operand", other)
    if own.trained:
        return None
    if other.numel() == 1:
        return other.item()
    if value.layer == INPUT and value.places is None and channels_of(value, other) is not None:
        return channels_of(value, other).detach().double()
    return None


def channels_of(value, other, axis=1):
    """A tensor that is broadcast over all but one axis of a value, as a vector, or None."""
    if other.dim() > value.dim() or other.numel() != value.shape[axis]:
        return None
    index = torch.arange(other.numel()).view(other.shape)
    try:
        index = index.expand(value.shape)
    except RuntimeError:
        return None
    order = torch.arange(other.numel()).view([-1 if i == axis % value.dim() else 1 for i in range(value.dim())])
    return other.reshape(-1) if torch.equal(index, order.expand(value.shape)) else None


def channelwise(t, value, factors, shifts):
    """Times and plus tensors of the module's, one value for each channel."""
    tensor = shifts if factors is None else factors
    for axis in (1, value.dim() - 1):
        vectors = [None if other is None else channels_of(value, other, axis) for other in (factors, shifts)]
        if all(vector is not None or other is None for vector, other in zip(vectors, (factors, shifts))):
            break
    else:
        own = t.find("operand", tensor)
        t.refuse("%s is no number, and has not one value for each channel, such as [channels, 1, 1]: no layer has other tensors"
                 % ("'%s'" % own.target if own.target else "a constant"))

    value = t.plain(value)
    if value.dim() == 2:
        made = put_channels(t, reshaped(t, settle(t, value), (value.shape[1], 1, 1)), value[:, :, None, None], *vectors)
        return Value.of(t, made.layer, value, made.moved().flatten(1))
    return on_image(t, value, lambda image: put_channels(t, settle(t, image), image, *vectors), axis)


def operands(inputs):
    values = [v for v in inputs if isinstance(v, Value)]
    return values, [v for v in inputs if not isinstance(v, Value)]


def add(t, inputs, options, output):
    values, others = operands(inputs)
    must(t, options.get("alpha", 1) == 1, "alpha is 1 here")
    if len(values) == 2:
        return sum_of(t, *values)
    number = constant(t, values[0], others[0])
    if number is not None:
        return scaled(t, values[0], 1, number)
    return channelwise(t, values[0], None, others[0])


def sum_of(t, a, b):
    must(t, a.shape == b.shape, "both inputs of a sum have one shape here")
    return pairwise(t, "add", t.plain(a), t.plain(b))


def pairwise(t, kind, a, b):
    """A layer of two values of one shape."""
    axis = next((axis_of(t, v) for v in (a, b) if axis_of(t, v) != 1), 1)
    if a.dim() in (2, 4) and axis == 1:
        return t.put(kind, [settle(t, a), settle(t, b)], a)
    images = [image_of(t, v, axis) for v in (a, b)]
    like = max(images, key=lambda image: image.shape[-1])  # one that is an image by itself, where the other is a column
    images = [Value.of(t, image.layer, like, image.moved().reshape(like.shape), image.affine) for image in images]
    return back(t, t.put(kind, [settle(t, image) for image in images], like), a.shape, axis)


def sub(t, inputs, options, output):
    a, b = inputs
    must(t, options.get("alpha", 1) == 1, "alpha is 1 here")
    if isinstance(b, Value):
        negative = scaled(t, b, -1)
        return sum_of(t, a, negative) if isinstance(a, Value) else add(t, [negative, a], {}, output)
    number = constant(t, a, b)
    if number is not None:
        return scaled(t, a, 1, -number)
    must(t, not t.find("operand", b).trained, "it subtracts a tensor that is trained; add it")
    return channelwise(t, a, None, -b)


def rsub(t, inputs, options, output):
    return sub(t, inputs[::-1], options, output)


def negative(t, inputs, options, output):
    return scaled(t, inputs[0], -1)


def divide(t, inputs, options, output):
    a, b = inputs
    must(t, options.get("rounding_mode") is None, "rounding is not here")
    must(t, isinstance(a, Value) and not isinstance(b, Value), "only constants divide")
    number = constant(t, a, b)
    must(t, number is not None or not t.find("operand", b).trained,
         "only constants divide; a tensor that is trained can be a factor")
    return channelwise(t, a, 1 / b, None) if number is None else scaled(t, a, 1 / number)


def multiply(t, inputs, options, output):
    values, others = operands(inputs)
    if len(values) == 2:
        return product(t, *values, output)
    number = constant(t, values[0], others[0])
    if number is None:
        return channelwise(t, values[0], others[0], None)
    must(t, not is_number(number, 0), "a factor is a number other than 0")
    return scaled(t, values[0], number)


GATED = {"sigmoid": "silu", "hard_sigmoid": "hard_swish"}  # f(x) · x


def product(t, a, b, output):
    factor = 1
    values = []
    for value in (a, b):  # their factors are one
        scale, shift = value.affine or (1, 0)
        if value.layer == INPUT or shift:
            value = t.plain(value)
        else:
            factor, value = factor * scale, Value.of(t, value.layer, value, value.places)
        values.append(value)
    made = product_of(t, *values, output)
    return scaled(t, made, factor) if factor != 1 else made


def product_of(t, a, b, output):
    for x, gate in ((a, b), (b, a)):
        kind, read = t.made_of(gate)
        if kind in GATED and read == x.layer and torch.equal(x.moved(), gate.moved()):
            return elementwise(t, GATED[kind], x)
    for whole, gate in ((a, b), (b, a)):
        for axis in dict.fromkeys((axis_of(t, whole), 1)):
            layer = gate_layer(t, gate, axis)
            if layer and whole.shape == output.shape and (whole.places is None or not gate_layer(t, whole, axis)):
                return on_image(t, whole, lambda image, layer=layer: t.put("multiply", [settle(t, image), layer], image), axis)
    must(t, a.shape == b.shape, "the second input of a product has the first one's shape, or one value per channel")
    return pairwise(t, "multiply", a, b)


def gate_layer(t, value, axis=1):
    """The layer with one value per channel that this value repeats over rows and columns, or None."""
    source = t.shapes[value.layer]
    if value.dim() < 3 or torch.Size(source).numel() != value.shape[axis]:
        return None
    first = image_of(t, value, axis).moved()[0]
    order = torch.arange(first.shape[0]).view(-1, 1, 1)
    if torch.equal(first, order.expand(first.shape)):
        return reshaped(t, value.layer, (first.shape[0], 1, 1)) if source[0] != first.shape[0] else value.layer
    return None


def addcmul(t, inputs, options, output):
    values, others = operands(inputs)
    must(t, len(values) == 1 and not isinstance(inputs[0], Value) and options["value"] == 1,
         "of addcmul that with one value of the network, times and plus tensors of the module's, is here")
    return channelwise(t, values[0], others[1], others[0])


# ---- Others ----

def concat(t, inputs, options, output):
    values = inputs[0]
    must(t, all(isinstance(v, Value) for v in values),
         "a tensor of the module's own is put beside the values; no layer holds values of its own, as a class token")
    must(t, output.dim() in (2, 4) and options["dim"] % output.dim() == 1, "only channels are put side by side: dim=1")
    return values[0] if len(values) == 1 else t.put("concat", [settle(t, v) for v in values], output)


def upsample(t, inputs, options, output):
    must(t, options["mode"] == "nearest", "only mode='nearest' is here")
    factors = [b / a for a, b in zip(inputs[0].shape[2:], output.shape[2:])]
    must(t, all(f == int(f) for f in factors), "the factors are whole numbers here")
    if factors == [1, 1]:
        return inputs[0]
    return t.put("upsample", [settle(t, inputs[0])], output, {"scale_factor": [int(f) for f in factors]})


def local_response_norm(t, inputs, options, output):
    must(t, options["beta"] in (0.25, 0.5, 0.75, 1), "beta is 0.25, 0.5, 0.75 or 1 here")
    return t.put("local_response_norm", [settle(t, inputs[0])], output, options)


def log_softmax(t, inputs, options, output):
    must(t, output.dim() == 2 and options["dim"] in (None, 1, -1), "log_softmax is over the classes")
    return t.put("log_softmax", [settle(t, inputs[0])], output)


OPERATIONS = {
    "conv2d": Operation(conv, weight=None, bias=None, stride=1, padding=0, dilation=1, groups=1),
    "conv1d": Operation(conv1d, weight=None, bias=None, stride=1, padding=0, dilation=1, groups=1),
    "linear": Operation(linear, weight=None, bias=None),
    "matmul": Operation(matmul, 2), "mm": Operation(matmul, 2), "rmatmul": Operation(matmul, 2),
    "batchnorm": Operation(batch_norm, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1,
                           eps=1e-5),
    "groupnorm": Operation(group_norm, num_groups=None, weight=None, bias=None, eps=1e-5),
    "layernorm": Operation(layer_norm, normalized_shape=None, weight=None, bias=None, eps=1e-5),
    "instancenorm": Operation(instance_norm, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                              momentum=0.1, eps=1e-5),
    "localresponsenorm": Operation(local_response_norm, size=None, alpha=1e-4, beta=0.75, k=1.0),
    "maxpool2d": Operation(max_pool, kernel_size=None, stride=None, padding=0, dilation=1, ceil_mode=False,
                           return_indices=False),
    "avgpool2d": Operation(avg_pool, kernel_size=None, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                           divisor_override=None),
    "adaptiveavgpool2d": Operation(adaptive_avg_pool), "adaptiveavgpool1d": Operation(adaptive_avg_pool1d),
    "adaptivemaxpool2d": Operation(adaptive_max_pool, output_size=None, return_indices=False),
    "mean": Operation(mean, dim=None, keepdim=False), "sum": Operation(total, dim=None, keepdim=False),
    "amax": Operation(amax, dim=(), keepdim=False),
    "relu": Operation(plain("relu")), "relu6": Operation(relu6, affine=True),
    "hardtanh": Operation(clamp, affine=True, min_val=-1.0, max_val=1.0),
    "clamp": Operation(clamp, affine=True, min=None, max=None), "clip": Operation(clamp, affine=True, min=None, max=None),
    "clampmin": Operation(clamp, affine=True, min=None),
    "gelu": Operation(gelu, approximate="none"),
    "silu": Operation(plain("silu")), "mish": Operation(plain("mish")),
    "leakyrelu": Operation(plain("leaky_relu"), negative_slope=0.01), "prelu": Operation(prelu, weight=None),
    "elu": Operation(plain("elu"), alpha=1.0), "celu": Operation(plain("celu"), alpha=1.0),
    "tanh": Operation(plain("tanh")), "sigmoid": Operation(plain("sigmoid")),
    "hardsigmoid": Operation(plain("hard_sigmoid")), "hardswish": Operation(plain("hard_swish")),
    "softplus": Operation(plain("softplus"), beta=1, threshold=20),
    "dropout": Operation(dropout("dropout"), p=0.5, training=True),
    "dropout2d": Operation(dropout("dropout2d"), p=0.5, training=True),
    "featuredropout": Operation(dropout("dropout2d"), p=0.5, training=True),
    "stochasticdepth": Operation(stochastic_depth), "droppath": Operation(stochastic_depth),
    "add": Operation(add, 2, affine=True, alpha=1), "iadd": Operation(add, 2, affine=True),
    "radd": Operation(add, 2, affine=True), "addcmul": Operation(addcmul, 3, value=1),
    "sub": Operation(sub, 2, affine=True, alpha=1), "isub": Operation(sub, 2, affine=True),
    "subtract": Operation(sub, 2, affine=True, alpha=1), "rsub": Operation(rsub, 2, affine=True, alpha=1),
    "neg": Operation(negative, affine=True), "negative": Operation(negative, affine=True),
    "mul": Operation(multiply, 2, affine=True), "imul": Operation(multiply, 2, affine=True),
    "rmul": Operation(multiply, 2, affine=True), "multiply": Operation(multiply, 2, affine=True),
    "truediv": Operation(divide, 2, affine=True), "itruediv": Operation(divide, 2, affine=True),
    "idiv": Operation(divide, 2, affine=True), "div": Operation(divide, 2, affine=True, rounding_mode=None),
    "cat": Operation(concat, dim=0), "concat": Operation(concat, dim=0), "concatenate": Operation(concat, dim=0),
    "upsample": Operation(upsample, size=None, scale_factor=None, mode="nearest"),
    "interpolate": Operation(upsample, size=None, scale_factor=None, mode="nearest"),
    "logsoftmax": Operation(log_softmax, dim=None),
}

MOVES = {"view", "viewas", "reshape", "reshapeas", "flatten", "ravel", "permute", "transpose", "swapaxes", "swapdims", "movedim",
         "moveaxis", "contiguous", "clone", "chunk", "split", "tensorsplit", "unbind", "select", "unsqueeze", "squeeze", "expand",
         "expandas", "repeat", "narrow", "indexselect", "getitem", "pad", "channelshuffle", "unflatten", "t"}

SIZES = {"size", "dim", "numel", "len", "nelement", "ndimension", "iscontiguous", "stride", "isfloatingpoint", "iscomplex",
         "repr", "format", "hash"}

# What changes no value, on this or any device.
KEPT = {"to", "cuda", "cpu", "float", "half", "double", "bfloat16", "type", "typeas", "requiresgrad", "detach", "alias"}

# Comparisons and the like: what depends on them is refused.
QUESTIONS = {"gt", "lt", "ge", "le", "eq", "ne", "greater", "less", "isnan", "isinf", "isfinite", "any", "all", "max", "min",
             "std", "var", "norm", "argmax", "count", "countnonzero", "median", "logicaland", "logicalor", "logicalnot"}
DECISIONS = {"__bool__", "__float__", "__int__", "__index__", "__array__", "item", "tolist", "numpy", "equal", "allclose"}

# What to take instead.
NEAREST = {
    "softmax": ": cross entropy contains it, so that the network ends with its logits",
    "convtranspose2d": "; the nearest is upsample and a convolution",
    "multiheadattention": ": there is no attention here",
    "scaleddotproductattention": ": there is no attention here",
    "maxpool2dwithindices": ": the places of the largest values are no output here",
    "bernoulli": "; to skip a branch at random use torchvision.ops.StochasticDepth",
}
