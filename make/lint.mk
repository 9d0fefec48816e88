# SPDX-License-Identifier: MIT
# Checks and formatting of the source.

CLANG        ?= clang
CLANG_FORMAT ?= clang-format
SHELLCHECK   ?= shellcheck
TESTSRC      := $(wildcard tests/*/*.c tests/*/*/*.c)
ALL_SOURCES  := $(sort $(wildcard lib/*/*.[ch] lib/*/*/*.[ch] lib/*/*/*/*.[ch] tools/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch] \
                                  lib/*/*/*/*.cu lib/*/*/*/*.cuh lib/*/*/*/*/*.cu lib/*/*/*/*/*.cuh tests/*/*.cc))
SHELL_FILES  := .ci/run tests/run tests/bare tests/torture/run $(wildcard tests/fixtures/bin/* scripts/* pipelines/*.sh pipelines/slurm/*.sbatch tests/bats/*.bash tests/bats/*.bats tests/bench/*.sh tests/bench/measure/* tests/gpu/* tests/torture/kills tests/torture/barriers) \
               $(addprefix tests/conformance/,write-docs hashes adapters/lockstep adapters/pytorch) \
               $(addprefix tests/bench/,run growth calibrate draw-growth describe-machine write-docs hosts hosts-docs cuda cuda-docs exact-cost step-chain)

.PHONY: lint lint-format lint-shell lint-gcc lint-clang check-layers check-kernels check-libm check-names check-markdown check-license format
lint: lint-format lint-shell check-layers check-kernels check-markdown check-license lint-gcc lint-clang check-libm check-names ## Format, shellcheck, layers, kernels, Markdown, licences, warnings of two compilers, calls of libm, names
	@echo "make lint: nothing found"
# Versions of clang-format differ in rare places, so a failure with a version other than the
# reference names both versions.
REFERENCE_FORMAT := 14
lint-format:
	@$(call need,$(CLANG_FORMAT),deps-lint)
	@$(CLANG_FORMAT) --dry-run -Werror $(ALL_SOURCES) || { version=$$($(CLANG_FORMAT) --version); case $$version in \
	    *' version $(REFERENCE_FORMAT).'*) ;; \
	    *) echo "make $@: the reference is clang-format $(REFERENCE_FORMAT); others differ in rare places, and this is: $$version" >&2 ;; \
	esac; exit 1; }
lint-shell:
	@$(call need,$(SHELLCHECK),deps-lint)
	@$(SHELLCHECK) -x $(SHELL_FILES)
# gcc also warns about problems that it finds while it optimises; if the build has WERROR=1, it has
# done gcc's part. clang warns only about the source as it is: it stops at bitcode, and compiles each
# kernel once for an instruction set, each with another number of lanes.
lint-gcc:
	@$(MAKE) --no-print-directory CC=gcc CXX=g++ WERROR=1 BUILD=$(BUILD)$(if $(WERROR),,/lint/gcc) objects
lint-clang:
	@$(call need,$(CLANG),deps-lint)
	@$(MAKE) --no-print-directory CC=$(CLANG) CXX=$(subst clang,clang++,$(CLANG)) WERROR=1 BUILD=$(BUILD)/lint/clang \
	    MODE=debug CFLAGS='$(TO_BITCODE)' CXXFLAGS='$(TO_BITCODE)' KERNEL_OPT= \
	    MPICC='$(MPICC) -fsyntax-only -Wno-unused-command-line-argument' \
	    VARIANTS='$(filter baseline-16 v3-8 v4-4,$(VARIANTS))' objects
TO_BITCODE := -g0 -emit-llvm
check-layers: ## Check that includes point downward only
	@scripts/check-layers
check-kernels: ## Check that every CUDA kernel waits for those before it
	@scripts/check-kernels
# Everything that a model's bits come from: not statistics and pages.
BITS_OBJ     = $(filter $(foreach room,base compute data dist experiment nn train,$(OBJ)/lib/$(room)/%),$(LIBOBJ)) \
               $(patsubst %,$(EMU)/%.o,$(CUDA_CU) $(CUDA_C))
check-libm: $(BITS_OBJ) ## Check that no bit of a model depends on libm
	@scripts/check-libm '$(CC)' $(BITS_OBJ)
check-names: $(LIB) ## Check that no function, header or static function has the name of another
	@scripts/check-names '$(CC)' $(LIB)
check-markdown: ## Check that Markdown is wrapped
	@scripts/check-markdown *.md docs/*.md share/*.md tests/*/*.md
check-license: ## Check that every source file names its licence
	@! grep -L '^\(#\|//\) SPDX-License-Identifier: MIT$$' $(ALL_SOURCES) $(SHELL_FILES) Makefile make/*.mk pipelines/*.mk \
	    share/report/plots/*.gp python/*.py python/*/*.py tests/*/*.py tests/*/*/*.py tests/*/*.awk | sed 's/$$/: lacks its SPDX line/' | grep .
format: ## Format all C, C++ and CUDA files by .clang-format
	@$(call need,$(CLANG_FORMAT),deps-lint)
	@$(CLANG_FORMAT) -i $(ALL_SOURCES)
need = command -v $(1) >/dev/null || { echo "make $@: '$(1)' is not installed: run 'make $(2)'" >&2; exit 1; }

.PHONY: objects
objects: $(if $(MPI_FOUND),$(OBJ)/lib/lockstep-mpi.so) $(LIBOBJ) $(patsubst %.c,$(OBJ)/%.o,$(wildcard tools/*.c) $(TESTSRC)) \
         $(patsubst %,$(EMU)/%.o,$(CUDA_CU) $(wildcard lib/compute/cuda/*.c lib/compute/cuda/*/*.c tests/emulation/*.cc))

# For editors and language servers: the compiler command of every source file.
compile_commands.json: FORCE ## Write the compiler's command of every file, for editors
	@{ sep='['; for file in $(LIBSRC) $(KERNELS) $(wildcard tools/*.c) $(TESTSRC); do \
	    printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' "$$sep" '$(CURDIR)' "$$file" \
	        '$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -DKERNEL_ISA=baseline -DKERNEL_LANES=16' "$$file"; sep=','; \
	done; printf '\n]\n'; } > $@.new && mv $@.new $@
