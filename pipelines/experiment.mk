# SPDX-License-Identifier: MIT
# From an experiment file to its report. The tool `pipeline` does the work; `pipeline --help`
# explains its settings.
#
#     make experiment EXP=ddp4 [SEED=1] [DEVICE=cpu] [SET="epochs=1; optimizer.lr=0.01"] ...
#     make experiment EXP=workers                a study: every variant, and one report
#     make compare EXPS="single dp4 ddp4"        the first one is the baseline
#     make compare RUNS="KEY KEY"                kept runs, by their keys
#     make explain A=single B=ddp4 [EPOCHS=10]   from A to B, one factor at a time
#     make reproduce [QUICK=1] [LIST=FILE]       every row of the published reports
#     make submission EXPS="single ddp4"         like compare, packed as one archive
#     make verify SUBMISSION=FILE.tar.gz         checks a submission
#     make grade SUBMISSIONS=FOLDER              checks many
#     make runs                                  lists the kept runs
#     make clean-runs RUNS="KEY KEY" [YES=1]     removes these runs, after a question
#     make clean-runs EXPS="ddp4" OLDER=30d      those of an experiment or study, by age
#
# With BIN=FOLDER on the command line, the tools in that folder are used and nothing is built.
ifeq ($(origin BIN),command line)
TOOLS_BUILT :=
else
BIN         := $(BUILD)/bin
TOOLS_BUILT := all
endif
# $(call word_of,TEXT): TEXT as one word for the shell, whatever characters it has.
word_of = '$(subst ','\'',$(1))'

given_words = $(foreach v,$(GIVEN),$(call word_of,$(v)=$(value $(v))))
HAS_PIPELINE = $(if $(TOOLS_BUILT),,[ -x $(call word_of,$(BIN)/pipeline) ] || { \
    echo $(call word_of,make $@: BIN='$(BIN)' has no program 'pipeline': leave BIN out to build the tools) >&2; exit 2; };)
# The pipeline ends when this make ends, even if make is killed: make is the parent of the shell
# that the pipeline replaces.
RUN_PIPELINE = $(HAS_PIPELINE) exec $(call word_of,$(BIN)/pipeline) --parent="$$PPID"
PIPELINE = $(RUN_PIPELINE) --by-make $@ $(given_words)

.PHONY: $(EXPERIMENT_GOALS)
# quickstart trains a small model for seconds, so it does not wait for nvcc; it uses an existing CUDA
# backend.
quickstart: $(if $(TOOLS_BUILT),$(BINARIES) $(SHARED)) ## Run the whole pipeline on drawn images: no network, no data set, seconds
	@$(if $(filter EXP,$(GIVEN)),$(error make quickstart accepts no EXP: make experiment EXP=NAME runs another experiment))
	$(built)
	@$(RUN_PIPELINE) --by-make experiment EXP=quickstart $(given_words)
experiment: $(TOOLS_BUILT) ## Run one experiment from the archive to the report: EXP=ddp4
	@$(PIPELINE)
compare: $(TOOLS_BUILT) ## Run several experiments and report them together: EXPS="single ddp4"; kept runs: RUNS="KEY KEY"
	@$(PIPELINE)
explain: $(TOOLS_BUILT) ## Find the factor that makes the difference: A=single B=ddp4
	@$(PIPELINE)
reproduce: $(TOOLS_BUILT) ## Run every row of five published reports, and report them side by side; shortened: QUICK=1
	@$(PIPELINE)
submission: $(TOOLS_BUILT) ## Pack a submission: report, commands, manifests, figures, models: EXPS="single ddp4"
	@$(PIPELINE)
verify: $(TOOLS_BUILT) ## Check a submission: files, figures, models, parts of the trainings: SUBMISSION=FILE.tar.gz
	@$(PIPELINE)
grade: $(TOOLS_BUILT) ## Verify many submissions, in one table: SUBMISSIONS=FOLDER
	@$(PIPELINE)
runs: $(TOOLS_BUILT) ## List kept runs
	@$(PIPELINE)
clean-runs: $(TOOLS_BUILT) ## Remove kept runs, after a question: RUNS="KEY KEY", EXPS=NAME, OLDER=30d
	@$(PIPELINE)
.PHONY: reproduce-docs
reproduce-docs: ## Put the tables of the last `make reproduce` into docs/results.md
	@ARTIFACTS=$(call word_of,$(ARTIFACTS)) pipelines/write-results.sh
