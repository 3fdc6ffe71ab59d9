# Two commands set everything up: make sweep TARGET=sim, make test.
PYTHON ?= python3
BIN := .venv/bin
TARGET ?= sim
ifdef TORCH_INDEX
export TORCH_INDEX
endif

comma := ,
option = $(if $($(1)),--$(2) "$($(1))")
# Ops and test files are of the suites that have them; without either a sweep is of tests and models.
suites = $(if $(SUITE)$(OPS)$(TESTS),$(call option,SUITE,suite),--suite ops$(comma)models)

.DEFAULT_GOAL := help
.PHONY: help setup sweep serve upstream test test-all check bench clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  Example: make sweep TARGET=sim RELEASE=sim-1.1 SUITE=ops PROFILE=default OPS=add,softmax"

setup: ## Create .venv with everything in it; nothing is done twice (TORCH_INDEX=URL: where to get torch from)
	@command -v "$(PYTHON)" >/dev/null || { echo "setup: there is no $(PYTHON): install Python 3.11 or newer, or name it," \
		"as in \`make setup PYTHON=python3.12\` (exit 2: usage)" >&2; exit 2; }
	@$(PYTHON) conformance/bootstrap.py

sweep: setup ## Run tests and models on a target and store the run (TARGET RELEASE SUITE PROFILE OPS TESTS N ARGS)
	@$(BIN)/conformance run --target "$(TARGET)" $(call option,RELEASE,release) $(suites) \
		$(call option,PROFILE,profile) $(call option,OPS,ops) $(call option,TESTS,tests) $(call option,N,workers) $(ARGS)

serve: setup ## Open the dashboard on http://127.0.0.1:8000 (HOST PORT)
	@$(BIN)/conformance serve $(call option,HOST,host) $(call option,PORT,port)

upstream: setup ## Fetch PyTorch's own test files for the installed torch (REMOTE TAG COMMIT)
	@$(BIN)/conformance upstream fetch $(call option,REMOTE,remote) $(call option,TAG,tag) $(call option,COMMIT,commit)

test: setup ## Run the fast tests; those in a browser too where there is a Chromium
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" $(ARGS)

test-all: setup ## Run every test
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

check: setup ## Format, lint, types and the direction of imports
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports

bench: setup ## Measure beside peers; prints ratios from one run
	@for each in benchmarks/[a-z]*.py; do $(BIN)/python $$each || exit 1; done

clean: ## Delete .venv and what tools left in the checkout
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build *.egg-info
