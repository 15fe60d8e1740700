# Everything that one does with a clone of vidpipe. Each target does the set-up that it needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help demo test lint format bench soak setup setup-run setup-dev clean

# More words for the program that a target runs: make demo ARGS="--streams 2", make test ARGS="-k lanes",
# or in half the time, two files of tests at once: make test ARGS="-n 2 --dist loadfile"
ARGS ?=

# Real models and clips for the tests marked `realdata`; what the caller sets wins.
FIND_TEST_DATA = if [ -z "$${VIDPIPE_TEST_DATA:-}" ] && [ -d ../shared/data ]; then \
	VIDPIPE_TEST_DATA="$$(cd ../shared/data && pwd)"; export VIDPIPE_TEST_DATA; fi

help: ## Show this
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

demo: setup-run ## Run four streams of a real clip, with annotated video under out/demo/
	@.venv/bin/vidpipe demo $(ARGS)

test: setup lint ## Lint, then run the whole suite but what is slow
	@$(FIND_TEST_DATA); .venv/bin/python -m pytest -m "not slow" $(ARGS)

lint: setup-dev ## Check style, format and types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

format: setup-dev ## Put the code into shape
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

bench: setup ## Measure: each script of tests/bench, in one process after another
	@$(FIND_TEST_DATA); shopt -s nullglob; scripts=(tests/bench/bench_*.py); \
	if [ $${#scripts[@]} -eq 0 ]; then echo "no benchmark in tests/bench" >&2; exit 1; fi; \
	for script in "$${scripts[@]}"; do echo "== $$script"; name="$$(basename "$$script" .py)"; .venv/bin/python -m "tests.bench.$$name" $(ARGS); done

soak: setup ## Run the slow tests, and keep their report under reports/
	@$(FIND_TEST_DATA); mkdir -p reports; report="reports/soak-$$(date -u +%Y%m%dT%H%M%SZ)"; \
	{ uname -srm; nproc; .venv/bin/python -m pip freeze --exclude-editable; } > "$$report.machine.txt"; \
	echo "report: $$report.txt"; \
	.venv/bin/python -m pytest -m slow --durations=0 --junitxml="$$report.xml" $(ARGS) 2>&1 | tee "$$report.txt"

setup: ## All set-up for working on vidpipe: system packages, .venv (demo and test do it themselves)
	@sh scripts/setup.sh test

setup-run:
	@sh scripts/setup.sh run

setup-dev:
	@sh scripts/setup.sh dev

clean: ## Remove .venv and caches; what vidpipe wrote stays
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	@find vidpipe tests samples scripts -name __pycache__ -type d -prune -exec rm -rf {} +
