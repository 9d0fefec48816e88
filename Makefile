# SPDX-License-Identifier: MIT
# Lockstep: reproducible data-parallel training experiments. `make help` lists the targets.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# Goals of pipelines/experiment.mk: every variable of the command line is passed to the tool as it was
# typed; the tool refuses misspelt ones. They are not exported as well, because make would expand them,
# from make 4.4 on for the first $(shell) already.
EXPERIMENT_GOALS := quickstart experiment compare explain reproduce submission verify grade runs clean-runs
ifneq ($(filter $(EXPERIMENT_GOALS),$(MAKECMDGOALS)),)
GIVEN := $(foreach v,$(sort $(.VARIABLES)),$(if $(filter command,$(firstword $(origin $(v)))),$(v)))
unexport $(GIVEN)
endif

# ---- Settings: `make print-config` shows what was found. -----------------------------------------------------
ifneq ($(filter default undefined,$(origin CC)),)
CC        := gcc
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR        := ar
endif
# The C++ compiler that belongs to CC: only the emulation of CUDA and its tests need one.
ifneq ($(filter default undefined,$(origin CXX)),)
CXX       := $(if $(filter cc %/cc,$(CC)),c++,$(subst clang,clang++,$(subst gcc,g++,$(CC))))
endif
# MODE: release, debug, asan (address + undefined), tsan. Binaries are in build/bin in every mode.
MODE      ?= release
BUILD     ?= build
# BUILD is part of target names, which make splits at blanks, and of commands. An empty one would
# mean the root.
hash      := \#
BAD_SIGNS := : % = ' " ; & | < > * ? $$ $(hash)
ifneq ($(words $(BUILD)) $(strip $(foreach sign,$(BAD_SIGNS),$(findstring $(sign),$(BUILD)))),1 )
$(error BUILD='$(BUILD)': expected a folder name without blanks and $(BAD_SIGNS))
endif
ARTIFACTS ?= artifacts
PREFIX    ?= /usr/local
PYTHON    ?= /usr/bin/python3
# A virtual environment for PyTorch: `make deps-torch-pip` makes it, `make conformance` uses it.
TORCH_VENV ?= $(BUILD)/torch
# Commands have these in single quotes.
QUOTED    := MODE PREFIX DESTDIR BINDIR LIBEXECDIR LIBDIR DATADIR DOCDIR MANDIR BASHDIR ZSHDIR FISHDIR DIST AUDITWHEEL PYTHON CUDA_HOME CUDA_ARCHS MPICC TORCH_VENV TORCH RELEASE
$(foreach v,$(QUOTED),$(if $(findstring ',$($(v))),$(error $(v)=$($(v)): expected no single quotes)))

# ---- Parts -----------------------------------------------------------------------------------------------------
# Each part can be read alone, and begins with its own settings; later ones use definitions of
# earlier ones. pipelines/experiment.mk runs experiments.
PARTS    := build cuda mpi tests conformance torture bench lint install package
# An installation makes out of date what make has found out about the machine. So the targets that
# install do only that, and the other goals of the command line run in a new make: `make deps test`.
INSTALLS := deps deps-lint deps-torch deps-torch-pip deps-mpi deps-hosts deps-latex deps-shells deps-browser deps-bare deps-torture deps-aarch64 deps-glibc deps-packaging deps-sass
# One goal uses all processors; -j on the command line takes precedence (make 4.4 shows it here).
# Several goals run one after the other, as typed, unless there is -j. A make that this one calls takes
# part in its jobs.
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(MAKEFLAGS))$(if $(filter $(INSTALLS),$(MAKECMDGOALS)),,$(word 2,$(MAKECMDGOALS))),0)
PROCESSORS := $(shell nproc 2>/dev/null || echo 1)
MAKEFLAGS += -j$(PROCESSORS)
endif
ifneq ($(filter $(INSTALLS),$(MAKECMDGOALS)),)
include make/deps.mk
else
include $(PARTS:%=make/%.mk)
include pipelines/experiment.mk
# Names that are neither targets nor files, before anything is built for the other goals. For a
# folder, such as `tests`, make would do nothing and succeed.
ifneq ($(MAKECMDGOALS),)
TARGETS := $(INSTALLS) $(shell awk -F: '/^[a-z][a-z0-9_. -]*:([^=]|$$)/ { print $$1 }' $(MAKEFILE_LIST))
STRAY   := $(firstword $(foreach goal,$(filter-out $(TARGETS),$(MAKECMDGOALS)),$(if $(findstring /,$(goal)),,$(if $(wildcard $(goal)/.),$(goal),$(if $(wildcard $(goal)),,$(goal))))))
endif
ifneq ($(STRAY),)
NEAREST := $(shell echo '$(TARGETS)' | scripts/nearest $(call word_of,$(STRAY)))
ifneq ($(and $(filter $(EXPERIMENT_GOALS),$(MAKECMDGOALS)),$(if $(NEAREST),,x)),)
$(error '$(STRAY)' is not a target; a setting has no blank, except in quotes: EPOCHS=3, EXPS="single ddp4")
endif
$(if $(NEAREST),$(error no target '$(STRAY)': did you mean '$(NEAREST)'? `make help` lists them))
endif
quickstart experiment compare explain reproduce submission verify grade: | check-artifacts
.PHONY: check-artifacts
check-artifacts:
	@scripts/check-folders artifacts $(call word_of,$(ARTIFACTS))
# The prerequisites of each object, as the compilers wrote them.
include $(shell find $(OBJ) $(NVCC_OBJ) -name '*.d' 2>/dev/null)
.SECONDARY:

# ---- Help ------------------------------------------------------------------------------------------------------
.PHONY: help print-config
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' pipelines/*.mk make/deps.mk $(PARTS:%=make/%.mk) Makefile
	@echo 'Experiment settings: SEED EPOCHS SET DEVICE MATH THREADS PRECISION WHOLE TIME JOBS DATA LAUNCHER RESUME REPORT_FLAGS, and where data lie; see `lockstep help experiment`.'
	@echo 'General settings: CC MODE V=1 CUDA CUDA_HOME CUDA_ARCHS MPI MPICC BUILD ARTIFACTS PREFIX DIST PYTHON JOBS; `make print-config` shows them.'

print-config: ## Show settings and what was found on this machine
	@show() { printf '%-14s %s\n' "$$1" "$$2"; }; first() { "$$@" 2>/dev/null | head -n 1; }; \
	show CC $(call word_of,$(CC)); show '' "$$(first $(CC) --version || true)"; \
	show MODE '$(MODE)'; show BUILD '$(BUILD)'; show ARTIFACTS $(call word_of,$(ARTIFACTS)); show PREFIX '$(PREFIX)'; show DIST '$(DIST)'; \
	show flags '$(strip $(CPPFLAGS_ALL) $(CFLAGS_ALL))'; \
	show kernels '$(ISAS)'; show tools '$(TOOLS)'; \
	show cuda '$(if $(NVCC),$(NVCC)$(if $(CUDA_SO),,: not used without an NVIDIA driver: CUDA=1 builds the backend),$(if $(filter 0,$(CUDA)),switched off: CUDA=0,not found$(if $(CUDA_HOME), in $(CUDA_HOME)): the CUDA backend is not built))'; \
	$(if $(NVCC),show '' "$$($(NVCC) --version | grep release)"; show CUDA_ARCHS '$(CUDA_ARCHS): $(ARCHS)'; show NCCL '$(NCCL)';) \
	show mpi '$(or $(MPI_FOUND),$(if $(filter 0,$(MPI)),switched off: MPI=0,no $(MPICC): ranks on one host only))'; \
	for p in $(PKGS) $(TEST_PKGS); do show "$$p" "$$($(PKGCONFIG) --modversion $$p 2>/dev/null || echo 'missing: make deps')"; done; \
	for p in bats gnuplot $(CXX) $(CLANG_FORMAT) $(CLANG) $(SHELLCHECK); do show "$$p" "$$(command -v $$p || echo 'not found')"; done; \
	show PYTHON '$(PYTHON)'; show torch "$$($(PYTHON) -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null || echo 'not found')"; \
	show version "$$(scripts/version)"

endif
