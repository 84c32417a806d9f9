# Every target builds .venv by itself; all that is needed is make and Python >= 3.11 (PYTHON=python3.12 chooses one).
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Files of tests run side by side, each worker with a server of its own; a third of a test is waiting, so there is one worker more
# than there are cores, and eight at most. JOBS=0 turns it off.
JOBS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((cores < 8 ? cores + 1 : 8)))
# Files run in an order, and random examples are drawn, by this number, which is printed at the end: SEED=… repeats a run.
SEED := $(or $(SEED),$(shell od -An -N3 -tu4 /dev/urandom | tr -d ' '))
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --hypothesis-seed=$(SEED)
# Most of what tests wait for is the disk: where memory has room for their servers' files, these lie there until the run ends.
define IN_SCRATCH
@scratch=$$(mktemp -d -p /dev/shm discreet-tests.XXXXXX 2>/dev/null) || scratch=; \
if [ -n "$$scratch" ]; then \
	trap 'rm -rf "$$scratch"' EXIT; trap 'exit 130' INT TERM HUP; chmod 755 "$$scratch"; cp /bin/true "$$scratch/runs"; \
	if "$$scratch/runs" 2>/dev/null && [ "$$(df -Pk /dev/shm | awk 'NR == 2 {print $$4}')" -gt 6000000 ]; then \
		export TMPDIR="$$scratch"; \
	fi; \
fi;
endef
PIP := $(BIN)/python -m pip install --disable-pip-version-check
UV := $(BIN)/uv pip install --python $(BIN)/python
COMMA := ,
SQL_TESTS := tests/migration tests/integration
# The checkpointer's tests of a pooler start one by themselves: tests/integration/checkpoint/pooled.
POOLED_TESTS := tests/integration/storage tests/integration/graph tests/integration/worker
ALL_CASES := -m "not kills and (not slow or left_out)"
POOLED_SQL_TESTS := $(POOLED_TESTS) $(addprefix tests/integration/,api exporting importing rights)
# Many images set it; then every process compiles all it imports, which takes longer than importing it.
export PYTHONDONTWRITEBYTECODE :=
export UV_SYSTEM_CERTS ?= true

.DEFAULT_GOAL := help
.PHONY: help setup demo dev chat test test-dialect test-kills test-slow test-examples test-16 test-pooled test-citus test-roles test-aegra test-lowest test-newest test-python test-nightly test-weekly mutants frozen sizes release-check docs pictures lint format check bench js lock clean

help:  ## Show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: $(READY)  ## Build .venv from requirements.lock

# uv installs what the lock names in seconds; where it can't be had or can't reach the index, pip does it in two minutes. uv trusts what
# the system trusts, as pip does, then its own certificates, where the system has none. Debian's pip is too old for extras under hashes.
# setuptools' warning is of folders that are named like the package, and there is none.
$(READY): requirements.lock pyproject.toml setup.py
	@test -n "$(PYTHON)" || { echo "Discreet needs Python >= 3.11, and none is on PATH. Name one: make PYTHON=/path/to/python"; exit 1; }
	@echo "== Building $(VENV) with $$($(PYTHON) --version)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "This Python has no venv module (Debian: apt-get install python3-venv)."; exit 1; }
	@$(PIP) --quiet "$$(sed -n 's/^\(uv==[^ ;]*\).*/\1/p' requirements.lock)" \
		&& echo "== Installing the packages of requirements.lock" \
		&& { $(UV) --quiet --require-hashes -r requirements.lock || UV_SYSTEM_CERTS=false $(UV) --quiet --require-hashes -r requirements.lock; } \
		|| { echo "== uv did not succeed: installing with pip"; $(PIP) --quiet --upgrade pip && $(PIP) --require-hashes -r requirements.lock; }
	@PYTHONWARNINGS="ignore:Editable installation" $(PIP) --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)  ## Two conversations of one user, and what is on the disk (ROWS=1: all rows, WEB=1: in a browser)
	@$(BIN)/discreet demo $(if $(ROWS),--rows) $(if $(WEB),--web) $(if $(and $(WEB),$(PORT)),--port $(PORT))

dev: $(READY)  ## LangGraph server and Studio on 127.0.0.1 with the embedded database (PORT=… chooses the port)
	@$(BIN)/discreet dev $(if $(PORT),--port $(PORT))

chat: $(READY)  ## Talk to the assistant in the terminal
	@$(BIN)/discreet chat

test: $(READY)  ## Run the tests (ROOM="storage nodes": of these rooms; slow ones run nightly)
	$(IN_SCRATCH) tests=$$($(BIN)/python tools/rooms.py $(ROOM)) || exit 2; $(PYTEST) $$tests $(ARGS)

test-dialect: $(READY)  ## Run each SQL statement on PostgreSQL 16, and those of storage, turns and rights through PgBouncer
	$(IN_SCRATCH) DISCREET_TEST_POSTGRES_VERSION=16 $(PYTEST) -m "dialect and not left_out" $(SQL_TESTS) $(ARGS)
	@command -v pgbouncer >/dev/null || echo "== pgbouncer is not installed (Debian: apt-get install pgbouncer): nothing is run through it"
	$(IN_SCRATCH) ! command -v pgbouncer >/dev/null || DISCREET_TEST_POOLED=true $(PYTEST) -p testkit.elsewhere -m "dialect and not left_out" $(POOLED_SQL_TESTS) $(ARGS)

test-kills: $(READY)  ## Kill workers at drawn steps
	$(IN_SCRATCH) $(PYTEST) -m "kills and not slow" tests/integration/worker $(ARGS)

test-slow: $(READY)  ## Run the slow tests
	$(IN_SCRATCH) $(PYTEST) -m slow --hypothesis-profile=nightly $(ARGS)

test-examples: $(READY)  ## Run the tests that draw examples with 200 each, where they don't say how many
	$(IN_SCRATCH) $(PYTEST) -m "hypothesis and not slow" --hypothesis-profile=nightly $(ARGS)

# Every target here runs to its end, so that one night shows all that is broken; the first that failed is named at the end.
NIGHTLY := test-slow test-examples test-kills test-16 test-pooled test-roles test-lowest test-newest frozen mutants
test-nightly: $(READY)  ## Run what is too slow for each change: all of the above, other servers, roles and versions, mutants
	@failed=; for each in $(NIGHTLY); do echo "== make $$each"; $(MAKE) --no-print-directory $$each ARGS= || failed="$$failed $$each"; done; \
		test -z "$$failed" || { echo "== Failed:$$failed"; exit 1; }

test-weekly: test-citus test-aegra bench  ## Run what needs a cluster, Aegra, and the benchmarks

mutants: $(READY)  ## Change the product in 20 known and 20 random places, and see which test notices (ARGS="--only storage", --list)
ifdef ARGS
	$(BIN)/python tools/mutants.py $(ARGS)
else
	@$(BIN)/python tools/mutants.py --sample 20 --seed $(SEED); code=$$?; \
		$(BIN)/python tools/mutants.py --random 20 --seed $(SEED) && exit $$code
endif

frozen: $(READY)  ## Run the tests of public names as they were at one commit, unchanged
	$(BIN)/python tools/frozen_tests.py $(ARGS)

docs: $(READY)  ## Build the documentation site in build/site
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -c docs . build/site
	@echo "== build/site/index.html"

pictures: $(READY)  ## Make the documentation's pictures anew, with Chromium (ONLY=…: some)
	$(BIN)/python tools/make_pictures.py $(ONLY)

# What is compared with wants other releases than the lock has, and Hindsight other ones again: each an environment of its own.
BENCH_VENV := .venv-bench
$(BENCH_VENV)/.ready: $(READY) benchmarks/requirements.txt benchmarks/hindsight.txt pyproject.toml setup.py
	@echo "== Building $(BENCH_VENV)"
	@test -x $(BENCH_VENV)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(BENCH_VENV)
	@$(BIN)/uv pip install --quiet --python $(BENCH_VENV)/bin/python -r benchmarks/requirements.txt -e ".[langchain,local]"
	@test -x $(BENCH_VENV)/hindsight/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(BENCH_VENV)/hindsight
	@$(BIN)/uv pip install --quiet --python $(BENCH_VENV)/hindsight/bin/python -r benchmarks/hindsight.txt \
		|| echo "== Hindsight can't be installed here: it is left out"
	@touch $@

bench: $(BENCH_VENV)/.ready  ## Run the benchmarks side by side with their peers (QUICK=1: a few minutes; ONLY=…: some)
	@$(BENCH_VENV)/bin/python benchmarks/run.py $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

# What LangGraph does over the saver and the store, and what leaks, doesn't depend on the server's version; the embedded
# server's own tests run both versions anyway.
test-16: $(READY)  ## Run the tests that touch SQL on PostgreSQL 16 as well, with all their cases
	$(IN_SCRATCH) DISCREET_TEST_POSTGRES_VERSION=16 $(PYTEST) $(ALL_CASES) tests/migration tests/integration/checkpoint \
		tests/integration/storage tests/integration/graph tests/integration/worker --ignore=tests/integration/storage/store \
		--ignore=tests/integration/checkpoint/working --ignore=tests/integration/checkpoint/leaks $(ARGS)

# Through PgBouncer in transaction mode, in a schema with another name, with pgvector out of sight.
test-pooled: $(READY)  ## Run the tests of storage and turns in somebody else's database, behind a pooler
	$(IN_SCRATCH) DISCREET_TEST_POOLED=true $(PYTEST) -p testkit.elsewhere $(ALL_CASES) $(POOLED_TESTS) $(ARGS)

test-citus: $(READY)  ## Run the tests of the storage on the Citus cluster of DISCREET_TEST_CITUS_DSN (docs/citus.md)
	@test -n "$$DISCREET_TEST_CITUS_DSN" || { echo "DISCREET_TEST_CITUS_DSN names no Citus cluster: docs/citus.md, Testing."; exit 1; }
	$(IN_SCRATCH) $(PYTEST) tests/cluster tests/integration/storage tests/integration/rights tests/integration/exporting tests/integration/worker $(ARGS)
	@test "$$DISCREET_TEST_CITUS_KILLS" != true || $(BIN)/python -m pytest -m slow tests/cluster

# Left out: tests whose child processes speak to the database as the owner, under the application's name.
test-roles: $(READY)  ## Run the tests of storage, graph and worker as the roles of docs/roles.md
	$(IN_SCRATCH) $(PYTEST) -p testkit.as_app $(ALL_CASES) tests/integration/checkpoint tests/integration/storage tests/integration/exporting tests/integration/rights tests/integration/graph \
		tests/integration/worker --ignore tests/integration/worker/test_killed_workers.py --ignore tests/integration/worker/test_interrupted_steps.py $(ARGS)

# Aegra needs Python >= 3.12, and so an environment of its own; AEGRA_PYTHON=/path/to/python3.12 names one.
AEGRA_VENV := .venv-aegra
AEGRA_PYTHON ?= $(shell for p in python3.13 python3.12 $$HOME/.pyenv/versions/3.1[23].*/bin/python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && command -v $$p && break; done)
$(AEGRA_VENV)/.ready: $(READY) tests/aegra/requirements.txt pyproject.toml setup.py
	@test -n "$(AEGRA_PYTHON)" || { echo "Aegra needs Python >= 3.12, and none was found. Name one: make test-aegra AEGRA_PYTHON=/path/to/python"; exit 1; }
	@echo "== Building $(AEGRA_VENV) with $$($(AEGRA_PYTHON) --version)"
	@test -x $(AEGRA_VENV)/bin/python || $(BIN)/uv venv --quiet --python $(AEGRA_PYTHON) $(AEGRA_VENV)
	@$(BIN)/uv pip install --quiet --python $(AEGRA_VENV)/bin/python -r tests/aegra/requirements.txt -e ".[local]"
	@touch $@

test-aegra: $(AEGRA_VENV)/.ready  ## Run the tests of the open-source server Aegra, in an environment of its own
	$(IN_SCRATCH) $(AEGRA_VENV)/bin/python -m pytest -m "slow or not slow" tests/aegra $(ARGS)

# The versions that pyproject.toml allows, at both ends, each in an environment of its own; `make test` has those of the lock.
# Compiled at once: some packages have escapes that a compiler warns of, and in tests a warning is an error.
TESTED_EXTRAS := anthropic,google,kingfisher,langchain,local,mcp,openai-batch,otel,patterns,redis,serve
TESTED := tests/unit/test_imports.py tests/unit/nodes tests/unit/checkpoint tests/unit/graph tests/unit/providers tests/unit/redaction/recognisers \
	tests/integration/graph/test_memory_agent.py tests/integration/checkpoint/test_postgres.py tests/integration/checkpoint/test_conformance.py \
	tests/integration/test_readme.py tests/packaging/test_extras.py tests/packaging/test_langgraphs_own_names.py
.venv-lowest/.ready: $(READY) pyproject.toml setup.py
	@echo "== Building .venv-lowest"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	@$(BIN)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 --extra $(subst $(COMMA), --extra ,$(TESTED_EXTRAS)) pyproject.toml -o .venv-lowest/versions.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python .venv-lowest/bin/python -c .venv-lowest/versions.txt --group test -e ".[$(TESTED_EXTRAS)]"
	@touch $@

test-lowest: .venv-lowest/.ready  ## Run tests of the library on the oldest versions that it allows
	$(IN_SCRATCH) .venv-lowest/bin/python -m pytest -n $(JOBS) --dist loadfile -m "not kills" $(TESTED) $(ARGS)

test-newest: $(READY)  ## Run them on the newest versions there are
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-newest
	@$(BIN)/uv pip install --quiet --refresh --compile-bytecode --python .venv-newest/bin/python --group test -e ".[$(TESTED_EXTRAS)]"
	$(IN_SCRATCH) .venv-newest/bin/python -m pytest -n $(JOBS) --dist loadfile -m "not kills" $(TESTED) $(ARGS)

test-python:  ## Run them on another Python: make test-python PYTHON=/path/to/python3.13
	@$(MAKE) test VENV=.venv-python$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])') ARGS="$(TESTED) $(ARGS)"

sizes: $(READY)  ## Print what an install weighs, alone and with each extra (ARGS=--json)
	@$(BIN)/python tools/sizes.py $(ARGS)

release-check: $(READY)  ## Build what a release uploads into dist/, and check it (OFFLINE=1: without known vulnerabilities)
	@$(BIN)/python tools/release_check.py $(if $(OFFLINE),--offline)

lint: $(READY)  ## Format check, lint, types, import contracts
	@$(BIN)/python tools/link_rooms.py
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=.rooms $(BIN)/lint-imports

format: $(READY)  ## Format and apply safe fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

check: lint  ## Lint, and the tests of the rooms that changed in this branch
	$(IN_SCRATCH) tests=$$($(BIN)/python tools/rooms.py --changed) || exit 2; $(PYTEST) $$tests $(ARGS)

js:  ## Write the TypeScript types of examples/javascript anew, after a change of the OpenAPI (needs Node.js)
	cd examples/javascript && npm ci --no-audit --no-fund && npm run generate

lock: $(READY)  ## Resolve requirements.lock anew
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--group dev --extra langchain --extra local pyproject.toml -o requirements.lock

clean:  ## Remove what the targets made (the database in .discreet stays)
	rm -rf $(VENV) $(AEGRA_VENV) .venv-lowest .venv-newest .venv-python* $(BENCH_VENV) .rooms build dist *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
