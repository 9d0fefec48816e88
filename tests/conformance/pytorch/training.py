# SPDX-License-Identifier: MIT
"""Trains a network with PyTorch, following its documentation on reproducibility; adapter.py starts it.

Import it only after the environment is set: libraries read it when they are loaded.
"""
import itertools
import os
import random
import sys
import tempfile

import torch
import torch.distributed
import torch.multiprocessing
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler, RandomSampler, Sampler

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
import safetensors_reader  # noqa: E402
import safetensors_writer  # noqa: E402

LEARNING_RATE, MOMENTUM, PADDING = 0.01, 0.9, 4


def lenet(batch_norm):
    def after(features, kind):
        return ([kind(features)] if batch_norm else []) + [nn.ReLU()]
    return nn.Sequential(
        nn.Conv2d(3, 6, 5), *after(6, nn.BatchNorm2d), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), *after(16, nn.BatchNorm2d), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), *after(120, nn.BatchNorm1d), nn.Linear(120, 84), *after(84, nn.BatchNorm1d),
        nn.Linear(84, 10))


def find_network(name):
    """What makes the network of experiments/models/NAME.yaml; None: nothing here."""
    if name in ("lenet", "lenet-bn"):
        return lambda: lenet(name == "lenet-bn")
    from torch_models import MODELS
    return MODELS.get(name)


# ---- Data ------------------------------------------------------------------------------------------------------

class Images(Dataset):
    """Images from -1 to 1 and labels; with `augment`, a random crop of the padded image and a random flip."""

    def __init__(self, path, augment):
        with open(path, "rb") as file:
            pieces, _ = safetensors_reader.pieces(file.read())
        _, shape, content = pieces["images"]
        self.images = torch.frombuffer(bytearray(content), dtype=torch.uint8).reshape(shape)
        self.labels = torch.tensor(safetensors_reader.values(pieces["labels"]), dtype=torch.int64)
        self.augment = augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i].float() / 127.5 - 1
        if self.augment:
            height, width = image.shape[1:]
            image = nn.functional.pad(image, [PADDING] * 4)
            top, left = torch.randint(2 * PADDING + 1, (2,)).tolist()
            image = image[:, top:top + height, left:left + width]
            if torch.rand(()) < 0.5:
                image = image.flip(2)
        return image, self.labels[i]


class Onward(Sampler):
    """The order of a sampler from a given place, at which a training was stopped."""

    def __init__(self, sampler):
        self.sampler, self.skip = sampler, 0

    def __iter__(self):
        return itertools.islice(iter(self.sampler), self.skip, None)

    def __len__(self):
        return len(self.sampler) - self.skip


def seed_worker(_):
    """From the documentation: the other generators of a loader worker get a seed from torch's."""
    seed = torch.initial_seed() % 2**32
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)


def make_loader(args, dataset, rank, generator):
    if args.variant == "ddp":
        sampler = DistributedSampler(dataset, args.ranks, rank, shuffle=True, seed=args.seed)
    else:
        sampler = RandomSampler(dataset, generator=generator)
    return DataLoader(dataset, batch_size=args.batch // args.ranks, sampler=Onward(sampler),
                      num_workers=args.loader_workers, worker_init_fn=seed_worker, generator=generator)


# ---- State -----------------------------------------------------------------------------------------------------

class Training:
    """One rank: network, optimizer, loader, and the progress: finished epochs, and steps of the current one."""

    def __init__(self, args, rank):
        self.args, self.rank = args, rank
        random.seed(args.seed)
        torch.manual_seed(args.seed)
        torch.use_deterministic_algorithms(True)
        torch.set_num_threads(args.threads)
        self.net = find_network(args.model)()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
        self.generator = torch.Generator().manual_seed(args.seed)
        self.loader = make_loader(args, Images(args.data, args.augment != "none"), rank, self.generator)
        self.steps = len(self.loader)
        self.epoch = self.step = 0
        self.path = os.path.join(args.state, "state.pt")

    def save(self, epoch_began):
        """Saves everything atomically in one file; `epoch_began` is the generator's state at the start of the epoch."""
        random_states = [None] * self.args.ranks
        if self.args.variant == "ddp":
            torch.distributed.all_gather_object(random_states, torch.get_rng_state())
        else:
            random_states[0] = torch.get_rng_state()
        if self.rank == 0:
            torch.save({"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch,
                        "step": self.step, "random": random_states, "generator": epoch_began}, self.path + ".new")
            os.replace(self.path + ".new", self.path)

    def load(self):
        state = torch.load(self.path)
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.step = state["epoch"], state["step"]
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["random"][self.rank])

    def batches(self):
        """The remaining batches of the epoch."""
        sampler = self.loader.sampler
        sampler.skip = self.step * self.loader.batch_size
        if isinstance(sampler.sampler, DistributedSampler):
            sampler.sampler.set_epoch(self.epoch)
        return self.loader

    def wrapped(self):
        if self.args.variant == "ddp":
            return nn.parallel.DistributedDataParallel(self.net)
        return torch.compile(self.net) if self.args.variant == "compile" else self.net

    def run(self):
        """True at the end of training, False when it stopped at --stop-after."""
        args, model = self.args, self.wrapped().train()
        while self.epoch < args.epochs:
            epoch_began = self.generator.get_state()
            for x, y in self.batches():
                self.optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                self.optimizer.step()
                self.step += 1
                done = self.epoch * self.steps + self.step
                if done == args.stop_after or args.save_every and done % args.save_every == 0:
                    self.save(epoch_began)
                if done == args.stop_after:
                    return False
            self.epoch, self.step = self.epoch + 1, 0
        return True


# ---- Processes -------------------------------------------------------------------------------------------------

def worker(rank, args, rendezvous):
    if args.variant == "ddp":
        torch.distributed.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank,
                                             world_size=args.ranks)
    training = Training(args, rank)
    if args.resume and os.path.exists(training.path):
        training.load()
    finished = training.run()
    if finished and rank == 0:
        safetensors_writer.save(args.out, training.net.state_dict())
    if args.variant == "ddp":
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


def run(args):
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = os.path.join(folder, "rendezvous")
        if args.variant == "ddp":
            torch.multiprocessing.spawn(worker, (args, rendezvous), nprocs=args.ranks)
        else:
            worker(0, args, rendezvous)
