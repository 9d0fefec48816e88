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
# The C++ compiler that belongs to CC: only the emulation of CUDA and its tests need one.
ifneq ($(filter default undefined,$(origin CXX)),)
CXX       := $(if $(filter cc %/cc,$(CC)),c++,$(subst clang,clang++,$(subst gcc,g++,$(CC))))
endif
# MODE: release, debug, asan (address + undefined), tsan. Binaries are under build/bin whatever the mode.
MODE      ?= release
BUILD     ?= build
# It is in names of targets, which make takes apart at a blank, and in commands. Nothing at all would be the root.
hash      := \#
BAD_SIGNS := : % = ' " ; & | < > * ? $$ $(hash)
ifneq ($(words $(BUILD)) $(strip $(foreach sign,$(BAD_SIGNS),$(findstring $(sign),$(BUILD)))),1 )
$(error BUILD='$(BUILD)': expected the name of a folder, without blanks and $(BAD_SIGNS))
endif
ARTIFACTS ?= artifacts
PREFIX    ?= /usr/local
PYTHON    ?= /usr/bin/python3
PKGS      := libzstd yaml-0.1 libcurl libarchive libcrypto jansson libjpeg libpng
TEST_PKGS := cmocka
PKGCONFIG ?= pkg-config
# The CUDA backend is built where nvcc is found: in CUDA_HOME, or in /usr/local/cuda, or on the PATH. CUDA=0: it is
# not built; CUDA=1: it must be. CUDA_ARCHS: compute capabilities, as in "80 90"; or `all`; or `native`, those of the
# GPUs of this machine, which builds faster, and all where it has none or one that is not in the list. Newer GPUs run
# the PTX of the last one.
CUDA       ?= auto
ifeq ($(origin CUDA_HOME),undefined)
CUDA_HOME  := $(patsubst %/bin/nvcc,%,$(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc)))
endif
NVCC       := $(if $(filter 0,$(CUDA)),,$(if $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc)))
CUDA_ARCHS ?= native
# NCCL, with which ranks reduce on their GPUs, is looked for in CUDA_HOME and where a package puts it. NCCL=0: without.
NCCL       ?= $(if $(wildcard $(addsuffix /nccl.h,$(CUDA_HOME)/include /usr/include /usr/local/include)),1,0)
# The transport between hosts is built where MPICC is, the compiler of the MPI that the launcher belongs to. MPI=0: it is
# not built; MPI=1: it must be.
MPI        ?= auto
MPICC      ?= mpicc
MPI_FOUND  := $(if $(filter 0,$(MPI)),,$(shell command -v $(firstword $(MPICC))))

# Packages of Debian and Ubuntu: to build, run and test; to lint; to compare with PyTorch; for ranks on
# several hosts.
DEPS_PACKAGES       := gcc g++ libc6-dev make pkg-config libzstd-dev libyaml-dev libcurl4-openssl-dev \
                       libarchive-dev libssl-dev libjansson-dev libjpeg-dev libpng-dev libcmocka-dev \
                       ca-certificates gnuplot-nox bats procps python3 xz-utils zstd
DEPS_LINT_PACKAGES  := clang clang-format shellcheck
DEPS_TORCH_PACKAGES := python3-torch python3-torchvision python3-numpy libopenblas0-pthread
DEPS_MPI_PACKAGES   := libopenmpi-dev openmpi-bin

# ---- Installing ------------------------------------------------------------------------------------------------
# Whatever this makefile finds out about the machine is out of date once something was installed. So the targets
# that install do only that, and the other goals of the command line run in a new make: `make deps test`.
INSTALLS := deps deps-lint deps-torch deps-mpi
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
deps-mpi: ## Install Open MPI, with which train-ddp's ranks may be on several hosts
	@scripts/install-deps $@ $(DEPS_MPI_PACKAGES)
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
WARNINGS_ANY := -Wall -Wextra -Wshadow -Wconversion -Wvla
WARNINGS     := $(WARNINGS_ANY) -Wstrict-prototypes -Wmissing-prototypes
# -ffp-contract=off: a multiply and an add may only become one rounding where the source says fma().
ARITH     := -ffp-contract=off -fno-fast-math
MODEFLAGS_release := -O2 -g
MODEFLAGS_debug   := -O0 -g3
# -g1 is enough for the places in a report; to follow variables through code with checks in it takes the compiler as long
# as all the rest.
MODEFLAGS_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODEFLAGS_tsan    := -O1 -g1 -fsanitize=thread
MODEFLAGS := $(MODEFLAGS_$(MODE))
$(if $(MODEFLAGS),,$(error MODE=$(MODE): one of release, debug, asan, tsan))

comma := ,
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
# With a sanitizer every access is checked by itself: nothing becomes faster, and compiling takes minutes.
KERNEL_OPT        := $(if $(filter asan tsan,$(MODE)),,-O3)
# No part of the library: lib/compute/cuda, see "The CUDA backend" below, and what knows MPI, behind it.
MPI_C     := lib/dist/transport_mpi.c
LIBSRC    := $(filter-out $(KERNELS) $(MPI_C) lib/compute/cuda/%,$(wildcard lib/*/*.c lib/*/*/*.c))
LIBOBJ    := $(LIBSRC:%.c=$(OBJ)/%.o) \
             $(foreach isa,$(ISAS),$(foreach lanes,$(LANES),$(KERNELS:%.c=$(OBJ)/%.$(isa)-$(lanes).o)))

UNIT_TESTS  := $(patsubst %.c,$(OBJ)/%,$(wildcard tests/unit/test_*.c))
OPS_TESTS   := $(patsubst %.c,$(OBJ)/%,$(wildcard tests/ops/test_*.c))
BATS_FILES  ?= $(wildcard tests/bats/*.bats)
TESTSRC     := $(wildcard tests/*/*.c)
ALL_SOURCES := $(sort $(wildcard lib/*/*.[ch] lib/*/*/*.[ch] lib/*/*/*/*.[ch] tools/*.[ch] tests/*/*.[ch] \
                                 lib/*/*/*.cu lib/*/*/*.cuh tests/*/*.cc))

CUDA_SO     := $(if $(NVCC),$(BUILD)/lib/lockstep-cuda.so)
MPI_SO      := $(if $(MPI_FOUND),$(BUILD)/lib/lockstep-mpi.so)
.PHONY: all
all: $(BINARIES) $(CUDA_SO) $(MPI_SO) ## Build every tool into build/bin, the CUDA backend where nvcc is, MPI where mpicc is
ifeq ($(CUDA)$(NVCC),1)
all: no-nvcc
endif
ifeq ($(MPI)$(MPI_FOUND),1)
all: no-mpicc
endif

# A file that changes whenever a flag does: what was built with other flags is rebuilt.
keep_flags = mkdir -p $(@D); printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' > $@
$(OBJ)/flags: FORCE
	@scripts/check-deps "$(CC)" "$(PKGCONFIG)" $(PKGS)
	@$(call keep_flags,$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(KERNEL_OPT) $(LDFLAGS_ALL))
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
	$$(Q)$$(CC) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) $(KERNEL_OPT) $$(ISAFLAGS_$(1)) -DKERNEL_LANES=$(2) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(foreach lanes,$(LANES),$(eval $(call isa_rule,$(isa),$(lanes)))))

# The list of members is a prerequisite, so a source file that was removed does not stay in the archive. Likewise below.
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

# ---- The CUDA backend ------------------------------------------------------------------------------------------
# lib/compute/cuda is built twice: into lockstep-cuda.so, by nvcc where there is one, and into
# lockstep-cuda-emulated.so, by an ordinary compiler against the headers in tests/emulation, for tests without a GPU.
#
# A tool opens either of them with dlopen. What they need of lib/base is linked into them once more, so that they need
# nothing from the program that opens them; they export one function.
CUDA_C    := $(filter-out lib/compute/cuda/nccl%,$(wildcard lib/compute/cuda/*.c))
NCCL_C     = lib/compute/cuda/$(if $(filter 1,$(1)),nccl,nccl_absent).c
CUDA_CU   := $(wildcard lib/compute/cuda/*.cu)
CUDA_BASE := $(addprefix lib/base/,clock.c error.c memory.c reduction_tree.c trace.c) lib/compute/units.c
EMULATION := $(filter-out tests/emulation/test_%,$(wildcard tests/emulation/*.cc))
NVCC_OBJ  := $(BUILD)/obj/nvcc
EMU       := $(OBJ)/emulated

PIC_OBJ   := $(CUDA_BASE:%.c=$(OBJ)/pic/%.o)
CUDA_OBJ  := $(CUDA_CU:%=$(NVCC_OBJ)/%.o) $(patsubst %,$(OBJ)/cuda/%.o,$(CUDA_C) $(call NCCL_C,$(NCCL))) $(PIC_OBJ)
# The emulation has NCCL, too, where tests/emulation/nccl.h is.
EMU_C     := $(CUDA_C) $(call NCCL_C,$(if $(wildcard tests/emulation/nccl.h),1))
EMU_OBJ   := $(patsubst %,$(EMU)/%.o,$(CUDA_CU) $(EMU_C) $(EMULATION))

ARCHS_all = 75 80 86 89 90
GPU_ARCHS = $(call once,GPU_ARCHS,timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv$(comma)noheader 2>/dev/null | tr -d . | sort -un)
ARCHS_native = $(if $(filter-out $(ARCHS_all),$(or $(GPU_ARCHS),none)),$(ARCHS_all),$(GPU_ARCHS))
ARCHS     = $(or $(ARCHS_$(CUDA_ARCHS)),$(CUDA_ARCHS))
GENCODE   = $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
            $(foreach a,$(lastword $(ARCHS)),-gencode arch=compute_$(a),code=compute_$(a))

# -fmad=false as -ffp-contract=off above. Division, square roots and subnormal numbers are IEEE's by default.
NVCCFLAGS_ALL = -std=c++17 -O3 -fmad=false -lineinfo -Ilib $(GENCODE) -Xcompiler -fPIC,-Wall,-Wextra \
                $(if $(WERROR),-Werror all-warnings) $(NVCCFLAGS)
CUDA_CPPFLAGS = -isystem $(CUDA_HOME)/include
CUDA_LIBDIR   = $(firstword $(wildcard $(CUDA_HOME)/lib64) $(CUDA_HOME)/lib)
CUDA_LIBS     = -L$(CUDA_LIBDIR) -Wl,-rpath,$(CUDA_LIBDIR) -lcudart_static -lcublas $(if $(filter 1,$(NCCL)),-lnccl) -lrt -ldl
# Kernels are compiled with #pragma unroll and reinterpret_cast, as nvcc takes them; and here with the processor's fma,
# where it has one, because they are made of little else.
FMA           = $(call once,FMA,grep -qw fma /proc/cpuinfo 2>/dev/null && echo -mfma)
CXXFLAGS_ALL  = -std=c++17 $(WARNINGS_ANY) -Wno-unknown-pragmas $(if $(WERROR),-Werror) $(ARITH) $(FMA) $(MODEFLAGS) \
                -fno-strict-aliasing -pthread $(CXXFLAGS)
EMU_FLAGS     = -fPIC -Itests/emulation
SHARED_LD    := tests/emulation/shared.ld
EMU_LDFLAGS   = -Wl,-T,$(SHARED_LD)
# A symbol that nobody defines is an error now. clang leaves those of its sanitizers to the program.
SO_LDFLAGS    = -shared -Wl,--version-script=lib/compute/cuda/exports.map $(if $(filter asan tsan,$(MODE)),,-Wl,-z,defs)

$(OBJ)/flags-cxx: FORCE
	@command -v $(firstword $(CXX)) >/dev/null || \
	    { echo "cannot build: '$(firstword $(CXX))' is not installed: run 'make deps'" >&2; exit 1; }
	@$(call keep_flags,$(CXX) $(CPPFLAGS_ALL) $(CXXFLAGS_ALL) $(EMU_FLAGS) $(EMU_LDFLAGS) $(SO_LDFLAGS))
$(NVCC_OBJ)/flags: FORCE
	@$(call keep_flags,$(NVCC) $(NVCCFLAGS_ALL) $(CUDA_CPPFLAGS) $(CUDA_LIBS))
$(OBJ)/members-cuda: FORCE
	@$(call keep_flags,$(CUDA_OBJ) $(EMU_OBJ))

$(OBJ)/pic/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call step,CC,$< (PIC))
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -fPIC -MMD -MP -c $< -o $@
$(OBJ)/cuda/%.c.o: %.c $(OBJ)/flags $(NVCC_OBJ)/flags
	@mkdir -p $(@D)
	$(call step,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CUDA_CPPFLAGS) $(CFLAGS_ALL) -fPIC -MMD -MP -c $< -o $@
$(NVCC_OBJ)/%.cu.o: %.cu $(NVCC_OBJ)/flags
	@mkdir -p $(@D)
	$(call step,NVCC,$<)
	$(Q)$(NVCC) $(NVCCFLAGS_ALL) -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(OBJ)/lib/lockstep-cuda.so: $(CUDA_OBJ) $(OBJ)/members-cuda lib/compute/cuda/exports.map
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS_ALL) $(SO_LDFLAGS) $(CUDA_OBJ) $(CUDA_LIBS) -lm -pthread -o $@

$(EMU)/%.c.o: %.c $(OBJ)/flags $(OBJ)/flags-cxx
	@mkdir -p $(@D)
	$(call step,CC,$< (emulated))
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(EMU_FLAGS) -MMD -MP -c $< -o $@
$(EMU)/%.cu.o: %.cu $(OBJ)/flags-cxx
	@mkdir -p $(@D)
	$(call step,CXX,$< (emulated))
	$(Q)$(CXX) $(CPPFLAGS_ALL) $(CXXFLAGS_ALL) $(EMU_FLAGS) -MMD -MP -x c++ -c $< -o $@
$(EMU)/%.cc.o: %.cc $(OBJ)/flags-cxx
	@mkdir -p $(@D)
	$(call step,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS_ALL) $(CXXFLAGS_ALL) $(EMU_FLAGS) -MMD -MP -c $< -o $@
$(OBJ)/lib/lockstep-cuda-emulated.so: $(EMU_OBJ) $(PIC_OBJ) $(OBJ)/members-cuda lib/compute/cuda/exports.map $(SHARED_LD)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS_ALL) $(EMU_LDFLAGS) $(SO_LDFLAGS) $(EMU_OBJ) $(PIC_OBJ) -lm -pthread -o $@

$(BUILD)/lib/%: $(OBJ)/lib/% FORCE
	@mkdir -p $(@D); cmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }

# Tests that call kernels, or the emulation itself, are linked with it: tests/emulation/test_*.cc.
$(EMU)/tests/%: $(EMU)/tests/%.cc.o $(EMU_OBJ) $(PIC_OBJ) $(SHARED_LD)
	$(call step,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS_ALL) $(EMU_LDFLAGS) $(filter %.o,$^) $(TEST_LIBS) -lm -pthread -o $@

.PHONY: emulation no-nvcc
emulation: $(BUILD)/lib/lockstep-cuda-emulated.so ## Build the CUDA backend for machines without a GPU: tests use it
no-nvcc:
	@echo "cannot build with CUDA=1: no nvcc in CUDA_HOME, /usr/local/cuda or on the PATH" >&2; exit 1

# ---- The transport by MPI --------------------------------------------------------------------------------------
# Its compiler is a wrapper, which is told to call ours.
MPI_CC   = OMPI_CC='$(CC)' MPICH_CC='$(CC)' I_MPI_CC='$(CC)' $(MPICC)
MPI_BASE = $(OBJ)/pic/lib/base/error.o $(OBJ)/pic/lib/base/memory.o

$(OBJ)/flags-mpi: FORCE
	@$(call keep_flags,$(MPI_FOUND) $(MPI_CC))
$(OBJ)/lib/lockstep-mpi.so: $(MPI_C) $(MPI_BASE) lib/dist/exports.map $(OBJ)/flags $(OBJ)/flags-mpi
	@mkdir -p $(@D)
	$(call step,MPICC,$<)
	$(Q)$(MPI_CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -fPIC -MMD -MP -MF $(@:.so=.d) -MT $@ $(LDFLAGS_ALL) -shared \
	    -Wl,--version-script=lib/dist/exports.map $(MPI_C) $(MPI_BASE) -o $@
.PHONY: no-mpicc
no-mpicc:
	@echo "cannot build with MPI=1: there is no '$(MPICC)': run 'make deps-mpi', or set MPICC" >&2; exit 1

include $(shell find $(OBJ) $(NVCC_OBJ) -name '*.d' 2>/dev/null)
.SECONDARY:

# ---- Tests -----------------------------------------------------------------------------------------------------
# JOBS: how many test programs run at a time. Real data: CIFAR10_FROM=ARCHIVE, MNIST_FROM=FOLDER.
JOBS      ?= 2
# Scripts under tests/ leave nothing in the checkout.
export PYTHONDONTWRITEBYTECODE := 1
# The CUDA engine of tests/ops is the emulated one of this mode, unless `make test-cuda` runs them.
RUN_TESTS  = BIN='$(abspath $(BUILD)/bin)' PYTHON='$(PYTHON)' CC='$(CC)' \
             LOCKSTEP_CUDA_LIBRARY='$(abspath $(EMULATED_SO))' tests/run -j $(JOBS) \
             $(if $(filter asan tsan,$(MODE)),-l $(MODE))
EMULATED_SO := $(OBJ)/lib/lockstep-cuda-emulated.so
# Times the operations of a step; tests/bats/bench-cuda.bats runs it on the emulation.
CUDA_PROFILE := $(OBJ)/tests/bench/cuda_profile
CUDA_TESTS  := $(patsubst %.cc,$(EMU)/%,$(wildcard tests/emulation/test_*.cc)) \
               $(patsubst %.c,$(OBJ)/%,$(wildcard tests/ops/test_cuda_*.c))

.PHONY: test test-unit test-ops test-bats test-emulation test-cuda check-test-deps sanitize
test: all emulation $(CUDA_PROFILE) check-test-deps $(UNIT_TESTS) $(OPS_TESTS) $(CUDA_TESTS) ## Run all tests; the last line counts them
	@$(RUN_TESTS) $(UNIT_TESTS) $(sort $(OPS_TESTS) $(CUDA_TESTS)) $(BATS_FILES)
test-unit: check-test-deps $(UNIT_TESTS) ## Run the unit tests
	@$(RUN_TESTS) $(UNIT_TESTS)
test-ops: check-test-deps $(OPS_TESTS) $(EMULATED_SO) ## Check every operation against finite differences and golden files
	@$(RUN_TESTS) $(OPS_TESTS)
test-emulation: check-test-deps $(CUDA_TESTS) $(EMULATED_SO) ## Run the tests of the CUDA backend, on the emulation
	@$(RUN_TESTS) $(CUDA_TESTS)
test-cuda: all check-test-deps $(OPS_TESTS) ## Run them on a GPU
	@$(if $(CUDA_SO),,$(MAKE) --no-print-directory no-nvcc)
	@$(RUN_TESTS_CUDA) $(patsubst %.c,$(OBJ)/%,$(wildcard tests/ops/test_cuda_*.c)) \
	    $(wildcard tests/bats/cuda.bats tests/bats/nccl.bats)
test-bats: all emulation $(CUDA_PROFILE) ## Run the tests of the tools; some: BATS_FILES=tests/bats/shard.bats
	@$(RUN_TESTS) $(BATS_FILES)
check-test-deps:
	@scripts/check-deps "$(CC)" "$(PKGCONFIG)" $(PKGS) $(TEST_PKGS)
$(UNIT_TESTS) $(OPS_TESTS) $(CUDA_TESTS): | check-test-deps
RUN_TESTS_CUDA = CUDA_LIBRARY='$(abspath $(CUDA_SO))' \
                 $(subst $(abspath $(EMULATED_SO)),$(abspath $(CUDA_SO)),$(RUN_TESTS))

# ThreadSanitizer does not know of the emulation's fibers. `make test` runs them forward, and all executions of a step.
# The longest test goes first, so that the others are over when it is.
.PHONY: sanitize-asan
sanitize: ## Run the unit tests under ASan + UBSan, and under TSan; the CUDA backend under ASan
	@code=0; \
	$(MAKE) --no-print-directory MODE=asan sanitize-asan || code=1; \
	$(MAKE) --no-print-directory MODE=tsan test-unit || code=1; \
	exit $$code
sanitize-asan: check-test-deps $(UNIT_TESTS) $(CUDA_TESTS) $(EMULATED_SO)
	@LOCKSTEP_EMULATED_ORDER=backward LOCKSTEP_TEST_ENGINES=FEW $(RUN_TESTS) \
	    $(filter %/test_cuda_engine,$(CUDA_TESTS)) $(filter-out %/test_cuda_engine,$(CUDA_TESTS)) $(UNIT_TESTS)

.PHONY: golden
golden: ## Make the golden files in tests/golden again (needs PyTorch: make deps-torch)
	@set -e; for script in $(sort $(wildcard tests/golden/*.py)); do echo "$(PYTHON) $$script"; $(PYTHON) $$script; done

# ROWS="lenet vgg", ROUNDS=5, QUICK=1, WRITE_DOCS=1: tests/bench/run says what they do.
BENCH_ENVIRONMENT = BIN='$(abspath $(BUILD)/bin)' ARTIFACTS='$(ARTIFACTS)' PYTHON='$(PYTHON)' CC='$(CC)'
.PHONY: bench bench-growth bench-cuda bench-docs check-gpu
bench: all ## Measure speed and memory, beside PyTorch and the processor's limits; some: ROWS="lenet vgg"
	@$(BENCH_ENVIRONMENT) tests/bench/run
bench-growth: all ## Measure how the cost grows with batch, threads, ranks, width and images
	@$(BENCH_ENVIRONMENT) tests/bench/growth
bench-cuda: all $(CUDA_PROFILE) ## Measure the CUDA backend on a GPU: each operation against its limits, epochs beside PyTorch
	@$(BENCH_ENVIRONMENT) CUDA_PROFILE='$(abspath $(CUDA_PROFILE))' tests/bench/cuda
# It builds for the GPU that it finds, and by itself: its parts go on when one fails.
check-gpu: ## Do all that only a GPU can show: tests, same bits, compute-sanitizer, bench-cuda
	@BUILD='$(BUILD)' ARTIFACTS='$(ARTIFACTS)' CC='$(CC)' $(if $(filter file,$(origin PYTHON)),,PYTHON='$(PYTHON)') tests/gpu/session
bench-docs: ## Put the tables of the last measurements into docs/performance.md
	@$(BENCH_ENVIRONMENT) tests/bench/write-docs

# ---- Checks of the source --------------------------------------------------------------------------------------
CLANG        ?= clang
CLANG_FORMAT ?= clang-format
SHELLCHECK   ?= shellcheck
SHELL_FILES  := .ci/run tests/run $(wildcard scripts/* pipelines/*.sh tests/bats/*.bash tests/bats/*.bats tests/bench/*.sh tests/bench/measure/* tests/gpu/*) \
               $(addprefix tests/bench/,run growth draw-growth describe-machine write-docs cuda cuda-docs)

.PHONY: lint lint-format lint-shell lint-gcc lint-clang check-layers check-kernels format
lint: lint-format lint-shell check-layers check-kernels lint-gcc lint-clang ## Format, shellcheck, layers, kernels, and warnings of two compilers
	@echo "make lint: nothing found"
# Versions of clang-format differ in rare places: whoever has another one than the reference should know.
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
# gcc also warns of what it finds while it optimises; clang only of what it reads. Where the build has WERROR=1, gcc's part
# was done by it.
lint-gcc:
	@$(MAKE) --no-print-directory CC=gcc CXX=g++ WERROR=1 BUILD=$(BUILD)$(if $(WERROR),,/lint/gcc) objects
lint-clang:
	@$(call need,$(CLANG),deps-lint)
	@$(MAKE) --no-print-directory CC=$(CLANG) CXX=$(subst clang,clang++,$(CLANG)) WERROR=1 BUILD=$(BUILD)/lint/clang \
	    MODE=debug KERNEL_OPT= objects
check-layers: ## Check that includes point downward only
	@scripts/check-layers
check-kernels: ## Check that every CUDA kernel waits for those in front of it
	@scripts/check-kernels
format: ## Lay out all C, C++ and CUDA files by .clang-format
	@$(call need,$(CLANG_FORMAT),deps-lint)
	@$(CLANG_FORMAT) -i $(ALL_SOURCES)
need = command -v $(1) >/dev/null || { echo "make $@: '$(1)' is not installed: run 'make $(2)'" >&2; exit 1; }

.PHONY: objects
objects: $(if $(MPI_FOUND),$(OBJ)/lib/lockstep-mpi.so) $(LIBOBJ) $(patsubst %.c,$(OBJ)/%.o,$(wildcard tools/*.c) $(TESTSRC)) \
         $(patsubst %,$(EMU)/%.o,$(CUDA_CU) $(wildcard lib/compute/cuda/*.c tests/emulation/*.cc))

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
LIBDIR    ?= $(PREFIX)/lib
DATADIR   ?= $(PREFIX)/share/lockstep
DOCDIR    ?= $(PREFIX)/share/doc/lockstep
MANDIR    ?= $(PREFIX)/share/man/man1
MANUALS   := $(TOOLS:%=$(BUILD)/man/%.1)
.PHONY: man install uninstall
# Made of what the tools say of themselves, so they need no care.
man: all ## Make the manual pages of all tools: build/man
	@mkdir -p '$(BUILD)/man'
	@for tool in $(TOOLS); do scripts/make-man "$(BUILD)/bin/$$tool" >"$(BUILD)/man/$$tool.1" || exit; done
install: all man ## Install tools, manual pages and experiments under PREFIX (/usr/local); DESTDIR for packagers
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)' '$(DESTDIR)$(MANDIR)'
	install -m 755 $(BINARIES) '$(DESTDIR)$(BINDIR)'
	install -m 644 $(MANUALS) '$(DESTDIR)$(MANDIR)'
	install -m 644 README.md LICENSE docs/data.md docs/formats.md docs/differences.md '$(DESTDIR)$(DOCDIR)'
	for so in $(CUDA_SO) $(MPI_SO); do [ ! -e "$$so" ] || install -D -m 755 -t '$(DESTDIR)$(LIBDIR)/lockstep' "$$so"; done
	cd experiments && find . -name '*.yaml' -exec install -D -m 644 {} '$(DESTDIR)$(abspath $(DATADIR))/experiments/'{} \;
uninstall: ## Remove what install put there
	rm -f $(TOOLS:%='$(DESTDIR)$(BINDIR)/%')
	rm -f $(TOOLS:%='$(DESTDIR)$(MANDIR)/%.1')
	rm -rf '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)' '$(DESTDIR)$(LIBDIR)/lockstep'

.PHONY: clean distclean
clean: ## Remove the build folder
	rm -rf '$(BUILD)'
distclean: clean ## Remove everything that was made: also artifacts and fetched data
	rm -rf '$(ARTIFACTS)' compile_commands.json

# ---- Help ------------------------------------------------------------------------------------------------------
.PHONY: help print-config
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' pipelines/*.mk Makefile
	@echo 'Settings of experiments: SEED EPOCHS SET DEVICE THREADS LAUNCHER RESUME REPORT_FLAGS CIFAR10_FROM MNIST_FROM; pipelines/experiment.sh says what they do.'
	@echo 'Of everything: CC MODE V=1 CUDA CUDA_HOME CUDA_ARCHS MPI MPICC BUILD ARTIFACTS PREFIX PYTHON JOBS; `make print-config` shows them.'

print-config: ## Show settings and what was found on this machine
	@show() { printf '%-14s %s\n' "$$1" "$$2"; }; first() { "$$@" 2>/dev/null | head -n 1; }; \
	show CC '$(CC)'; show '' "$$(first $(CC) --version || true)"; \
	show MODE '$(MODE)'; show BUILD '$(BUILD)'; show ARTIFACTS '$(ARTIFACTS)'; show PREFIX '$(PREFIX)'; \
	show flags '$(strip $(CPPFLAGS_ALL) $(CFLAGS_ALL))'; \
	show kernels '$(ISAS)'; show tools '$(TOOLS)'; \
	show cuda '$(or $(NVCC),$(if $(filter 0,$(CUDA)),switched off: CUDA=0,not found$(if $(CUDA_HOME), in $(CUDA_HOME)): the CUDA backend is not built))'; \
	$(if $(NVCC),show '' "$$($(NVCC) --version | grep release)"; show CUDA_ARCHS '$(CUDA_ARCHS): $(ARCHS)'; show NCCL '$(NCCL)';) \
	show mpi '$(or $(MPI_FOUND),$(if $(filter 0,$(MPI)),switched off: MPI=0,no $(MPICC): ranks on one host only))'; \
	for p in $(PKGS) $(TEST_PKGS); do show "$$p" "$$($(PKGCONFIG) --modversion $$p 2>/dev/null || echo 'missing: make deps')"; done; \
	for p in bats gnuplot $(CXX) $(CLANG_FORMAT) $(CLANG) $(SHELLCHECK); do show "$$p" "$$(command -v $$p || echo 'not found')"; done; \
	show PYTHON '$(PYTHON)'; show torch "$$($(PYTHON) -c 'import torch; print(torch.__version__)' 2>/dev/null || echo 'not found')"; \
	show version "$$(git describe --always --dirty --tags 2>/dev/null || echo unknown)"

endif
