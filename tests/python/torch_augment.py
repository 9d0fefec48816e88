# SPDX-License-Identifier: MIT
"""Augmentation of bytes by PyTorch's operations, with the draws of random_draws.py."""
import math

import torch
from torch.nn.functional import pad

from random_draws import AFFINE, CROP, CUTOUT, FLIP, Stream, mixup_share


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


OPERATIONS = {"random_crop": crop, "horizontal_flip": flip, "random_affine": affine, "cutout": cutout}


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
