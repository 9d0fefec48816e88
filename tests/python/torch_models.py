#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of experiments/models, defined in PyTorch's own terms instead of from the model file.

    torch_models.py NAME parameters COUNT            check the number of parameters
    torch_models.py NAME logits ARGUMENT...          as torch_peer.py logits
    torch_models.py NAME training ARGUMENT...        as torch_training.py

NAME is resnet18 or wrn-16-4. Needs PyTorch and the standard library.
"""
import sys

import torch
from torch import nn

import torch_peer
import torch_training


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


MODELS = {"resnet18": ResNet18, "wrn-16-4": lambda: WideResNet(16, 4)}


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
