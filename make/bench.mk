# SPDX-License-Identifier: MIT
# Measurements of speed and memory, and checks that need a GPU.

# ROWS="lenet vgg", ROUNDS=5, QUICK=1, WRITE_DOCS=1: tests/bench/run explains them.
BENCH_ENVIRONMENT = BIN='$(abspath $(BUILD)/bin)' ARTIFACTS=$(call word_of,$(ARTIFACTS)) PYTHON='$(PYTHON)' TORCH_PYTHON='$(wildcard $(abspath $(TORCH_VENV))/bin/python)' CC='$(CC)'
.PHONY: bench bench-growth bench-load bench-hosts calibrate bench-cuda bench-docs gpu-docs check-gpu
bench: all $(CONVOLUTION) ## Measure speed and memory, next to PyTorch and the processor's limits; only some: ROWS="lenet vgg"
	@$(BENCH_ENVIRONMENT) CONVOLUTION='$(abspath $(CONVOLUTION))' tests/bench/run
bench-growth: all ## Measure how the cost grows with batch, threads, ranks, width and images
	@$(BENCH_ENVIRONMENT) tests/bench/growth
bench-load: all ## Measure trainings beside other programs, with the number of threads that follows and with fixed ones
	@$(BENCH_ENVIRONMENT) tests/bench/load
bench-hosts: all ## Measure the all-reduce between two hosts, and predict from it (docs/hosts.md): HOSTS="node1,node2"
	@$(BENCH_ENVIRONMENT) tests/bench/hosts
calibrate: all $(VERDICT_COUNTS) $(SLOW_STEPS) ## Check the verdicts on time by real runs, idle and with neighbours: an hour; MACHINE=idle
	@$(BENCH_ENVIRONMENT) COUNTS='$(abspath $(VERDICT_COUNTS))' SLOW_STEPS='$(abspath $(SLOW_STEPS))' tests/bench/calibrate
bench-cuda: all $(CUDA_PROFILE) ## Measure the CUDA backend on a GPU: each operation against its limits, epochs next to PyTorch
	@$(BENCH_ENVIRONMENT) CUDA_PROFILE='$(abspath $(CUDA_PROFILE))' tests/bench/cuda
# It does its own build, for the GPU that it finds; if one part fails, the others still run.
check-gpu: ## Run everything that needs a GPU: tests, same bits, compute-sanitizer, bench-cuda
	@BUILD='$(BUILD)' ARTIFACTS=$(call word_of,$(ARTIFACTS)) CC='$(CC)' $(if $(filter file,$(origin PYTHON)),,PYTHON='$(PYTHON)') tests/gpu/session
gpu-docs: ## Put the results of check-gpu into docs/gpus.md and docs/performance.md: RESULTS=FILE
	@tests/bench/cuda-docs '$(or $(RESULTS),$(ARTIFACTS)/gpu/results.txt)'
bench-docs: ## Put the tables of the last measurements into docs/performance.md
	@$(BENCH_ENVIRONMENT) tests/bench/write-docs
