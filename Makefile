# Lockstep: reproducible data-parallel training experiments. `make help` lists the targets.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

# ---- Settings: `make print-config` shows what was found. ------------------------------------------------------
CC        ?= gcc
ifeq ($(origin CC),default)
CC        := gcc
endif
# MODE: release, debug, asan (address + undefined), tsan. Binaries are under build/bin whatever the mode.
MODE      ?= release
BUILD     ?= build
PREFIX    ?= /usr/local
PKGS      := libzstd yaml-0.1 libcurl libarchive libcrypto jansson
PKGCONFIG ?= pkg-config

WARNINGS  := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
# -ffp-contract=off: a multiply and an add may only become one rounding where the source says fma().
ARITH     := -ffp-contract=off -fno-fast-math
MODEFLAGS_release := -O2 -g
MODEFLAGS_debug   := -O0 -g3
MODEFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODEFLAGS_tsan    := -O1 -g -fsanitize=thread
MODEFLAGS := $(MODEFLAGS_$(MODE))
$(if $(MODEFLAGS),,$(error MODE=$(MODE): one of release, debug, asan, tsan))

CPPFLAGS_ALL = -D_GNU_SOURCE -Ilib -I$(BUILD)/generated $(CPPFLAGS)
CFLAGS_ALL   = -std=c17 $(WARNINGS) $(if $(WERROR),-Werror) $(ARITH) $(MODEFLAGS) -pthread $(CFLAGS)
LDLIBS_ALL   = $(shell $(PKGCONFIG) --libs $(PKGS)) -lm -pthread $(LDLIBS)
LDFLAGS_ALL  = $(MODEFLAGS) $(LDFLAGS)

# ---- What is built ---------------------------------------------------------------------------------------------
TOOLS     := $(sort $(patsubst tools/%.c,%,$(wildcard tools/*.c)))
BINARIES  := $(TOOLS:%=$(BUILD)/bin/%)
OBJ       := $(BUILD)/obj/$(MODE)
LIB       := $(OBJ)/liblockstep.a
# Kernels are compiled once for each instruction set; everything else once.
KERNELS   := $(wildcard lib/compute/cpu/kernels/*.c)
ISAS      := baseline
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
ISAS      += v3 v4
endif
ISAFLAGS_baseline := -DKERNEL_ISA=baseline
ISAFLAGS_v3       := -DKERNEL_ISA=v3 -march=x86-64-v3
ISAFLAGS_v4       := -DKERNEL_ISA=v4 -march=x86-64-v4 -mprefer-vector-width=512
LIBSRC    := $(filter-out $(KERNELS),$(wildcard lib/*/*.c lib/*/*/*.c))
LIBOBJ    := $(LIBSRC:%.c=$(OBJ)/%.o) $(foreach isa,$(ISAS),$(KERNELS:%.c=$(OBJ)/%.$(isa).o))

.PHONY: all
all: $(BINARIES) ## Build every tool into build/bin

# A file that changes whenever a flag does: what was built with other flags is rebuilt.
FLAGS     := $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL)
$(OBJ)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(FLAGS)' | cmp -s - $@ || printf '%s\n' '$(FLAGS)' > $@
.PHONY: FORCE
FORCE:

# The version is a header that changes only when `git describe` does.
$(BUILD)/generated/version.h: FORCE
	@mkdir -p $(@D); v=$$(git describe --always --dirty --tags 2>/dev/null || echo unknown); \
	line="#define LOCKSTEP_VERSION \"$$v\""; echo "$$line" | cmp -s - $@ || echo "$$line" > $@

$(OBJ)/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@
$(OBJ)/lib/base/version.o: $(BUILD)/generated/version.h

define isa_rule
$(OBJ)/lib/compute/cpu/kernels/%.$(1).o: lib/compute/cpu/kernels/%.c $(OBJ)/flags
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) -O3 $$(ISAFLAGS_$(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

$(LIB): $(LIBOBJ)
	@rm -f $@
	$(AR) rcs $@ $^

# Binaries of another mode must not pass for these: each mode links its own, build/bin points at the last built.
$(OBJ)/bin/%: $(OBJ)/tools/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) -o $@
$(BUILD)/bin/%: $(OBJ)/bin/% FORCE
	@mkdir -p $(@D); cmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }

DEPS := $(shell find $(BUILD)/obj/$(MODE) -name '*.d' 2>/dev/null)
include $(DEPS)
.SECONDARY:
