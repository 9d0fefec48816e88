# Installs the tools and their manual pages, and removes build outputs and artifacts.

BINDIR    ?= $(PREFIX)/bin
LIBDIR    ?= $(PREFIX)/lib
DATADIR   ?= $(PREFIX)/share/lockstep
DOCDIR    ?= $(PREFIX)/share/doc/lockstep
MANDIR    ?= $(PREFIX)/share/man/man1
MANUALS   := $(TOOLS:%=$(BUILD)/man/%.1)
.PHONY: man install uninstall
# Generated from --help of the tools, so they need no maintenance.
man: all ## Make the manual pages of all tools: build/man
	@mkdir -p '$(BUILD)/man'
	@for tool in $(TOOLS); do scripts/make-man "$(BUILD)/bin/$$tool" >"$(BUILD)/man/$$tool.1" || exit; done
install: all man ## Install tools, manual pages and experiments under PREFIX (/usr/local); DESTDIR for packagers
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)' '$(DESTDIR)$(MANDIR)'
	install -m 755 $(BINARIES) '$(DESTDIR)$(BINDIR)'
	install -m 644 $(MANUALS) '$(DESTDIR)$(MANDIR)'
	install -m 644 $(SHARED) '$(DESTDIR)$(DATADIR)'
	install -m 644 README.md LICENSE docs/data.md docs/formats.md docs/differences.md '$(DESTDIR)$(DOCDIR)'
	for so in $(CUDA_SO) $(MPI_SO); do [ ! -e "$$so" ] || install -D -m 755 -t '$(DESTDIR)$(LIBDIR)/lockstep' "$$so"; done
	cd experiments && find . -name '*.yaml' -exec install -D -m 644 {} '$(DESTDIR)$(abspath $(DATADIR))/experiments/'{} \;
uninstall: ## Remove the installed files
	rm -f $(TOOLS:%='$(DESTDIR)$(BINDIR)/%')
	rm -f $(TOOLS:%='$(DESTDIR)$(MANDIR)/%.1')
	rm -rf '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)' '$(DESTDIR)$(LIBDIR)/lockstep'

.PHONY: clean distclean
clean: ## Remove the build folder
	rm -rf '$(BUILD)'
distclean: ## Remove all outputs and fetched data, but not the trained runs
	@scripts/remove-artifacts $(call word_of,$(ARTIFACTS))
	rm -rf '$(BUILD)' compile_commands.json
