# Everything runs in .venv, which the targets make themselves: only Python ≥ 3.11, pip and make are needed.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
RUN := $(VENV)/bin/python -m

.PHONY: setup demo test tests lint bench bench-scale bench-gpu zoo fuzz docs web wheel clean

setup: $(VENV)/.docs  ## .venv with everything that the other targets need

demo: $(VENV)/.core  ## all regions of a bundled network, with a picture
	$(RUN) tropicell.cli.demo --out demo-output

test: lint tests  ## lint, types, unit and property tests, examples in the docs

tests: $(VENV)/.dev
	$(RUN) pytest -q -n 2 -r s --durations 15

lint: $(VENV)/.dev
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(VENV)/bin/lint-imports --no-cache
	@if [ -x web/node_modules/.bin/tsc ]; then npm --prefix web run --silent check; \
	else echo "TypeScript is not checked: make web installs what that takes (needs node and npm)"; fi

# The peers other than relucent are measured if EDGE_SUBDIVISION and SPLINECAM (folders of checkouts) and
# SPLINECAM_PYTHON (a Python with graph-tool and PyTorch) are set.
bench: $(VENV)/.dev $(VENV)-relucent/.done  ## side by side with the peers; writes benchmarks/RESULTS.md
	RELUCENT_PYTHON=$(VENV)-relucent/bin/python $(RUN) benchmarks.side_by_side
	$(RUN) benchmarks.growth
	$(RUN) benchmarks.predict
	$(RUN) benchmarks.certify
	$(RUN) benchmarks.depth
	$(RUN) benchmarks.answers
	$(RUN) benchmarks.meshes
	RELUCENT_PYTHON=$(VENV)-relucent/bin/python $(RUN) benchmarks.dual_graph
	RELUCENT_PYTHON=$(VENV)-relucent/bin/python $(RUN) benchmarks.complex
	$(RUN) benchmarks.wide
	RELUCENT_PYTHON=$(VENV)-relucent/bin/python $(RUN) benchmarks.near
	$(RUN) benchmarks.slices

bench-gpu: $(VENV)/.dev  ## needs an NVIDIA GPU and CuPy in .venv; writes benchmarks/GPU.md
	$(RUN) benchmarks.gpu --out benchmarks --cpu-seconds 12 --nets 8

bench-scale: $(VENV)/.dev  ## the long ones: threads, 100 million regions to the disk, Ray, kills
	$(RUN) benchmarks.scaling
	$(RUN) benchmarks.stream --regions 100000000
	$(RUN) benchmarks.ray_model
	$(RUN) benchmarks.kill_test

zoo: $(VENV)/.dev $(VENV)-relucent/.done  ## networks that break tools; writes docs/zoo.md
	RELUCENT_PYTHON=$(VENV)-relucent/bin/python $(RUN) benchmarks.zoo

fuzz: $(VENV)/.dev  ## a hundred thousand damaged and hostile files for every loader
	$(RUN) benchmarks.fuzz
	$(RUN) benchmarks.flipped_bits
	$(RUN) benchmarks.attack_certificates

docs: $(VENV)/.docs  ## the site, in build/site; runs the gallery; any warning is an error
	rm -rf docs/reference  # made anew: pages of names that are gone would stay
	$(RUN) tropicell.importers.operators_page docs/operators.md
	$(RUN) sphinx -W --keep-going -q -b html docs build/site

web: web/node_modules/.package-lock.json  ## the pages' scripts, from TypeScript; needs node and npm
	npm --prefix web run --silent check
	npm --prefix web run --silent build

wheel: $(VENV)/.dev  ## the wheel and the source archive, in dist; tried in an empty environment
	rm -rf dist build/smoke
	$(RUN) build --outdir dist
	$(PYTHON) -m venv build/smoke
	build/smoke/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/smoke && bin/tropicell --version && bin/python $(CURDIR)/tests/smoke.py

clean:
	rm -rf $(VENV) $(VENV)-relucent web/node_modules demo-output build dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e ".[plot]"
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e ".[all,dev]"
	$(PIP) --no-deps ppopt  # to test what is handed over to it; its solvers, one of them proprietary, are not needed for that
	touch $@ $(VENV)/.core

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) -e ".[docs]"
	touch $@

web/node_modules/.package-lock.json: web/package-lock.json
	npm --prefix web ci --silent --ignore-scripts
	touch $@

$(VENV)-relucent/.done: constraints.txt
	$(PYTHON) -m venv $(VENV)-relucent
	$(VENV)-relucent/bin/python -m pip install --quiet -c constraints.txt torch relucent
	touch $@
