#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The choice by validation samples, computed again: which these are, the accuracies, the best epoch, the last one.

    torch_validation.py RUN DATA ORDER RESULTS OPTIONS

RUN is the folder of a run that kept its state after every epoch; DATA its training data; ORDER the ids in the order of
training; RESULTS the results in its manifest, as JSON. OPTIONS is JSON: samples and seed of the validation; shards,
order_seed and batch of the training; epochs, keep, averaged (true or false), and optionally shard_seed, patience,
min_delta and stop_at. The samples follow from docs/formats.md, the accuracies from the states, by PyTorch. Prints the accuracies,
the best epoch and the last one. Needs PyTorch and the standard library.
"""
import json
import os
import sys

import torch

import random_draws
from torch_peer import Net, infer, load, normalised, read, read_order


def states(run, steps):
    """The files after each epoch. After the last one of an early end there are two, which are equal."""
    folder = os.path.join(run, "states")
    kept = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if int(name.split(".")[0]) < steps]
    return kept + [os.path.join(run, "state.st.zst")]


def model_of(state, averaged):
    """The tensors that are measured after an epoch."""
    prefix = "average." if averaged else "model."
    return {name[len(prefix):]: value for name, value in read(state)[0].items() if name.startswith(prefix)}


def accuracies(run, files, data, left_out, o):
    """Of each epoch, by the samples that are left out."""
    metadata = read(os.path.join(run, "model.st.zst"))[1]
    net, normalize = Net(json.loads(metadata["model"])).double(), json.loads(metadata["normalize"])
    tensors, _ = read(data)
    rows = [i for i, sample in enumerate(tensors["ids"].tolist()) if sample in left_out]
    x, y = normalised(tensors["images"][rows], normalize), tensors["labels"][rows].long()
    result = []
    for state in files:
        load(net, model_of(state, o["averaged"]))
        result.append((infer(net, x).argmax(1) == y).double().mean().item())
    return result


def end_of(measured, o):
    """The number of the epoch after which `patience` epochs have passed without a better accuracy, or stop_at is reached."""
    best, since = measured[0], 0
    if best >= o.get("stop_at", 2):
        return 1
    for epoch, accuracy in enumerate(measured[1:], 2):
        better = accuracy > best + o.get("min_delta", 0)
        since = 0 if better else since + 1
        best = accuracy if better else best
        if since == o.get("patience") or accuracy >= o.get("stop_at", 2):
            return epoch
    return o["epochs"]


def check(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got} instead of {wanted}")


def check_model(run, state, o):
    ours, wanted = read(os.path.join(run, "model.st.zst"))[0], model_of(state, o["averaged"])
    check("tensors of the model", sorted(ours), sorted(wanted))
    for name, value in ours.items():
        if not torch.equal(value, wanted[name]):
            sys.exit(f"{name} of the model is not that of {state}")


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    run, data, order, results, o = *sys.argv[1:4], json.loads(sys.argv[4]), json.loads(sys.argv[5])
    ids = read(data)[0]["ids"].tolist()
    left_out = set(random_draws.held_out(ids, o["samples"], o["seed"]))
    wanted = random_draws.order(ids, left_out, o["shards"], o.get("shard_seed", 0), o["order_seed"], o["batch"],
                                 o["epochs"])
    if read_order(order) != wanted:
        sys.exit("the samples of the training, or their order, are others")
    files = states(run, results["steps"])
    measured = accuracies(run, files, data, left_out, o)
    best = measured.index(max(measured)) + 1
    print("accuracies", *measured, "best epoch", best, "last", len(measured))
    check("accuracies", [epoch["accuracy"] for epoch in results["epochs"]], measured)
    check("the last epoch", len(measured), end_of(measured, o))
    kept = best if o["keep"] == "best" else len(measured)
    if o["keep"] == "best":
        check("best_epoch", results["best_epoch"], best)
    check("validation_accuracy", results["validation_accuracy"], measured[kept - 1])
    check_model(run, files[kept - 1], o)


if __name__ == "__main__":
    main()
