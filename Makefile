# Targets do all their own set-up; the virtual environment is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format schemas bench chaos screenshots pictures clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Make the virtual environment and install everything

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

demo: $(READY) ## Show the whole story on this machine, in about two minutes
	@.ci/system-parts broker
	@$(BIN)/quintet demo

test: $(READY) ## Run all tests
	@.ci/system-parts
	$(BIN)/python -m pytest

check: $(READY) ## Lint, formatting and types (ruff, mypy strict)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schemas: $(READY) ## Write schemas/ anew from the models
	$(BIN)/quintet schemas

bench: $(READY) ## Measure: judges, detectors beside others' (river), the monitor, the demo's alarm; half an hour
	@.ci/system-parts broker
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	@for file in tests/benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

chaos: $(READY) ## Kill workers, broker and endpoint for ten minutes, and look for anything lost
	@.ci/system-parts
	$(BIN)/python tests/chaos.py

screenshots: $(READY) ## Take pictures of the console, wide and narrow, light and dark, and the README's
	@.ci/system-parts
	$(BIN)/python -m tests.screenshots build/screenshots

pictures: $(READY) ## Draw the picture of drift detection anew, from a simulated stream
	$(BIN)/python -m tests.pictures

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
