# SPDX-License-Identifier: MIT
"""Writes safetensors files, standard library only, from PyTorch tensors or (dtype, shape, bytes)."""
import json
import struct

NAMES = {"torch.uint8": "U8", "torch.int64": "I64", "torch.float32": "F32", "torch.float64": "F64",
         "torch.float16": "F16"}
SIZES = {"U8": 1, "U32": 4, "U64": 8, "I64": 8, "F32": 4, "F64": 8, "F16": 2, "BF16": 2}


def raw(tensor):
    """(dtype, shape, bytes) of a PyTorch tensor; such a tuple is returned unchanged."""
    if isinstance(tensor, tuple):
        return tensor
    tensor = tensor.detach().contiguous()
    return NAMES[str(tensor.dtype)], list(tensor.shape), tensor.numpy().tobytes()


def save(path, tensors, metadata=None):
    """Wide elements first, then by name, so that every tensor is aligned and equal content gives equal bytes."""
    entries = {name: raw(tensor) for name, tensor in tensors.items()}
    header, data = {}, []
    if metadata:
        header["__metadata__"] = dict(sorted(metadata.items()))
    offset = 0
    for name, (dtype, shape, content) in sorted(entries.items(), key=lambda e: (-SIZES[e[1][0]], e[0])):
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(content)]}
        data.append(content)
        offset += len(content)
    text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))
