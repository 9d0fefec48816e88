# SPDX-License-Identifier: MIT
# Installs the tools with their manual pages and completions, and removes build outputs and artifacts.
#
# All tools are in LIBEXECDIR/lockstep, where they find each other. BINDIR has links to `lockstep`,
# which runs every tool, and to the tools of OWN_NAMES, those with such a row in the table of tools:
# the other names are too common for a shared folder. The links `lib` and `share` next to the tools point to LIBDIR/lockstep and DATADIR
# (lib/base/plugin.h). All links are relative, so that the tree can be moved.

BINDIR     ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec
LIBDIR     ?= $(PREFIX)/lib
DATADIR    ?= $(PREFIX)/share/lockstep
DOCDIR     ?= $(PREFIX)/share/doc/lockstep
MANDIR     ?= $(PREFIX)/share/man/man1
# Shells look for completions in these folders.
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d

OWN_NAMES   = $(call once,OWN_NAMES,sed -n 's/^ *{"\([a-z-]*\)".*OWN_NAME.*/\1/p' lib/base/tool_list.c)
OTHERS      = $(filter-out lockstep $(OWN_NAMES),$(TOOLS))
MANUALS     = $(BUILD)/man/lockstep.1 $(patsubst %,$(BUILD)/man/lockstep-%.1,$(OWN_NAMES) $(OTHERS))
FISH        = lockstep.fish $(OWN_NAMES:%=%.fish)

.PHONY: man completions install uninstall
# Generated from --help of the tools, so they need no maintenance.
man: all ## Make the manual pages of all tools: build/man
	@rm -rf '$(BUILD)/man' && mkdir -p '$(BUILD)/man'
	@page() { scripts/make-man '$(BUILD)/bin' "$$@"; }; set -e; \
	page lockstep >'$(BUILD)/man/lockstep.1'; \
	for tool in $(OWN_NAMES); do page "$$tool" own >'$(BUILD)/man'/lockstep-"$$tool".1; done; \
	for tool in $(OTHERS); do page "$$tool" >'$(BUILD)/man'/lockstep-"$$tool".1; done
# Generated from the same tables.
completions: all ## Make the completions of bash, zsh and fish: build/completions
	@rm -rf '$(BUILD)/completions' && mkdir -p '$(BUILD)/completions/bash' '$(BUILD)/completions/zsh' '$(BUILD)/completions/fish'
	@make_completions() { scripts/make-completions '$(BUILD)/bin' "$$@"; }; set -e; \
	make_completions bash $(OWN_NAMES) >'$(BUILD)/completions/bash/lockstep'; \
	make_completions zsh $(OWN_NAMES) >'$(BUILD)/completions/zsh/_lockstep'; \
	for tool in lockstep $(OWN_NAMES); do make_completions fish "$$tool" >'$(BUILD)/completions/fish'/"$$tool".fish; done

TOOLS_IN   = $(DESTDIR)$(LIBEXECDIR)/lockstep
# $(call link,FILE,LINK)
link       = ln -sfrnT $(1) $(2)
install: all man completions ## Install tools, manual pages, completions and experiments under PREFIX (/usr/local); DESTDIR for packagers
	install -d '$(DESTDIR)$(BINDIR)' '$(TOOLS_IN)' '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)' '$(DESTDIR)$(MANDIR)' \
	    '$(DESTDIR)$(BASHDIR)' '$(DESTDIR)$(ZSHDIR)' '$(DESTDIR)$(FISHDIR)'
	install -m 755 $(BINARIES) '$(TOOLS_IN)'
	for name in lockstep $(OWN_NAMES); do $(call link,'$(TOOLS_IN)'/"$$name",'$(DESTDIR)$(BINDIR)'/"$$name") || exit; done
	for file in $(SHARED:$(BUILD)/share/lockstep/%=%); do \
	    install -D -m 644 '$(BUILD)/share/lockstep'/"$$file" '$(DESTDIR)$(DATADIR)'/"$$file" || exit; done
	$(call link,'$(DESTDIR)$(DATADIR)','$(TOOLS_IN)/share')
	install -m 644 README.md LICENSE docs/data.md docs/formats.md docs/differences.md '$(DESTDIR)$(DOCDIR)'
	for so in $(CUDA_SO) $(MPI_SO); do \
	    [ ! -e "$$so" ] || { install -D -m 755 -t '$(DESTDIR)$(LIBDIR)/lockstep' "$$so" && \
	        $(call link,'$(DESTDIR)$(LIBDIR)/lockstep','$(TOOLS_IN)/lib'); } || exit; done
	scripts/shipped-experiments | while IFS= read -r file; do \
	    install -D -m 644 "$$file" '$(DESTDIR)$(DATADIR)'/"$$file" || exit; done
	install -m 644 $(MANUALS) '$(DESTDIR)$(MANDIR)'
	for name in $(OWN_NAMES); do ln -sf lockstep-"$$name".1 '$(DESTDIR)$(MANDIR)'/"$$name".1 || exit; done
	install -m 644 '$(BUILD)/completions/bash/lockstep' '$(DESTDIR)$(BASHDIR)'
	for name in $(OWN_NAMES); do ln -sf lockstep '$(DESTDIR)$(BASHDIR)'/"$$name" || exit; done
	install -m 644 '$(BUILD)/completions/zsh/_lockstep' '$(DESTDIR)$(ZSHDIR)'
	install -m 644 $(FISH:%='$(BUILD)/completions/fish/%') '$(DESTDIR)$(FISHDIR)'
uninstall: ## Remove the installed files
	rm -f $(patsubst %,'$(DESTDIR)$(BINDIR)/%',lockstep $(OWN_NAMES)) \
	    $(patsubst %,'$(DESTDIR)$(MANDIR)/%',$(notdir $(MANUALS)) $(OWN_NAMES:%=%.1)) \
	    $(patsubst %,'$(DESTDIR)$(BASHDIR)/%',lockstep $(OWN_NAMES)) \
	    '$(DESTDIR)$(ZSHDIR)/_lockstep' $(FISH:%='$(DESTDIR)$(FISHDIR)/%')
	rm -rf '$(TOOLS_IN)' '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)' '$(DESTDIR)$(LIBDIR)/lockstep'

.PHONY: clean distclean
clean: ## Remove the build folder
	rm -rf '$(BUILD)'
distclean: ## Remove all outputs and fetched data, but not the trained runs
	@scripts/remove-artifacts $(call word_of,$(ARTIFACTS))
	rm -rf '$(BUILD)' .venv compile_commands.json
