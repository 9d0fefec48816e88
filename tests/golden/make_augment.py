#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/golden/augment.safetensors: images, parameters, and the pixels that torchvision computes from them.

The reference is torchvision on PIL images. Prints how many pixels differ in its tensor path, which computes
coordinates in float32. Colours are those of the tensor path: Pillow turns hues in bytes. Cutout, which torchvision does
not have, is done pixel by pixel in numpy, from its description.
Needs PyTorch, torchvision, Pillow and numpy.
"""
import os
import random
import sys

import numpy
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

sys.dont_write_bytecode = True
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "python"))
import safetensors_writer  # noqa: E402

SHAPES = {"grey": (1, 28, 28), "colour": (3, 32, 32), "odd": (3, 7, 11)}
tensors, cases = {}, {}
otherwise = [0, 0]  # pixels of the affine maps: those on which the tensor path differs, and all


def to_pil(image):
    return F.to_pil_image(image)


def from_pil(image):
    return F.pil_to_tensor(image)


def record(kind, image, parameters, result):
    name = f"{kind}-{sum(c.startswith('case.' + kind) for c in cases):03d}"
    tensors[name] = result
    cases["case." + name] = f"{kind} image={image}" + "".join(f" {k}={v!r}" for k, v in parameters.items())


def crop(image, padding, top, left):
    _, height, width = SHAPES[image]
    padded = F.pad(to_pil(tensors[image]), padding)
    record("crop", image, {"padding": padding, "top": top, "left": left},
           from_pil(F.crop(padded, top, left, height, width)))


def reflect(image, padding, top, left):
    _, height, width = SHAPES[image]
    padded = F.pad(to_pil(tensors[image]), padding, padding_mode="reflect")
    record("reflect", image, {"padding": padding, "top": top, "left": left},
           from_pil(F.crop(padded, top, left, height, width)))


def cutout(image, size, row, column, fill):
    """Erases the pixels whose row and column are from size // 2 before the centre to size - 1 after that."""
    pixels = tensors[image].numpy().copy()
    for (channel, y, x), _ in numpy.ndenumerate(pixels):
        if 0 <= y - (row - size // 2) < size and 0 <= x - (column - size // 2) < size:
            pixels[channel, y, x] = fill + channel if fill else 0
    if size % 2 == 0:  # the slices of DeVries's program, clipped at the border
        _, height, width = SHAPES[image]
        sliced = tensors[image].numpy().copy()
        y1, y2 = (int(numpy.clip(row + d, 0, height)) for d in (-size // 2, size // 2))
        x1, x2 = (int(numpy.clip(column + d, 0, width)) for d in (-size // 2, size // 2))
        sliced[:, y1:y2, x1:x2] = (numpy.arange(len(sliced)) + fill if fill else numpy.zeros(len(sliced)))[:, None, None]
        assert (sliced == pixels).all()
    record("cutout", image, {"size": size, "row": row, "column": column, "fill": fill}, torch.from_numpy(pixels))


def resized(image, top, left, height, width):
    result = F.resized_crop(to_pil(tensors[image]), top, left, height, width, list(SHAPES[image][1:]))
    record("resized", image, {"top": top, "left": left, "height": height, "width": width}, from_pil(result))


def random_resized(chosen, image):
    _, height, width = SHAPES[image]
    h, w = chosen.randint(1, height), chosen.randint(1, width)
    resized(image, chosen.randint(0, height - h), chosen.randint(0, width - w), h, w)


def turn_hue(image, turns):
    """adjust_hue of bytes, as it is since torchvision 0.15: before, its result was rounded down at 255 in place of 256."""
    turned = F.adjust_hue(F.convert_image_dtype(image, torch.float), turns)
    return F.convert_image_dtype(turned, torch.uint8)


ADJUST = {"brightness": F.adjust_brightness, "contrast": F.adjust_contrast, "saturation": F.adjust_saturation,
          "hue": turn_hue}


def jitter(image, *changes):
    """`changes`: names of ADJUST and amounts. `order` counts the names from 1."""
    result = tensors[image]
    for name, amount in changes:
        result = ADJUST[name](result, amount)
    order = int("".join(str(1 + list(ADJUST).index(name)) for name, _ in changes))
    record("jitter", image, {"order": order, **dict(changes)}, result)


def all_jitters(chosen, image):
    for name in ADJUST:
        for amount in (-0.37, 0.21) if name == "hue" else (0.45, 1.7):
            jitter(image, (name, amount))
    for _ in range(6):
        jitter(image, *[(name, chosen.uniform(-0.5, 0.5) if name == "hue" else chosen.uniform(0, 2))
                        for name in chosen.sample(list(ADJUST), 4)])


def flip(image):
    record("flip", image, {}, from_pil(F.hflip(to_pil(tensors[image]))))


def affine(image, angle, right, down, scale):
    arguments = (angle, [right, down], scale, [0.0], InterpolationMode.NEAREST, 0)
    result = from_pil(F.affine(to_pil(tensors[image]), *arguments))
    record("affine", image, {"angle": angle, "right": right, "down": down, "scale": scale}, result)
    otherwise[0] += int((F.affine(tensors[image], *arguments) != result).sum())
    otherwise[1] += result.numel()


def random_affine(chosen, image, degrees, translate, scale):
    """Draws parameters with the rule of torchvision.transforms.RandomAffine.get_params."""
    _, height, width = SHAPES[image]
    affine(image, chosen.uniform(-degrees, degrees), round(chosen.uniform(-translate, translate) * width),
           round(chosen.uniform(-translate, translate) * height), chosen.uniform(*scale))


def far(height, width, angle, right, down, scale):
    """A map of a large image that shrinks it to a few pixels, most with sources far outside.

    The image is not stored: see the formula. Of the result, only the box that is not black is."""
    y, x = numpy.indices((height, width))
    image = Image.fromarray((1 + (31 * y + 7 * x) % 255).astype("uint8"))
    result = numpy.asarray(F.affine(image, angle, [right, down], scale, [0.0], InterpolationMode.NEAREST, 0))
    rows, columns = (numpy.flatnonzero(result.any(axis)) for axis in (1, 0))
    box = result[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1]
    record("far", "none", {"height": height, "width": width, "angle": angle, "right": right, "down": down,
                           "scale": scale, "top": int(rows[0]), "left": int(columns[0])},
           torch.from_numpy(box.copy())[None])


def main():
    torch.manual_seed(20240521)
    chosen = random.Random(20240521)
    for name, shape in SHAPES.items():  # no pixel is 0, so that filled pixels can be recognised
        tensors[name] = torch.randint(1, 256, shape, dtype=torch.uint8)
    for image, padding, top, left in (("colour", 4, 0, 0), ("colour", 4, 8, 8), ("colour", 4, 4, 4), ("colour", 4, 1, 7),
                                      ("odd", 2, 4, 1), ("odd", 0, 0, 0), ("odd", 13, 0, 26), ("odd", 13, 5, 2),
                                      ("odd", 7, 14, 3), ("odd", 11, 11, 0), ("grey", 3, 2, 5)):
        crop(image, padding, top, left)
    for image in SHAPES:
        flip(image)
    for _ in range(24):
        random_affine(chosen, "grey", 10, 0.1, (0.9, 1.1))
    for _ in range(4):
        random_affine(chosen, "colour", 10, 0.1, (0.9, 1.1))
    for _ in range(24):
        random_affine(chosen, "odd", 180, 0.5, (0.3, 3.0))
    for _ in range(8):  # without a rotation Pillow uses another method
        random_affine(chosen, "odd", 0, 0.2, (0.9, 1.1))
    for angle in (0.0, 30.0, 45.0, -60.0, 90.0, -90.0, 135.0, 180.0, -180.0):
        for scale in (1.0, 1.1, 0.5, 2.0):
            affine("odd", angle, 1, -2, scale)
    affine("odd", 0.0, 11, 0, 1.0)  # the image is moved out completely
    affine("odd", 33.0, 0, 0, 100.0)
    affine("odd", -33.0, 0, 0, 0.01)
    for image, padding, top, left in (("colour", 4, 0, 0), ("colour", 4, 8, 8), ("colour", 2, 1, 3), ("odd", 2, 4, 1),
                                      ("odd", 6, 0, 12), ("odd", 6, 12, 0), ("grey", 3, 3, 3), ("grey", 27, 54, 1)):
        reflect(image, padding, top, left)
    for image, size, row, column, fill in (("colour", 8, 16, 16, 0), ("colour", 8, 0, 31, 100), ("colour", 16, 31, 3, 7),
                                           ("odd", 3, 0, 0, 0), ("odd", 3, 6, 10, 9), ("odd", 11, 3, 5, 1),
                                           ("grey", 1, 27, 0, 50), ("grey", 28, 14, 14, 3), ("grey", 7, 2, 26, 0)):
        cutout(image, size, row, column, fill)
    # Beyond 32768 Pillow computes coordinates as floating-point numbers: some of these maps reach further, some do not.
    for height, width in [(1024, 1024)] * 16 + [(700, 1024)] * 8:
        far(height, width, chosen.uniform(-180, 180), chosen.randint(-300, 300), chosen.randint(-300, 300),
            chosen.uniform(0.008, 0.028))
    for image in SHAPES:
        for _ in range(12):
            random_resized(chosen, image)
        _, height, width = SHAPES[image]
        for box in ((0, 0, height, width), (0, 0, height, 1), (height - 1, 0, 1, width), (height - 1, width - 1, 1, 1)):
            resized(image, *box)
    few = torch.cartesian_prod(*[torch.tensor([0, 1, 127, 128, 254, 255])] * 3)  # many with two equal channels
    tensors["few"] = few.t().reshape(3, 12, 18).to(torch.uint8)
    for image in (*SHAPES, "few"):
        all_jitters(chosen, image)
    path = os.path.join(sys.argv[1] if len(sys.argv) > 1 else FOLDER, "augment.safetensors")
    made_by = f"make_augment.py, torchvision {torchvision.__version__}, Pillow {PIL.__version__}"
    safetensors_writer.save(path, tensors, {"made_by": made_by, **cases})
    print(f"{path}: {len(cases)} cases, {os.path.getsize(path)} bytes; the tensor path has "
          f"{otherwise[0]} of {otherwise[1]} pixels otherwise")


if __name__ == "__main__":
    main()
