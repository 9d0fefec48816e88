# SPDX-License-Identifier: MIT
# The library and the tools: flags, and a rule for each kind of file.

# Libraries, by their pkg-config names.
PKGS      := libzstd yaml-0.1 libcurl libarchive libcrypto jansson libjpeg libpng libcmark-gfm
PKGCONFIG ?= pkg-config

# Prints one short line per file; V=1 prints whole commands instead. At a terminal, goals that only
# build, or run experiments, have one line that counts: of how many, if no object was there. Messages
# begin where it does; `built` takes it away.
ifneq ($(filter-out 0,$(V)),)
Q    :=
step  =
else
Q    := @
step  = @printf '%-5s %s\n' '$(1)' '$(2)'
ifneq ($(and $(MAKE_TERMOUT),$(filter-out dumb,$(TERM)),$(if $(filter-out all install $(EXPERIMENT_GOALS),$(MAKECMDGOALS)),,x)),)
STEPS_ALL = $(call once,STEPS_OF,[ -d $(OBJ)/lib ] || echo /$(words $(sort $(LIBOBJ) $(LIB) $(TOOLS) $(TOOLS:%=%.o) \
            $(MPI_SO) $(if $(MPI_SO),$(MPI_BASE)) $(CUDA_SO) $(if $(CUDA_SO),$(CUDA_OBJ)))))
count     = $(eval STEPS += x)[$(words $(STEPS))$(STEPS_ALL)]
step      = @printf '\033[?7l%s %-5s %s\033[K\033[?7h\r' '$(count)' '$(1)' '$(2)'
endif
endif
built = $(if $(STEPS),@printf '\033[K')

# ---- Flags -----------------------------------------------------------------------------------------------------
# -Wswitch-enum: a default does not swallow a new kind.
WARNINGS_ANY := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wswitch-enum
WARNINGS     := $(WARNINGS_ANY) -Wstrict-prototypes -Wmissing-prototypes
# -ffp-contract=off: a multiply and an add may only become one rounding where the source says fma().
ARITH     := -ffp-contract=off -fno-fast-math
# -g1 is enough for the functions and lines of a backtrace, and a third of the size of -g; tracking
# variables through optimised or instrumented code takes the compiler long.
MODEFLAGS_release := -O2 -g1
MODEFLAGS_debug   := -O0 -g3
MODEFLAGS_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODEFLAGS_tsan    := -O1 -g1 -fsanitize=thread
# The emulation of CUDA with a search for races: make check-races.
MODEFLAGS_races   := -O2 -g1
# For clang: tests/torture/fuzz is linked with it.
MODEFLAGS_fuzz    := -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODEFLAGS := $(MODEFLAGS_$(MODE))
$(if $(MODEFLAGS),,$(error MODE=$(MODE): one of release, debug, asan, tsan))

comma := ,
# $(call once,NAME,COMMAND): the output of a command that runs only once, when NAME is first used.
once = $(eval $(1) := $$(shell $(2)))$($(1))
PKG_CFLAGS = $(call once,PKG_CFLAGS,$(PKGCONFIG) --cflags $(PKGS) 2>/dev/null)
# The extensions of libcmark-gfm (tables) are a library of their own, which pkg-config does not know.
PKG_LIBS   = $(call once,PKG_LIBS,echo -lcmark-gfm-extensions `$(PKGCONFIG) --libs $(PKGS) 2>/dev/null`)

CPPFLAGS_ALL = -D_GNU_SOURCE -Ilib -I$(BUILD)/generated $(PKG_CFLAGS) $(CPPFLAGS)
CFLAGS_ALL   = -std=c17 $(WARNINGS) $(if $(WERROR),-Werror) $(ARITH) $(MODEFLAGS) -pthread $(CFLAGS)
LDFLAGS_ALL  = $(MODEFLAGS) $(LDFLAGS)
# A tool loads only the libraries that it calls, whatever the compiler's default.
LDLIBS_ALL   = -Wl,--as-needed $(PKG_LIBS) -lm -pthread $(LDLIBS)

# ---- What is built ---------------------------------------------------------------------------------------------
TOOLS     := $(sort $(patsubst tools/%.c,%,$(wildcard tools/*.c)))
BINARIES  := $(TOOLS:%=$(BUILD)/bin/%)
OBJ       := $(BUILD)/obj/$(MODE)
LIB       := $(OBJ)/liblockstep.a
# Kernels are compiled for each instruction set, with 16, 8 and 4 samples side by side; everything
# else once.
KERNELS   := $(wildcard lib/compute/cpu/kernels/*.c)
ISAS      := baseline
# The compiler's machine and version: objects of another compiler of the same name are rebuilt.
CC_VERSION := $(shell LC_ALL=C $(CC) -v 2>&1 | grep -E '^Target: |^[A-Za-z ]* version ')
X86       := $(filter x86_64%,$(CC_VERSION))
# ThreadSanitizer gets one: threads share the work alike in all of them.
ISAS      += $(if $(X86),$(if $(filter tsan,$(MODE)),,v3 v4))
LANES     := 16 8 4
ISAFLAGS_baseline := -DKERNEL_ISA=baseline
ISAFLAGS_v3       := -DKERNEL_ISA=v3 -march=x86-64-v3
ISAFLAGS_v4       := -DKERNEL_ISA=v4 -march=x86-64-v4 -mprefer-vector-width=512
# AddressSanitizer checks every access separately: optimisation makes nothing faster, and the checks
# in unrolled loops take the optimiser minutes. ThreadSanitizer watches fewer variables once these are
# in registers.
KERNEL_OPT        := $(if $(filter asan,$(MODE)),-O0,$(if $(filter tsan,$(MODE)),-O1,-O3))
# Of UndefinedBehaviorSanitizer, what AddressSanitizer does not see and kernels can do wrong: the
# tests' images are too small for an index to overflow.
KERNEL_CHECKS     := $(if $(filter asan,$(MODE)),-fno-sanitize=undefined \
                     -fsanitize=alignment$(comma)bounds$(comma)integer-divide-by-zero$(comma)shift)
# Without AVX2, kernels are compact (COMPACT in simd.h): -O3 would copy their loops again. Their time
# goes to the multiply-add of fused.h, which must be inlined, under a sanitizer as well.
KERNEL_OPT_baseline = $(if $(X86),$(if $(filter asan tsan,$(MODE)),-O2,$(KERNEL_OPT:-O3=-O2)))
# Not part of the library: lib/compute/cuda, see make/cuda.mk, and the one file that uses MPI, see
# make/mpi.mk.
MPI_C     := lib/dist/transport_mpi.c
LIBSRC    := $(filter-out $(KERNELS) $(MPI_C) lib/compute/cuda/%,$(wildcard lib/*/*.c lib/*/*/*.c))
VARIANTS  := $(foreach isa,$(ISAS),$(LANES:%=$(isa)-%))
LIBOBJ    := $(LIBSRC:%.c=$(OBJ)/%.o) $(foreach v,$(VARIANTS),$(KERNELS:%.c=$(OBJ)/%.$(v).o))

# The other parts add their targets to this one.
.PHONY: all
SHARED    := $(patsubst share/%,$(BUILD)/share/lockstep/%,$(wildcard share/*.* share/report/*.md share/report/*/*))
# The tools find the experiments of this checkout from any folder, as installed ones find theirs.
EXPERIMENTS_LINK := $(BUILD)/share/lockstep/experiments
all: $(BINARIES) $(SHARED) $(EXPERIMENTS_LINK) ## Build every tool into build/bin, the CUDA backend if nvcc and a driver are found, MPI if mpicc is found
	$(built)

# A file that changes whenever a flag does: objects built with other flags are rebuilt. Those that
# passed with WERROR=1 serve a build without it, but not the other way round.
kept_flags = $(filter-out -Werror all-warnings,$(1))$(2)
keep_flags = mkdir -p $(@D); $(if $(WERROR),,grep -Fqx -- '$(call kept_flags,$(1), WERROR)' $@ 2>/dev/null ||) \
    printf '%s\n' '$(call kept_flags,$(1),$(if $(WERROR), WERROR))' | cmp -s - $@ || \
    printf '%s\n' '$(call kept_flags,$(1),$(if $(WERROR), WERROR))' > $@
$(OBJ)/flags: FORCE
	@scripts/check-deps "$(CC)" "$(PKGCONFIG)" $(PKGS)
	@$(call keep_flags,$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(KERNEL_OPT) $(KERNEL_CHECKS) $(LDFLAGS_ALL) $(CC_VERSION))
# Checks that the folders are writable before anything is written.
.PHONY: FORCE check-build
FORCE: check-build
check-build:
	@scripts/check-folders build '$(BUILD)' $(call word_of,$(ARTIFACTS))

# The version is a header that changes only if the version or a source does, and is replaced atomically,
# because modes may be built at the same time. For a tree with changes, or without git, the version
# alone does not identify the source.
$(BUILD)/generated/version.h: FORCE
	@mkdir -p $(@D); v=$$(scripts/version); \
	s=$$(find Makefile make lib tools share/report -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c 1-16); \
	lines=$$(printf '#define LOCKSTEP_VERSION "%s"\n#define LOCKSTEP_SOURCES "%s"\n' "$$v" "$$s"); \
	echo "$$lines" | cmp -s - $@ || { echo "$$lines" > $@.$$$$ && mv -f $@.$$$$ $@; }
# The flags that affect the code, for the manifest; without characters that are special in strings
# or shells.
FLAGS_TEXT = $(strip $(subst \,,$(subst ",,$(subst ',,$(ARITH) $(MODEFLAGS) $(KERNEL_OPT) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)))))
$(OBJ)/lib/base/version.o: CPPFLAGS_ALL += -DLOCKSTEP_FLAGS='"$(FLAGS_TEXT)"'

$(OBJ)/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call step,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@
$(OBJ)/lib/base/version.o: $(BUILD)/generated/version.h
$(OBJ)/lib/compute/cpu/kernels.o: CPPFLAGS_ALL += $(if $(filter v3,$(ISAS)),-DKERNELS_OF_X86)
# The stylesheet of reports, as a string: a page needs no file next to the tool.
$(BUILD)/generated/style.h: share/report/style.css | check-build
	@mkdir -p $(@D); sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' $< > $@.$$$$ && mv -f $@.$$$$ $@
$(OBJ)/lib/report/page_html.o: $(BUILD)/generated/style.h

define isa_rule
$(OBJ)/lib/compute/cpu/kernels/%.$(1)-$(2).o: lib/compute/cpu/kernels/%.c $(OBJ)/flags
	@mkdir -p $$(@D)
	$$(call step,CC,$$< ($(1)-$(2)))
	$$(Q)$$(CC) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) $(or $(KERNEL_OPT_$(1)),$(KERNEL_OPT)) $(KERNEL_CHECKS) $$(ISAFLAGS_$(1)) -DKERNEL_LANES=$(2) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(foreach lanes,$(LANES),$(eval $(call isa_rule,$(isa),$(lanes)))))

# The archive is thin: it names the objects instead of copying them. The list of members is a
# prerequisite, so the archive does not keep a source file that was removed.
$(OBJ)/members: FORCE
	@mkdir -p $(@D); echo '$(LIBOBJ)' | cmp -s - $@ || echo '$(LIBOBJ)' > $@
$(LIB): $(LIBOBJ) $(OBJ)/members
	@rm -f $@
	$(call step,AR,$@)
	$(Q)$(AR) rcsT $@ $(LIBOBJ)

# Each mode links its own binaries, so that those of another mode are not used as its own; build/bin
# and build/lib have the last ones built, as hard links where the file system has them. A linker
# replaces its output, so a program that runs stays as it was.
place = [ $< -ef $@ ] || { mkdir -p $(@D); cmp -s $< $@ || { { ln -f $< $@.new 2>/dev/null || cp $< $@.new; } && mv -f $@.new $@; }; }
$(OBJ)/bin/%: $(OBJ)/tools/%.o $(LIB)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) -o $@
$(EXPERIMENTS_LINK): | experiments check-build
	@mkdir -p $(@D); ln -sfnr experiments $@
$(BUILD)/share/lockstep/%: share/% | check-build
	@mkdir -p $(@D); cp $< $@.new && mv -f $@.new $@
# One shell finds out which programs are another mode's, instead of one for each program.
MISPLACED := $(shell for tool in $(TOOLS); do [ $(OBJ)/bin/$$tool -ef $(BUILD)/bin/$$tool ] || echo $(BUILD)/bin/$$tool; done)
$(MISPLACED): FORCE
$(BUILD)/bin/%: $(OBJ)/bin/%
	@$(place)
