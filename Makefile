# Everything runs in a virtual environment of its own, made on first use.
#   make study   the main job on an embedded data set
#   make test    the tests
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
export SCIPY_ARRAY_API := 1

.PHONY: study test test-all lint format bench gallery warm clean

study: $(VENV)/.study
	$(BIN)/fivefold study --overwrite

test: $(VENV)/.dev warm
	$(BIN)/python -m pytest -q -n 2

test-all: $(VENV)/.dev warm
	$(BIN)/python -m pytest -q -n 2 -m "slow or not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench warm
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.small

gallery: $(VENV)/.dev
	$(BIN)/python examples/make_gallery.py

warm: $(VENV)/.study
	@$(BIN)/fivefold warm

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Wheels only: no compiler is asked for.
$(VENV)/.study: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --only-binary :all: hatchling editables
	$(BIN)/python -m pip install -q --no-build-isolation -e ".[study]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --only-binary :all: hatchling editables
	$(BIN)/python -m pip install -q --no-build-isolation -e ".[dev]"
	@touch $@ $(VENV)/.study

# LIBSVM comes as source: its wheel is built here.
$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --only-binary :all: hatchling editables setuptools wheel
	$(BIN)/python -m pip install -q --no-build-isolation -e ".[bench,study]"
	@touch $@
