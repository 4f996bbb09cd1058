# Everything runs in a virtual environment that is made when it is missing and
# brought up to date when pyproject.toml changes. Try another Python beside it with
#   make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
ARGS ?=

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
USABLE := $(VENV)/.usable
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run figures test check format bench evidence docs clean release-check fuzz soak lowest audit

help: ## Say what the targets are
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile
	@echo 'Options: PYTHON=python3.13  VENV=.venv-3.13  WORKERS=2  ARGS="-k name" (run, figures, test)'

# The version is part of the installed metadata, hence the second prerequisite.
$(USABLE): pyproject.toml src/cayleyklein/_version.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'cayleyklein needs Python 3.11 or newer, which "$(PYTHON)" is not: name one, as in make test PYTHON=python3.12.' >&2; \
	  exit 1; }
	@echo 'Installing cayleyklein and what it needs into $(VENV): a minute or two.'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli]"
	@touch $@

$(READY): $(USABLE)
	@echo 'Installing what developers need into $(VENV): a minute or two.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

run: $(USABLE) ## Compare the geometries on bundled data and write a report
	$(BIN)/cayleyklein compare $(ARGS)

figures: $(USABLE) ## Draw the figures of the paper again, into figures/
	$(BIN)/cayleyklein figures $(ARGS)

# One BLAS thread per worker: the workers already fill the cores. They keep the bytecode, also where
# the environment says not to: compiling the tests takes as long as importing everything else.
test: $(READY) ## Run the tests and the examples in docstrings
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

check: $(READY) ## Lint, format check, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/house.py

format: $(READY) ## Rewrite the code in the house format
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(READY) ## Run every benchmark in turn
	@set -e; for bench in benchmarks/bench_*.py; do echo "== $$bench"; $(BIN)/python "$$bench"; done

evidence: $(READY) ## Take again the measurements that have changed, and check the documents (ARGS=--quick)
	$(BIN)/python benchmarks/evidence.py $(ARGS)

# A fresh environment each time: a warning in an unchanged page must not go unseen. One BLAS thread,
# since two processes draw the gallery.
docs: $(READY) ## Build the documentation into docs/_build/html
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -E -W --keep-going --quiet -d docs/_build/doctrees -b html docs docs/_build/html
	@echo 'Open docs/_build/html/index.html'

clean: ## Remove caches and built files, but not the virtual environment
	rm -rf build dist docs/_build docs/auto_examples docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

release-check: $(READY) ## Build the packages, check them, and try them where there is nothing else
	$(BIN)/python tests/release.py

# -- trust: what takes too long for every change -------------------------------------------

MINUTES ?= 10

fuzz: $(READY) ## Throw cases at every door that strangers reach, for MINUTES=10
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --minutes $(MINUTES)

soak: $(READY) ## Fit 10,000 times and predict a million rows in one process
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/soak.py

# The lowest releases that pyproject.toml allows, beside today's tools of testing, and today's of
# what the lowest ones depend on: old Matplotlib is told by new pyparsing that it will have to change.
lowest: ## Run the tests with the oldest releases of what we depend on
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  $$($(PYTHON) tests/lowest.py) pytest pytest-xdist hypothesis mpmath numpydoc polars==1.20 faiss-cpu
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n $(WORKERS) \
	  -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning \
	  --ignore tests/app/test_in_browser.py --ignore tests/learning/test_oracles.py $(ARGS)

audit: $(READY) ## Look for known weaknesses in what is installed, where the registry tells
	$(BIN)/python -m pip_audit --local --skip-editable
