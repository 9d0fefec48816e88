# SPDX-License-Identifier: MIT
# The torture tests: faults, kills, seeded bugs, fuzzers. docs/reliability.md explains their
# purpose.

# SLICE=1: 3 minutes in total; LONG=1: hours. BATTERIES="faults seeded": only some of them. SEED:
# the seed of all batteries.
TORTURE      := $(BUILD)/torture
ASAN_BIN     := $(BUILD)/obj/asan/bin
FUZZERS      := $(patsubst tests/torture/fuzz/%.c,%,$(filter-out %/fuzz.c %/loop.c,$(wildcard tests/torture/fuzz/*.c)))
# The fuzzers use libFuzzer if there is clang; otherwise, and in a slice, a simple loop calls them.
LIBFUZZER     = $(call once,LIBFUZZER,echo 'int LLVMFuzzerTestOneInput(void);int LLVMFuzzerTestOneInput(void){return 0;}' | \
                  $(CLANG) -x c -fsanitize=fuzzer$(comma)address - -o /dev/null 2>/dev/null && echo yes)
FUZZ_BIN      = $(if $(SLICE),$(OBJ_ASAN),$(if $(LIBFUZZER),$(BUILD)/obj/fuzz,$(OBJ_ASAN)))/fuzzers
OBJ_ASAN     := $(BUILD)/obj/asan

BARRIER_TEST := $(patsubst %.c,$(OBJ)/%,$(wildcard tests/unit/test_barrier.c))

.PHONY: torture torture-parts torture-asan torture-fuzzers
torture: torture-parts ## Run the torture tests: one line per battery, about an hour; BATTERIES="faults seeded", SLICE=1, LONG=1
	@BIN='$(abspath $(BUILD)/bin)' ASAN_BIN='$(abspath $(ASAN_BIN))' FUZZ_BIN='$(abspath $(FUZZ_BIN))' \
	    BARRIER_TEST='$(abspath $(BARRIER_TEST))' TORTURE_BUILD='$(abspath $(TORTURE))' CC='$(CC)' JOBS='$(JOBS)' SLICE='$(SLICE)' LONG='$(LONG)' \
	    SEED='$(SEED)' BATTERIES='$(BATTERIES)' tests/torture/run
torture-parts: all $(TORTURE)/faults.so $(BARRIER_TEST)
	@$(MAKE) --no-print-directory MODE=asan torture-asan
	@$(if $(SLICE),,$(if $(LIBFUZZER),$(MAKE) --no-print-directory MODE=fuzz CC=$(CLANG) torture-fuzzers))
torture-asan: $(TOOLS:%=$(ASAN_BIN)/%) $(FUZZERS:%=$(OBJ)/fuzzers/%) $(OBJ)/share
# The tools of this mode find the templates and tables of build/bin's.
$(OBJ)/share: | $(SHARED)
	@ln -sfnr $(BUILD)/share $@
torture-fuzzers: $(FUZZERS:%=$(OBJ)/fuzzers/%)

$(TORTURE)/faults.so: tests/torture/faults.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call step,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_ALL) -std=c17 $(WARNINGS) $(if $(WERROR),-Werror) -O2 -fPIC -shared $< -o $@ -ldl

# File readers, and their dependencies: no kernels, because fuzzed bytes do not find their bugs.
FUZZED_LIB   := $(OBJ)/fuzzers/liblockstep.a
FUZZED       := $(filter-out lib/compute/cpu/% lib/train/% lib/pipeline/% lib/submission/%,$(LIBSRC))
$(FUZZED_LIB): $(FUZZED:%.c=$(OBJ)/%.o)
	@mkdir -p $(@D); rm -f $@
	$(call step,AR,$@)
	$(Q)$(AR) rcsT $@ $^
$(OBJ)/fuzzers/%: $(OBJ)/tests/torture/fuzz/%.o $(OBJ)/tests/torture/fuzz/fuzz.o \
                  $(if $(filter fuzz,$(MODE)),,$(OBJ)/tests/torture/fuzz/loop.o) $(FUZZED_LIB)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer) $^ $(LDLIBS_ALL) -o $@
