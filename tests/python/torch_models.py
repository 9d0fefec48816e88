#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of experiments/models, defined in PyTorch's own terms instead of from the model file.

    torch_models.py NAME parameters COUNT            check the number of parameters
    torch_models.py NAME logits ARGUMENT...          as torch_peer.py logits
    torch_models.py NAME training ARGUMENT...        as torch_training.py

NAME is densenet121, googlenet, mobilenet_v2, resnet18, shufflenet_v2 or wrn-16-4. Needs PyTorch and the standard library.
"""
import sys

import torch
from torch import nn

import torch_peer
import torch_training
from torch_peer import shuffle


def conv3(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)


class PostBlock(nn.Module):
    """Of He et al. 2015: ReLU after the sum."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = conv3(inputs, outputs, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv3(outputs, outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = conv3(3, 64), nn.BatchNorm2d(64)
        self.layer1 = nn.Sequential(PostBlock(64, 64, 1), PostBlock(64, 64, 1))
        self.layer2 = nn.Sequential(PostBlock(64, 128, 2), PostBlock(128, 128, 1))
        self.layer3 = nn.Sequential(PostBlock(128, 256, 2), PostBlock(256, 256, 1))
        self.layer4 = nn.Sequential(PostBlock(256, 512, 2), PostBlock(512, 512, 1))
        self.linear = nn.Linear(512, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.linear(x.mean((2, 3)))


class PreBlock(nn.Module):
    """Of He et al. 2016: batch norm and ReLU before each convolution, shared with a convolution in the shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inputs), conv3(inputs, outputs, stride)
        self.bn2, self.conv2 = nn.BatchNorm2d(outputs), conv3(outputs, outputs)
        self.convShortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if inputs != outputs else None

    def forward(self, x):
        first = torch.relu(self.bn1(x))
        shortcut = self.convShortcut(first) if self.convShortcut else x
        return shortcut + self.conv2(torch.relu(self.bn2(self.conv1(first))))


class Stage(nn.Module):
    def __init__(self, inputs, outputs, stride, blocks):
        super().__init__()
        self.layer = nn.Sequential(PreBlock(inputs, outputs, stride),
                                   *[PreBlock(outputs, outputs, 1) for _ in range(blocks - 1)])

    def forward(self, x):
        return self.layer(x)


class WideResNet(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        blocks = (depth - 4) // 6
        self.conv1 = conv3(3, 16)
        self.block1 = Stage(16, 16 * width, 1, blocks)
        self.block2 = Stage(16 * width, 32 * width, 2, blocks)
        self.block3 = Stage(32 * width, 64 * width, 2, blocks)
        self.bn1, self.fc = nn.BatchNorm2d(64 * width), nn.Linear(64 * width, 10)

    def forward(self, x):
        x = self.block3(self.block2(self.block1(self.conv1(x))))
        return self.fc(torch.relu(self.bn1(x)).mean((2, 3)))


class Bottleneck(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.bn2, self.conv2 = nn.BatchNorm2d(4 * growth), conv3(4 * growth, growth)

    def forward(self, x):
        y = self.conv1(torch.relu(self.bn1(x)))
        return torch.cat([self.conv2(torch.relu(self.bn2(y))), x], 1)


class Transition(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.bn, self.conv = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x):
        return nn.functional.avg_pool2d(self.conv(torch.relu(self.bn(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, blocks, growth):
        super().__init__()
        channels = 2 * growth
        self.conv1, self.parts = conv3(3, channels), []
        for number, count in enumerate(blocks, 1):
            block = nn.Sequential(*[Bottleneck(channels + i * growth, growth) for i in range(count)])
            channels += count * growth
            self.add_module(f"dense{number}", block)
            self.parts.append(block)
            if number < len(blocks):
                self.add_module(f"trans{number}", Transition(channels, channels // 2))
                self.parts.append(self.get_submodule(f"trans{number}"))
                channels //= 2
        self.bn, self.linear = nn.BatchNorm2d(channels), nn.Linear(channels, 10)

    def forward(self, x):
        x = self.conv1(x)
        for part in self.parts:
            x = part(x)
        return self.linear(torch.relu(self.bn(x)).mean((2, 3)))


def normed(*shapes):
    """Convolutions of (inputs, outputs, kernel), with batch norm and ReLU."""
    return [layer for inputs, outputs, kernel in shapes
            for layer in (nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2), nn.BatchNorm2d(outputs), nn.ReLU())]


class Inception(nn.Module):
    def __init__(self, inputs, one, three_in, three, five_in, five, pooled):
        super().__init__()
        self.b1 = nn.Sequential(*normed((inputs, one, 1)))
        self.b2 = nn.Sequential(*normed((inputs, three_in, 1), (three_in, three, 3)))
        self.b3 = nn.Sequential(*normed((inputs, five_in, 1), (five_in, five, 3), (five, five, 3)))
        self.b4 = nn.Sequential(nn.MaxPool2d(3, 1, 1), *normed((inputs, pooled, 1)))

    def forward(self, x):
        return torch.cat([self.b1(x), self.b2(x), self.b3(x), self.b4(x)], 1)


class GoogLeNet(nn.Module):
    BLOCKS = {"a3": (64, 96, 128, 16, 32, 32), "b3": (128, 128, 192, 32, 96, 64),
              "a4": (192, 96, 208, 16, 48, 64), "b4": (160, 112, 224, 24, 64, 64), "c4": (128, 128, 256, 24, 64, 64),
              "d4": (112, 144, 288, 32, 64, 64), "e4": (256, 160, 320, 32, 128, 128),
              "a5": (256, 160, 320, 32, 128, 128), "b5": (384, 192, 384, 48, 128, 128)}

    def __init__(self):
        super().__init__()
        self.pre_layers, channels = nn.Sequential(*normed((3, 192, 3))), 192
        for name, sizes in self.BLOCKS.items():
            self.add_module(name, Inception(channels, *sizes))
            channels = sizes[0] + sizes[2] + sizes[4] + sizes[5]
        self.linear = nn.Linear(channels, 10)

    def forward(self, x):
        x = self.pre_layers(x)
        for name in self.BLOCKS:
            if name in ("a4", "a5"):
                x = nn.functional.max_pool2d(x, 3, 2, 1)
            x = self.get_submodule(name)(x)
        return self.linear(x.mean((2, 3)))


def depthwise3(channels, stride):
    return nn.Conv2d(channels, channels, 3, stride, padding=1, groups=channels, bias=False)


def conv1(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 1, bias=False)


class Halves(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.conv1, self.bn1 = conv1(half, half), nn.BatchNorm2d(half)
        self.conv2, self.bn2 = depthwise3(half, 1), nn.BatchNorm2d(half)
        self.conv3, self.bn3 = conv1(half, half), nn.BatchNorm2d(half)

    def forward(self, x):
        kept, y = x.chunk(2, 1)
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(y)))))
        return shuffle(torch.cat([kept, torch.relu(self.bn3(self.conv3(y)))], 1), 2)


class Down(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        half = outputs // 2
        self.conv1, self.bn1 = depthwise3(inputs, 2), nn.BatchNorm2d(inputs)
        self.conv2, self.bn2 = conv1(inputs, half), nn.BatchNorm2d(half)
        self.conv3, self.bn3 = conv1(inputs, half), nn.BatchNorm2d(half)
        self.conv4, self.bn4 = depthwise3(half, 2), nn.BatchNorm2d(half)
        self.conv5, self.bn5 = conv1(half, half), nn.BatchNorm2d(half)

    def forward(self, x):
        a = torch.relu(self.bn2(self.conv2(self.bn1(self.conv1(x)))))
        b = self.bn4(self.conv4(torch.relu(self.bn3(self.conv3(x)))))
        return shuffle(torch.cat([a, torch.relu(self.bn5(self.conv5(b)))], 1), 2)


class ShuffleNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, channels = conv3(3, 24), nn.BatchNorm2d(24), 24
        for name, outputs, count in ("layer1", 116, 3), ("layer2", 232, 7), ("layer3", 464, 3):
            self.add_module(name, nn.Sequential(Down(channels, outputs), *[Halves(outputs) for _ in range(count)]))
            channels = outputs
        self.conv2, self.bn2 = conv1(channels, 1024), nn.BatchNorm2d(1024)
        self.linear = nn.Linear(1024, 10)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(torch.relu(self.bn1(self.conv1(x))))))
        return self.linear(torch.relu(self.bn2(self.conv2(x))).mean((2, 3)))


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, factor, stride):
        super().__init__()
        wide = inputs * factor
        self.conv1, self.bn1 = conv1(inputs, wide), nn.BatchNorm2d(wide)
        self.conv2, self.bn2 = depthwise3(wide, stride), nn.BatchNorm2d(wide)
        self.conv3, self.bn3 = conv1(wide, outputs), nn.BatchNorm2d(outputs)
        self.shortcut, self.adds = nn.Sequential(), stride == 1
        if stride == 1 and inputs != outputs:
            self.shortcut = nn.Sequential(conv1(inputs, outputs), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))
        y = self.bn3(self.conv3(y))
        return y + self.shortcut(x) if self.adds else y


class MobileNetV2(nn.Module):
    BLOCKS = (1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, channels, layers = conv3(3, 32), nn.BatchNorm2d(32), 32, []
        for factor, outputs, count, stride in self.BLOCKS:
            for i in range(count):
                layers.append(Inverted(channels, outputs, factor, 1 if i else stride))
                channels = outputs
        self.layers = nn.Sequential(*layers)
        self.conv2, self.bn2 = conv1(320, 1280), nn.BatchNorm2d(1280)
        self.linear = nn.Linear(1280, 10)

    def forward(self, x):
        x = torch.relu(self.bn2(self.conv2(self.layers(torch.relu(self.bn1(self.conv1(x)))))))
        return self.linear(x.mean((2, 3)))


MODELS = {"densenet121": lambda: DenseNet((6, 12, 24, 16), 32), "googlenet": GoogLeNet, "mobilenet_v2": MobileNetV2,
          "resnet18": ResNet18, "shufflenet_v2": ShuffleNetV2, "wrn-16-4": lambda: WideResNet(16, 4)}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in MODELS:
        sys.exit(__doc__)
    make, command, arguments = MODELS[sys.argv[1]], sys.argv[2], sys.argv[3:]
    torch.set_num_threads(1)
    if command == "parameters":
        count = sum(p.numel() for p in make().parameters())
        if count != int(arguments[0]):
            sys.exit(f"{count} parameters in PyTorch")
    elif command == "logits":
        torch_peer.compare_logits(*arguments, make=lambda description: make())
    else:
        torch_training.compare(*arguments, make=lambda description: make())


if __name__ == "__main__":
    main()
