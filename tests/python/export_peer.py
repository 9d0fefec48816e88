#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads exported files with other programs, and compares the results with those of evaluate and the manifest.

    export_peer.py onnx MODEL.onnx DATA PREDICTIONS      onnxruntime: logits, in batches of several sizes
    export_peer.py check MODEL.onnx                      onnx's own checker
    export_peer.py torch FOLDER DATA PREDICTIONS         PyTorch: logits, by FOLDER/model.py
    export_peer.py events FOLDER SERIES.json NAME        TensorBoard: the run NAME against `tensor export --format json`

Files with the ending .zst are read through the zstd program.
"""
import json
import math
import subprocess
import sys

import safetensors_reader


def read(path):
    data = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    return safetensors_reader.read(data)[0]


def tensors(data, predictions):
    """Images and logits: shapes and flat lists."""
    _, shape, pixels = read(data)["images"]
    _, wanted, logits = read(predictions)["logits"]
    return shape, pixels, wanted, logits


def log_softmax(rows):
    result = []
    for row in rows:
        largest = max(row)
        total = math.log(sum(math.exp(x - largest) for x in row)) + largest
        result.append([x - total for x in row])
    return result


def rows_of(flat, classes):
    return [flat[at:at + classes] for at in range(0, len(flat), classes)]


def compare(ours, theirs, classes):
    """Both are flat lists of floats. Theirs may be the log-softmax that an exported network ends in."""
    if all(abs(sum(math.exp(min(x, 1)) for x in row) - 1) < 1e-4 for row in rows_of(theirs, classes)):
        ours = sum(log_softmax(rows_of(ours, classes)), [])
    if len(ours) != len(theirs):
        sys.exit("%d logits instead of %d" % (len(theirs), len(ours)))
    scale = max(map(abs, ours))
    distance = max(abs(a - b) for a, b in zip(ours, theirs)) / scale
    print("largest difference of the logits: %.3g of the largest logit" % distance)
    if not distance <= 1e-5:
        sys.exit("more than 1e-5")


def by_onnx(model, data, predictions):
    import numpy
    import onnxruntime

    shape, pixels, wanted, logits = tensors(data, predictions)
    images = numpy.array(pixels, dtype=numpy.uint8).reshape(shape)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert [i.name for i in session.get_inputs()] == ["pixels"] and [o.name for o in session.get_outputs()] == ["logits"]
    theirs = []
    for first, end in [(0, 1), (1, 8), (8, shape[0])]:
        theirs.extend(session.run(["logits"], {"pixels": images[first:end]})[0].reshape(-1).tolist())
    compare(logits, theirs, wanted[1])


def check_onnx(path):
    import onnx

    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    # The inferred shapes equal those in the file.
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    assert inferred.graph.output[0] == model.graph.output[0], inferred.graph.output


def by_torch(folder, data, predictions):
    sys.path.insert(0, folder)
    import torch

    import model

    shape, pixels, wanted, logits = tensors(data, predictions)
    images = torch.tensor(pixels, dtype=torch.uint8).reshape(shape)
    torch.set_num_threads(1)
    network = model.load()
    assert not network.training and tuple(shape[1:]) == model.INPUT
    with torch.no_grad():
        theirs = network.double()(model.normalize(images).double()).reshape(-1).tolist()
    compare(logits, theirs, wanted[1])


def by_tensorboard(folder, series, name):
    from tensorboard.backend.event_processing import event_multiplexer

    board = event_multiplexer.EventMultiplexer(size_guidance={"scalars": 0}).AddRunsFromDirectory(folder)
    board.Reload()
    with open(series) as file:
        run = next(r for r in json.load(file)["runs"] if r["run"] == name)
    scalars = lambda tag: board.Scalars(name, tag)
    steps, epochs = run["steps"], run["epochs"]
    for tag, wanted in [
        ("step/loss", steps["loss"]),
        ("step/learning_rate", steps["lr"]),
        ("step/seconds", steps["wall_seconds"]),
        ("epoch/train_loss", epochs["loss"]),
        ("epoch/test_accuracy", epochs["accuracy"]),
        ("epoch/seconds", epochs["seconds"]),
        ("epoch/images_per_second", [144 / seconds for seconds in epochs["seconds"]]),
    ]:
        found = scalars(tag)
        assert [e.step for e in found] == list(range(1, len(wanted) + 1)), (tag, found)
        assert all(abs(e.value - w) <= 1e-6 * abs(w) for e, w in zip(found, wanted)), (tag, found, wanted)
        times = [e.wall_time for e in found]
        assert times == sorted(times) and times[0] > 1.5e9, times


def main():
    commands = {"onnx": (by_onnx, 3), "check": (check_onnx, 1), "torch": (by_torch, 3), "events": (by_tensorboard, 3)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not command or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    command(*sys.argv[2:])


if __name__ == "__main__":
    main()
