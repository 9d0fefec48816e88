# SPDX-License-Identifier: MIT
"""Augmentation of bytes by PyTorch's operations, with the draws of random_draws.py."""
import math

import torch
from torch.nn.functional import pad

from random_draws import AFFINE, COLOR_JITTER, CROP, CUTOUT, FLIP, RESIZED_CROP, Stream, mixup_share


class Sample:
    """Whose draws these are: an entry of the list, of one image in one epoch."""

    def __init__(self, o, place, epoch, sample):
        self.o, self.place, self.epoch, self.sample = o, place, epoch, sample

    def stream(self, purpose, epoch=None):
        return Stream(self.o["seed"], purpose, self.place, self.epoch if epoch is None else epoch, self.sample)


def crop(image, entry, sample):
    size, draws = entry["padding"], sample.stream(CROP)
    top, left = [draws.below(i, 2 * size + 1) for i in range(2)]
    padded = pad(image[None].float(), [size] * 4, entry.get("padding_mode", "constant"))[0].to(torch.uint8)
    return padded[:, top:top + image.shape[1], left:left + image.shape[2]]


def flip(image, entry, sample):
    alternate = entry.get("alternate", False)
    flipped = sample.stream(FLIP, 0 if alternate else None).uniform(0) < entry["p"]
    if alternate and sample.epoch % 2:
        flipped = not flipped
    return image.flip(2) if flipped else image


def affine(image, entry, sample):
    """The source of each pixel's centre, in 16.16 fixed point."""
    _, height, width = image.shape
    draws = sample.stream(AFFINE)
    angle = math.radians(draws.between(0, -entry["degrees"], entry["degrees"]))
    right, down = [round(draws.between(1 + i, -part * size, part * size))
                   for i, (part, size) in enumerate(zip(entry["translate"], (width, height)))]
    scale = draws.between(3, *entry["scale"])
    cosine, sine = math.cos(angle) / scale, math.sin(angle) / scale
    y, x = torch.arange(height).view(-1, 1), torch.arange(width).view(1, -1)

    def line(per_x, per_y, middle):
        start = middle - per_x * (width / 2 + right) - per_y * (height / 2 + down) + (per_x + per_y) / 2
        start, per_x, per_y = [math.floor(value * 65536 + 0.5) for value in (start, per_x, per_y)]
        return torch.div(start + per_x * x + per_y * y, 65536, rounding_mode="floor")
    column, row = line(cosine, sine, width / 2), line(-sine, cosine, height / 2)
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return image[:, row.clamp(0, height - 1), column.clamp(0, width - 1)] * inside


def cutout(image, entry, sample):
    size, draws, erased = entry["size"], sample.stream(CUTOUT), image.clone()
    top, left = [draws.below(i, side) - size // 2 for i, side in enumerate(image.shape[1:])]
    fill = torch.zeros(len(image))
    if entry.get("fill") == "mean":
        fill = torch.tensor(sample.o["mean"]).mul(255).round()
    erased[:, max(top, 0):top + size, max(left, 0):left + size] = fill.to(torch.uint8).view(-1, 1, 1)
    return erased


def box(entry, draws, height, width):
    """torchvision's get_params: top, left, height and width."""
    (smallest, largest), (narrow, wide) = entry["scale"], entry["ratio"]
    for k in range(0, 40, 4):
        area = height * width * draws.between(k, smallest, largest)
        ratio = math.exp(draws.between(k + 1, math.log(narrow), math.log(wide)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return draws.below(k + 2, height - h + 1), draws.below(k + 3, width - w + 1), h, w
    w, h = min(width, round(height * wide)), min(height, round(width / narrow))
    return (height - h) // 2, (width - w) // 2, h, w


def enlarge(image, axis, size):
    """Each pixel is the mean under a triangle around its centre, with weights in 22 bits."""
    lines = image.long().unbind(axis)

    def line(at):
        centre = (at + 0.5) * (len(lines) / size)
        weights = [max(0.0, 1 - abs(i + 0.5 - centre)) for i in range(len(lines))]
        return sum(int(weight / sum(weights) * 2 ** 22 + 0.5) * of for weight, of in zip(weights, lines) if weight)
    return torch.stack([line(at) + 2 ** 21 >> 22 for at in range(size)], axis).to(torch.uint8)


def resized_crop(image, entry, sample):
    _, height, width = image.shape
    top, left, h, w = box(entry, sample.stream(RESIZED_CROP), height, width)
    return enlarge(enlarge(image[:, top:top + h, left:left + w], 2, width), 1, height)


def grey(image):
    r, g, b = image.float()
    return (0.2989 * r + 0.587 * g + 0.114 * b).floor()


def blend(image, other, factor):
    return (factor * image + (1 - factor) * other).clamp(0, 255).to(torch.uint8)


def turn(image, turns):
    """Adds `turns` to the hue, which begins with red: to HSV and back, as torchvision does it."""
    most, least = [extreme / 255 for extreme in (image.amax(0), image.amin(0))]
    span = (most - least).masked_fill(most == least, 1)
    r, g, b = (most - image / 255) / span
    hue = torch.where(r == 0, b - g, torch.where(g == 0, 2 + r - b, 4 + g - r)) / 6 + 1
    sixths = (hue % 1 + turns) % 1 * 6
    saturation, part = (most - least) / most.clamp(min=1 / 255), sixths - sixths.floor()
    p, q, t = [most * (1 - saturation * x) for x in (1, part, 1 - part)]
    colors = [(most, t, p), (q, most, p), (p, most, t), (p, q, most), (t, p, most), (most, p, q)]
    sixth = (sixths.long() % 6).expand(1, 3, *most.shape)
    return (torch.stack([torch.stack(c) for c in colors]).gather(0, sixth)[0].clamp(0, 1) * 255.999).to(torch.uint8)


def color_jitter(image, entry, sample):
    draws = sample.stream(COLOR_JITTER)
    changes = {"brightness": lambda image, factor: blend(image, 0, factor),
               "contrast": lambda image, factor: blend(image, grey(image).mean(), factor),
               "saturation": lambda image, factor: blend(image, grey(image), factor), "hue": turn}
    for i in draws.permutation(4):
        name = list(changes)[i]
        most, middle = entry.get(name, 0), name != "hue"
        if most:
            low = max(0, 1 - most) if middle else -most
            image = changes[name](image, draws.between(4 + i, low, middle + most))
    return image


OPERATIONS = {"random_crop": crop, "horizontal_flip": flip, "random_affine": affine, "cutout": cutout,
              "random_resized_crop": resized_crop, "color_jitter": color_jitter}


def augment(images, ids, epoch, o):
    """`o`: augment, a list as in an experiment; the seed; the mean of the normalisation."""
    result = []
    for image, sample in zip(images, ids):
        for place, item in enumerate(o["augment"]):
            (kind, entry), = item.items()
            image = OPERATIONS[kind](image, entry, Sample(o, place, epoch, sample))
        result.append(image)
    return torch.stack(result)


def mix(images, labels, ids, epoch, o):
    """Blends each image with the one before it; the labels become probabilities."""
    share = torch.tensor([mixup_share(o["mixup"]["alpha"], o["seed"], epoch, i) for i in ids]).view(-1, 1, 1, 1)
    pixels = images.long()
    mixed = torch.div(pixels * (65536 - share) + pixels.roll(1, 0) * share + 32768, 65536, rounding_mode="floor")
    labels, share = torch.nn.functional.one_hot(labels, o["classes"]), share.view(-1, 1) / 65536
    return mixed.to(torch.uint8), labels * (1 - share) + labels.roll(1, 0) * share
