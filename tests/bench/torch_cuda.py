#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch_cuda.py - times PyTorch on a GPU, on the same work as Lockstep in `make bench-cuda`.

    torch_cuda.py [--device cuda:0] [--seconds S] [--blocks N] WORKS

Each line of the file WORKS is a training to be timed: NAME MODE BATCH EPOCH MODEL IMAGES LABELS C,H,W. MODEL is a
checkpoint of Lockstep, whose metadata describe the network and the normalisation; images and labels are raw bytes.
Prints a line for each: "NAME SECONDS NOTE" (seconds per EPOCH images), "NAME skipped WHY" or "NAME failed WHY".

  eager    batches are cut from a tensor on the GPU that was normalised once
  graph    the same, with the whole step captured as a CUDA graph, including the cutting
  compile  like eager, with the network compiled by torch.compile's reduce-overhead
  loader   the usual DataLoader with 2 persistent workers and pinned memory: each image by ToTensor and Normalize
  tf32     the faster of eager and graph with TF32, which PyTorch allows in convolutions by default

eager, graph and tf32 briefly try each layout (default, channels_last) and each kind of optimizer (foreach, fused), and
use the fastest. Without tf32, products are in single precision, as Lockstep's are. A CPU cannot run graph and tf32.
"""
import argparse
import statistics
import sys
import time
import warnings
from collections import namedtuple

import numpy
import torch
from torch import nn

import torch_step  # also adds ../python/torch_peer.py
from torch_step import torch_peer

WARM_UP, PROBE = 5, 20  # steps
WORKERS = 2
# Whether a mode's step is captured as a graph; the others have no variants.
CAPTURED = {"eager": [False], "graph": [True], "tf32": [False, True]}
Work = namedtuple("Work", "name mode batch epoch model images labels shape")
Variant = namedtuple("Variant", "captured channels_last fused")
PLAIN = Variant(False, False, False)


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--seconds", type=float, default=1.5, help="of all blocks of a work")
    p.add_argument("--blocks", type=int, default=3)
    p.add_argument("works")
    return p.parse_args()


def read_works(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, mode, batch, epoch, model, images, labels, shape = line.split()
            yield Work(name, mode, int(batch), int(epoch), model, images, labels, [int(side) for side in shape.split(",")])


class Skipped(Exception):
    """The work cannot be measured on this machine."""


class Training:
    """A network, its data and its optimizer; step() trains on one batch."""

    def __init__(self, work, device, variant):
        self.work, self.device, self.variant = work, device, variant
        net, self.normalize = torch_peer.network(work.model)
        net = torch_step.as_sequence(net).train().to(device)
        self.net = net.to(memory_format=torch.channels_last) if variant.channels_last else net
        self.optimizer = self.make_optimizer()
        self.loss_of = nn.CrossEntropyLoss()
        prepare = {"compile": self.prepare_compile, "loader": self.prepare_loader}
        self.step = prepare.get(work.mode, self.prepare_graph if variant.captured else self.prepare_eager)()

    def make_optimizer(self):
        kind = {"fused": True} if self.variant.fused else {"foreach": True}
        return torch.optim.SGD(self.net.parameters(), lr=0.001, momentum=0.9, **kind)

    def raw(self):
        images = numpy.fromfile(self.work.images, numpy.uint8).reshape(-1, *self.work.shape)
        return images, numpy.fromfile(self.work.labels, numpy.uint8)

    def on_device(self):
        images, labels = self.raw()
        mean, std = [torch.tensor(self.normalize[key], device=self.device).view(1, -1, 1, 1) for key in ("mean", "std")]
        x = torch.from_numpy(images).to(self.device).float().div_(255).sub_(mean).div_(std)
        if self.variant.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        return x, torch.from_numpy(labels).to(self.device).long()

    def orders(self, samples):
        """An endless sequence of batches of ids, shuffled in every epoch; only whole batches."""
        while True:
            ids = torch.randperm(samples, device=self.device)
            yield from ids[:samples // self.work.batch * self.work.batch].split(self.work.batch)

    def train_on(self, x, y):
        self.loss_of(self.net(x), y).backward()
        self.optimizer.step()

    def prepare_eager(self):
        x, y = self.on_device()
        orders = self.orders(len(y))

        def step():
            ids = next(orders)
            self.optimizer.zero_grad(set_to_none=True)
            self.train_on(x.index_select(0, ids), y.index_select(0, ids))
        return step

    def prepare_compile(self):
        self.net = torch.compile(self.net, mode="reduce-overhead")
        return self.prepare_eager()

    def prepare_graph(self):
        # A graph holds the addresses of what it reads, not the tensors: the images and labels must live as long as it
        # does. step() keeps `ids` and the graph itself, and the training its network and optimizer.
        x, y = self.read_by_graph = self.on_device()
        orders, ids = self.orders(len(y)), torch.zeros(self.work.batch, dtype=torch.long, device=self.device)
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):  # sets up cuDNN, the optimizer's arrays and the allocator
            for _ in range(3):
                self.optimizer.zero_grad(set_to_none=True)
                self.train_on(x.index_select(0, ids), y.index_select(0, ids))
        torch.cuda.current_stream(self.device).wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)  # gradients must be in the memory of the graph
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.train_on(x.index_select(0, ids), y.index_select(0, ids))

        def step():
            ids.copy_(next(orders))
            graph.replay()
        return step

    def prepare_loader(self):
        images, labels = self.raw()
        options = argparse.Namespace(augment="none")
        loader = torch.utils.data.DataLoader(
            torch_step.Images(options, images, labels, self.normalize), self.work.batch, shuffle=True, drop_last=True,
            num_workers=WORKERS, persistent_workers=True, pin_memory=self.device.type == "cuda")

        def batches():
            while True:
                yield from loader
        endless = batches()

        def step():
            x, y = (part.to(self.device, non_blocking=True) for part in next(endless))
            self.optimizer.zero_grad(set_to_none=True)
            self.train_on(x, y)
        return step

    def time(self, steps):
        """Seconds per step."""
        wait(self.device)
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        wait(self.device)
        return (time.perf_counter() - start) / steps


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def variants(work, device):
    if work.mode not in CAPTURED or device.type != "cuda":
        return [PLAIN]
    layouts = [False, True] if work.shape[0] > 1 else [False]
    return [Variant(captured, layout, fused)
            for captured in CAPTURED[work.mode] for layout in layouts for fused in (False, True)]


def probe(work, device, variant):
    """The training and its seconds per step."""
    training = Training(work, device, variant)
    training.time(WARM_UP)
    return training, training.time(PROBE)


def fastest(work, device):
    """The fastest variant's training and seconds per step; a variant that this torch does not support is passed over."""
    best = failure = None
    for variant in variants(work, device):
        try:
            found = probe(work, device, variant)
        except (TypeError, RuntimeError) as e:
            failure = failure or e
            continue
        if best is None or found[1] < best[1]:
            best = found
        del found  # frees its memory, unless it is the best
    if best is None:
        raise failure
    return best


def describe(work, variant):
    words = ["captured" if variant.captured else "eager"] if work.mode == "tf32" else []
    words += ["channels_last"] if variant.channels_last else []
    return ", ".join(words + ["fused" if variant.fused else "foreach"])


def measure(work, device, args):
    if work.mode in ("graph", "tf32") and device.type != "cuda":
        raise Skipped("needs CUDA")
    if work.mode == "compile" and not hasattr(torch, "compile"):
        raise Skipped(f"torch {torch.__version__} has no compile")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = work.mode == "tf32"
    training, seconds = fastest(work, device)
    steps = max(1, round(args.seconds / args.blocks / seconds))
    training.time(max(1, steps // 2))
    step = statistics.median(training.time(steps) for _ in range(args.blocks))
    return step * work.epoch / work.batch, describe(work, training.variant)


def open_device(name):
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            sys.exit("torch_cuda.py: this torch sees no GPU")
        torch.cuda.set_device(device)
        warnings.filterwarnings("ignore", message="(?s).*TF32")  # newer versions prefer another name
        torch.backends.cudnn.benchmark = True
    return device


def main():
    args = parse_args()
    device = open_device(args.device)
    for work in read_works(args.works):
        try:
            seconds, note = measure(work, device, args)
            print(work.name, f"{seconds:.6g}", note, flush=True)
        except (Skipped, ImportError) as e:
            print(work.name, "skipped", e, flush=True)
        except Exception as e:  # pylint: disable=broad-except - the others continue
            print(work.name, "failed", type(e).__name__ + ":", " ".join(str(e).split())[:200], flush=True)


if __name__ == "__main__":
    main()
