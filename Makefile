# Everything runs in .venv, which the targets make themselves: only Python ≥ 3.11, pip and make are needed.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
RUN := $(VENV)/bin/python -m

.PHONY: demo test lint bench docs clean

demo: $(VENV)/.core  ## all regions of a bundled network, with a picture
	$(RUN) tropicell.demo --out demo-output

test: lint $(VENV)/.dev  ## lint, types, unit and property tests, examples in the docs
	$(RUN) pytest -q -n 2

lint: $(VENV)/.dev
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

bench: $(VENV)/.dev  ## speed of the oracle; writes benchmarks/RESULTS.md
	$(RUN) benchmarks.oracle

docs: $(VENV)/.dev  ## pages that are made from the code
	$(RUN) tropicell.importers.operators_page docs/operators.md

clean:
	rm -rf $(VENV) demo-output build dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e ".[plot]"
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e ".[torch,onnx,sklearn,plot,dev]"
	touch $@ $(VENV)/.core
