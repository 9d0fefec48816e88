#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/golden/operations.safetensors: PyTorch's results for many small problems, in double.

Needs PyTorch and the standard library. tests/ops/test_reference_golden.c compares the reference
operations with the file. The file describes itself: the metadata entry `case.NAME` is the operation
("conv samples=2 in=3,8,9 ..."), and the tensors NAME.x, NAME.y, ... hold the arguments and the results.
A new case is tested without a change in C. The argument, if any, is the folder for the file.
"""
import math
import os
import sys

import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "python"))
import safetensors_writer  # noqa: E402

tensors, cases = {}, {}


def record(name, description, **values):
    cases["case." + name] = description
    tensors.update({f"{name}.{key}": value for key, value in values.items() if value is not None})


def random(*shape):
    return torch.empty(shape, dtype=torch.float64).uniform_(-1, 1)


def pair(value):
    return value if isinstance(value, tuple) else (value, value)


def numbers(*values):
    return ",".join(str(v) for v in values)


def layer(kind, name, x, y, kernel=1, stride=1, pad=0, arguments=None, tail="", **values):
    """Runs backward from y with a random gradient and records everything; x and arguments require gradients."""
    arguments = {key: value for key, value in (arguments or {}).items() if value is not None}
    shape_in, shape_out = [list(t.shape[1:]) + [1] * (4 - t.dim()) for t in (x, y)]
    description = (f"{kind} samples={x.shape[0]} in={numbers(*shape_in)} out={numbers(*shape_out)} "
                   f"kernel={numbers(*pair(kernel))} stride={numbers(*pair(stride))} pad={numbers(*pair(pad))} "
                   f"bias={int('bias' in arguments)}{tail}")
    dy = random(*y.shape)
    y.backward(dy)
    gradients = {"d" + key: value.grad for key, value in arguments.items()}
    record(name, description, x=x, y=y, dy=dy, dx=x.grad, **arguments, **gradients, **values)


def convolutions():
    geometries = {  # samples, in, out channels, kernel, stride, padding, bias
        "conv-1x1": (2, (3, 5, 4), 4, 1, 1, 0, True),
        "conv-1x1-stride-2": (2, (4, 7, 6), 3, 1, 2, 0, True),
        "conv-3x3": (2, (2, 6, 7), 3, 3, 1, 0, True),
        "conv-3x3-pad-1": (3, (3, 6, 5), 4, 3, 1, 1, True),
        "conv-3x3-pad-1-no-bias": (2, (3, 6, 5), 4, 3, 1, 1, False),
        "conv-3x3-stride-2-pad-1": (2, (2, 7, 8), 3, 3, 2, 1, True),
        "conv-3x3-pad-2": (2, (2, 4, 5), 3, 3, 1, 2, True),
        "conv-5x5": (2, (3, 10, 10), 6, 5, 1, 0, True),
        "conv-5x5-pad-2": (2, (1, 8, 8), 6, 5, 1, 2, True),
        "conv-5x5-stride-3-pad-2": (1, (2, 11, 9), 3, 5, 3, 2, True),
        "conv-3x5-stride-2x1-pad-1x2": (2, (2, 7, 8), 3, (3, 5), (2, 1), (1, 2), True),
        "conv-1x4-stride-1x3": (2, (2, 3, 12), 2, (1, 4), (1, 3), 0, True),
        "conv-4x2-pad-0x1": (2, (3, 6, 3), 2, (4, 2), 1, (0, 1), True),
        "conv-whole-input": (3, (2, 4, 3), 5, (4, 3), 1, 0, True)}
    for name, (samples, shape, out, kernel, stride, pad, has_bias) in geometries.items():
        x = random(samples, *shape).requires_grad_()
        weight = random(out, shape[0], *pair(kernel)).requires_grad_()
        bias = random(out).requires_grad_() if has_bias else None
        y = F.conv2d(x, weight, bias, stride, pad)
        layer("conv", name, x, y, kernel, stride, pad, {"weight": weight, "bias": bias})


def linear_layers():
    for name, samples, inputs, outputs, has_bias in (
            ("linear", 3, 20, 7, True), ("linear-no-bias", 2, 9, 5, False), ("linear-one-sample", 1, 16, 10, True)):
        x, weight = random(samples, inputs).requires_grad_(), random(outputs, inputs).requires_grad_()
        bias = random(outputs).requires_grad_() if has_bias else None
        layer("linear", name, x, F.linear(x, weight, bias), arguments={"weight": weight, "bias": bias})


def batch_norms():
    for name, shape, eps, momentum in (
            ("batch-norm-planes", (4, 3, 5, 4), 1e-5, 0.1), ("batch-norm-features", (6, 5), 1e-5, 0.1),
            ("batch-norm-eps-momentum", (3, 2, 3, 3), 0.03125, 0.75), ("batch-norm-one-sample", (1, 4, 3, 3), 1e-5, 0.1),
            ("batch-norm-two-values", (2, 7), 1e-5, 0.25)):
        x = (2 * random(*shape) + 0.5).requires_grad_()
        weight, bias = [random(shape[1]).requires_grad_() for _ in range(2)]
        mean, variance = random(shape[1]), 1 + 0.5 * random(shape[1])
        before = {"mean": mean.clone(), "variance": variance.clone()}
        inference = F.batch_norm(x.detach(), mean, variance, weight.detach(), bias.detach(), False, momentum, eps)
        y = F.batch_norm(x, mean, variance, weight, bias, True, momentum, eps)
        layer("batch_norm", name, x, y, arguments={"weight": weight, "bias": bias}, inference=inference,
              mean_after=mean, variance_after=variance, tail=f" eps={eps!r} momentum={momentum!r}", **before)


def relus():
    x = random(3, 2, 4, 5)
    x[0, 0, 0], x[0, 0, 1] = 0.0, -0.0
    x.requires_grad_()
    layer("relu", "relu", x, F.relu(x))


def pools():
    geometries = {  # samples, shape, kernel, stride, padding
        "2x2": (2, (3, 6, 8), 2, 2, 0), "2x2-odd": (2, (2, 5, 7), 2, 2, 0), "3x3-stride-2-pad-1": (2, (2, 7, 6), 3, 2, 1),
        "3x2-stride-1x2": (2, (2, 6, 7), (3, 2), (1, 2), 0), "2x3-pad-1": (2, (2, 5, 5), (2, 3), 1, (1, 1)),
        "whole-input": (3, (4, 3, 5), (3, 5), 1, 0)}
    for name, (samples, shape, kernel, stride, pad) in geometries.items():
        kinds = {"max_pool": (F.max_pool2d, random(samples, *shape)),
                 # Integers from -2 to 0: nearly every window has equal maxima, and padding with 0
                 # would win.
                 "max_pool-ties": (F.max_pool2d, torch.randint(-2, 1, (samples, *shape)).double()),
                 "avg_pool": (F.avg_pool2d, random(samples, *shape))}
        for kind, (function, x) in kinds.items():
            x.requires_grad_()
            y = function(x, kernel, stride, pad)
            layer(kind.split("-")[0], f"{kind}-{name}", x, y, kernel, stride, pad)


def losses():
    for name, samples, classes, scale in (("loss", 6, 10, 3.0), ("loss-far-out", 5, 10, 400.0), ("loss-two-classes", 4, 2, 1.0)):
        logits = (scale * random(samples, classes)).requires_grad_()
        labels = torch.randint(0, classes, (samples,))
        loss = F.cross_entropy(logits, labels, reduction="sum")
        loss.backward()
        record(name, f"loss samples={samples} classes={classes}", x=logits, labels=labels.to(torch.uint8),
               y=loss.reshape(1), dx=logits.grad)


def optimizers():
    """Constants are exact in a float: update_rule holds floats, and the comparison is in double."""
    sgd = {"sgd": {}, "sgd-momentum": {"momentum": 0.875}, "sgd-nesterov": {"momentum": 0.875, "nesterov": True},
           "sgd-decay": {"weight_decay": 0.0625},
           "sgd-nesterov-decay": {"momentum": 0.75, "nesterov": True, "weight_decay": 0.03125}}
    adam = {"adam": {}, "adam-decay": {"weight_decay": 0.0625}}
    adamw = {"adamw": {"weight_decay": 0.0}, "adamw-decay": {"weight_decay": 0.0625}}
    adadelta = {"adadelta": {}, "adadelta-decay": {"weight_decay": 0.0625}}
    for kind, make, variants in (("sgd", torch.optim.SGD, sgd), ("adam", torch.optim.Adam, adam),
                                 ("adamw", torch.optim.AdamW, adamw),
                                 ("adadelta", torch.optim.Adadelta, adadelta)):
        for name, options in variants.items():
            extra = {"sgd": {}, "adadelta": {"rho": 0.875, "eps": 2.0**-20}}.get(
                kind, {"betas": (0.875, 0.9375), "eps": 2.0**-20})
            updates(kind, name, make, 0.125, options, extra)


def updates(kind, name, make, lr, options, extra, n=24, steps=7):
    start = random(n)
    parameter = start.clone().requires_grad_()
    optimizer = make([parameter], lr=lr, **options, **extra)
    gradients, after = [random(n) for _ in range(steps)], []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
        after.append(parameter.detach().clone())
    betas, eps = extra.get("betas", (0.0, 0.0)), extra.get("eps", 0.0)
    record(name, f"update kind={kind} n={n} steps={steps} lr={lr!r} momentum={options.get('momentum', 0.0)!r} "
           f"nesterov={int(options.get('nesterov', False))} weight_decay={options.get('weight_decay', 0.0)!r} "
           f"betas={numbers(*betas)} eps={eps!r}" + (f" rho={extra['rho']!r}" if "rho" in extra else ""),
           x=start, dy=torch.stack(gradients), y=torch.stack(after))


def schedules():
    schedule = torch.optim.lr_scheduler
    epochs, steps = 8, 5

    def run(name, kind, make, each_step, warmup=0, milestones=(), gamma=1.0, lr=0.1):
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=lr)
        scheduler, rates = make(optimizer), []
        for step in range(epochs * steps):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if scheduler and (each_step or (step + 1) % steps == 0):
                scheduler.step()
        record(name, f"schedule kind={kind} lr={lr!r} epochs={epochs} steps={steps} warmup_epochs={warmup} "
               f"gamma={gamma!r} milestones={numbers(len(milestones), *milestones)}",
               y=torch.tensor(rates, dtype=torch.float64))

    def factor(step, warmup, milestones, gamma):
        rise = (step + 1) / (warmup * steps) if step < warmup * steps else 1.0
        return rise * gamma ** sum(step // steps >= m for m in milestones)

    run("schedule-constant", "constant", lambda o: None, False)
    run("schedule-multistep", "multistep", lambda o: schedule.MultiStepLR(o, [3, 6], 0.1), False, 0, (3, 6), 0.1)
    run("schedule-multistep-half", "multistep", lambda o: schedule.MultiStepLR(o, [1, 2, 5], 0.5), False, 0, (1, 2, 5), 0.5)
    run("schedule-warmup", "constant", lambda o: schedule.LambdaLR(o, lambda s: factor(s, 2, (), 1.0)), True, 2)
    run("schedule-warmup-multistep", "multistep",
        lambda o: schedule.LambdaLR(o, lambda s: factor(s, 2, (1, 4), 0.1)), True, 2, (1, 4), 0.1)
    run("schedule-cosine", "cosine", lambda o: schedule.CosineAnnealingLR(o, epochs * steps), True)
    run("schedule-warmup-cosine", "cosine", lambda o: schedule.LambdaLR(o, lambda s: factor(s, 2, (), 1.0) if s < 10 else
        0.5 * (1 + math.cos(math.pi * (s - 10) / (epochs * steps - 10)))), True, 2)


def main():
    torch.manual_seed(20240521)
    torch.use_deterministic_algorithms(True)
    for make in (convolutions, linear_layers, batch_norms, relus, pools, losses, optimizers, schedules):
        make()
    path = os.path.join(sys.argv[1] if len(sys.argv) > 1 else FOLDER, "operations.safetensors")
    safetensors_writer.save(path, tensors, {"made_by": "make_golden.py, PyTorch " + torch.__version__, **cases})
    print(f"{path}: {len(cases)} cases, {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
