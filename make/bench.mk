# Measuring speed and memory, and what only a GPU can show.

# ROWS="lenet vgg", ROUNDS=5, QUICK=1, WRITE_DOCS=1: tests/bench/run says what they do.
BENCH_ENVIRONMENT = BIN='$(abspath $(BUILD)/bin)' ARTIFACTS=$(call word_of,$(ARTIFACTS)) PYTHON='$(PYTHON)' CC='$(CC)'
.PHONY: bench bench-growth calibrate bench-cuda bench-docs check-gpu
bench: all ## Measure speed and memory, beside PyTorch and the processor's limits; some: ROWS="lenet vgg"
	@$(BENCH_ENVIRONMENT) tests/bench/run
bench-growth: all ## Measure how the cost grows with batch, threads, ranks, width and images
	@$(BENCH_ENVIRONMENT) tests/bench/growth
calibrate: all $(VERDICT_COUNTS) ## Count what verdicts on time say of equals on this machine, which must do nothing else: 25 minutes
	@$(BENCH_ENVIRONMENT) COUNTS='$(abspath $(VERDICT_COUNTS))' tests/bench/calibrate
bench-cuda: all $(CUDA_PROFILE) ## Measure the CUDA backend on a GPU: each operation against its limits, epochs beside PyTorch
	@$(BENCH_ENVIRONMENT) CUDA_PROFILE='$(abspath $(CUDA_PROFILE))' tests/bench/cuda
# It builds for the GPU that it finds, and by itself: its parts go on when one fails.
check-gpu: ## Do all that only a GPU can show: tests, same bits, compute-sanitizer, bench-cuda
	@BUILD='$(BUILD)' ARTIFACTS=$(call word_of,$(ARTIFACTS)) CC='$(CC)' $(if $(filter file,$(origin PYTHON)),,PYTHON='$(PYTHON)') tests/gpu/session
bench-docs: ## Put the tables of the last measurements into docs/performance.md
	@$(BENCH_ENVIRONMENT) tests/bench/write-docs
