#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch as a subject of the conformance suite: options and environment. training.py trains.

Variants: eager, compile (torch.compile), ddp (DistributedDataParallel over gloo, a process per rank). All follow
https://docs.pytorch.org/docs/stable/notes/randomness.html as far as it covers CPUs: seeds of every generator and of
loader workers, a generator for the DataLoader, torch.use_deterministic_algorithms(True).
"""
import argparse
import importlib.util
import os
import re
import shutil
import sys
import sysconfig

sys.dont_write_bytecode = True
NOT_OFFERED = 77
VARIANTS = ("eager", "compile", "ddp")
# The libraries that choose their kernels by the processor: ATen, oneDNN, MKL, OpenBLAS.
ISA_VARIABLES = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE")
ISAS = {"avx512": ("avx512", "AVX512_CORE", "AVX512", "SkylakeX"), "avx2": ("avx2", "AVX2", "AVX2", "Haswell"),
        "baseline": ("default", "SSE41", "SSE4_2", "Nehalem")}


def not_offered(why):
    print(why, file=sys.stderr)
    sys.exit(NOT_OFFERED)


def read_arguments():
    p = argparse.ArgumentParser(prog="pytorch")
    p.add_argument("command", choices=["describe", "train"])
    p.add_argument("--variant", choices=VARIANTS, default="eager")
    p.add_argument("--data")
    p.add_argument("--model")
    p.add_argument("--augment", choices=["none", "crop-flip"])
    p.add_argument("--isa", default="best")
    p.add_argument("--state")
    p.add_argument("--out")
    for name in ("batch", "epochs", "seed", "ranks", "threads", "loader-workers"):
        p.add_argument("--" + name, type=int)
    p.add_argument("--stop-after", type=int, default=0)
    p.add_argument("--save-every", type=int, default=0)
    p.add_argument("--resume", action="store_true")
    return p.parse_args()


def set_environment(args):
    """Sets the variables that libraries read when they are loaded."""
    threads = str(args.threads or 1)
    os.environ.update(OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    for name in ISA_VARIABLES:
        os.environ.pop(name, None)
    if args.isa != "best":
        if args.isa not in ISAS:
            not_offered(f"no setting for '{args.isa}'")
        os.environ.update(zip(ISA_VARIABLES, ISAS[args.isa]))
    if "CONFORMANCE_CACHE" in os.environ:  # compiled code depends on threads and instruction set
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(os.environ["CONFORMANCE_CACHE"], f"{args.isa}-{threads}")


def check(args):
    """Exits with NOT_OFFERED if this PyTorch does not support the training."""
    if importlib.util.find_spec("torch") is None:
        not_offered(f"{sys.executable} has no torch (make deps-torch-pip)")
    import torch
    if args.variant == "compile":
        if not hasattr(torch, "compile"):
            not_offered(f"torch {torch.__version__} has no torch.compile")
        if not shutil.which(os.environ.get("CXX", "g++")) or \
                not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
            not_offered("torch.compile needs g++ and Python.h (python3-dev)")
    if args.variant == "ddp" and not torch.distributed.is_available():
        not_offered("this torch has no torch.distributed")
    if args.command == "train" and args.variant != "ddp" and args.ranks > 1:
        not_offered("it is one process; pytorch:ddp has ranks")


def describe(args):
    import torch
    shown = torch.__config__.show()
    parts = [("MKL", re.search(r"Math Kernel Library Version ([0-9.]+)", shown)),
             ("BLAS", re.search(r"BLAS_INFO=(\w+)", shown)), ("oneDNN", re.search(r"MKL-DNN v([0-9.]+)", shown))]
    libraries = ", ".join(f"{name} {found.group(1)}" for name, found in parts if found)
    print(f"name: PyTorch {args.variant}")
    print(f"version: PyTorch {torch.__version__} ({capability()}; {libraries})")


def capability():
    """The instruction set of ATen's kernels, as reported by ATen."""
    import torch
    lines = torch.__config__.show().splitlines()
    return next((line.partition("usage: ")[2] for line in lines if "CPU capability usage: " in line), "unknown")


def check_isa(args):
    """Checks that the environment had an effect on ATen; MKL and oneDNN do not report it."""
    wanted = {"avx512": ("AVX512",), "avx2": ("AVX2",), "baseline": ("DEFAULT", "NO AVX")}.get(args.isa)
    if wanted and capability() not in wanted:
        not_offered(f"ATEN_CPU_CAPABILITY={os.environ['ATEN_CPU_CAPABILITY']} gives {capability()}")


def main():
    args = read_arguments()
    set_environment(args)
    check(args)
    if args.command == "describe":
        describe(args)
        return
    check_isa(args)
    import training
    if not training.find_network(args.model):
        not_offered(f"no definition of '{args.model}'")
    training.run(args)


if __name__ == "__main__":
    main()
