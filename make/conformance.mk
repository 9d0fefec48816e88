# SPDX-License-Identifier: MIT
# The conformance suite, tests/conformance, on Lockstep and PyTorch: the same experiment must give the same bits.

# Only some subjects, or your own: CONFORMANCE_SUBJECTS="lockstep:train-ddp ./my-adapter". Options of the suite
# (tests/conformance/run --help): CONFORMANCE_FLAGS="--axes 'threads ranks'".
CONFORMANCE_SUBJECTS ?=
CONFORMANCE_FLAGS    ?=
# The Python of `make deps-torch-pip`, if it is installed.
CONFORMANCE_PYTHON    = $(or $(wildcard $(abspath $(TORCH_VENV))/bin/python),$(PYTHON))

.PHONY: conformance conformance-docs
conformance: all ## Check that the same experiment gives the same bits, in Lockstep and in PyTorch: 15 minutes
	@BIN='$(abspath $(BUILD)/bin)' PYTHON='$(CONFORMANCE_PYTHON)' tests/conformance/run --only-report pytorch \
	    --out $(call word_of,$(ARTIFACTS)/conformance) $(CONFORMANCE_FLAGS) $(CONFORMANCE_SUBJECTS)
conformance-docs: ## Put the table of the last `make conformance` into docs/conformance.md
	@ARTIFACTS=$(call word_of,$(ARTIFACTS)) tests/conformance/write-docs
