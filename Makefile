# Every target builds .venv by itself; all that is needed is make and Python >= 3.11 (PYTHON=python3.12 chooses one).
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo dev chat test test-slow lint format check wheel bench lock clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY)  ## Build .venv from requirements.lock

$(READY): requirements.lock pyproject.toml setup.py
	@test -n "$(PYTHON)" || { echo "Discreet needs Python >= 3.11; none is on PATH. Name one: make PYTHON=/path/to/python"; exit 1; }
	@echo "== Building $(VENV) with $$($(PYTHON) --version) (about a minute, once)"
	@$(PYTHON) -m venv --clear $(VENV) || { echo "This Python has no venv module (Debian: apt-get install python3-venv)."; exit 1; }
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)  ## Two threads, one user; then what the database holds
	@$(BIN)/discreet demo

dev: $(READY)  ## LangGraph server and Studio on 127.0.0.1 with the embedded database
	@$(BIN)/discreet dev

chat: $(READY)  ## Talk to the assistant in the terminal
	@$(BIN)/discreet chat

test: $(READY)  ## Run the tests (slow ones apart)
	@$(BIN)/python -m pytest $(ARGS)

test-slow: $(READY)  ## Run the slow tests
	@$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(READY)  ## Format check, lint, types, import contracts
	@$(BIN)/python tools/link_rooms.py
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=.rooms $(BIN)/lint-imports

format: $(READY)  ## Format and apply safe fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

check: lint test  ## What CI runs

lock: $(READY)  ## Resolve requirements.lock anew
	@$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--group dev --extra langchain pyproject.toml -o requirements.lock

clean:  ## Remove what the targets made (the database in .discreet stays)
	rm -rf $(VENV) .rooms build dist *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
