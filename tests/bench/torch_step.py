#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch_step.py - times PyTorch on the work of the bench: training steps of one network on the same images as Lockstep.

    torch_step.py --model MODEL.st.zst --images FILE --labels FILE --shape C,H,W [OPTION]...

Prints seconds per epoch of --epoch images: the median over blocks of steps, after a warm-up. MODEL is a checkpoint of
Lockstep, whose metadata describe the network and the normalisation; images and labels are raw bytes.

  --mode memory   batches are cut from a tensor that was normalised once: no DataLoader, PyTorch's best case
  --mode loader   the usual DataLoader, with persistent --workers: each image by ToTensor and Normalize;
                  --augment affine first applies torchvision's RandomAffine on a PIL image, as its datasets do. Without
                  an augmentation PIL is not needed, and images go to ToTensor as arrays, which is faster
  --world N       DistributedDataParallel over gloo: N processes, each with a part of the batch
  --compile       torch.compile; compiling is part of the warm-up

The caller sets the number of threads, and everything else that libraries read from the environment when they are
loaded (measure/torch does).
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict

import numpy
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import torch_peer  # noqa: E402 - the network of a checkpoint

WARM_UP, CALIBRATION = 2, 2  # steps
SLOW = 0.5  # seconds per step


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True)
    p.add_argument("--images", required=True)
    p.add_argument("--labels", required=True)
    p.add_argument("--shape", required=True, type=lambda text: [int(side) for side in text.split(",")])
    p.add_argument("--batch", type=int, default=64, help="of all processes together")
    p.add_argument("--threads", type=int, default=1, help="of each process")
    p.add_argument("--mode", choices=["memory", "loader"], default="memory")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--augment", choices=["none", "affine"], default="none")
    p.add_argument("--world", type=int, default=1)
    p.add_argument("--tuned", action="store_true", help="DDP's options for a graph that never changes")
    p.add_argument("--channels-last", action="store_true")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--epoch", type=int, default=50000, help="images that the printed time is for")
    p.add_argument("--seconds", type=float, default=1.5, help="of all blocks")
    p.add_argument("--blocks", type=int, default=3)
    return p.parse_args()


def normalised(args, images, normalize):
    mean, std = [torch.tensor(normalize[key]).view(1, -1, 1, 1) for key in ("mean", "std")]
    x = torch.from_numpy(images).float().div_(255).sub_(mean).div_(std)
    return x.contiguous(memory_format=torch.channels_last) if args.channels_last else x


def from_memory(args, images, labels, normalize):
    """An endless sequence of shuffled batches."""
    x, y = normalised(args, images, normalize), torch.from_numpy(labels).long()
    while True:
        for ids in torch.randperm(len(y)).split(args.batch // args.world):
            yield x.index_select(0, ids), y.index_select(0, ids)


class Images(torch.utils.data.Dataset):
    """Prepares an image as torchvision's datasets do."""

    def __init__(self, args, images, labels, normalize):
        from torchvision import transforms
        steps = [transforms.ToTensor(), transforms.Normalize(normalize["mean"], normalize["std"])]
        self.as_picture = None
        if args.augment == "affine":
            from PIL import Image
            self.as_picture = Image.fromarray
            steps.insert(0, transforms.RandomAffine(degrees=10, translate=(0.1, 0.1), scale=(0.9, 1.1)))
        self.transform = transforms.Compose(steps)
        self.images = numpy.ascontiguousarray(images.transpose(0, 2, 3, 1))
        if self.images.shape[3] == 1:
            self.images = self.images[:, :, :, 0]
        self.labels = labels.tolist()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        return self.transform(self.as_picture(image) if self.as_picture else image), self.labels[i]


def from_loader(args, images, labels, normalize):
    loader = torch.utils.data.DataLoader(Images(args, images, labels, normalize), args.batch, shuffle=True,
                                         num_workers=args.workers, persistent_workers=args.workers > 0)
    while True:
        for x, y in loader:
            yield x.contiguous(memory_format=torch.channels_last) if args.channels_last else x, y


def agree(args, value):
    """The value of rank 0, on every rank."""
    if args.world > 1:
        box = torch.tensor([value], dtype=torch.float64)
        torch.distributed.broadcast(box, 0)
        value = box.item()
    return value


def as_sequence(net):
    """A chain as a plain sequence, without a loop in Python: as a user would write it."""
    names = [name for name, _ in net.order]
    if any(inputs != [before] for (_, inputs), before in zip(net.order, ["input"] + names)):
        return net
    return nn.Sequential(OrderedDict((name.replace(".", "_"), net.get_submodule(name)) for name in names))


def network(args):
    net, normalize = torch_peer.network(args.model)
    net = as_sequence(net).train()
    if args.channels_last:
        net = net.to(memory_format=torch.channels_last)
    if args.world > 1:
        tuned = {"gradient_as_bucket_view": True, "static_graph": True, "broadcast_buffers": False} if args.tuned else {}
        net = nn.parallel.DistributedDataParallel(net, **tuned)
    return torch.compile(net) if args.compile else net, normalize


def optimizer_of(net):
    """With one call for all parameters if this PyTorch supports it, which helps with small batches."""
    options = {"lr": 0.001, "momentum": 0.9}
    try:
        return torch.optim.SGD(net.parameters(), foreach=True, **options)
    except TypeError:
        return torch.optim.SGD(net.parameters(), **options)


def train(args, rank):
    """Seconds per step."""
    torch.manual_seed(rank)
    net, normalize = network(args)
    images = numpy.fromfile(args.images, numpy.uint8).reshape(-1, *args.shape)
    labels = numpy.fromfile(args.labels, numpy.uint8)
    batches = (from_memory if args.mode == "memory" else from_loader)(
        args, images[rank::args.world], labels[rank::args.world], normalize)
    optimizer = optimizer_of(net)
    loss_of = nn.CrossEntropyLoss()

    def steps(count):
        """Trains, and returns seconds per step."""
        start = time.perf_counter()
        for _ in range(count):
            x, y = next(batches)
            optimizer.zero_grad(set_to_none=True)
            loss_of(net(x), y).backward()
            optimizer.step()
        return (time.perf_counter() - start) / count

    steps(1)
    # Of slow steps one is enough to warm up, and another to time them.
    slow = agree(args, steps(1)) > SLOW
    if not slow:
        steps(WARM_UP)
    per_block = agree(args, max(1, round(args.seconds / args.blocks / steps(1 if slow else CALIBRATION))))
    if per_block > 1:
        steps(int(per_block) // 2)
    return statistics.median(steps(int(per_block)) for _ in range(args.blocks))


def join(args, rank, rendezvous):
    torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=args.world)
    result = train(args, rank)
    torch.distributed.destroy_process_group()
    return result


def start_ranks(args):
    """Starts the other ranks as processes, and runs rank 0."""
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = os.path.join(folder, "rendezvous")
        others = [subprocess.Popen([sys.executable] + sys.argv, env=dict(os.environ, BENCH_RANK=f"{rank} {rendezvous}"),
                                   stdout=subprocess.DEVNULL) for rank in range(1, args.world)]
        try:
            result = join(args, 0, rendezvous)
        except BaseException:
            for process in others:
                process.kill()
            raise
        finally:
            codes = [process.wait() for process in others]
        if any(codes):
            sys.exit("a rank failed")
    return result


def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if "BENCH_RANK" in os.environ:
        rank, rendezvous = os.environ["BENCH_RANK"].split(" ", 1)
        join(args, int(rank), rendezvous)
        return
    step = start_ranks(args) if args.world > 1 else train(args, 0)
    print(f"{step * args.epoch / args.batch:.6g}")


if __name__ == "__main__":
    main()
