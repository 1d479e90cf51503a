# calm-gui: set-up, window, tests, checks. `make` lists the targets.
#
# Each target does all the set-up it needs and is quick where that was done before. Variables, all optional:
#   ARGS="dog.jpg --device cpu"   for `make app`: what calm-gui is started with
#   PYTHON=python3.12             the Python (3.11 or newer) that the environment is made of
#   VENV=.venv                    where the environment lies
#   TORCH_INDEX=URL               package index for torch and torchvision, for example the one of their CPU builds
#   CALM_SHARED=../shared         folder of reference values and data sets; tests that need it are left out where it's missing

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
ARGS ?=
CALM_SHARED ?= ../shared

BIN := $(VENV)/bin
SITE := resources/calm_resources/site
export CALM_SHARED := $(abspath $(CALM_SHARED))

# Marks of the tests to run; without the data folder those that need it can't.
WITHOUT_DATA := $(if $(wildcard $(CALM_SHARED)/reference),, and not shared)
PYTEST := OMP_NUM_THREADS=1 QT_QPA_PLATFORM=offscreen $(BIN)/pytest -n auto
# Widgets once more on a real X server, which draws, focuses and scales otherwise than Qt's offscreen platform.
PYTEST_X := OMP_NUM_THREADS=1 QT_QPA_PLATFORM=xcb tools/with-display.sh $(BIN)/pytest tests/e2e

.PHONY: help app test test-slow test-all lint bench figures results docs docs-serve dist release-check bundle clean \
	libraries test-libraries data-note

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-13s %s\n", $$1, $$2}'

app: libraries $(VENV)/.app  ## set everything up and open the window (ARGS="PICTURE... --checkpoint FILE")
	$(BIN)/calm-gui $(ARGS)

test: test-libraries $(VENV)/.dev data-note  ## run all tests but the slow ones, then those of the window on an X server
	$(PYTEST) -m "not slow$(WITHOUT_DATA)"
	$(PYTEST_X) -m "not slow$(WITHOUT_DATA)"

test-slow: test-libraries $(VENV)/.dev data-note  ## run the slow tests
	$(PYTEST) -m "slow$(WITHOUT_DATA)"

test-all: test test-slow  ## run every test

lint: $(VENV)/.dev  ## check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: libraries $(VENV)/.bench  ## measure speed and memory beside other libraries
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m benchmarks $(ARGS)

figures: libraries $(VENV)/.app  ## draw the pictures of the documentation again
	QT_QPA_PLATFORM=offscreen $(BIN)/python tools/figures.py $(ARGS)

results: $(VENV)/.dev data-note  ## evaluate the bundled checkpoints and write docs/results.md (up to an hour)
	$(BIN)/python -m calm_training.evaluate.documented_results --data $(CALM_SHARED)/data --out docs/results.md $(ARGS)

docs: libraries $(VENV)/.docs  ## build the documentation site into build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-serve: libraries $(VENV)/.docs  ## show the documentation site in a browser
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

dist: libraries $(VENV)/.dev $(VENV)/.docs  ## build sdist and wheel into dist, with the documentation site inside
	rm -rf dist $(SITE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir $(SITE)
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python tools/check_dist.py dist

release-check: dist  ## try sdist and wheel in bare Debian systems, the lower bounds, other Pythons (hours; as root)
	tools/release-check.sh $(ARGS)

bundle: libraries  ## pack a program that needs no Python into build/bundle (TORCH_INDEX=URL of torch's CPU builds)
	PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" tools/bundle.sh

clean:  ## remove the environment and all caches
	rm -rf $(VENV) build dist $(SITE) *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up ---

libraries:
	@tools/system-libraries.sh app

test-libraries:
	@tools/system-libraries.sh test

data-note:
	@$(if $(WITHOUT_DATA),echo "No data folder at $(CALM_SHARED): tests that need it are left out (set CALM_SHARED).",:)

# The script leaves a stamp inside the environment, so that it goes when the environment goes. Libraries come first
# because one of them is Python's venv module.
$(VENV)/.app $(VENV)/.dev $(VENV)/.bench $(VENV)/.docs: pyproject.toml tools/environment.sh | libraries
	PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" tools/environment.sh $(VENV) $(patsubst .%,%,$(@F))
