# SPDX-License-Identifier: MIT
"""Which layers move values: whether the moves between two layers are a flatten, a slice, a shuffle, a stride or a padding is
seen from where each value ends, so that it does not matter how they were written.

`t` is the Trace that gets the layers."""
import torch
from torch.nn.functional import pad

from ._value import INPUT, Unsupported

EXAMPLES = 2  # samples that pass through the network


def settle(t, value):
    """The layer whose output a value is; adds those that change and move values there."""
    layer = with_affine(t, value)
    if value.places is None:
        return layer
    source = t.shapes[layer]
    if value.places.shape[0] != EXAMPLES:
        t.refuse("the samples of a batch and their values share an axis")
    places, per_sample = value.places[0], torch.Size(source).numel()
    second = torch.where(places >= 0, places + per_sample, places)
    if not torch.equal(value.places[1], second):
        t.refuse("values move between samples")
    key = (layer, tuple(places.shape), places.numpy().tobytes())
    if key not in t.found:
        t.found[key] = move_layers(t, layer, source, places)
    return t.found[key]


def with_affine(t, value):
    """The layer with a value's scale. A shift is none but that of the input, whose scale and shift the experiment has."""
    if value.layer == INPUT:
        t.normalise(value)
        return INPUT
    scale, shift = value.affine or (1, 0)
    if shift:
        raise Unsupported("%sadding a constant is not here" % value.line)
    if scale == 1:
        return value.layer
    layer = once(t, "scale", value.layer, value_of(t, value.layer), {"factor": float(scale)})
    t.lines[layer] = value.line
    return layer


def value_of(t, layer):
    return torch.zeros(EXAMPLES, *t.shapes[layer])


def once(t, kind, layer, output, options):
    """A layer that several readers share."""
    key = (kind, layer, str(options))
    if key not in t.found:
        t.found[key] = t.put(kind, [layer], output, options, is_part=True).layer
    return t.found[key]


def reshaped(t, layer, shape):
    """The same values in order, as an image or as a vector of this shape."""
    shape = tuple(shape)
    if t.shapes[layer] == shape:
        return layer
    if len(t.shapes[layer]) == 3:
        layer = once(t, "flatten", layer, value_of(t, layer).flatten(1), {})
    return layer if len(shape) == 1 else once(t, "unflatten", layer, torch.zeros(EXAMPLES, *shape), {"size": list(shape)})


def move_layers(t, layer, source, places):
    is_in_order = torch.equal(places.flatten(), torch.arange(torch.Size(source).numel()))
    if is_in_order and places.shape == source:
        return layer
    if places.dim() == 1 and len(source) == 3:
        rows, columns = source[1:]
        if places.numel() % (rows * columns) == 0 and places.numel():
            try_places = places.reshape(-1, rows, columns)
            if lines(source, try_places):
                image = settle_image(t, layer, source, try_places)
                return reshaped(t, image, places.shape)
    if places.dim() not in (1, 3):
        t.refuse("a layer here takes an image, or a vector of features")
    if is_in_order:
        return reshaped(t, layer, places.shape)
    if places.dim() == 3 and len(source) == 3 and lines(source, places):
        return settle_image(t, layer, source, places)
    groups = groups_of_transpose(places.flatten(), torch.Size(source).numel())
    if groups:
        return transposed(t, layer, groups, places.shape)
    if places.dim() == 1 and len(source) == 1:
        return settle_image(t, layer, (*source, 1, 1), places.view(-1, 1, 1))
    t.refuse("it moves values as no layer does")


def groups_of_transpose(places, count):
    """The rows of the matrix whose transpose the values are, or 0."""
    columns = int(places[1]) if places.numel() == count and count > 1 else 0
    if columns < 2 or count % columns:
        return 0
    return count // columns if torch.equal(places, torch.arange(count).view(-1, columns).t().flatten()) else 0


def transposed(t, layer, groups, shape):
    """The columns of a matrix in place of its rows: a shuffle of as many groups as it has rows."""
    count = torch.Size(shape).numel()
    layer = reshaped(t, layer, (count, 1, 1))
    return reshaped(t, once(t, "shuffle", layer, value_of(t, layer), {"groups": groups}), shape)


def settle_image(t, layer, source, places):
    """Rows and columns by a crop and a stride, channels by a slice or a shuffle, then zeros around all."""
    moved = lines(source, places)
    if not moved:
        t.refuse("it moves values as no layer does")
    zeros, kept = [], []
    for line in moved:
        known = [i for i, at in enumerate(line) if at >= 0]
        if not known or known != list(range(known[0], known[-1] + 1)):
            t.refuse("it puts zeros between values")
        zeros.append((known[0], len(line) - 1 - known[-1]))
        kept.append(line[known[0]:known[-1] + 1])
    channels, rows, columns = kept
    strides = [stride(t, line, size) for line, size in zip((rows, columns), source[1:])]
    if strides == [1, 1]:
        zeros[1:] = [(front - line[0], back - (size - 1 - line[-1]))
                     for (front, back), line, size in zip(zeros[1:], (rows, columns), source[1:])]
    else:
        layer = crop(t, layer, (rows, columns), strides)
        output = value_of(t, layer)[:, :, ::strides[0], ::strides[1]]
        layer = once(t, "avg_pool", layer, output, {"size": 1, "stride": strides})
    groups, start = range_of_shuffle(t, channels, source[0])
    if groups > 1:
        layer = shuffled(t, layer, groups)
    if len(channels) < source[0]:
        taken = [start, start + len(channels)]
        layer = t.put("slice", [layer], value_of(t, layer)[:, taken[0]:taken[1]], {"channels": taken}, is_part=True).layer
    if any(any(pair) for pair in zeros):
        padding = [zero for pair in reversed(zeros) for zero in pair]
        output = pad(value_of(t, layer), padding)
        padding = padding if any(zeros[0]) else padding[:4]
        layer = t.put("zero_pad", [layer], output, {"padding": padding}, is_part=True).layer
    return layer


def shuffled(t, layer, groups):
    """Channels in another order; features are channels of one position meanwhile."""
    if len(t.shapes[layer]) == 1:
        return transposed(t, layer, groups, t.shapes[layer])
    return once(t, "shuffle", layer, value_of(t, layer), {"groups": groups})


def lines(source, places):
    """Where each channel, row and column comes from; -1: zeros. None if not each of them comes from one."""
    channels, rows, columns = source
    parts = [places // (rows * columns), places // columns % rows, places % columns]
    found = []
    for axis, part in enumerate(parts):
        part = torch.where(places >= 0, part, torch.full_like(part, -1)).movedim(axis, 0).flatten(1)
        found.append(part.max(1).values)
    c, r, k = found
    again = (c.view(-1, 1, 1) * rows + r.view(1, -1, 1)) * columns + k.view(1, 1, -1)
    zero = (c < 0).view(-1, 1, 1) | (r < 0).view(1, -1, 1) | (k < 0).view(1, 1, -1)
    if not torch.equal(torch.where(zero, torch.full_like(again, -1), again), places):
        return None
    return [line.tolist() for line in found]


def stride(t, line, size):
    step = line[1] - line[0] if len(line) > 1 else size if line == [0] else 1
    if step < 1 or line != list(range(line[0], line[-1] + 1, step)):
        t.refuse("it takes some rows or columns that no stride gives")
    return step


def crop(t, layer, kept, strides):
    """Takes away what is in front of the first row and column, and what a stride would take behind the last."""
    padding = []
    for line, step, size in reversed(list(zip(kept, strides, t.shapes[layer][1:]))):
        behind = size - 1 - line[-1]
        padding += [-line[0], -behind if behind >= step else 0]
    if not any(padding):
        return layer
    return once(t, "zero_pad", layer, pad(value_of(t, layer), padding), {"padding": padding})


def range_of_shuffle(t, channels, count):
    """(groups, start): these channels are those from `start` on after a shuffle of so many groups; 1: none."""
    for groups in range(1, max(count, 2)):
        if count % groups == 0:
            order = torch.arange(count).view(groups, -1).t().flatten().tolist()
            start = order.index(channels[0])
            if order[start:start + len(channels)] == channels:
                return groups, start
    t.refuse("it orders channels as no shuffle does")
