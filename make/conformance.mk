# SPDX-License-Identifier: MIT
# The conformance suite, tests/conformance, on Lockstep and PyTorch: the same experiment must give the same bits.

# Only some subjects, or your own: CONFORMANCE_SUBJECTS="lockstep:train-ddp ./my-adapter". Options of the suite
# (tests/conformance/run --help): CONFORMANCE_FLAGS="--axes 'threads ranks'".
CONFORMANCE_SUBJECTS ?=
CONFORMANCE_FLAGS    ?=
# The Python of `make deps-torch-pip`, if it is installed.
CONFORMANCE_PYTHON    = $(or $(wildcard $(abspath $(TORCH_VENV))/bin/python),$(PYTHON))

# `make deps-aarch64` installs a cross compiler and qemu-user, and unpacks the libraries of aarch64.
AARCH64_SYSROOT ?= $(BUILD)/sysroot-aarch64
AARCH64_CC      ?= aarch64-linux-gnu-gcc
AARCH64_LIB     := $(abspath $(AARCH64_SYSROOT))/usr/lib/aarch64-linux-gnu
AARCH64_FOUND    = $(if $(wildcard $(AARCH64_SYSROOT)/packages),$(shell command -v $(AARCH64_CC)))
AARCH64_MAKE     = PKG_CONFIG_LIBDIR='$(AARCH64_LIB)/pkgconfig' PKG_CONFIG_SYSROOT_DIR='$(abspath $(AARCH64_SYSROOT))' \
    $(MAKE) --no-print-directory CC=$(AARCH64_CC) MODE=release BUILD=$(BUILD)/aarch64 CUDA=0 MPI=0 \
    CFLAGS='--sysroot=$(abspath $(AARCH64_SYSROOT))' \
    LDFLAGS='--sysroot=$(abspath $(AARCH64_SYSROOT)) -Wl,-rpath-link,$(AARCH64_LIB)'
AARCH64_TESTS    = $(patsubst $(OBJ)/%,$(BUILD)/aarch64/obj/release/%,$(UNIT_TESTS) $(filter-out $(CUDA_TESTS),$(OPS_TESTS)))
# `make deps-glibc` unpacks another glibc.
GLIBC_SYSROOT   ?= $(BUILD)/sysroot-glibc
# Files of tests/bats that run the tools and nothing that was built for this machine.
AARCH64_BATS    ?= $(patsubst %,tests/bats/%.bats,tensor tensors manifest json keys shard fetch-mnist augment \
                     checkpoints same-bits resume restarts evaluate replay train-ddp train-dp train-mp \
                     networks recipes loss-curves validation interop graphs)
CLANG_FOUND      = $(shell command -v $(CLANG))

# ROWS: a regular expression; only the rows of `make hashes` that match it, and the builds they need.
ROWS ?=
row   = $(if $(ROWS),$(findstring $(1),$(ROWS)),yes)

# $(call needs_aarch64): ends a target if there is nothing to build with.
needs_aarch64 = $(if $(AARCH64_FOUND),,@echo "make $@: no $(AARCH64_CC) or $(AARCH64_SYSROOT): run 'make deps-aarch64'" >&2; exit 1)

# What train-single is made of: the other rooms are not compiled again for it.
TRAIN_ROOMS = LIBSRC='$(filter $(foreach room,base compute data dist experiment nn timing train,lib/$(room)/%),$(LIBSRC))'

.PHONY: conformance conformance-docs hashes aarch64-tests aarch64-bats
conformance: all ## Check that the same experiment gives the same bits, in Lockstep and in PyTorch: 15 minutes
	@BIN='$(abspath $(BUILD)/bin)' PYTHON='$(CONFORMANCE_PYTHON)' tests/conformance/run --only-report pytorch \
	    --out $(call word_of,$(ARTIFACTS)/conformance) $(CONFORMANCE_FLAGS) $(CONFORMANCE_SUBJECTS)
hashes: all $(EMULATED_SO) ## Print the hashes of one model made by other processors, C libraries, compilers, architectures, ranks and resumes; ROWS=aarch64: only those rows
	$(if $(and $(CLANG_FOUND),$(call row,clang)),+@$(MAKE) --no-print-directory CC=$(CLANG) MODE=release BUILD=$(BUILD)/hashes/clang CUDA=0 MPI=0 $(TRAIN_ROOMS) $(BUILD)/hashes/clang/bin/train-single)
	$(if $(call row,debug),+@$(MAKE) --no-print-directory MODE=debug KERNEL_OPT=-O0 BUILD=$(BUILD)/hashes/debug CUDA=0 MPI=0 $(TRAIN_ROOMS) $(BUILD)/hashes/debug/bin/train-single)
	$(if $(and $(AARCH64_FOUND),$(call row,aarch64)),+@$(AARCH64_MAKE) $(TRAIN_ROOMS) $(BUILD)/aarch64/bin/train-single)
	@BIN='$(abspath $(BUILD)/bin)' CLANG_BIN='$(if $(CLANG_FOUND),$(abspath $(BUILD)/hashes/clang/bin))' \
	    DEBUG_BIN='$(abspath $(BUILD)/hashes/debug/bin)' SYSROOT='$(abspath $(AARCH64_SYSROOT))' GLIBC_SYSROOT='$(abspath $(GLIBC_SYSROOT))' \
	    AARCH64_BIN='$(if $(AARCH64_FOUND),$(abspath $(BUILD)/aarch64/bin))' EMULATED_CUDA='$(abspath $(EMULATED_SO))' \
	    ROWS='$(ROWS)' tests/conformance/hashes
aarch64-tests: ## Run the tests of units and operations of a build for aarch64, under qemu-user
	$(needs_aarch64)
	+@$(AARCH64_MAKE) -k $(AARCH64_TESTS)
	@EMULATOR='qemu-aarch64 -L $(abspath $(AARCH64_SYSROOT))' tests/run -j $(JOBS) -l aarch64 -t 1800 $(AARCH64_TESTS)
aarch64-bats: ## Run tests of the tools on a build for aarch64, under qemu-user, for hours; only some: AARCH64_BATS=tests/bats/shard.bats
	$(needs_aarch64)
	+@$(AARCH64_MAKE)
	@export QEMU_LD_PREFIX='$(abspath $(AARCH64_SYSROOT))' BIN='$(abspath $(BUILD)/aarch64/bin)'; \
	"$$BIN/tensor" --version >/dev/null 2>&1 || { \
	    echo "make $@: this system does not start programs for aarch64: as root, mount binfmt_misc and install qemu-user-binfmt" >&2; exit 1; }; \
	tests/run -j $(JOBS) -l aarch64 -t 43200 $(AARCH64_BATS)
conformance-docs: ## Put the table of the last `make conformance` into docs/conformance.md
	@ARTIFACTS=$(call word_of,$(ARTIFACTS)) tests/conformance/write-docs
