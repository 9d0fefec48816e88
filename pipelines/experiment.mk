# From an experiment file to its report. pipelines/experiment.sh does the work and says what it takes.
#
#     make experiment EXP=ddp4 [SEED=1] [DEVICE=cpu] [THREADS=2] [SET="epochs=1; optimizer.lr=0.01"]
#                     [CIFAR10_FROM=ARCHIVE] [MNIST_FROM=FOLDER] [REPORT_FLAGS="--lang zh"] [RESUME=1]
#     make experiment EXP=workers                a study: every variant, and one report
#     make compare EXPS="single dp4 ddp4"        the first one is the baseline
#     make explain A=single B=ddp4 [EPOCHS=10]   from A to B, one factor at a time
#     make reproduce [QUICK=1] [LIST=FILE]       every row of the published reports
#     make submission EXPS="single ddp4"         compare, as one archive to hand in
#
# With BIN=FOLDER on the command line the tools of that folder are used and nothing is built.
ifeq ($(origin BIN),command line)
TOOLS_BUILT :=
else
BIN         := $(BUILD)/bin
TOOLS_BUILT := all
endif
# $(call word_of,TEXT): one word for the shell, whatever is in it.
word_of = '$(subst ','\'',$(1))'
RUN_EXPERIMENT = BIN=$(call word_of,$(abspath $(BIN))) ARTIFACTS=$(call word_of,$(ARTIFACTS)) pipelines/experiment.sh

# It trains a small model for seconds, and so does not wait for nvcc; a CUDA backend that is there is used.
.PHONY: quickstart experiment compare explain reproduce submission
quickstart: $(if $(TOOLS_BUILT),$(BINARIES)) ## Run the whole line on drawn images: no network, no data set, seconds
	@$(RUN_EXPERIMENT) experiment quickstart
experiment: $(TOOLS_BUILT) ## Run one experiment from the archive to the report: EXP=ddp4
	@$(RUN_EXPERIMENT) experiment $(call word_of,$(EXP))
compare: $(TOOLS_BUILT) ## Run several experiments and report them together: EXPS="single ddp4"
	@$(RUN_EXPERIMENT) compare $(EXPS)
explain: $(TOOLS_BUILT) ## Say which factor made the difference: A=single B=ddp4
	@$(RUN_EXPERIMENT) explain $(call word_of,$(A)) $(call word_of,$(B))
reproduce: $(TOOLS_BUILT) ## Run every row of five published reports, and report them side by side; short: QUICK=1
	@$(RUN_EXPERIMENT) reproduce $(LIST)
.PHONY: reproduce-docs
reproduce-docs: ## Put the tables of the last `make reproduce` into docs/results.md
	@ARTIFACTS=$(call word_of,$(ARTIFACTS)) pipelines/write-results.sh
submission: $(TOOLS_BUILT) ## Pack what to hand in: report, commands, manifests, figures, models: EXPS="single ddp4"
	@$(RUN_EXPERIMENT) submission $(EXPS)
