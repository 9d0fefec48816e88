# Packages of the distribution, and the targets that install them.

# Packages of Debian and Ubuntu: to build, run and test; to lint; to compare with PyTorch; for ranks
# on several hosts; to fuzz with libFuzzer.
DEPS_PACKAGES       := gcc g++ libc6-dev make pkg-config libzstd-dev libyaml-dev libcurl4-openssl-dev \
                       libarchive-dev libssl-dev libjansson-dev libjpeg-dev libpng-dev libcmocka-dev \
                       ca-certificates gnuplot-nox librsvg2-bin bats procps python3 xz-utils zstd
DEPS_LINT_PACKAGES  := clang clang-format shellcheck
DEPS_TORCH_PACKAGES := python3-torch python3-torchvision python3-numpy libopenblas0-pthread
DEPS_SHELLS_PACKAGES := zsh fish
DEPS_MPI_PACKAGES   := libopenmpi-dev openmpi-bin
DEPS_TORTURE_PACKAGES := clang libclang-rt-dev

THEN := $(filter-out $(INSTALLS),$(MAKECMDGOALS))
.PHONY: $(MAKECMDGOALS) then
.NOTPARALLEL:

deps: ## Install the packages for building, running and testing (Debian, Ubuntu)
	@scripts/install-deps $@ $(DEPS_PACKAGES)
deps-lint: ## Install the other packages for `make lint`: clang, clang-format, shellcheck
	@scripts/install-deps $@ $(DEPS_LINT_PACKAGES)
deps-torch: ## Install PyTorch from the distribution: tests that compare with it run instead of being skipped
	@scripts/install-deps $@ $(DEPS_TORCH_PACKAGES)
deps-mpi: ## Install Open MPI, for train-ddp's ranks on several hosts
	@scripts/install-deps $@ $(DEPS_MPI_PACKAGES)
deps-shells: ## Install zsh and fish: tests of their completions run instead of being skipped
	@scripts/install-deps $@ $(DEPS_SHELLS_PACKAGES)
deps-torture: ## Install libFuzzer, for the fuzzers of `make torture`; without it, a simple loop calls them
	@scripts/install-deps $@ $(DEPS_TORTURE_PACKAGES)
ifneq ($(THEN),)
$(THEN): then ; @:
then: $(filter $(INSTALLS),$(MAKECMDGOALS))
	@$(MAKE) --no-print-directory $(THEN)
endif
