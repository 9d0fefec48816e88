# SPDX-License-Identifier: MIT
"""Models of adapters, which are uncompressed safetensors, and the distance between two models."""
import hashlib
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import safetensors_reader  # noqa: E402


class BadModel(Exception):
    """A file that is not a model; the message is the reason."""


class Model:
    """Tensors by name as (dtype, shape, bytes); sha256 is a hash of these only, not of the rest of the file."""

    def __init__(self, path):
        try:
            with open(path, "rb") as file:
                self.tensors, _ = safetensors_reader.pieces(file.read())
        except OSError as e:
            raise BadModel(f"no model: {e.strerror}") from e
        except KeyError as e:
            raise BadModel(f"a tensor of type {e}: expected {' '.join(safetensors_reader.FORMATS)}") from e
        except (ValueError, TypeError) as e:
            raise BadModel(f"not safetensors: {e}") from e
        if not self.tensors:
            raise BadModel("a model without tensors")
        self.sha256 = self.hash()
        self.check_numbers()

    def hash(self):
        digest = hashlib.sha256()
        for name, (dtype, shape, content) in sorted(self.tensors.items()):
            digest.update(json.dumps([name, dtype, shape]).encode() + b"\n")
            digest.update(content)
        return digest.hexdigest()

    def check_numbers(self):
        """Refuses values that are not finite: after a division by zero two different models could be equal."""
        for name, piece in self.tensors.items():
            if not all(map(math.isfinite, safetensors_reader.values(piece))):
                raise BadModel(f"'{name}' holds a value that is not a finite number")


def median(model):
    """The median of the absolute values in a model."""
    numbers = sorted(abs(x) for piece in model.tensors.values() for x in safetensors_reader.values(piece))
    return numbers[len(numbers) // 2]


def distance(a, b):
    """The largest difference between two values at one place; None if names, types or shapes differ."""
    if {name: piece[:2] for name, piece in a.tensors.items()} != {name: piece[:2] for name, piece in b.tensors.items()}:
        return None
    largest = 0.0
    for name, piece in a.tensors.items():
        other = b.tensors[name]
        if piece[2] != other[2]:
            pairs = zip(safetensors_reader.values(piece), safetensors_reader.values(other))
            largest = max(largest, max(abs(x - y) for x, y in pairs))
    return largest
