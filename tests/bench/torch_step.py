#!/usr/bin/env python3
"""torch_step.py - PyTorch on the work that `make bench` gives to Lockstep: LeNet training steps on images in memory.

Prints seconds per epoch of 50,000 images: the median of several blocks, after a warm-up. The batches are cut from a tensor that is
normalised once and in memory: no DataLoader, which makes this PyTorch's best case.

    torch_step.py --model lenet-bn --batch 64 --threads 2 [--channels-last] [--avx512] [--seconds 1.5] [--blocks 3]
    torch_step.py --sgemm --threads 2        prints GFLOP/s of a 2048 × 2048 matrix product instead
"""
import argparse
import os
import statistics
import time


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=["lenet", "lenet-bn"], default="lenet-bn")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--channels-last", action="store_true")
    p.add_argument("--avx512", action="store_true")
    p.add_argument("--seconds", type=float, default=1.5, help="of a block")
    p.add_argument("--blocks", type=int, default=3)
    p.add_argument("--sgemm", action="store_true")
    return p.parse_args()


def lenet(nn, norm):
    def with_norm(layer, kind, features):
        return [layer, kind(features), nn.ReLU()] if norm else [layer, nn.ReLU()]
    return nn.Sequential(
        *with_norm(nn.Conv2d(3, 6, 5), nn.BatchNorm2d, 6), nn.MaxPool2d(2),
        *with_norm(nn.Conv2d(6, 16, 5), nn.BatchNorm2d, 16), nn.MaxPool2d(2), nn.Flatten(),
        *with_norm(nn.Linear(400, 120), nn.BatchNorm1d, 120),
        *with_norm(nn.Linear(120, 84), nn.BatchNorm1d, 84), nn.Linear(84, 10))


def sgemm(torch, seconds):
    a, b = torch.rand(2048, 2048), torch.rand(2048, 2048)
    best, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        torch.mm(a, b)
        best = max(best, 2 * 2048 ** 3 / (time.perf_counter() - start) * 1e-9)
    return best


def main():
    args = parse_args()
    # OpenMP and OpenBLAS size their pools when they are loaded; two pools on the same cores spin against each other.
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads) if args.sgemm else "1"
    if args.avx512:
        os.environ["ATEN_CPU_CAPABILITY"] = "avx512"
    import torch
    from torch import nn
    torch.set_num_threads(args.threads)
    if args.sgemm:
        print(f"{sgemm(torch, args.seconds):.1f}")
        return
    torch.manual_seed(0)
    images, labels = torch.rand(6400, 3, 32, 32) * 2 - 1, torch.randint(0, 10, (6400,))
    net = lenet(nn, args.model == "lenet-bn")
    if args.channels_last:
        net, images = net.to(memory_format=torch.channels_last), images.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()

    def steps(seconds):
        """Trains for so long; seconds a step."""
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for ids in torch.randperm(len(labels)).split(args.batch):
                optimizer.zero_grad(set_to_none=True)
                loss_of(net(images.index_select(0, ids)), labels.index_select(0, ids)).backward()
                optimizer.step()
                count += 1
                if time.perf_counter() - start >= seconds:
                    break
        return (time.perf_counter() - start) / count

    steps(args.seconds / 3)
    step = statistics.median(steps(args.seconds) for _ in range(args.blocks))
    print(f"{step * 50000 / args.batch:.4f}")


if __name__ == "__main__":
    main()
