# Lockstep: reproducible data-parallel training experiments. `make help` lists the targets.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# ---- Settings: `make print-config` shows what was found. -----------------------------------------------------
ifneq ($(filter default undefined,$(origin CC)),)
CC        := gcc
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR        := ar
endif
# MODE: release, debug, asan (address + undefined), tsan. Binaries are under build/bin whatever the mode.
MODE      ?= release
BUILD     ?= build
ARTIFACTS ?= artifacts
PREFIX    ?= /usr/local
PYTHON    ?= /usr/bin/python3
PKGS      := libzstd yaml-0.1 libcurl libarchive libcrypto jansson
TEST_PKGS := cmocka
PKGCONFIG ?= pkg-config

# Packages of Debian and Ubuntu: to build, run and test; to lint; to compare with PyTorch.
DEPS_PACKAGES       := gcc libc6-dev make pkg-config libzstd-dev libyaml-dev libcurl4-openssl-dev \
                       libarchive-dev libssl-dev libjansson-dev libcmocka-dev \
                       ca-certificates gnuplot-nox bats procps python3 xz-utils zstd
DEPS_LINT_PACKAGES  := clang clang-format shellcheck
DEPS_TORCH_PACKAGES := python3-torch python3-torchvision python3-numpy libopenblas0-pthread

# ---- Installing ------------------------------------------------------------------------------------------------
# Whatever this makefile finds out about the machine is out of date once something was installed. So the targets
# that install do only that, and the other goals of the command line run in a new make: `make deps test`.
INSTALLS := deps deps-lint deps-torch
ifneq ($(filter $(INSTALLS),$(MAKECMDGOALS)),)

THEN := $(filter-out $(INSTALLS),$(MAKECMDGOALS))
.PHONY: $(MAKECMDGOALS) then
.NOTPARALLEL:

deps: ## Install what building, running and testing need (Debian, Ubuntu)
	@scripts/install-deps $@ $(DEPS_PACKAGES)
deps-lint: ## Install what `make lint` needs besides: clang, clang-format, shellcheck
	@scripts/install-deps $@ $(DEPS_LINT_PACKAGES)
deps-torch: ## Install PyTorch from the distribution: tests that compare with it run instead of being skipped
	@scripts/install-deps $@ $(DEPS_TORCH_PACKAGES)
ifneq ($(THEN),)
$(THEN): then ; @:
then: $(filter $(INSTALLS),$(MAKECMDGOALS))
	@$(MAKE) --no-print-directory $(THEN)
endif

else

# What is done, one short line a file; V=1 shows the whole commands instead.
ifneq ($(filter-out 0,$(V)),)
Q    :=
step  =
else
Q    := @
step  = @printf '%-5s %s\n' '$(1)' '$(2)'
endif

# ---- Flags -----------------------------------------------------------------------------------------------------
WARNINGS  := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
# -ffp-contract=off: a multiply and an add may only become one rounding where the source says fma().
ARITH     := -ffp-contract=off -fno-fast-math
MODEFLAGS_release := -O2 -g
MODEFLAGS_debug   := -O0 -g3
MODEFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODEFLAGS_tsan    := -O1 -g -fsanitize=thread
MODEFLAGS := $(MODEFLAGS_$(MODE))
$(if $(MODEFLAGS),,$(error MODE=$(MODE): one of release, debug, asan, tsan))

# $(call once,NAME,COMMAND): the output of a command that runs when NAME is first used, and only then.
once = $(eval $(1) := $$(shell $(2)))$($(1))
PKG_CFLAGS = $(call once,PKG_CFLAGS,$(PKGCONFIG) --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   = $(call once,PKG_LIBS,$(PKGCONFIG) --libs $(PKGS) 2>/dev/null)
TEST_LIBS  = $(call once,TEST_LIBS,$(PKGCONFIG) --libs $(TEST_PKGS) 2>/dev/null)

CPPFLAGS_ALL = -D_GNU_SOURCE -Ilib -I$(BUILD)/generated $(PKG_CFLAGS) $(CPPFLAGS)
CFLAGS_ALL   = -std=c17 $(WARNINGS) $(if $(WERROR),-Werror) $(ARITH) $(MODEFLAGS) -pthread $(CFLAGS)
LDFLAGS_ALL  = $(MODEFLAGS) $(LDFLAGS)
LDLIBS_ALL   = $(PKG_LIBS) -lm -pthread $(LDLIBS)

# ---- What is built ---------------------------------------------------------------------------------------------
TOOLS     := $(sort $(patsubst tools/%.c,%,$(wildcard tools/*.c)))
BINARIES  := $(TOOLS:%=$(BUILD)/bin/%)
OBJ       := $(BUILD)/obj/$(MODE)
LIB       := $(OBJ)/liblockstep.a
# Kernels are compiled once for each instruction set and for 16 or 4 samples side by side; everything else once.
KERNELS   := $(wildcard lib/compute/cpu/kernels/*.c)
ISAS      := baseline
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
ISAS      += v3 v4
endif
LANES     := 16 4
ISAFLAGS_baseline := -DKERNEL_ISA=baseline
ISAFLAGS_v3       := -DKERNEL_ISA=v3 -march=x86-64-v3
ISAFLAGS_v4       := -DKERNEL_ISA=v4 -march=x86-64-v4 -mprefer-vector-width=512
LIBSRC    := $(filter-out $(KERNELS),$(wildcard lib/*/*.c lib/*/*/*.c))
LIBOBJ    := $(LIBSRC:%.c=$(OBJ)/%.o) \
             $(foreach isa,$(ISAS),$(foreach lanes,$(LANES),$(KERNELS:%.c=$(OBJ)/%.$(isa)-$(lanes).o)))

UNIT_TESTS  := $(patsubst %.c,$(OBJ)/%,$(wildcard tests/unit/test_*.c))
OPS_TESTS   := $(patsubst %.c,$(OBJ)/%,$(wildcard tests/ops/test_*.c))
BATS_FILES  ?= $(wildcard tests/bats/*.bats)
TESTSRC     := $(wildcard tests/*/*.c)
ALL_SOURCES := $(sort $(wildcard lib/*/*.[ch] lib/*/*/*.[ch] lib/*/*/*/*.[ch] tools/*.[ch] tests/*/*.[ch]))

.PHONY: all
all: $(BINARIES) ## Build every tool into build/bin

# A file that changes whenever a flag does: what was built with other flags is rebuilt.
FLAGS = $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL)
$(OBJ)/flags: FORCE
	@scripts/check-deps "$(CC)" "$(PKGCONFIG)" $(PKGS)
	@mkdir -p $(@D); printf '%s\n' '$(FLAGS)' | cmp -s - $@ || printf '%s\n' '$(FLAGS)' > $@
.PHONY: FORCE
FORCE:

# The version is a header that changes only when `git describe` does.
$(BUILD)/generated/version.h: FORCE
	@mkdir -p $(@D); v=$$(git describe --always --dirty --tags 2>/dev/null || echo unknown); \
	line="#define LOCKSTEP_VERSION \"$$v\""; echo "$$line" | cmp -s - $@ || echo "$$line" > $@

$(OBJ)/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call step,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@
$(OBJ)/lib/base/version.o: $(BUILD)/generated/version.h

define isa_rule
$(OBJ)/lib/compute/cpu/kernels/%.$(1)-$(2).o: lib/compute/cpu/kernels/%.c $(OBJ)/flags
	@mkdir -p $$(@D)
	$$(call step,CC,$$< ($(1)-$(2)))
	$$(Q)$$(CC) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) -O3 $$(ISAFLAGS_$(1)) -DKERNEL_LANES=$(2) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(foreach lanes,$(LANES),$(eval $(call isa_rule,$(isa),$(lanes)))))

# The list of members is a prerequisite, so a source file that was removed does not stay in the archive.
$(OBJ)/members: FORCE
	@mkdir -p $(@D); echo '$(LIBOBJ)' | cmp -s - $@ || echo '$(LIBOBJ)' > $@
$(LIB): $(LIBOBJ) $(OBJ)/members
	@rm -f $@
	$(call step,AR,$@)
	$(Q)$(AR) rcs $@ $(LIBOBJ)

# Binaries of another mode must not pass for these: each mode links its own, build/bin has copies of the last built.
$(OBJ)/bin/%: $(OBJ)/tools/%.o $(LIB)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) -o $@
$(BUILD)/bin/%: $(OBJ)/bin/% FORCE
	@mkdir -p $(@D); cmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }

$(OBJ)/tests/%: $(OBJ)/tests/%.o $(LIB)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) $(TEST_LIBS) -o $@

include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
.SECONDARY:

# ---- Tests -----------------------------------------------------------------------------------------------------
# JOBS: how many test programs run at a time. Real data: CIFAR10_FROM=ARCHIVE, MNIST_FROM=FOLDER.
JOBS      ?= 2
# Scripts under tests/ leave nothing in the checkout.
export PYTHONDONTWRITEBYTECODE := 1
RUN_TESTS  = BIN='$(abspath $(BUILD)/bin)' PYTHON='$(PYTHON)' CC='$(CC)' tests/run -j $(JOBS) \
             $(if $(filter asan tsan,$(MODE)),-l $(MODE))

.PHONY: test test-unit test-ops test-bats check-test-deps sanitize
test: all check-test-deps $(UNIT_TESTS) $(OPS_TESTS) ## Run all tests; the last line counts them
	@$(RUN_TESTS) $(UNIT_TESTS) $(OPS_TESTS) $(BATS_FILES)
test-unit: check-test-deps $(UNIT_TESTS) ## Run the unit tests
	@$(RUN_TESTS) $(UNIT_TESTS)
test-ops: check-test-deps $(OPS_TESTS) ## Check every operation against finite differences and golden files
	@$(RUN_TESTS) $(OPS_TESTS)
test-bats: all ## Run the tests of the tools; some: BATS_FILES=tests/bats/shard.bats
	@$(RUN_TESTS) $(BATS_FILES)
check-test-deps:
	@scripts/check-deps "$(CC)" "$(PKGCONFIG)" $(PKGS) $(TEST_PKGS)
$(UNIT_TESTS) $(OPS_TESTS): | check-test-deps

sanitize: ## Run the unit tests under ASan + UBSan, and under TSan
	@code=0; for mode in asan tsan; do \
	    $(MAKE) --no-print-directory MODE=$$mode test-unit || code=1; \
	done; exit $$code

.PHONY: golden
golden: ## Make the golden files in tests/golden again (needs PyTorch: make deps-torch)
	@set -e; for script in $(sort $(wildcard tests/golden/*.py)); do echo "$(PYTHON) $$script"; $(PYTHON) $$script; done

# ROWS="lenet vgg", ROUNDS=5, QUICK=1, WRITE_DOCS=1: tests/bench/run says what they do.
BENCH_ENVIRONMENT = BIN='$(abspath $(BUILD)/bin)' ARTIFACTS='$(ARTIFACTS)' PYTHON='$(PYTHON)' CC='$(CC)'
.PHONY: bench bench-growth bench-docs
bench: all ## Measure speed and memory, beside PyTorch and the processor's limits; some: ROWS="lenet vgg"
	@$(BENCH_ENVIRONMENT) tests/bench/run
bench-growth: all ## Measure how the cost grows with batch, threads, ranks, width and images
	@$(BENCH_ENVIRONMENT) tests/bench/growth
bench-docs: ## Put the tables of the last measurements into docs/performance.md
	@$(BENCH_ENVIRONMENT) tests/bench/write-docs

# ---- Checks of the source --------------------------------------------------------------------------------------
CLANG        ?= clang
CLANG_FORMAT ?= clang-format
SHELLCHECK   ?= shellcheck
SHELL_FILES  := .ci/run tests/run $(wildcard scripts/* pipelines/*.sh tests/bats/*.bash tests/bats/*.bats tests/bench/*.sh tests/bench/measure/*) \
               $(addprefix tests/bench/,run growth draw-growth describe-machine write-docs)

.PHONY: lint lint-format lint-shell lint-gcc lint-clang check-layers format
lint: lint-format lint-shell check-layers lint-gcc lint-clang ## Format, shellcheck, layers, and warnings of two compilers
	@echo "make lint: nothing found"
lint-format:
	@$(call need,$(CLANG_FORMAT),deps-lint)
	@$(CLANG_FORMAT) --dry-run -Werror $(ALL_SOURCES)
lint-shell:
	@$(call need,$(SHELLCHECK),deps-lint)
	@$(SHELLCHECK) -x $(SHELL_FILES)
lint-gcc:
	@$(MAKE) --no-print-directory CC=gcc WERROR=1 BUILD=$(BUILD)/lint/gcc objects
lint-clang:
	@$(call need,$(CLANG),deps-lint)
	@$(MAKE) --no-print-directory CC=$(CLANG) WERROR=1 BUILD=$(BUILD)/lint/clang objects
check-layers: ## Check that includes point downward only
	@scripts/check-layers
format: ## Lay out all C files by .clang-format
	@$(call need,$(CLANG_FORMAT),deps-lint)
	@$(CLANG_FORMAT) -i $(ALL_SOURCES)
need = command -v $(1) >/dev/null || { echo "make $@: '$(1)' is not installed: run 'make $(2)'" >&2; exit 1; }

.PHONY: objects
objects: $(LIBOBJ) $(patsubst %.c,$(OBJ)/%.o,$(wildcard tools/*.c) $(TESTSRC))

# For editors and language servers: the compiler's own command for every source file.
compile_commands.json: FORCE ## Write the compiler's command of every file, for editors
	@{ sep='['; for file in $(LIBSRC) $(KERNELS) $(wildcard tools/*.c) $(TESTSRC); do \
	    printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' "$$sep" '$(CURDIR)' "$$file" \
	        '$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -DKERNEL_ISA=baseline -DKERNEL_LANES=16' "$$file"; sep=','; \
	done; printf '\n]\n'; } > $@.new && mv $@.new $@

# ---- Experiments: pipelines/ -----------------------------------------------------------------------------------
include pipelines/experiment.mk

# ---- Installing the tools --------------------------------------------------------------------------------------
BINDIR    ?= $(PREFIX)/bin
DATADIR   ?= $(PREFIX)/share/lockstep
.PHONY: install uninstall
install: all ## Install tools and experiments under PREFIX (/usr/local); DESTDIR for packagers
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(DATADIR)'
	install -m 755 $(BINARIES) '$(DESTDIR)$(BINDIR)'
	cd experiments && find . -name '*.yaml' -exec install -D -m 644 {} '$(DESTDIR)$(abspath $(DATADIR))/experiments/'{} \;
uninstall: ## Remove what install put there
	rm -f $(TOOLS:%='$(DESTDIR)$(BINDIR)/%')
	rm -rf '$(DESTDIR)$(DATADIR)'

.PHONY: clean distclean
clean: ## Remove the build folder
	rm -rf '$(BUILD)'
distclean: clean ## Remove everything that was made: also artifacts and fetched data
	rm -rf '$(ARTIFACTS)' compile_commands.json

# ---- Help ------------------------------------------------------------------------------------------------------
.PHONY: help print-config
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' Makefile pipelines/*.mk
	@echo 'Settings: CC MODE V=1 BUILD ARTIFACTS PREFIX PYTHON JOBS; `make print-config` shows them.'

print-config: ## Show settings and what was found on this machine
	@show() { printf '%-14s %s\n' "$$1" "$$2"; }; first() { "$$@" 2>/dev/null | head -n 1; }; \
	show CC '$(CC)'; show '' "$$(first $(CC) --version || true)"; \
	show MODE '$(MODE)'; show BUILD '$(BUILD)'; show ARTIFACTS '$(ARTIFACTS)'; show PREFIX '$(PREFIX)'; \
	show flags '$(strip $(CPPFLAGS_ALL) $(CFLAGS_ALL))'; \
	show kernels '$(ISAS)'; show tools '$(TOOLS)'; \
	for p in $(PKGS) $(TEST_PKGS); do show "$$p" "$$($(PKGCONFIG) --modversion $$p 2>/dev/null || echo 'missing: make deps')"; done; \
	for p in bats gnuplot $(CLANG_FORMAT) $(CLANG) $(SHELLCHECK) nvcc; do show "$$p" "$$(command -v $$p || echo 'not found')"; done; \
	show PYTHON '$(PYTHON)'; show torch "$$($(PYTHON) -c 'import torch; print(torch.__version__)' 2>/dev/null || echo 'not found')"; \
	show version "$$(git describe --always --dirty --tags 2>/dev/null || echo unknown)"

endif
