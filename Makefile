# `make test` works on a bare machine: it makes the virtual environment, installs the official clients, and says what
# it cannot install. Stamp files keep repeated runs fast; `make clean` forgets them all.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LOWEST := .venvs/lowest
PEER := .venvs/peer
ADK := .venvs/adk
CHATS := .venvs/openai-clients
DOCS := .venvs/docs
PACKAGE := .venvs/package
CLIENTS := tests/js/node_modules/.package-lock.json
AI_SDK := tests/js/ai-sdk/node_modules/.package-lock.json
DRIVER := tests/browser/node_modules/.package-lock.json
OPENAI := tests/js/openai/node_modules/.package-lock.json
PAGE := tests/browser/page/node_modules/.package-lock.json
AI_PAGE := tests/browser/ai_sdk_page/node_modules/.package-lock.json
# The chat page: its sources, their packages, and its build.
WEB := src/yai_nexus_agentkit/page/web
WEB_PACKAGES := $(WEB)/node_modules/.package-lock.json
BUILT := src/yai_nexus_agentkit/page/static/index.html
# Vite's lowest versions of Node.
NEW_NODE := node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)'
PIP := -m pip --disable-pip-version-check install --quiet
# Every process that the tests start compiles the package anew where Python may not keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE
# Two processes, each with whole files: what one test left to the garbage collector is not in the way of thousands of
# others, and two cores are used. Slow files come first (tests/conftest.py): the order stays.
IN_TWO := -n 2 --dist loadfile --no-loadscope-reorder
# Extra arguments for pytest: make test PYTEST_ARGS="-x -k lifecycle"
PYTEST_ARGS ?=
# Extra arguments for the server: make serve SERVE_ARGS="--port 9000"
SERVE_ARGS ?=

.PHONY: help venv demo serve page page-test pictures test ready lint format unit test-lowest test-adk bench bench-gate bench-peer soak docs system browser clean

help:
	@echo "make demo         a scripted agent in the terminal, nothing to configure"
	@echo "make serve        the same agent behind a server, with a chat page; SERVE_ARGS=\"--port 9000\" changes the port"
	@echo "make page         build the chat page; it needs Node"
	@echo "make test         everything CI checks: lint, types, import rules, tests, lowest versions"
	@echo "make unit         the unit tests only"
	@echo "make lint         ruff, mypy --strict, import-linter"
	@echo "make browser      what the tests in a browser need; make unit and make lint do without"
	@echo "make format       apply ruff's formatting and safe fixes"
	@echo "make test-lowest  the fast tests with the lowest versions that pyproject.toml allows"
	@echo "make test-adk     the tests of google-adk agents"
	@echo "make bench        the benchmarks; make bench-gate fails when a budget is exceeded"
	@echo "make bench-peer   the benchmarks with ag-ui-langgraph beside us, into docs/performance.md"
	@echo "make soak         attacks on a server for ten minutes, recorded and judged; MINUTES=1 for less"
	@echo "make docs         build the documentation, strictly, into site/"
	@echo "make pictures     the pictures of the documentation, from runs of the browser tests"
	@echo "make clean        remove everything that make made"

# ---------------------------------------------------------------- environments

# The package alone, as a user would install it.
$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version). Choose another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "make: $(PYTHON) cannot make virtual environments; on Debian install python3-venv" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --upgrade "pip>=25.1"
	$(BIN)/python $(PIP) --editable .
	@touch $@

# What contributors need: every extra and the tools.
$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python $(PIP) --editable ".[all]" --group dev
	@touch $@

$(VENV)/.server: $(VENV)/.base
	$(BIN)/python $(PIP) --editable ".[server,fastapi,inspector]"
	@touch $@

$(LOWEST)/.stamp: pyproject.toml tests/constraints/lowest.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python $(PIP) --upgrade "pip>=25.1"
	$(LOWEST)/bin/python $(PIP) --constraint tests/constraints/lowest.txt --editable ".[langchain,server,fastapi,media,sqlite]" --group test
	@touch $@

# Ourselves and the peer in one environment of their own: its dependencies are none of ours.
$(PEER)/.stamp: pyproject.toml
	$(PYTHON) -m venv --clear $(PEER)
	$(PEER)/bin/python $(PIP) --upgrade "pip>=25.1"
	$(PEER)/bin/python $(PIP) --editable ".[langchain,server,fastapi]" --group peer
	@touch $@

# google-adk: its google-genai is older than that of langchain-google-genai in the development environment.
$(ADK)/.stamp: pyproject.toml
	$(PYTHON) -m venv --clear $(ADK)
	$(ADK)/bin/python $(PIP) --upgrade "pip>=25.1"
	$(ADK)/bin/python $(PIP) --editable ".[adk,server,fastapi,sqlite,postgres]" --group test
	@touch $@

# Dify's client, which patches the standard library, and LiteLLM.
$(CHATS)/.stamp: pyproject.toml
	$(PYTHON) -m venv --clear $(CHATS)
	$(CHATS)/bin/python $(PIP) --upgrade "pip>=25.1"
	$(CHATS)/bin/python $(PIP) --group openai-clients
	@touch $@

# What builds the site; it reads the sources and imports nothing of them.
$(DOCS)/.stamp: pyproject.toml
	$(PYTHON) -m venv --clear $(DOCS)
	$(DOCS)/bin/python $(PIP) --upgrade "pip>=25.1"
	$(DOCS)/bin/python $(PIP) --group docs
	@touch $@

# What builds and checks distributions.
$(PACKAGE)/.stamp: pyproject.toml
	$(PYTHON) -m venv --clear $(PACKAGE)
	$(PACKAGE)/bin/python $(PIP) --upgrade "pip>=25.1"
	$(PACKAGE)/bin/python $(PIP) --group package
	@touch $@

# The official AG-UI clients, from the lock file.
$(CLIENTS): tests/js/package.json tests/js/package-lock.json
	@command -v node >/dev/null && command -v npm >/dev/null || { echo "make: the tests replay every stream through the official AG-UI clients, which need Node 20 or newer with npm; install Node" >&2; exit 1; }
	@node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' || { echo "make: Node 20 or newer is needed; this is $$(node --version)" >&2; exit 1; }
	cd tests/js && npm ci --silent
	@touch $@

# OpenAI's package, and the one inside LibreChat.
$(OPENAI): tests/js/openai/package.json tests/js/openai/package-lock.json | $(CLIENTS)
	cd tests/js/openai && npm ci --silent
	@touch $@

# Three generations of the AI SDK's client.
$(AI_SDK): tests/js/ai-sdk/package.json tests/js/ai-sdk/package-lock.json | $(CLIENTS)
	cd tests/js/ai-sdk && npm ci --silent
	@touch $@

# What drives Chromium.
$(DRIVER): tests/browser/package.json tests/browser/package-lock.json | $(CLIENTS)
	cd tests/browser && npm ci --silent --ignore-scripts
	@touch $@

# CopilotKit's packages, beside a copy of the example: tests copy and search the examples' folder.
$(PAGE): examples/copilotkit_page/package.json examples/copilotkit_page/package-lock.json | $(CLIENTS)
	mkdir -p tests/browser/page
	cp examples/copilotkit_page/package.json examples/copilotkit_page/package-lock.json examples/copilotkit_page/.npmrc tests/browser/page/
	cd tests/browser/page && npm ci --silent
	@touch $@

# The AI SDK's packages and Vite, likewise.
$(AI_PAGE): examples/ai_sdk_page/package.json examples/ai_sdk_page/package-lock.json | $(CLIENTS)
	mkdir -p tests/browser/ai_sdk_page
	cp examples/ai_sdk_page/package.json examples/ai_sdk_page/package-lock.json examples/ai_sdk_page/.npmrc tests/browser/ai_sdk_page/
	cd tests/browser/ai_sdk_page && npm ci --silent
	@touch $@

$(WEB_PACKAGES): $(WEB)/package.json $(WEB)/package-lock.json
	@command -v npm >/dev/null && $(NEW_NODE) || { echo "make: the chat page needs Node 20.19 or newer with npm" >&2; exit 1; }
	cd $(WEB) && npm ci --silent
	@touch $@

$(BUILT): $(WEB_PACKAGES) $(shell find $(WEB) -name node_modules -prune -o -type f -print 2>/dev/null)
	cd $(WEB) && npm run --silent build
	@touch $@

venv: $(VENV)/.dev

browser: $(DRIVER) $(PAGE) $(AI_PAGE) $(BUILT)
	@.ci/system-packages chromium

system:
	@.ci/system-packages chromium postgresql redis-server valgrind

# ---------------------------------------------------------------- for users

demo: $(VENV)/.base
	@echo "A LangGraph agent (examples/demo/agent.py), as the AG-UI events that a web page gets:"
	@$(BIN)/yai-nexus-agentkit run examples/demo/agent.py:graph "What is the weather in Berlin and Paris, and what is 6 times 7?"

# Without Node: the inspector alone.
serve: $(VENV)/.server
	@if command -v npm >/dev/null && $(NEW_NODE); then \
		$(MAKE) --no-print-directory page || echo "make: the chat page could not be built anew" >&2; \
	else echo "make: the chat page needs Node 20.19 or newer with npm; the agent is served without it" >&2; fi
	@$(BIN)/yai-nexus-agentkit serve examples/demo/agent.py:graph --checkpointer memory \
		--example "What is the weather in Berlin and Paris, and what is 6 times 7?" $(SERVE_ARGS)

page: $(BUILT)
	@:

page-test: $(VENV)/.dev $(DRIVER) $(BUILT)
	@.ci/system-packages chromium
	$(BIN)/pytest tests/browser/test_page.py tests/browser/test_page_*.py tests/integration/test_page.py --quiet $(PYTEST_ARGS)

# ---------------------------------------------------------------- for contributors

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

unit: $(CLIENTS) $(VENV)/.dev
	$(BIN)/pytest tests/unit $(PYTEST_ARGS)

# Two environments are made at a time, and what is installed is checked while others load.
test:
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target ready lint
	$(BIN)/pytest $(IN_TWO) --inline-snapshot=disable $(PYTEST_ARGS)
	$(MAKE) --no-print-directory test-lowest
	$(MAKE) --no-print-directory test-adk
	$(MAKE) --no-print-directory bench-gate

ready: $(VENV)/.dev $(CLIENTS) $(OPENAI) $(AI_SDK) $(DRIVER) $(PAGE) $(AI_PAGE) $(BUILT) $(CHATS)/.stamp $(DOCS)/.stamp $(PACKAGE)/.stamp $(LOWEST)/.stamp $(ADK)/.stamp system
	@:

# Tests that need more than these extras live in tests/integration/extras. What no library's version can change is left
# out, the files of this repository, the judges, which run in Node, terminals and signals; and so are figures.
NOT_LOWEST := tests/integration/extras $(addprefix tests/unit/test_,ci.py project.py conformance_support.py conformance_grammar.py lifecycle_conformance.py) \
	$(addprefix tests/integration/test_,cli_terminal.py cli_serve_terminal.py cli_chat_url.py cli_help.py robust_breadth.py robust_cost.py server_load.py)
test-lowest: $(CLIENTS) $(OPENAI) $(AI_SDK) $(BUILT) $(LOWEST)/.stamp
	$(LOWEST)/bin/pytest $(IN_TWO) --inline-snapshot=disable tests/unit tests/integration -m "not slow" $(addprefix --ignore=,$(NOT_LOWEST)) \
		-p no:cacheprovider --quiet

# Agents of google-adk, in an environment of their own.
test-adk: $(CLIENTS) $(OPENAI) $(AI_SDK) $(ADK)/.stamp
	$(ADK)/bin/pytest --inline-snapshot=disable tests/adk tests/docs/test_pages.py -k adk -p no:cacheprovider --quiet $(PYTEST_ARGS)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The package's own gate, and the one that it gives to others. Valgrind is needed for instruction counts.
bench-gate: $(VENV)/.dev
	@.ci/system-packages valgrind
	$(BIN)/python -m benchmarks --gate
	$(BIN)/yai-nexus-agentkit bench examples.demo.agent:graph

bench-peer: $(PEER)/.stamp
	$(PEER)/bin/python -m benchmarks --peer --docs

# Memory and pauses of the loop go to .artifacts/soak.svg. Then every way to take a worker away, at every moment, with
# every store: about half an hour.
MINUTES ?= 10
soak: $(CLIENTS) $(VENV)/.dev system
	$(BIN)/python -m tests.soak $(MINUTES)
	SOAK=1 $(BIN)/pytest tests/integration/extras/test_taken_over.py -p no:cacheprovider --quiet

pictures: browser $(VENV)/.dev $(DOCS)/.stamp
	$(BIN)/pytest tests/browser --quiet
	$(BIN)/python -m tests.browser.pictures

docs: $(DOCS)/.stamp
	$(DOCS)/bin/python -m tests.docs.site

clean:
	rm -rf $(VENV) .venvs tests/js/node_modules tests/js/openai/node_modules tests/js/ai-sdk/node_modules tests/browser/node_modules tests/browser/page tests/browser/ai_sdk_page $(WEB)/node_modules $(dir $(BUILT)) site dist .artifacts
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples benchmarks \( -name __pycache__ -o -name .ruff_cache \) -type d -prune -exec rm -rf {} + 2>/dev/null || true
