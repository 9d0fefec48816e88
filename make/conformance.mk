# SPDX-License-Identifier: MIT
# Does the same experiment give the same bits? The suite of tests/conformance, against Lockstep and PyTorch.

# Some subjects only, or one of yours: CONFORMANCE_SUBJECTS="lockstep:train-ddp ./my-adapter". Options of the suite
# (tests/conformance/run --help): CONFORMANCE_FLAGS="--axes 'threads ranks'".
CONFORMANCE_SUBJECTS ?=
CONFORMANCE_FLAGS    ?=
# The PyTorch of `make deps-torch-pip`, where it is there.
CONFORMANCE_PYTHON    = $(or $(wildcard $(abspath $(TORCH_VENV))/bin/python),$(PYTHON))

.PHONY: conformance conformance-docs
conformance: all ## Ask whether the same experiment gives the same bits, of Lockstep and of PyTorch: 15 minutes
	@BIN='$(abspath $(BUILD)/bin)' PYTHON='$(CONFORMANCE_PYTHON)' tests/conformance/run --only-report pytorch \
	    --out $(call word_of,$(ARTIFACTS)/conformance) $(CONFORMANCE_FLAGS) $(CONFORMANCE_SUBJECTS)
conformance-docs: ## Put the table of the last `make conformance` into docs/conformance.md
	@ARTIFACTS=$(call word_of,$(ARTIFACTS)) tests/conformance/write-docs
