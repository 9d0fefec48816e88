#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model of the time of exact steps, fitted to what a GPU measured, and its error.

exact_model.py MEASURED FOLDER: MEASURED has sections exact-kernels.csv, times of operations, and
exact-steps.csv, times of whole steps (docs/h200.txt). FOLDER has two files for each of these steps:
MODEL-BATCH, kernels that the emulation ran, those of the step last (tests/emulation/counts.cc), and
MODEL-BATCH.csv, its operations (tests/bench/cuda_profile.c). Prints two Markdown tables: networks
whose operations were measured, predicted from the others alone; and all steps, from these networks.

A kernel takes a launch, and the longer of two times: that of its longest thread, some cycles for
each multiply-add and load, each exchange within a warp, and each join of its block with others; and
that of all multiply-adds and loads on the multiprocessor with the most blocks. An operation takes
its kernels, and its bytes at the memory's bandwidth. These are six constants.
"""
import math
import os
import sys

PROCESSORS, MHZ = 132, 1755
# µs a launch; cycles an instruction, an exchange, a join; an instruction of all; TB/s
START = (1, 2, 50, 2000, 1 / 50, 4)
NOW = "now"  # of the kernels that are compared, in the measured steps


def section(path, name):
    rows, inside = [], False
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("==>"):
                inside = name in line
            elif inside and "," in line:
                rows.append(line.strip().split(","))
    return rows[1:]


def kernels(path):
    with open(path, encoding="utf-8") as lines:
        return [[float(n) for n in line.split()[:9]] for line in lines]


def operations(folder, step):
    """Returns [name, bytes, kernels] of each; the copy of the input from the host has no kernel."""
    with open(os.path.join(folder, step + ".csv"), encoding="utf-8") as lines:
        rows = [line.strip().split(",") for line in lines if line.startswith("operation,")]
    rows = [row for row in rows if not row[1].startswith(("step input", "whole step"))]
    count = sum(int(row[2]) for row in rows)
    left = kernels(os.path.join(folder, step))[-count:]
    found = []
    for _, name, launches, _, size, *_ in rows:
        found.append([name, float(size), left[: int(launches)]])
        left = left[int(launches) :]
    return found


def kernel_time(kernel, constants):
    launch, instruction, exchange, join, busy, _ = constants
    blocks, _, everything, _, longest, loads, all_loads, exchanges, joins = kernel
    chain = instruction * (longest + loads) + exchange * exchanges + join * joins
    share = math.ceil(blocks / PROCESSORS) / blocks
    return launch + max(chain, share * busy * (everything + all_loads)) / MHZ


def time(operation, constants):
    _, size, of = operation
    return sum(kernel_time(k, constants) for k in of) + size / constants[-1] / 1e6


def step_time(step, constants):
    return sum(time(operation, constants) for operation in step)


def error(networks, constants):
    """All operations of a network count alike, and their sum like two networks."""
    total = 0.0
    for measured, step in networks:
        predicted = [time(operation, constants) for operation in step]
        ratios = [math.log(p / us) for p, us in zip(predicted, measured)]
        total += sum(r * r for r in ratios) / len(ratios)
        total += 2 * math.log(sum(predicted) / sum(measured)) ** 2
    return total


def fit(networks):
    """Changes one constant after another, as long as that helps, in ever smaller steps."""
    best, least, step = list(START), error(networks, START), 0.8
    while step > 0.01:
        better = False
        for i in range(len(best)):
            for factor in (math.exp(step), math.exp(-step)):
                other = best[:i] + [best[i] * factor] + best[i + 1 :]
                if (now := error(networks, other)) < least - 1e-9:
                    best, least, better = other, now, True
        step = step if better else step / 2
    return best


def by_step(row):
    return f"{row[0]}-{row[1]}"


def measured_operations(rows, name, step):
    """Returns the microseconds of a step's operations."""
    of = {row[2]: float(row[6]) for row in rows if by_step(row) == name}
    missing = [operation[0] for operation in step if operation[0] not in of]
    if missing:
        sys.exit(f"{name}: not measured: {', '.join(missing)}")
    return [of[operation[0]] for operation in step]


def print_networks(networks):
    print("| operations of | measured, µs | predicted, µs | times | half are within | nine in ten |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, (measured, step) in networks.items():
        constants = fit([networks[n] for n in networks if n != name])
        us, predicted = sum(measured), step_time(step, constants)
        off = sorted(abs(math.log(time(o, constants) / m)) for o, m in zip(step, measured))
        half, most = (math.exp(off[int(len(off) * part)]) for part in (0.5, 0.9))
        print(f"| {name} | {us:.0f} | {predicted:.0f} | {predicted / us:.2f} | {half:.1f} | {most:.1f} |")


def print_steps(whole, steps, constants):
    print("| step | measured, µs | predicted, µs | times |\n|---|---:|---:|---:|")
    for name, us in whole.items():
        predicted = step_time(steps[name], constants)
        print(f"| {name} | {us:.0f} | {predicted:.0f} | {predicted / us:.2f} |")


def main():
    path, folder = sys.argv[1:]
    rows = section(path, "exact-kernels.csv")
    whole = {by_step(r): float(r[4]) for r in section(path, "exact-steps.csv") if r[2] == NOW}
    steps = {name: operations(folder, name) for name in whole}
    networks = {
        name: (measured_operations(rows, name, steps[name]), steps[name])
        for name in dict.fromkeys(map(by_step, rows))
    }
    print_networks(networks)
    constants = fit(networks.values())
    print()
    print_steps(whole, steps, constants)
    print("\n{:.2f} µs a launch; {:.1f} cycles an instruction of the longest thread, {:.0f} an exchange, "
          "{:.0f} a join; {:.4f} an instruction of all; {:.1f} TB/s".format(*constants))


if __name__ == "__main__":
    main()
