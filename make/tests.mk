# SPDX-License-Identifier: MIT
# The tests, also under sanitizers, and their golden files.

# JOBS: how many test programs run at the same time; by default two more than there are processors,
# because many wait. Real data: CIFAR10_FROM=ARCHIVE, MNIST_FROM=FOLDER.
# TESTS: only these files, by name.
JOBS        ?= $(call once,TWO_MORE,expr `nproc` + 2)
TEST_PKGS   := cmocka
TEST_LIBS    = $(call once,TEST_LIBS,$(PKGCONFIG) --libs $(TEST_PKGS) 2>/dev/null)

UNIT_TESTS  := $(patsubst %.c,$(OBJ)/%,$(wildcard tests/unit/test_*.c))
OPS_TESTS   := $(patsubst %.c,$(OBJ)/%,$(wildcard tests/ops/test_*.c))
BATS_FILES  := $(wildcard tests/bats/*.bats)
CUDA_TESTS  := $(patsubst %.cc,$(EMU)/%,$(wildcard tests/emulation/test_*.cc)) \
               $(patsubst %.c,$(OBJ)/%,$(wildcard tests/ops/test_cuda_*.c))

ALL_TESTS   := $(CUDA_TESTS) $(OPS_TESTS) $(UNIT_TESTS) $(BATS_FILES)
$(foreach t,$(TESTS),$(if $(filter %/$(t),$(ALL_TESTS)),,$(error TESTS: there is no test file '$(t)')))

# A program that does not call pthread_create has one thread, and no data race to find. So these are
# built and run under ThreadSanitizer, with the rooms below; sanitize-asan, which links all programs,
# checks the list.
THREADED     := $(addprefix $(OBJ)/tests/unit/test_,allreduce_bench changing_threads comm devices layer_kinds loader memory step_plan team train_manifest trainer) \
                $(OBJ)/tests/ops/test_slices
THREADED_LIB := $(OBJ)/tests/liblockstep.a
$(THREADED_LIB): $(filter $(patsubst %,$(OBJ)/lib/%,base/% compute/% data/% dist/% experiment/% nn/% train/% timing/%),$(LIBOBJ))
	@mkdir -p $(@D); rm -f $@
	$(call step,AR,$@)
	$(Q)$(AR) rcsT $@ $^

$(OBJ)/tests/%: $(OBJ)/tests/%.o $(if $(filter tsan,$(MODE)),$(THREADED_LIB),$(LIB))
	$(call step,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS_ALL) $(TEST_LIBS) -o $@
$(OPS_TESTS): $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/ops/reference/*.c))

# Scripts under tests/ leave nothing in the checkout.
export PYTHONDONTWRITEBYTECODE := 1
# The CUDA engine of tests/ops is the emulated one of this mode, except under `make test-cuda`.
RUN_TESTS  = BIN='$(abspath $(BUILD)/bin)' PYTHON='$(PYTHON)' CC='$(CC)' \
             LOCKSTEP_CUDA_LIBRARY='$(abspath $(EMULATED_SO))' tests/run -j $(JOBS) \
             $(if $(filter asan tsan,$(MODE)),-l $(MODE))
EMULATED_SO := $(OBJ)/lib/lockstep-cuda-emulated.so
# Times the operations of a step; tests/bats/bench-cuda.bats runs it on the emulation.
CUDA_PROFILE := $(OBJ)/tests/bench/cuda_profile
# Times the kernels of a convolution; tests/bats/bench.bats runs it.
CONVOLUTION := $(OBJ)/tests/bench/convolution
# Counts verdicts on trainings that took turns; tests/bats/calibrate.bats runs it on a few.
VERDICT_COUNTS := $(OBJ)/tests/bench/verdict_counts
# Makes the steps of a training longer: a library for LD_PRELOAD.
SLOW_STEPS := $(OBJ)/tests/bench/slow_steps.so
$(SLOW_STEPS): tests/bench/slow_steps.c $(OBJ)/flags
	$(call step,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -fPIC -shared $(LDFLAGS) $< -o $@ -ldl

# What the bats files need beside the tools; tests/gpu/pack packs `usage`.
FOR_BATS := $(CUDA_PROFILE) $(CONVOLUTION) $(VERDICT_COUNTS) $(SLOW_STEPS) $(OBJ)/tests/bench/usage

# Those that take longest, and those that wait for most of their time, begin first: none runs alone
# at the end.
LONGEST := test_cuda_engine test_cuda_exact same-bits restarts wheel browser cuda test_launch test_comm test_template \
           slurm mpi networks tensors hosts verify validation time-runs
longest_first = $(foreach name,$(LONGEST),$(filter %/$(name) %/$(name).bats,$(1))) \
                $(filter-out $(foreach name,$(LONGEST),%/$(name) %/$(name).bats),$(1))
# $(call chosen,FILES): those that TESTS names; all without it.
chosen        = $(if $(TESTS),$(filter $(addprefix %/,$(TESTS)),$(1)),$(1))
.PHONY: test test-programs test-unit test-ops test-bats test-emulation test-cuda check-test-deps sanitize
test-programs: all emulation $(FOR_BATS) check-test-deps $(UNIT_TESTS) $(OPS_TESTS) $(CUDA_TESTS)
test: test-programs ## Run all tests; the last line counts them. Only some: TESTS="shard.bats test_plan"
	@LOCKSTEP_TEST_CASES=FEW $(RUN_TESTS) $(call longest_first,$(call chosen,$(sort $(CUDA_TESTS) $(OPS_TESTS)) $(UNIT_TESTS) $(BATS_FILES)))
test-unit: check-test-deps $(UNIT_TESTS) ## Run the unit tests
	@$(RUN_TESTS) $(call chosen,$(UNIT_TESTS))
test-ops: check-test-deps $(OPS_TESTS) $(EMULATED_SO) ## Check every operation against finite differences and golden files
	@$(RUN_TESTS) $(call chosen,$(OPS_TESTS))
test-emulation: check-test-deps $(CUDA_TESTS) $(EMULATED_SO) ## Run the tests of the CUDA backend, on the emulation
	@$(RUN_TESTS) $(call chosen,$(CUDA_TESTS))
test-cuda: all check-test-deps $(OPS_TESTS) ## Run the tests of the CUDA backend, on a GPU
	@$(if $(CUDA_SO),,$(MAKE) --no-print-directory no-nvcc)
	@$(RUN_TESTS_CUDA) $(patsubst %.c,$(OBJ)/%,$(wildcard tests/ops/test_cuda_*.c)) \
	    $(wildcard tests/bats/cuda.bats tests/bats/nccl.bats)
test-bats: all emulation $(FOR_BATS) ## Run the tests of the tools
	@$(RUN_TESTS) $(call chosen,$(BATS_FILES))
check-test-deps:
	@scripts/check-deps "$(CC)" "$(PKGCONFIG)" $(PKGS) $(TEST_PKGS)
$(UNIT_TESTS) $(OPS_TESTS) $(CUDA_TESTS): | check-test-deps
RUN_TESTS_CUDA = CUDA_LIBRARY='$(abspath $(CUDA_SO))' \
                 $(subst $(abspath $(EMULATED_SO)),$(abspath $(CUDA_SO)),$(RUN_TESTS))

# A release of Debian or Ubuntu, by its code name.
RELEASE ?= bookworm
.PHONY: bare
bare: ## Test the README's commands on a minimal system, as a new user (needs root; make deps-bare): RELEASE=trixie
	@tests/bare '$(BUILD)/bare' '$(RELEASE)'

# Seeds of the random networks. `make test` compares the first 16.
GRAPHS       ?= 200
GRAPHS_FIRST ?= 1
.PHONY: test-graphs
test-graphs: all ## Compare random networks with PyTorch (make deps-torch): GRAPHS=200
	@folder=$$(mktemp -d) && '$(PYTHON)' tests/python/torch_graphs.py '$(abspath $(BUILD)/bin)' "$$folder" \
	    '$(GRAPHS_FIRST)' '$(GRAPHS)' && rm -r "$$folder"

# ThreadSanitizer does not support the emulation's fibers. `make test` runs them forward. The longest
# compilation (conv.cu) and test go first; with -j one sanitizer continues while the other waits for
# them.
.PHONY: sanitize-asan sanitize-tsan with-asan with-tsan
sanitize: ## Run unit tests, operations and the CUDA backend under ASan + UBSan, programs with threads under TSan
	@$(MAKE) --no-print-directory -k with-asan with-tsan
with-asan:
	@$(MAKE) --no-print-directory MODE=asan sanitize-asan
with-tsan:
	@$(MAKE) --no-print-directory MODE=tsan sanitize-tsan
sanitize-tsan: check-test-deps $(THREADED)
	@LOCKSTEP_TEST_CASES=FEWEST $(RUN_TESTS) $(THREADED)
# Tests of rounding errors run kernels on large images, for minutes here; test_engine runs the same
# kernels on small ones.
ASAN_TESTS = $(sort $(filter-out %/test_cuda_engine %/test_long_sums %/test_winograd,$(CUDA_TESTS) $(OPS_TESTS))) $(UNIT_TESTS)
sanitize-asan: check-test-deps $(EMULATED_SO) $(filter %/test_cuda_engine,$(CUDA_TESTS)) $(ASAN_TESTS)
	@for p in $(filter-out $(THREADED),$(UNIT_TESTS)); do \
	    ! nm -u "$$p" | grep -q ' pthread_create\(@\|$$\)' || { echo "make/tests.mk: THREADED lacks $${p##*/}" >&2; exit 1; }; done
	@LOCKSTEP_EMULATED_ORDER=backward LOCKSTEP_TEST_CASES=FEWEST $(RUN_TESTS) \
	    $(foreach part,1of2 2of2,$(patsubst %,%:$(part),$(filter %/test_cuda_engine,$(CUDA_TESTS)))) $(call longest_first,$(ASAN_TESTS))

# The tests run the backend of MODE=races with few cases. RACES_RUN: "PROGRAM=FILTER", a cmocka filter
# of the tests' names, with ? for a blank. These run all kernels but two that measure a device, and
# gather_slices, which only ranks launch that reduce by CUDA IPC.
RACES_RUN ?= test_cuda_engine=test_serial_launches test_cuda_engine=test_deferred test_cuda_engine=*over?all \
             test_cuda_exact=gelu?and?silu?in?epilogues* test_cuda_exact=group?norms* test_cuda_exact=a?residual?block* \
             test_cuda_peers=fast*
.PHONY: check-races
check-races: check-test-deps $(CUDA_TESTS) ## Search the CUDA backend for data races, on the emulation: some minutes
	@$(MAKE) --no-print-directory MODE=races $(BUILD)/obj/races/lib/lockstep-cuda-emulated.so \
	    $(BUILD)/obj/races/emulated/$(RACES_TEST:.cc=)
	@scripts/check-races '$(abspath $(BUILD)/obj/races)' '$(abspath $(OBJ)/tests/ops)' $(RACES_RUN:%='%')

.PHONY: golden
golden: ## Regenerate the golden files in tests/golden (needs PyTorch: make deps-torch)
	@set -e; for script in $(sort $(wildcard tests/golden/*.py)); do echo "$(PYTHON) $$script"; $(PYTHON) $$script; done
