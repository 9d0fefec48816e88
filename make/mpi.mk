# SPDX-License-Identifier: MIT
# The MPI transport, between ranks on several hosts.
#
# It is built if MPICC is found, the compiler wrapper of the launcher's MPI. MPI=0: it is not built;
# MPI=1: it must be.
MPI        ?= auto
MPICC      ?= mpicc
MPI_FOUND  := $(if $(filter 0,$(MPI)),,$(shell command -v $(firstword $(MPICC))))

MPI_SO      := $(if $(MPI_FOUND),$(BUILD)/lib/lockstep-mpi.so)
all: $(MPI_SO)
ifeq ($(MPI)$(MPI_FOUND),1)
all: no-mpicc
endif

# MPICC is a wrapper; these variables make it call our compiler.
MPI_CC   = OMPI_CC='$(CC)' MPICH_CC='$(CC)' I_MPI_CC='$(CC)' $(MPICC)
MPI_BASE = $(OBJ)/pic/lib/base/error.o $(OBJ)/pic/lib/base/memory.o $(OBJ)/pic/lib/base/printable.o

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
