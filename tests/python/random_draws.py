# SPDX-License-Identifier: MIT
"""The random draws of docs/formats.md, "Random numbers", written from that page. Standard library only."""
import functools
import hashlib
import math

INIT, PARTITION, ORDER, DROPOUT, CROP, FLIP, AFFINE = range(1, 8)
CUTOUT, VALIDATION, MIXUP, RESIZED_CROP, COLOR_JITTER = range(16, 21)


def philox(seed, counter):
    """Philox4x32-10 (Salmon et al., 2011)."""
    c, keys = counter, [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ keys[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ keys[1], a & 0xFFFFFFFF]
        keys = [keys[0] + 0x9E3779B9 & 0xFFFFFFFF, keys[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


class Stream:
    """The numbers of one purpose and place; element after element, at any position."""

    def __init__(self, seed, purpose, layer=0, epoch=0, sample=0):
        self.seed, self.counter, self.held = seed, [purpose << 24 | layer, epoch, sample], (None, [])

    def word(self, element):
        if self.held[0] != element // 4:
            self.held = element // 4, philox(self.seed, self.counter + [element // 4])
        return self.held[1][element % 4]

    def uniform(self, element):
        return (self.word(element) >> 8) / 2 ** 24

    def below(self, element, n):
        return self.word(element) * n >> 32

    def between(self, element, low, high):
        return low + (high - low) * self.uniform(element)

    def permutation(self, n):
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self.below(n - 1 - i, i + 1)
            order[i], order[j] = order[j], order[i]
        return order


def layer_seed(seed, name):
    return seed ^ int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def initial_stream(seed, layer, bias):
    return Stream(layer_seed(seed, layer), INIT, sample=int(bias))


def initial_values(seed, layer, count, bias):
    """`count` numbers from -1 to 1, of the weight or the bias of a layer."""
    stream = initial_stream(seed, layer, bias)
    return [2 * stream.uniform(i) - 1 for i in range(count)]


def initial_normals(seed, layer, count):
    """`count` normal numbers, of the weight of a layer, by the method of Box and Muller."""
    stream, result = initial_stream(seed, layer, False), []
    for i in range(0, count, 2):
        radius = math.sqrt(-2 * math.log((stream.word(i) + 0.5) / 2 ** 32))
        angle = 2 * math.pi * stream.word(i + 1) / 2 ** 32
        result += [radius * math.cos(angle), radius * math.sin(angle)]
    return result[:count]


@functools.lru_cache(maxsize=None)
def dropped(seed, layer, p, epoch, sample, count):
    """For each of `count` values of a sample: does dropout make it 0? A comparison asks this in each of its trainings."""
    stream = Stream(layer_seed(seed, layer), DROPOUT, epoch=epoch, sample=sample)
    return [stream.uniform(i) < p for i in range(count)]


def held_out(ids, count, seed):
    """The ids of the validation samples."""
    def rank(sample):
        stream = Stream(seed, VALIDATION, sample=sample)
        return stream.word(0) << 32 | stream.word(1), sample
    return sorted(sorted(ids, key=rank)[:count])


def order(ids, left_out, shards, shard_seed, seed, batch, epochs):
    """The ids in the order of training: step after step, in a step shard after shard."""
    dealt = [ids[i] for i in Stream(shard_seed, PARTITION).permutation(len(ids)) if ids[i] not in left_out]
    shares, each, result = [dealt[v::shards] for v in range(shards)], batch // shards, []
    for epoch in range(epochs):
        turns = [[share[i] for i in Stream(seed, ORDER, v, epoch).permutation(len(share))]
                 for v, share in enumerate(shares)]
        for first in range(0, len(turns[0]), each):
            for turn in turns:
                result += turn[first:first + each]
    return result


def mixup_share(alpha, seed, epoch, sample):
    """Beta(alpha, alpha) by Jöhnk's method, in units of 2^-16."""
    stream, element = Stream(seed, MIXUP, epoch=epoch, sample=sample), 0
    while True:
        x, y = [(stream.uniform(element + i) + 2 ** -25) ** (1 / alpha) for i in range(2)]
        if x + y <= 1:
            return math.floor(x / (x + y) * 65536 + 0.5)
        element += 2
