# Everything a developer types. `make` lists the public targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
# What was compiled once is kept: without that, every process of the product and of the
# tests compiles two thousand modules before its first line, for 2.5 s of CPU time.
unexport PYTHONDONTWRITEBYTECODE

# .venv's own Python, else the newest that is new enough and complete; PYTHON= chooses
# another. Looked for once, and only by targets that need it.
PYTHON ?= $(eval PYTHON := $(shell \
	for python in .venv/bin/python python3.14 python3.13 python3.12 python3.11 python3; do \
		if $$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' \
			>/dev/null 2>&1; then echo $$python; exit; fi; \
	done; echo python3))$(PYTHON)
EXACT := $(if $(filter command environment,$(firstword $(origin PYTHON))),--exact)

IN := .venv/bin/python
COMMAND := $(IN) -m running.command
PYTEST := $(IN) -m pytest
# Whole files to each of a few processes (tests/conftest.py): three suit two cores, since
# the product is mostly waited for. ARGS=-n0 has one process only.
SEVERAL := -n 3 --dist loadfile --no-loadscope-reorder
# Proofs see what moves and what is slow: one process for each of two cores.
BOTH := -n 2 --dist loadfile --no-loadscope-reorder
# Without a database, a broker or a browser: tests/pure.py leaves out what needs them.
PURE := -p tests.pure -o addopts='--import-mode=importlib --strict-markers \
	--strict-config -ra --timeout=180'
FAST := tests/benchmarks/tools tests/benchmarks/parsing tests/benchmarks/analysis \
	tests/benchmarks/plausibility tests/benchmarks/reference $(wildcard tests/benchmarks/test_*.py)

##@ Use

.PHONY: run
run: venv ## run everything at http://127.0.0.1:8000/ (PORT=, VAR=, BIND=)
	@exec $(IN) -m running.supervisor

.PHONY: up
up: .env ## run the production form with Docker Compose
	docker compose up --build --detach

.PHONY: down
down: ## stop the production form; its data stay
	docker compose down

.PHONY: backup
backup: venv ## write the database to a file (FILE=virtlab.dump)
	@$(COMMAND) pg_dump --format=custom --no-owner --file=$(or $(FILE),virtlab.dump)
	@touch $(or $(VAR),var)/last-backup
	@echo "written: $(or $(FILE),virtlab.dump)"

.PHONY: restore
restore: venv ## replace the database by a backup (FILE=); stop `make run` first
	@$(if $(FILE),,$(error say which backup: make restore FILE=virtlab.dump))
	@$(COMMAND) --alone pg_restore --clean --if-exists --no-owner --exit-on-error \
		--single-transaction --dbname=virtlab $(FILE)
	@echo "restored: $(FILE)"

.PHONY: base-backup
base-backup: venv ## write a base backup of a running copy (ARCHIVE=folder)
	@$(IN) -m running.archive base-backup

.PHONY: recover
recover: venv ## go back to a second: ARCHIVE=folder TO="2026-11-23 04:40:00+00" VAR=new
	@$(IN) -m running.archive recover $(if $(TO),"$(TO)")

.PHONY: manage
manage: venv ## run a management command (ARGS="createsuperuser")
	@$(COMMAND) manage.py $(ARGS)

.PHONY: doctor
doctor: venv ## say what is wrong with this installation, and what to do
	@$(COMMAND) manage.py doctor

.PHONY: reparse
reparse: venv ## read old uploads again with today's parsers (tool=fio study=lab/study)
	@$(COMMAND) manage.py reparse $(if $(tool),--tool "$(tool)") \
		$(if $(study),--study "$(study)")

.PHONY: psql
psql: venv ## open the database
	@$(COMMAND) psql

##@ Develop

.PHONY: test
test: dev browser ## run all tests (ARGS="tests/api -k upload")
	$(PYTEST) $(SEVERAL) $(ARGS)
	@$(if $(ARGS),,$(IN) -m tests.pythons passed)

.PHONY: test-fast
test-fast: dev ## run the tests of the pure modules: no database
	$(PYTEST) $(PURE) $(FAST) $(ARGS)

.PHONY: test-pythons
test-pythons: dev ## run what needs no server and no browser with every Python of this machine (NEWEST=1: the newest)
	@$(IN) -m tests.pythons $(if $(NEWEST),newest,run) $(PURE) $(SEVERAL) $(ARGS)

.PHONY: test-proofs
test-proofs: dev browser ## run the longer proofs: axe, keyboard and zoom on every page; all boundaries of the API; kept pages; plans; killed publishers; two products (THIRD=1: every third page)
	$(PYTEST) -m proof $(BOTH) $(if $(THIRD),--third $(THIRD)) tests/dashboard/access tests/dashboard/test_kept_everywhere.py tests/product \
		tests/dashboard/test_visibility.py tests/api/every_boundary.py $(ARGS)

# Debian: apt-get install --no-install-recommends openssh-server wine
.PHONY: test-probe
test-probe: dev ## run the probe over a real ssh server, and that for Windows where there are wine and mingw
	$(PYTEST) -m proof tests/agents $(ARGS)

# Debian: apt-get install --no-install-recommends wine wine64 gcc-mingw-w64-x86-64-win32 \
#         gcc-mingw-w64-i686-win32
.PHONY: test-windows
test-windows: dev ## run the agent for Windows in wine
	$(PYTEST) -n0 -m wine tests/agents/windows $(ARGS)

.PHONY: test-faults
test-faults: dev ## run the agent's fault tables at full length: kills, 100,000 spooled, floods, strangers
	VIRTLAB_KILLS=30 VIRTLAB_RUNS=2000 VIRTLAB_SPOOLED=100000 VIRTLAB_FLOOD_S=60 \
		$(PYTEST) -n0 -s --timeout=1800 tests/agents/test_spool_proof.py tests/agents/test_spool_scale.py \
		tests/agents/timing/test_floods.py tests/agents/commands/test_strangers.py $(ARGS)

# Debian: apt-get install --no-install-recommends texlive-latex-extra texlive-science \
#         texlive-publishers texlive-fonts-recommended texlive-fonts-extra \
#         texlive-plain-generic cm-super
.PHONY: test-tex
test-tex: dev ## compile the exported LaTeX with a real TeX, in the classes of journals
	$(PYTEST) -m tex tests/dashboard/exports $(ARGS)

# Debian: apt-get install --no-install-recommends prometheus
.PHONY: test-prometheus
test-prometheus: dev ## load monitoring/ into a real Prometheus that scrapes a product
	$(PYTEST) -m prometheus tests/product $(ARGS)

# Debian, as root, with a Python 3.12: apt-get install --no-install-recommends \
#         $(.venv/bin/python -m tests.podman --packages)
.PHONY: test-compose
test-compose: dev ## start docker-compose.yml in containers, kill each, restore its backup (STORE=folder keeps its Debian)
	@$(IN) -m tests.podman
	STORE=$(STORE) $(PYTEST) -n0 -m compose tests/product $(ARGS)

# Debian: apt-get install --no-install-recommends gcc make libssl-dev libxml2-dev \
#         libreadline-dev
.PHONY: test-citus
test-citus: dev browser ## run the whole product on a Citus cluster of three servers (CITUS=folder with the source of Citus 14)
	@$(IN) -m tests.citus "$(CITUS)"
	PYTHONPATH=.citus $(PYTEST) -n0 -p tests.citus -m "product and not tex and not prometheus and not compose" \
		tests/product $(ARGS)

.PHONY: check
check: dev lint types migrations test docs-check ## run all checks and all tests

.PHONY: lint
lint: dev ## check style
	$(IN) -m ruff check
	$(IN) -m ruff format --check

.PHONY: types
types: dev ## check types
	$(IN) -m mypy

.PHONY: fix
fix: dev ## repair style
	$(IN) -m ruff check --fix
	$(IN) -m ruff format

.PHONY: migration
migration: dev ## write a migration (name=what_it_does)
	@$(if $(name),,$(error name it by its intent: make migration name=run_gets_a_note))
	$(COMMAND) manage.py makemigrations --name $(name)

.PHONY: migrations
migrations: dev ## check that no migration is missing
	$(COMMAND) manage.py makemigrations --check --dry-run

.PHONY: docs
docs: dev ## write the generated pages of docs/
	$(COMMAND) manage.py write_docs
	$(COMMAND) manage.py write_messages

.PHONY: docs-check
docs-check: dev ## check that the generated pages are current
	$(COMMAND) manage.py write_docs --check
	$(COMMAND) manage.py write_messages --check
	$(IN) -m tests.pythons check

.PHONY: messages
messages: docs ## begin a translation, or bring it up to date (LANGUAGE=de)
	@$(if $(LANGUAGE),,$(error say which language: make messages LANGUAGE=de))
	$(IN) -m babel.messages.frontend update --input-file locale/django.pot \
		--output-dir locale --domain django --locale $(LANGUAGE) --init-missing
	$(IN) -m babel.messages.frontend compile --directory locale --domain django

.PHONY: golden
golden: docs ## rebuild saved answers (OpenAPI, parsed outputs), then show what changed
	$(IN) -m tests.data.rebuild
	$(COMMAND) manage.py spectacular --file tests/api/openapi.yaml --validate --fail-on-warn
	git diff --stat

.PHONY: bench
bench: dev ## print the speed tables of this machine (PASSES=3, JSON=file: every pass of uploads)
	@$(IN) -m devtools --passes $(or $(PASSES),3) $(if $(JSON),--json "$(JSON)")

.PHONY: chaos
chaos: dev ## kill, freeze and starve a product while it is uploaded to (SECONDS=300 SEED=1)
	@$(IN) -m devtools.chaos --seconds $(or $(SECONDS),300) --seed $(or $(SEED),1) $(ARGS)

.PHONY: fuzz
fuzz: dev ## send odd requests to API and pages; none may be answered 500 (REQUESTS=20000 SEED=1)
	@$(IN) -m devtools.fuzz --seed $(or $(SEED),1) --requests $(or $(REQUESTS),20000) $(ARGS)

.PHONY: overload
overload: dev ## 50 readers, 10 uploaders, 200 slow and 500 idle clients (SECONDS=60 SEED=1)
	@$(IN) -m devtools.overload --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) $(ARGS)

.PHONY: soak
soak: dev ## half an hour of bounded load: no process may grow (MINUTES=30 SEED=1)
	@$(IN) -m devtools.soak --minutes $(or $(MINUTES),30) --seed $(or $(SEED),1) $(ARGS)

.PHONY: leaks
leaks: dev ## crawl as nobody, strangers and other labs for what is private (SEED=1 MOST=3000)
	@$(IN) -m devtools.leaks --seed $(or $(SEED),1) --most $(or $(MOST),3000) $(ARGS)

.PHONY: drill
drill: dev ## restore a backup, go back to a second, upgrade an old version: nothing may be missing
	@$(IN) -m devtools.drill $(ARGS)

.PHONY: screens
screens: dev browser ## take pictures of all pages of `make run` into var/screens/ (URL=, VAR=)
	$(IN) -m devtools.screens $(or $(URL),http://127.0.0.1:8000) $(or $(VAR),var)

.PHONY: calibrate
calibrate: dev ## measure how often the statistics are right (REPETITIONS=10000)
	$(IN) -m devtools.calibration --repetitions $(or $(REPETITIONS),10000) \
		--write docs/calibration.md

.PHONY: agent
agent: ## pack the agent into dist/virtlab-agent.pyz, with its checksum
	@$(PYTHON) -m agents.build dist/virtlab-agent.pyz

# Debian: apt-get install --no-install-recommends gcc musl-tools gcc-i686-linux-gnu \
#         libc6-dev-i386-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
#         gcc-mingw-w64-x86-64-win32 gcc-mingw-w64-i686-win32 \
#         qemu-user-static wine64; each that is missing is said.
.PHONY: probe
probe: ## compile our kernels into one static program for each platform, in dist/
	@$(PYTHON) -m agents.kernels.probe dist

# Debian: apt-get install --no-install-recommends gcc-mingw-w64-x86-64-win32 \
#         gcc-mingw-w64-i686-win32
.PHONY: agent-windows
agent-windows: venv ## pack the agent for Windows with a Python and our kernels, in dist/
	@$(IN) -m agents.build --windows dist

.PHONY: client
client: ## pack the Python client into a wheel in dist/ (pip install dist/*.whl)
	@$(PYTHON) -m client.build dist

.PHONY: lab
lab: venv ## measure real guests, a container and this machine (SESSIONS=, REPETITIONS=, SERVER=)
	@$(IN) -m lab $(if $(REPETITIONS),--repetitions $(REPETITIONS)) \
		$(if $(SESSIONS),--sessions $(SESSIONS)) $(if $(SEED),--seed "$(SEED)") \
		$(if $(ONLY),--only "$(ONLY)") \
		$(if $(STUDY),--study "$(STUDY)") $(if $(RECORD),--record "$(RECORD)")

.PHONY: lab-short
lab-short: venv ## the same with one guest, one container and a clock that lies
	@$(IN) -m lab --short $(if $(REPETITIONS),--repetitions $(REPETITIONS)) \
		$(if $(ONLY),--only "$(ONLY)")

.PHONY: lock
lock: dev ## pin the newest packages in requirements*.txt
	$(IN) -m pip install --quiet uv
	for name in requirements requirements-dev; do \
		$(IN) -m uv pip compile --universal --python-version 3.11 --generate-hashes \
			--custom-compile-command "make lock" --upgrade --quiet \
			--output-file $$name.txt $$name.in || exit; \
	done

.PHONY: clean
clean: ## remove what can be made again; var/ and its data stay
	rm -rf .venv .pythons .citus .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## list these targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

# Behind the others.

.PHONY: venv
venv:
	@$(call bootstrap,)

.PHONY: dev
dev:
	@$(call bootstrap,--dev)

.PHONY: browser
browser: dev
	@$(IN) -m running.browser

# Nothing secret has a default: the first `make up` draws the secrets.
.env:
	@umask 077; for name in SECRET_KEY POSTGRES_PASSWORD DATABASE_PASSWORD OWNER_DATABASE_PASSWORD; do \
		echo "$$name=$$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"; \
	done > $@; echo 'ALLOWED_HOSTS=localhost' >> $@
	@echo "written: .env (keep it; the database's passwords are in it)"

define bootstrap
command -v $(PYTHON) >/dev/null || { \
	echo "Virtlab needs Python 3.11 or newer, and there is no $(PYTHON). On Debian:" \
		"apt install python3 python3-venv" >&2; exit 1; }; \
$(PYTHON) running/bootstrap.py $(1) $(EXACT)
endef
