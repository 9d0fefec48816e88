# SPDX-License-Identifier: MIT
# Packages: a source archive, a Python wheel and a Debian package. docs/installing.md explains their use.
#
# The wheel and the Debian package contain the files of `make install`, without debug information. They include the CUDA
# backend and MPI if these were built. CUDA=0 and MPI=0 leave them out.

# DIST: the folder of the packages. AUDITWHEEL: puts the libraries into the wheel, which otherwise needs the system's.
DIST       ?= $(BUILD)/dist
AUDITWHEEL ?= $(firstword $(wildcard $(abspath $(BUILD)/packaging/bin/auditwheel)) $(shell command -v auditwheel))
STAGE      := $(BUILD)/stage
MULTIARCH   = $(shell $(CC) -print-multiarch 2>/dev/null)

.PHONY: dist wheel deb
dist: ## Pack the sources of the current commit: build/dist/lockstep-VERSION.tar.xz
	@scripts/make-dist '$(DIST)'
# Installs the files that the prerequisites have just built into an empty folder, with another PREFIX and LIBDIR.
install_stage = $(MAKE) --no-print-directory -s $(INSTALLED:%=-o %) install \
                DESTDIR='$(STAGE)/$@' PREFIX='$(1)' LIBDIR='$(2)'
INSTALLED    := all man completions
wheel: $(INSTALLED) ## Make a Python wheel with the tools and a reader for NumPy: build/dist/lockstep-VERSION-….whl
	@rm -rf '$(STAGE)/$@'
	+@$(call install_stage,/lockstep,/lockstep/lib)
	@scripts/strip-binaries '$(STAGE)/$@'
	@AUDITWHEEL='$(AUDITWHEEL)' scripts/make-wheel '$(PYTHON)' '$(STAGE)/$@/lockstep' '$(DIST)'
deb: $(INSTALLED) ## Make a Debian package: build/dist/lockstep_VERSION_ARCHITECTURE.deb
	@rm -rf '$(STAGE)/$@'
	+@$(call install_stage,/usr,/usr/lib/$(MULTIARCH))
	@scripts/make-deb '$(STAGE)/$@' '$(DIST)'
