# SPDX-License-Identifier: MIT
"""Compares a translated network with its PyTorch module: the logits of an evaluation, and every tensor after one step.

PyTorch in double precision is the judge. Where rounding moves a value across the kink of a ReLU, or makes another one the
largest of a pool, gradients jump, in any program: one ReLU of 32,768 moved a step of ResNet-18 by 2 %. Other samples have
their near ties elsewhere, and a wrong layer is wrong with all of them. So a step that is not CLEAN is repeated with other
samples, and the best of TRIES counts. In a deep network all of them have ties; STEP is above what these do, and LOGITS,
which no tie moves, is far below what a wrong layer or option does. Where PyTorch's single precision is that far off, too,
so that the network itself magnifies rounding, NEAR times its distance is allowed, up to ten times the limit: Winograd's
algorithm, which computes 3×3 convolutions here, rounds up to five times as much.
"""
import copy
import os
import re
import tempfile

import torch

from ._read import read
from ._tools import run
from ._torch import flow, frozen_text, full_state, safetensors
from ._trace import eager
from ._layers import is_random_depth
from ._translate import failure, ready, unwrapped
from ._value import flat

SAMPLES, RATE, TRIES = 16, 0.1, 3
LOGITS, STEP, CLEAN, NEAR = 1e-4, 3e-2, 1e-3, 5
SMALL = 1e-2  # a way counts as at least this part of the furthest: that of a bias before batch norm is none
DRAWN = re.compile(r"(- (?:dropout|dropout2d|stochastic_depth): \{[^}]*\bp: )[0-9.e-]+")  # the rates of random layers


class Calm(torch.Tensor):
    """A tensor that functional dropout passes on, as does what would make double precision single."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if "dropout" in function.__name__:
            return args[0]
        result = super().__torch_function__(function, types, args, kwargs or {})
        is_cast = function.__name__ in ("float", "to", "type", "type_as")
        return args[0] if is_cast and getattr(result, "dtype", None) == torch.float32 else result


def calm(module):
    """A copy of a module whose layers draw nothing."""
    module = ready(unwrapped(module))
    for layer in module.modules():
        if isinstance(layer, torch.nn.modules.dropout._DropoutNd):
            layer.p = 0
        elif is_random_depth(layer):
            setattr(layer, "p" if hasattr(layer, "p") else "drop_prob", 0.0)
    return module


def with_statistics(module, images):
    """A copy whose batch norms have the statistics of these images: with those of a new network, hardly anything passes
    through a deep one."""
    net = calm(module)
    net.train()
    norms = [layer for layer in net.modules() if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1
    with torch.no_grad():
        net(images.as_subclass(Calm))
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
    return net


def compare(module, translation, shape):
    """Returns a text with both differences, and whether it is the same network."""
    with eager():
        tries = [Comparison(module, translation, shape, seed=0)]
        while is_near(tries[-1].logits, LOGITS) and tries[-1].step[0] > CLEAN and len(tries) < TRIES:
            tries.append(Comparison(module, translation, shape, seed=len(tries)))
    best = min(tries, key=lambda t: (not t.same, t.step[0]))
    return "\n".join([
        "distance from PyTorch in double precision   Lockstep   PyTorch in single precision",
        "logits, of the largest                      %8.1e   %8.1e" % best.logits,
        "a step of SGD, of a tensor's way            %8.1e   %8.1e   (most: %s)" % (*best.step, best.worst),
        "the same network" if best.same else "NOT the same network"]), best.same


class Comparison:
    """logits, step: the distances of Lockstep and of PyTorch in single precision. worst: the tensor furthest away."""

    def __init__(self, module, translation, shape, seed):
        with tempfile.TemporaryDirectory() as folder:
            run("synth-cifar", "-q", "--noise", "--seed", str(seed), "--train", str(SAMPLES), "--test", "1", "--shape",
                "%d,%d,%d" % shape, "--classes", str(max(translation.classes, 2)), "--out", os.path.join(folder, "data"))
            samples = read(folder + "/data/train.st.zst")
            images = torch.tensor(samples["images"]).div(255)
            images = images.mul(translation.normalize[2]) if translation.normalize else images.sub(0.5).div(0.5)
            labels = torch.tensor(samples["labels"].astype("int64"))
            net = by_pytorch(with_statistics, module, images)
            logits, after = of_lockstep(net, translation, shape[0], folder)
        if translation.layers[-1][0] == "log_softmax":
            logits = logits.log_softmax(1)  # the tools write logits
        exact_logits, exact, before = by_pytorch(of_pytorch, net.double(), translation, images, labels)
        their_logits, theirs, _ = by_pytorch(of_pytorch, net.float(), translation, images, labels)
        largest = exact_logits.abs().max().item() or 1
        self.logits = tuple(((value.double() - exact_logits).abs().max() / largest).item() for value in (logits, their_logits))
        least = SMALL * max(rms(exact[name] - before[name]) for name in exact if name.endswith((".weight", ".bias")))
        ours, their = [{name: rms(result[name].double() - exact[name]) / max(rms(exact[name] - before[name]), least)
                        for name in exact} for result in (after, theirs)]
        self.worst = max(ours, key=ours.get)
        self.step = ours[self.worst], max(their.values())
        self.same = is_near(self.logits, LOGITS) and is_near(self.step, STEP) and set(after) == set(exact)


def by_pytorch(function, *arguments):
    """Calls a function that runs the module."""
    try:
        return function(*arguments)
    except Exception as e:
        raise failure("a step of PyTorch", e) from e


def is_near(distances, limit):
    ours, theirs = distances
    return ours <= max(limit, min(NEAR * theirs, 10 * limit))


def rms(tensor):
    return tensor.double().pow(2).mean().sqrt().item()


def of_lockstep(net, translation, channels, folder):
    """Logits, and tensors after a step."""
    model, init, trained = [os.path.join(folder, name) for name in ("model.yaml", "init.safetensors", "trained")]
    with open(model, "w", encoding="utf-8") as out:
        out.write(DRAWN.sub(r"\g<1>0", translation.files["model"].decode()))
    with open(init, "wb") as file:
        file.write(safetensors({name: tensor.float() for name, tensor in full_state(net, translation).items()}))
    mean, std = [flow(numbers) for numbers in (translation.normalize or ([0.5] * channels, [0.5] * channels))[:2]]
    with open(folder + "/check.yaml", "w", encoding="utf-8") as out:
        out.write("schema: lockstep.experiment/1\nname: check\ndataset: synthetic\nmodel: model.yaml\n"
                  "global_batch: %d\nepochs: 1\nnormalize: {mean: %s, std: %s}\noptimizer: {kind: sgd, lr: %g}\n%s"
                  % (SAMPLES, mean, std, RATE, frozen_text(translation)))
    data = folder + "/data/train.st.zst"
    run("train-single", "-q", "--experiment", folder + "/check.yaml", "--init", init, "--train", data, "--out", trained)
    mean, std = [text.strip("[]").replace(" ", "") for text in (mean, std)]
    run("evaluate", "-q", "--model", init, "--architecture", model, "--mean", mean, "--std", std, "--data", data,
        "--out", folder + "/evaluated")
    after = {name: torch.tensor(value) for name, value in read(trained + "/model.st.zst").items()}
    return torch.tensor(read(folder + "/evaluated/predictions.st.zst")["logits"]), after


def of_pytorch(net, translation, images, labels):
    """Logits, and tensors after and before a step."""
    net = copy.deepcopy(net)
    x = images.to(next(net.parameters()).dtype).as_subclass(Calm)
    net.eval()
    with torch.no_grad():
        logits = first(net(x)).as_subclass(torch.Tensor)
    before = {name: value.clone() for name, value in full_state(net, translation).items()}
    net.train()
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=RATE)
    torch.nn.functional.cross_entropy(first(net(x)), labels).backward()
    optimizer.step()
    return logits.double(), full_state(net, translation), before


def first(outputs):
    return next(value for value in flat([outputs]) if isinstance(value, torch.Tensor))
