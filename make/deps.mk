# Packages of the distribution and of PyPI, and the targets that install them.

# Packages of Debian and Ubuntu: to build, run and test; to lint; to compare with PyTorch; for ranks on
# several hosts; to fuzz by libFuzzer.
DEPS_PACKAGES       := gcc g++ libc6-dev make pkg-config libzstd-dev libyaml-dev libcurl4-openssl-dev \
                       libarchive-dev libssl-dev libjansson-dev libjpeg-dev libpng-dev libcmocka-dev \
                       ca-certificates gnuplot-nox librsvg2-bin bats procps python3 xz-utils zstd
DEPS_LINT_PACKAGES  := clang clang-format shellcheck
DEPS_TORCH_PACKAGES := python3-torch python3-torchvision python3-numpy libopenblas0-pthread python3-venv
DEPS_MPI_PACKAGES   := libopenmpi-dev openmpi-bin
DEPS_TORTURE_PACKAGES := clang libclang-rt-dev
# Programs that read what `tensor export` writes; Debian 12 does not have them all.
DEPS_TORCH_PYPI     := onnx onnxruntime tensorboard
PYTHON_FOLDER       := .venv

THEN := $(filter-out $(INSTALLS),$(MAKECMDGOALS))
.PHONY: $(MAKECMDGOALS) then
.NOTPARALLEL:

deps: ## Install what building, running and testing need (Debian, Ubuntu)
	@scripts/install-deps $@ $(DEPS_PACKAGES)
deps-lint: ## Install what `make lint` needs besides: clang, clang-format, shellcheck
	@scripts/install-deps $@ $(DEPS_LINT_PACKAGES)
deps-torch: ## Install PyTorch, and into .venv ONNX Runtime and TensorBoard: tests that compare with them run instead of being skipped
	@scripts/install-deps $@ $(DEPS_TORCH_PACKAGES)
	@scripts/install-python $@ '$(PYTHON)' $(PYTHON_FOLDER) $(DEPS_TORCH_PYPI)
deps-mpi: ## Install Open MPI, with which train-ddp's ranks may be on several hosts
	@scripts/install-deps $@ $(DEPS_MPI_PACKAGES)
deps-torture: ## Install libFuzzer, with which `make torture` fuzzes; without it, a loop of our own does
	@scripts/install-deps $@ $(DEPS_TORTURE_PACKAGES)
ifneq ($(THEN),)
$(THEN): then ; @:
then: $(filter $(INSTALLS),$(MAKECMDGOALS))
	@$(MAKE) --no-print-directory $(THEN)
endif
