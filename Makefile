# Everything happens in .venv; with git, make and Python 3.11 or newer nothing else is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

.PHONY: demo test test-slow test-all torture fuzz check docs format experiments bench bench-netflix clean
.PHONY: help package test-lowest bench-guard bench-guard-reference

demo: $(INSTALLED)  ## The main job on generated users: recveil alone is installed for it
	$(BIN)/recveil demo --force

# The fast tier leaves out the folders `slow`, golden digests, Spark, kills and the browser, and runs every fourth case
# of a test that has more than four, others each day. The slow tier is all that the fast one leaves out.
ROTATION := $(shell date +%j | sed 's/^0*//')
# Two workers share the cores: threads of linear algebra, which wait in circles, would only cost time.
# What each of them would compile is compiled before, and programs that tests start find it, too.
PYTEST := $(BIN)/pytest -n 2 --dist worksteal
TIER = $(PYTEST) --rotation $(ROTATION) --ignore=tests/form
test test-slow: export PYTHONDONTWRITEBYTECODE =
test test-slow: export OPENBLAS_NUM_THREADS = 1
test: $(READY)  ## The fast tests of behaviour, doctests included
	@echo "About 7 minutes on two cores"
	$(BIN)/recveil precompile
	$(TIER) --tier fast

test-slow: $(READY)  ## The other tests of behaviour
	@echo "About 25 minutes on two cores"
	$(BIN)/recveil precompile
	$(TIER) --tier slow

test-all: test test-slow  ## All tests of behaviour

torture: $(READY)  ## Kills, full disks, little memory and more, and promises with twenty times the runs; LONG=1: more
	$(BIN)/python -m torture $(if $(LONG),--long) $(if $(SEED),--seed $(SEED)) $(if $(WRITE),--write $(WRITE))
	RECVEIL_TORTURE=1 $(BIN)/pytest -n 2 --dist worksteal tests/methods/synthetic tests/spark/test_failing.py \
		$(if $(LONG),tests/methods/test_guarantees.py)

fuzz: $(READY)  ## Readers and verify against inputs that nobody thought of: [SECONDS=60] [TARGET=text]
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[fuzz]"
	$(BIN)/python fuzz/run.py --seconds $(or $(SECONDS),60) $(TARGET)

check: $(READY)  ## Format, lint, types, prose, and the form of code and docs
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/proselint check --config .proselintrc.json *.md docs src
	$(BIN)/pytest tests/form

docs: $(READY)  ## The site, in site/index.html: searchable, and nothing on it is loaded from the network
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --conf-dir website docs site
	@echo "Open site/index.html"

format: $(READY)  ## Put the code into shape
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

experiments: export OPENBLAS_NUM_THREADS = 1
experiments: $(READY)  ## The papers' tables and figures: DATA=path/to/ml-100k [ML1M=path/to/ml-1m] [ONLY="chang thesis"]
	@test -f "$(DATA)/u.data" || \
		{ echo "Give the folder of MovieLens 100K: make experiments DATA=path/to/ml-100k"; exit 2; }
	@echo "All of it takes about an hour of processor time, on two cores; more with ML1M"
	$(if $(ONLY),,-$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[bench]")
	$(BIN)/python experiments/reproduction.py "$(DATA)" $(if $(ML1M),--ml1m "$(ML1M)") $(if $(ONLY),--only $(ONLY))

bench: $(READY)  ## Every stage on a million invented ratings, beside its peers; minutes
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[bench]"
	$(BIN)/python benchmarks/pipeline.py
	$(BIN)/python benchmarks/factorization.py

bench-guard bench-guard-reference: export OPENBLAS_NUM_THREADS = 1
bench-guard: $(READY)  ## CPU seconds of six stages against the stored reference; fails above 1.3 times
	@echo "About 2 minutes"
	$(BIN)/python benchmarks/guard.py

bench-guard-reference: $(READY)  ## Store the figures of this kind of machine as that reference
	$(BIN)/python benchmarks/guard.py --renew

bench-netflix: $(READY)  ## The same up to the size of the Netflix Prize data: an hour, 20 GB of disk
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[bench]"
	$(BIN)/python benchmarks/pipeline.py --millions 1 10 100
	$(BIN)/python benchmarks/factorization.py --millions 1 10

package: $(READY)  ## Wheel and source archive into dist/, checked, and tried where nothing else is installed
	$(BIN)/python -m pip install --quiet build twine
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv --clear dist/.tried
	dist/.tried/bin/python -m pip install --quiet --constraint constraints.txt --only-binary :all: dist/*.whl
	cd dist && .tried/bin/recveil demo --force

test-lowest: $(READY)  ## Tests with the oldest versions that pyproject.toml allows: [TESTS="tests/io tests/clustering"]
	$(PYTHON) -m venv --clear .venv-lowest
	$(BIN)/python .ci/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/lowest.txt --editable ".[dev]"
	OPENBLAS_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/compiled \
		.venv-lowest/bin/pytest -n 2 --dist worksteal $(or $(TESTS),tests)

help:  ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

clean:  ## Remove what these made
	rm -rf $(VENV) .venv-lowest dist site recveil-demo recveil-demo.private recveil-demo-synthetic recveil-demo-synthetic.private

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "recveil needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 2; }
	@echo "Installing recveil and its dependencies into $(VENV): 0.8 GB"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(READY): $(INSTALLED)
	@echo "Installing what the tests need: Spark, databases, a browser driver; 1.5 GB more"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@
