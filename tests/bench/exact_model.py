#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model of the time of exact steps, fitted to what a GPU measured, and its error.

exact_model.py MEASURED FOLDER: MEASURED has a section exact-kernels.csv (docs/h200.txt); FOLDER has
a file MODEL-BATCH for each network in it: the kernels of a step (tests/emulation/counts.cc). Each
network is also predicted from the others alone. Prints a Markdown table.

A kernel takes a launch, and the longer of two times: that of its longest thread, which is a latency
for each wait and some cycles for each multiply-add and load, and that of all multiply-adds and
loads on the multiprocessor with the most blocks. An operation takes the launches of its kernels at
least, and its bytes at the memory's bandwidth.
"""
import math
import os
import sys

PROCESSORS, MHZ = 132, 1755
START = (1.5, 300, 2, 1 / 50, 2)  # µs a launch, cycles a wait, an instruction, of all; TB/s


def section(path):
    rows, inside = [], False
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("==>"):
                inside = "exact-kernels.csv" in line
            elif inside and "," in line:
                rows.append(line.strip().split(","))
    return rows[1:]


def kernels(path):
    with open(path, encoding="utf-8") as lines:
        return [[float(n) for n in line.split()[:8]] for line in lines]


def operations(rows, folder, network):
    """Returns (microseconds, bytes, kernels) of each; the copy of the input is none of a kernel."""
    left, found = kernels(os.path.join(folder, network)), []
    for model, batch, name, _, launches, _, us, size, *_ in rows:
        if f"{model}-{batch}" == network and not name.startswith("step input"):
            found.append((float(us), float(size), left[: int(launches)]))
            left = left[int(launches) :]
    if left or not all(of for _, _, of in found):
        sys.exit(f"{network}: other launches than those that were measured")
    return found


def kernel_time(kernel, constants):
    launch, wait, instruction, busy, _ = constants
    blocks, _, everything, _, longest, loads, all_loads, waits = kernel
    chain = wait * waits + instruction * (longest + loads)
    share = math.ceil(blocks / PROCESSORS) / blocks
    return launch + max(chain, share * busy * (everything + all_loads)) / MHZ


def time(operation, constants):
    _, size, of = operation
    memory = len(of) * constants[0] + size / constants[4] / 1e6
    return max(sum(kernel_time(k, constants) for k in of), memory)


def error(networks, constants):
    total = 0.0
    for of in networks:
        us, predicted = sum(o[0] for o in of), [time(o, constants) for o in of]
        total += sum(o[0] / us * math.log(p / o[0]) ** 2 for o, p in zip(of, predicted))
        total += 2 * math.log(sum(predicted) / us) ** 2
    return total


def fit(networks):
    """Changes one constant after another, as long as that helps, in ever smaller steps."""
    best, least, step = list(START), error(networks, START), 0.6
    while step > 0.01:
        better = False
        for i in range(len(best)):
            for factor in (math.exp(step), math.exp(-step)):
                other = best[:i] + [best[i] * factor] + best[i + 1 :]
                if (now := error(networks, other)) < least - 1e-9:
                    best, least, better = other, now, True
        step = step if better else step / 2
    return best


def main():
    rows, folder = section(sys.argv[1]), sys.argv[2]
    names = list(dict.fromkeys(f"{row[0]}-{row[1]}" for row in rows))
    of = {name: operations(rows, folder, name) for name in names}
    print("| network | measured, µs | from all | from the others | times |")
    print("|---|---:|---:|---:|---:|")
    everything = fit(of.values())
    for name in names:
        others = fit([of[n] for n in names if n != name])
        measured = sum(o[0] for o in of[name])
        fitted, held = (sum(time(o, c) for o in of[name]) for c in (everything, others))
        print(f"| {name} | {measured:.0f} | {fitted:.0f} | {held:.0f} | {held / measured:.2f} |")
    print("\n{:.2f} µs a launch; {:.1f} cycles a wait, {:.2f} an instruction of the longest, "
          "{:.4f} one of all; {:.2f} TB/s".format(*everything))


if __name__ == "__main__":
    main()
