#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Translates published networks with lockstep.from_torch, and writes the table of docs/networks.md.

    published_networks.py DOCUMENT kuangliu=CLONE weiaicunzai=CLONE [PATTERN]

The clones are those of SOURCES; torchvision and timm are packages that Python can import. PATTERN: only networks whose
names contain it; their rows in DOCUMENT are replaced, the others stay. The code of the clones is executed. A network takes
a second to some minutes.
"""
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = {
    "kuangliu": "https://github.com/kuangliu/pytorch-cifar",
    "weiaicunzai": "https://github.com/weiaicunzai/pytorch-cifar100",
    "torchvision": "https://github.com/pytorch/vision",
    "timm": "https://github.com/huggingface/pytorch-image-models",
}
# What makes a network of a package, from its name.
MAKES = {"torchvision": "torchvision.models:%s", "timm": "timm:create_model('%s', num_classes=10)"}
# FILE: what makes its networks; the size of the images, if it is not 32.
NETWORKS = {
    "kuangliu": {
        "densenet": "DenseNet121 densenet_cifar", "dla": "DLA", "dla_simple": "SimpleDLA", "dpn": "DPN26 DPN92",
        "efficientnet": "EfficientNetB0", "googlenet": "GoogLeNet", "lenet": "LeNet", "mobilenet": "MobileNet",
        "mobilenetv2": "MobileNetV2", "pnasnet": "PNASNetA PNASNetB", "preact_resnet": "PreActResNet18 PreActResNet50",
        "regnet": "RegNetX_200MF RegNetX_400MF RegNetY_400MF", "resnet": "ResNet18 ResNet34 ResNet50",
        "resnext": "ResNeXt29_2x64d ResNeXt29_32x4d", "senet": "SENet18", "shufflenet": "ShuffleNetG2 ShuffleNetG3",
        "shufflenetv2": "ShuffleNetV2(0.5) ShuffleNetV2(1)", "vgg": "VGG('VGG11') VGG('VGG13') VGG('VGG16') VGG('VGG19')"},
    "weiaicunzai": {
        "attention": "attention56 attention92", "densenet": "densenet121 densenet161", "googlenet": "googlenet",
        "inceptionv3": "inceptionv3", "inceptionv4": "inceptionv4 inception_resnet_v2", "mobilenet": "mobilenet",
        "mobilenetv2": "mobilenetv2", "nasnet": "nasnet", "preactresnet": "preactresnet18 preactresnet50",
        "resnet": "resnet18 resnet50", "resnext": "resnext50", "rir": "resnet_in_resnet", "senet": "seresnet18 seresnet50",
        "shufflenet": "shufflenet", "shufflenetv2": "shufflenetv2", "squeezenet": "squeezenet",
        "stochasticdepth": "stochastic_depth_resnet18", "vgg": "vgg11_bn vgg16_bn", "wideresidual": "wideresnet",
        "xception": "xception"},
    "torchvision": {
        "": "alexnet/64 convnext_tiny/64 densenet121/64 efficientnet_b0/64 efficientnet_v2_s/64 googlenet/64 inception_v3(aux_logits=False)/96 "
            "mnasnet0_5/64 mnasnet1_0/64 mobilenet_v2/64 mobilenet_v3_large/64 mobilenet_v3_small/64 regnet_x_400mf/64 "
            "regnet_y_400mf/64 resnet18/64 resnet50/64 resnext50_32x4d/64 shufflenet_v2_x0_5/64 shufflenet_v2_x1_0/64 "
            "squeezenet1_1/64 swin_t/64 vgg11/64 vit_b_16(image_size=64)/64 wide_resnet50_2/64"},
    "timm": {
        "": "resnet10t/64 resnet18d/64 seresnet18/64 resnext26ts/64 ecaresnet26t/64 skresnet18/64 res2net50_26w_4s/64 "
            "efficientnet_lite0/64 efficientnet_b0/64 mobilenetv2_050/64 mobilenetv3_small_075/64 mobileone_s0/64 "
            "ghostnet_050/64 mnasnet_small/64 fbnetc_100/64 spnasnet_100/64 tf_mixnet_s/64 regnetx_002/64 regnety_002/64 "
            "densenet121/64 dla34/64 hrnet_w18_small/64 vgg11_bn/64 repvgg_a0/64 rexnetr_100/64 hardcorenas_a/64 lcnet_050/64 "
            "tinynet_e/64 semnasnet_050/64 convnext_atto/64 convnextv2_atto/64 cspresnet50/64 darknet17/64 selecsls42/64 "
            "xception41/64 inception_v3/96 edgenext_xx_small/64 mobilevit_xxs/64 resmlp_12_224/224 mixer_s32_224/224 "
            "convmixer_768_32/64 deit_tiny_patch16_224/224 levit_128s/224 poolformer_s12/64 nf_resnet26/64 gernet_s/64 "
            "resnetv2_50/64 vovnet39a/64 starnet_s1/64 fasternet_t0/64"},
}
# Code that PyTorch refuses under Python 3, and what is put in its place.
REPAIRS = {"kuangliu": {"shufflenet": ("out_planes/4", "out_planes//4")}}
SECONDS = 1200
ROW = re.compile(r"^\| (\w+) \| `([^`]*)` \|.*\|$")
VERSION = re.compile(r"^- (\w+): <[^>]*>, (.*)$")
HEAD = """# Published networks

<!-- tests/python/published_networks.py writes this page -->

`python -m lockstep.from_torch` has translated these definitions, which other people wrote and which
are not a part of this project. `--check` has compared them with PyTorch: the logits of an
evaluation, and every tensor after a step of SGD. The figures are the distances from PyTorch in
double precision: of the largest logit, and of the way that a tensor went. Behind them are those of
PyTorch's own single precision. A step moves by up to 3e-2 of its way where rounding decides which
side of a ReLU's kink a value is on.

"""


def commit(clone):
    return subprocess.run(["git", "-C", clone, "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout[:12]


def networks(clones):
    """(source, its file, its name, the size of its images)"""
    for source, files in NETWORKS.items():
        for file, names in files.items():
            for name in names.split():
                name, _, size = name.partition("/")
                yield source, "%s/models/%s.py" % (clones[source], file) if file else "", name, int(size or 32)


def result(source, file, name, size, repair):
    """What from_torch says of a network; None if something ended it."""
    environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "../../python"))
    with tempfile.TemporaryDirectory() as folder:
        if repair:
            with open(file, encoding="utf-8") as broken, open(folder + "/net.py", "w", encoding="utf-8") as mended:
                mended.write(broken.read().replace(*repair))
            file = folder + "/net.py"
        made = "%s:%s" % (file, name) if file else MAKES[source] % name
        try:
            ran = subprocess.run([sys.executable, "-m", "lockstep.from_torch", made, "--input", "3,%d,%d" % (size, size),
                                  "--out", folder, "--name", "net", "--check"], env=environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "| | not compared within %d minutes" % (SECONDS // 60)
    if ran.returncode < 0:
        return None
    told = re.search(r"(\d+) layers, ([\d,]+) parameters", ran.stdout)
    if not told:
        why = [line for line in ran.stderr.splitlines() if line.startswith("from_torch: ")][-1:]
        return "| | %s" % (why[0][len("from_torch: "):].replace("|", "\\|") if why else "it fails")
    compared = re.findall(r" +(\d\.\de[-+]\d+) +(\d\.\de[-+]\d+)", ran.stdout)
    same = ran.stdout.rstrip().endswith("\nthe same network")
    figures = "; ".join("%s %s (%s)" % (what, *pair) for what, pair in zip(("logits", "step"), compared))
    with_repair = ", with `%s` for `%s`" % repair[::-1] if repair else ""
    return "%s | %s | %s" % (told[1], told[2], ("the same: " if same else "ANOTHER: ") + figures + with_repair)


def read(document):
    """Of a page: {SOURCE.NETWORK: its row}, {SOURCE: its version}."""
    if not os.path.exists(document):
        return {}, {}
    with open(document, encoding="utf-8") as page:
        lines = page.read().splitlines()
    return ({"%s.%s" % found.groups(): found[0] for found in map(ROW.match, lines) if found},
            dict(found.groups() for found in map(VERSION.match, lines) if found))


def write(document, rows, versions, order):
    same = sum("| the same: " in line for line in rows.values())
    with open(document, "w", encoding="utf-8") as page:
        page.write(HEAD)
        page.write("".join("- %s: <%s>, %s\n" % (s, address, versions[s]) for s, address in SOURCES.items() if s in versions))
        page.write("\n%d of %d are the same network.\n" % (same, len(rows)))
        page.write("\n| source | network | pixels | layers | parameters | result |\n|---|---|---|---|---|---|\n")
        page.write("".join(rows[key] + "\n" for key in order if key in rows))


def main():
    document, *given = sys.argv[1:]
    clones = dict(item.split("=", 1) for item in given if "=" in item)
    clones.update(dict.fromkeys(MAKES))
    patterns = [item for item in given if "=" not in item]
    (rows, versions), found = read(document), list(networks(clones))
    for source, file, name, size in found:
        key, repair = "%s.%s" % (source, name), REPAIRS.get(source, {}).get(os.path.basename(file)[:-3])
        if patterns[0] in key if patterns else key not in rows:
            said = result(source, file, name, size, repair)
            if said is None:
                continue
            rows[key] = "| %s | `%s` | %d | %s |" % (source, name, size, said)
            versions[source] = commit(clones[source]) if clones[source] else version(source)
            print(rows[key], flush=True)
            write(document, rows, versions, ["%s.%s" % (source, name) for source, _, name, _ in found])


if __name__ == "__main__":
    main()
