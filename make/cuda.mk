# SPDX-License-Identifier: MIT
# The CUDA backend, and its emulation for tests without a GPU.
#
# It is built if nvcc is found (in CUDA_HOME, in /usr/local/cuda, or on the PATH) and there is an
# NVIDIA driver, or this build folder has a backend already. CUDA=0: it is not built; CUDA=1: it must
# be. CUDA_ARCHS: compute capabilities, such as "80 90"; or `all`; or
# `native`, those of this machine's GPUs, which builds faster, and means all if it has none or one
# that is not in the list. Newer GPUs run the PTX of the last one.
CUDA       ?= auto
ifeq ($(origin CUDA_HOME),undefined)
CUDA_HOME  := $(patsubst %/bin/nvcc,%,$(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc)))
endif
NVCC       := $(if $(filter 0,$(CUDA)),,$(if $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc)))
CUDA_ARCHS ?= native
# Ranks reduce on their GPUs with NCCL. It is built in if its header is in CUDA_HOME or in a folder
# of packages. NCCL=0: it is not built in.
NCCL       ?= $(if $(wildcard $(addsuffix /nccl.h,$(CUDA_HOME)/include /usr/include /usr/local/include)),1,0)

# nvcc takes minutes, so it is not called for a backend that no one can use here.
CUDA_WANTED := $(if $(NVCC),$(or $(filter 1,$(CUDA)),$(wildcard /proc/driver/nvidia $(BUILD)/lib/lockstep-cuda.so),$(shell command -v nvidia-smi)))
CUDA_SO     := $(if $(CUDA_WANTED),$(BUILD)/lib/lockstep-cuda.so)
all: $(or $(CUDA_SO),$(if $(NVCC),$(OBJ)/cuda-left-out))
# Said once in a build folder.
$(OBJ)/cuda-left-out:
	@mkdir -p $(@D) && touch $@
	@echo 'nvcc is here, but no NVIDIA driver: the CUDA backend is left out; CUDA=1 builds it'
ifeq ($(CUDA)$(NVCC),1)
all: no-nvcc
endif

# lib/compute/cuda is built twice: into lockstep-cuda.so, by nvcc if there is one, and into
# lockstep-cuda-emulated.so, by an ordinary compiler with the headers in tests/emulation, for tests
# without a GPU.
#
# A tool opens either of them with dlopen. They contain their own copy of the parts of lib/base that
# they use, so that they need nothing from the program that opens them; they export one function.
#
# *_opened.c open libraries when these are needed; the emulation has functions of its own.
CUDA_C    := $(filter-out lib/compute/cuda/comm/nccl% %_opened.c,$(wildcard lib/compute/cuda/*.c lib/compute/cuda/*/*.c))
CUDA_OPEN  = $(addprefix lib/compute/cuda/device/,cublas_opened.c $(if $(filter 1,$(NCCL)),nccl_opened.c))
NCCL_C     = lib/compute/cuda/comm/$(if $(filter 1,$(1)),nccl,nccl_absent).c
CUDA_CU   := $(wildcard lib/compute/cuda/kernels/*.cu lib/compute/cuda/kernels/*/*.cu)
CUDA_BASE := $(addprefix lib/base/,clock.c elementary.c error.c memory.c printable.c reduction_tree.c trace.c) \
             $(addprefix lib/compute/,program.c $(addprefix plan/,lifetimes.c step_plan.c units.c within.c))
# In MODE=races accesses of the backend and of the emulated libraries are watched, and those of
# their test (tests/emulation/races.h).
RACES_TEST := tests/emulation/races/test_races.cc
RACES     := $(if $(filter races,$(MODE)),$(filter-out $(RACES_TEST),$(wildcard tests/emulation/races/*.cc)))
EMULATION := $(filter-out tests/emulation/test_% $(if $(RACES),%/races_absent.cc),$(wildcard tests/emulation/*.cc)) $(RACES)
WATCHED    = $(addprefix $(EMU)/,lib/% tests/emulation/cublas.cc.o tests/emulation/nccl.cc.o $(RACES_TEST).o)
NVCC_OBJ  := $(BUILD)/obj/nvcc
EMU       := $(OBJ)/emulated

PIC_OBJ   := $(CUDA_BASE:%.c=$(OBJ)/pic/%.o)
CUDA_OBJ  := $(CUDA_CU:%=$(NVCC_OBJ)/%.o) $(patsubst %,$(OBJ)/cuda/%.o,$(CUDA_C) $(CUDA_OPEN) $(call NCCL_C,$(NCCL))) $(PIC_OBJ)
# The emulation has NCCL, too, if there is tests/emulation/nccl.h.
EMU_C     := $(CUDA_C) $(call NCCL_C,$(if $(wildcard tests/emulation/nccl.h),1))
EMU_OBJ   := $(patsubst %,$(EMU)/%.o,$(CUDA_CU) $(EMU_C) $(EMULATION))

ARCHS_all = 75 80 86 89 90
GPU_ARCHS = $(call once,GPU_ARCHS,timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv$(comma)noheader 2>/dev/null | tr -d . | sort -un)
ARCHS_native = $(if $(filter-out $(ARCHS_all),$(or $(GPU_ARCHS),none)),$(ARCHS_all),$(GPU_ARCHS))
ARCHS     = $(or $(ARCHS_$(CUDA_ARCHS)),$(CUDA_ARCHS))
GENCODE   = $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
            $(foreach a,$(lastword $(ARCHS)),-gencode arch=compute_$(a),code=compute_$(a))

# -fmad=false is like -ffp-contract=off in make/build.mk. Division, square roots and subnormal
# numbers conform to IEEE 754 by default.
NVCCFLAGS_ALL = -std=c++17 -O3 -fmad=false -lineinfo -Ilib $(GENCODE) -Xcompiler -fPIC,-Wall,-Wextra \
                $(if $(WERROR),-Werror all-warnings) $(NVCCFLAGS)
CUDA_CPPFLAGS = -isystem $(CUDA_HOME)/include
CUDA_LIBDIR   = $(firstword $(wildcard $(CUDA_HOME)/lib64) $(CUDA_HOME)/lib)
CUDA_LIBS     = -L$(CUDA_LIBDIR) -Wl,-rpath,$(CUDA_LIBDIR) -lcudart_static -lrt -ldl
# Kernels use #pragma unroll and reinterpret_cast as nvcc accepts them. Here they are compiled for
# the processor's fma, if it has one, because they do little else.
FMA           = $(call once,FMA,grep -qw fma /proc/cpuinfo 2>/dev/null && echo -mfma)
CXXFLAGS_ALL  = -std=c++17 $(WARNINGS_ANY) -Wno-unknown-pragmas $(if $(WERROR),-Werror) $(ARITH) $(FMA) $(MODEFLAGS) \
                -fno-strict-aliasing -pthread $(CXXFLAGS)
EMU_FLAGS     = -fPIC -Itests/emulation
# Kernels are long once they are unrolled, and so are the checks of their accesses.
EMU_CU_FLAGS := $(KERNEL_CHECKS)
SHARED_LD    := tests/emulation/shared.ld
EMU_LDFLAGS   = -Wl,-T,$(SHARED_LD) $(if $(RACES),-Wl$(comma)--wrap=memcpy$(comma)--wrap=memmove$(comma)--wrap=memset)
# An undefined symbol is an error at link time. clang leaves those of its sanitizers to the program.
SO_LDFLAGS    = -shared -Wl,--version-script=lib/compute/cuda/exports.map $(if $(filter asan tsan,$(MODE)),,-Wl,-z,defs)

ifneq ($(RACES),)
$(WATCHED): EMU_FLAGS += -fsanitize=thread
endif

$(OBJ)/flags-cxx: FORCE
	@command -v $(firstword $(CXX)) >/dev/null || \
	    { echo "cannot build: '$(firstword $(CXX))' is not installed: run 'make deps'" >&2; exit 1; }
	@$(call keep_flags,$(CXX) $(CPPFLAGS_ALL) $(CXXFLAGS_ALL) $(EMU_FLAGS) $(EMU_CU_FLAGS) $(EMU_LDFLAGS) $(SO_LDFLAGS))
$(NVCC_OBJ)/flags: FORCE
	@$(call keep_flags,$(NVCC) $(NVCCFLAGS_ALL) $(CUDA_CPPFLAGS) $(CUDA_LIBS))
# As $(OBJ)/members in make/build.mk.
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

# Most of the time goes to switching between threads: AddressSanitizer watches that, and no more.
$(EMU)/tests/emulation/launch.cc.o $(EMU)/tests/emulation/fibers.cc.o: EMU_FLAGS += -O2 -fno-sanitize=undefined
$(EMU)/%.c.o: %.c $(OBJ)/flags $(OBJ)/flags-cxx
	@mkdir -p $(@D)
	$(call step,CC,$< (emulated))
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(EMU_FLAGS) -MMD -MP -c $< -o $@
$(EMU)/%.cu.o: %.cu $(OBJ)/flags-cxx
	@mkdir -p $(@D)
	$(call step,CXX,$< (emulated))
	$(Q)$(CXX) $(CPPFLAGS_ALL) $(CXXFLAGS_ALL) $(EMU_FLAGS) $(EMU_CU_FLAGS) -MMD -MP -x c++ -c $< -o $@
$(EMU)/%.cc.o: %.cc $(OBJ)/flags-cxx
	@mkdir -p $(@D)
	$(call step,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS_ALL) $(CXXFLAGS_ALL) $(EMU_FLAGS) -MMD -MP -c $< -o $@
$(OBJ)/lib/lockstep-cuda-emulated.so: $(EMU_OBJ) $(PIC_OBJ) $(OBJ)/members-cuda lib/compute/cuda/exports.map $(SHARED_LD)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS_ALL) $(EMU_LDFLAGS) $(SO_LDFLAGS) $(EMU_OBJ) $(PIC_OBJ) -lm -pthread -o $@

$(BUILD)/lib/%: $(OBJ)/lib/% FORCE
	@$(place)

# Tests that call kernels, or the emulation itself, are linked with it: tests/emulation/test_*.cc.
$(EMU)/tests/%: $(EMU)/tests/%.cc.o $(EMU_OBJ) $(PIC_OBJ) $(SHARED_LD)
	$(call step,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS_ALL) $(EMU_LDFLAGS) $(filter %.o,$^) $(TEST_LIBS) -lm -pthread -o $@

# ---- Compiled kernels ----

# SASS_ARCH: the architecture. cuobjdump, which nvcc lacks in some packages, comes from PyPI.
SASS_ARCH ?= 90
SASS       = $(BUILD)/sass
CUOBJDUMP  = $(firstword $(wildcard $(CUDA_HOME)/bin/cuobjdump) $(shell find '$(SASS)' -path '*/bin/cuobjdump' 2>/dev/null))
CUBINS     = $(patsubst lib/compute/cuda/kernels/%.cu,$(SASS)/sm_$(SASS_ARCH)/%.cubin,$(CUDA_CU))
$(SASS)/sm_$(SASS_ARCH)/%.cubin: lib/compute/cuda/kernels/%.cu $(NVCC_OBJ)/flags
	@mkdir -p $(@D)
	$(call step,SASS,$<)
	$(Q)$(NVCC) $(subst $(GENCODE),-gencode arch=compute_$(SASS_ARCH)$(comma)code=sm_$(SASS_ARCH),$(NVCCFLAGS_ALL)) \
	    -MMD -MP -MF $(@:.cubin=.d) -cubin -Xptxas -v $< -o $@ 2>$(@:.cubin=.log) || { cat $(@:.cubin=.log) >&2; exit 1; }
.PHONY: check-sass
check-sass: $(if $(NVCC),$(CUBINS),no-nvcc) all counting ## List the compiled kernels: registers, stack, spills, instructions (SASS_ARCH=90); launches, longest chain and instructions of a step
	@rm -rf '$(SASS)/steps'
	@BIN='$(abspath $(BUILD)/bin)' EMULATED='$(COUNTING)' KERNELS='$(abspath $(SASS)/steps)' \
	    MODELS='$(MODELS)' BATCH='$(BATCH)' tests/bench/step-chain
	@echo
	@scripts/check-sass '$(SASS)/sm_$(SASS_ARCH)' '$(CUOBJDUMP)' '$(SASS)/steps'

# An emulation that counts multiply-adds and loads (tests/emulation/counts.cc) has a build folder of
# its own. The compiler puts a call before each access to memory.
CALL_AT_ACCESS = -fsanitize=kernel-address --param asan-instrumentation-with-call-threshold=0 \
                 --param asan-stack=0 --param asan-globals=0
COUNTING = $(abspath $(BUILD)/counting/obj/release/lib/lockstep-cuda-emulated.so)
.PHONY: counting exact-cost
counting:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/counting CXXFLAGS=-DEMULATION_COUNTS EMU_CU_FLAGS='$(CALL_AT_ACCESS)' \
	    $(BUILD)/counting/obj/release/lib/lockstep-cuda-emulated.so
exact-cost: all counting $(OBJ)/tests/bench/cuda_profile ## Estimate what --math exact costs on a GPU, from the multiply-adds and loads of a step's kernels; MODELS=vgg BATCH=16
	@BIN='$(abspath $(BUILD)/bin)' COUNTING='$(COUNTING)' \
	    PROFILE='$(abspath $(OBJ)/tests/bench/cuda_profile)' \
	    MODELS='$(MODELS)' BATCH='$(BATCH)' MEASURED=docs/h200.txt tests/bench/exact-cost

.PHONY: emulation no-nvcc
emulation: $(BUILD)/lib/lockstep-cuda-emulated.so ## Build the CUDA backend for machines without a GPU, for tests
no-nvcc:
	@echo "cannot build with CUDA=1: no $(if $(NVCC),NVIDIA driver: the backend was left out,nvcc in CUDA_HOME, /usr/local/cuda or on the PATH)" >&2; exit 1
