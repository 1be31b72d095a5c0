# Commands for developers and operators. `make` lists the public targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
# Keep compiled modules. Otherwise every process of the product and of the tests compiles
# two thousand modules first, which takes 2.5 s of CPU time.
unexport PYTHONDONTWRITEBYTECODE

# The Python of .venv, else the newest suitable one; PYTHON= chooses another. It is looked
# up once, and only for targets that need it.
PYTHON ?= $(eval PYTHON := $(shell \
	for python in .venv/bin/python python3.14 python3.13 python3.12 python3.11 python3; do \
		if $$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' \
			>/dev/null 2>&1; then echo $$python; exit; fi; \
	done; echo python3))$(PYTHON)
EXACT_OPTION := $(if $(filter command environment,$(firstword $(origin PYTHON))),--exact)

VENV_PYTHON := .venv/bin/python
RUN_COMMAND := $(VENV_PYTHON) -m running.management_command
PYTEST := $(VENV_PYTHON) -m pytest
# Distribute whole files (tests/conftest.py). Three processes suit two cores, because tests
# mostly wait for the product. ARGS=-n0 uses one process.
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder
# Slow tests measure time and layout: use one process per core.
TWO_WORKERS := -n 2 --dist loadfile --no-loadscope-reorder
# Without database, broker and browser; tests/pure_plugin.py deselects tests that need them.
WITHOUT_SERVERS := -p tests.pure_plugin -o addopts='--import-mode=importlib --strict-markers \
	--strict-config -ra --timeout=180'
FAST_TESTS := tests/benchmarks/tools tests/benchmarks/parsing tests/benchmarks/analysis \
	tests/benchmarks/plausibility tests/benchmarks/reference $(wildcard tests/benchmarks/test_*.py)

##@ Use

.PHONY: run
run: venv ## run Virtlab at http://127.0.0.1:8000/ (PORT=, VAR=, BIND=)
	@exec $(VENV_PYTHON) -m running.supervisor

.PHONY: up
up: .env ## run in production with Docker Compose
	docker compose up --build --detach

.PHONY: down
down: ## stop production; data are kept
	docker compose down

.PHONY: backup
backup: venv ## back up the database to a file (FILE=virtlab.dump)
	@$(RUN_COMMAND) python -m running.backups write "$(or $(FILE),virtlab.dump)"

.PHONY: restore
restore: venv ## replace the database with a backup (FILE=); stop `make run` first
	@$(if $(FILE),,$(error Name the backup: make restore FILE=virtlab.dump))
	@$(RUN_COMMAND) --alone python -m running.backups restore "$(FILE)"

.PHONY: base-backup
base-backup: venv ## write a base backup of a running installation (ARCHIVE=folder)
	@$(VENV_PYTHON) -m running.wal_archive base-backup

.PHONY: recover
recover: venv ## recover to a point in time: ARCHIVE=folder TO="2026-11-23 04:40:00+00" VAR=new
	@$(VENV_PYTHON) -m running.wal_archive recover $(if $(TO),"$(TO)")

.PHONY: manage
manage: venv ## run a management command (ARGS="createsuperuser")
	@$(RUN_COMMAND) manage.py $(ARGS)

.PHONY: doctor
doctor: venv ## check this installation and show how to fix problems
	@$(RUN_COMMAND) manage.py doctor

.PHONY: reparse
reparse: venv ## reparse stored uploads with the current parsers (tool=fio study=lab/study)
	@$(RUN_COMMAND) manage.py reparse $(if $(tool),--tool "$(tool)") \
		$(if $(study),--study "$(study)")

.PHONY: export-site
export-site: venv ## write the public pages as a static site (FOLDER= STUDY=lab/study URL=https://...)
	@$(if $(FOLDER),,$(error Name the folder: make export-site FOLDER=site))
	@$(RUN_COMMAND) manage.py export_site "$(abspath $(FOLDER))" $(if $(STUDY),--study "$(STUDY)") \
		$(if $(URL),--url "$(URL)")

.PHONY: psql
psql: venv ## open a database shell
	@$(RUN_COMMAND) psql

##@ Develop

.PHONY: test
test: dev browser ## run all tests (ARGS="tests/api -k upload")
	$(PYTEST) $(PARALLEL) $(ARGS)
	@$(if $(ARGS),,$(VENV_PYTHON) -m tests.pythons passed)

.PHONY: test-fast
test-fast: dev ## run tests that need no database
	$(PYTEST) $(WITHOUT_SERVERS) $(FAST_TESTS) $(ARGS)

.PHONY: test-pythons
test-pythons: dev ## run tests without server and browser on every installed Python (NEWEST=1: only the newest; DAY=1: a sixth of the files)
	@$(VENV_PYTHON) -m tests.pythons $(if $(NEWEST),newest,run) $(WITHOUT_SERVERS) $(PARALLEL) \
		$(if $(DAY),--day $(DAY)) $(ARGS)

.PHONY: test-slow
test-slow: dev browser ## run the slow tests: accessibility of every page, all boundary values of the API, caching, product tests (DAY=1: every sixth page)
	$(PYTEST) -m slow $(TWO_WORKERS) $(if $(DAY),--day $(DAY)) tests/dashboard/access tests/dashboard/test_cache_everywhere.py tests/product \
		tests/dashboard/test_visibility.py tests/api/boundary_values.py $(ARGS)

# Debian: apt-get install --no-install-recommends openssh-server wine
.PHONY: test-probe
test-probe: dev ## run the probe over a real SSH server, and the Windows probe if wine and mingw are installed
	$(PYTEST) -m slow tests/agents $(ARGS)

# Debian: apt-get install --no-install-recommends wine wine64 gcc-mingw-w64-x86-64-win32 \
#         gcc-mingw-w64-i686-win32
.PHONY: test-windows
test-windows: dev ## run the Windows agent in wine
	$(PYTEST) -n0 -m wine tests/agents/windows $(ARGS)

# Debian: apt-get install --no-install-recommends mmdebstrap rpm minisign systemd \
#         systemd-container openssh-client
.PHONY: test-packages
test-packages: dev ## install and remove the agent's packages in a new Debian, also booted (needs root; ARGS="-k tools": only read them)
	$(PYTEST) -n0 -m packages --timeout=1200 tests/agents/packages $(ARGS)

.PHONY: test-faults
test-faults: dev ## run the agent's fault tests at full length: kills, 100,000 spooled runs, floods, foreign servers
	VIRTLAB_TEST_KILLS=30 VIRTLAB_TEST_RUNS=2000 VIRTLAB_TEST_SPOOLED=100000 VIRTLAB_TEST_FLOOD_S=60 \
		$(PYTEST) -n0 -s --timeout=1800 tests/agents/test_spool_crashes.py tests/agents/test_large_spool.py \
		tests/agents/timing/test_request_floods.py tests/agents/commands/test_foreign_servers.py $(ARGS)

# Debian: apt-get install --no-install-recommends texlive-latex-extra texlive-science \
#         texlive-publishers texlive-fonts-recommended texlive-fonts-extra \
#         texlive-plain-generic cm-super
.PHONY: test-tex
test-tex: dev ## compile exported LaTeX with a real TeX in journal classes
	$(PYTEST) -m tex tests/dashboard/exports $(ARGS)

# Debian: apt-get install --no-install-recommends r-base-core r-cran-metafor
.PHONY: test-metafor
test-metafor: dev ## compare pooled evidence with the R package metafor
	$(PYTEST) -m metafor tests/benchmarks/analysis $(ARGS)

# Debian: apt-get install --no-install-recommends r-base-core
.PHONY: test-readers
test-readers: dev ## read the data of a server in one line with R and DuckDB
	$(PYTEST) -m readers tests/client $(ARGS)

# etcd, kube-apiserver and kubectl in PATH (docs/containers.md)
.PHONY: test-kubernetes
test-kubernetes: dev ## apply deploy/kubernetes/ to a real API server of Kubernetes
	$(PYTEST) -n0 -m kubernetes tests/product/test_kubernetes_server.py $(ARGS)

# Debian: apt-get install --no-install-recommends prometheus
.PHONY: test-prometheus
test-prometheus: dev ## load monitoring/ into a real Prometheus that scrapes a running Virtlab
	$(PYTEST) -m prometheus tests/product $(ARGS)

# Debian, as root, with a Python 3.12: apt-get install --no-install-recommends \
#         $(.venv/bin/python -m tests.podman --packages)
.PHONY: test-compose
test-compose: dev ## start docker-compose.yml, kill each container, restore a backup (PODMAN_STORE=folder caches Debian)
	@$(VENV_PYTHON) -m tests.podman
	PODMAN_STORE=$(PODMAN_STORE) $(PYTEST) -n0 -m compose tests/product $(ARGS)

# Debian: apt-get install --no-install-recommends gcc make libssl-dev libxml2-dev \
#         libreadline-dev
.PHONY: test-citus
test-citus: dev browser ## run all tests on a Citus cluster of three servers (CITUS=folder with the source of Citus 14)
	@$(VENV_PYTHON) -m tests.citus_plugin "$(CITUS)"
	PYTHONPATH=.citus $(PYTEST) -n0 -p tests.citus_plugin -m "product and not tex and not prometheus and not compose" \
		tests/product $(ARGS)

.PHONY: check
check: dev lint types migrations test docs-check ## run all checks and all tests

.PHONY: lint
lint: dev ## check style
	$(VENV_PYTHON) -m ruff check
	$(VENV_PYTHON) -m ruff format --check

.PHONY: types
types: dev ## check types
	$(VENV_PYTHON) -m mypy

.PHONY: fix
fix: dev ## fix style
	$(VENV_PYTHON) -m ruff check --fix
	$(VENV_PYTHON) -m ruff format

.PHONY: migration
migration: dev ## create a migration (name=what_it_does)
	@$(if $(name),,$(error Name the migration: make migration name=add_run_note))
	$(RUN_COMMAND) manage.py makemigrations --name $(name)

.PHONY: migrations
migrations: dev ## check for missing migrations
	$(RUN_COMMAND) manage.py makemigrations --check --dry-run

.PHONY: docs
docs: dev ## write the generated pages of docs/
	$(RUN_COMMAND) manage.py write_docs
	$(RUN_COMMAND) manage.py write_study_schema
	$(RUN_COMMAND) manage.py write_messages

.PHONY: docs-check
docs-check: dev ## check that the generated pages are up to date
	$(RUN_COMMAND) manage.py write_docs --check
	$(RUN_COMMAND) manage.py write_study_schema --check
	$(RUN_COMMAND) manage.py write_messages --check
	$(VENV_PYTHON) -m tests.pythons check

.PHONY: messages
messages: docs ## start or update a translation (LANGUAGE=de)
	@$(if $(LANGUAGE),,$(error Set the language: make messages LANGUAGE=de))
	$(RUN_COMMAND) manage.py update_translation $(LANGUAGE)

.PHONY: golden
golden: docs ## rebuild expected outputs (OpenAPI, parsed outputs) and show the changes
	$(VENV_PYTHON) -m tests.data.rebuild
	$(RUN_COMMAND) manage.py spectacular --file tests/api/openapi.yaml --validate --fail-on-warn
	git diff --stat

.PHONY: bench
bench: dev ## measure the performance of this machine (PASSES=3, JSON=file: every upload pass)
	@$(VENV_PYTHON) -m devtools.page_benchmark --passes $(or $(PASSES),3) $(if $(JSON),--json "$(JSON)")

.PHONY: chaos
chaos: dev ## kill, freeze and starve processes during uploads (SECONDS=300 SEED=1); RUNS=1000000 adds a slice to FOLDER=var/chaos
	@$(VENV_PYTHON) -m devtools.$(if $(RUNS),chaos_series --runs $(RUNS) --folder $(or $(FOLDER),var/chaos),chaos) \
	    --seconds $(or $(SECONDS),300) --seed $(or $(SEED),1) $(ARGS)

.PHONY: fuzz
fuzz: dev ## send malformed requests to API and pages; none may return 500 (REQUESTS=20000 SEED=1)
	@$(VENV_PYTHON) -m devtools.fuzz --seed $(or $(SEED),1) --requests $(or $(REQUESTS),20000) $(ARGS)

.PHONY: overload
overload: dev ## test with 50 readers, 10 uploaders, 200 slow and 500 idle clients (SECONDS=60 SEED=1)
	@$(VENV_PYTHON) -m devtools.overload --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) $(ARGS)

.PHONY: soak
soak: dev ## run a bounded load for 30 minutes; no process may grow (MINUTES=30 SEED=1)
	@$(VENV_PYTHON) -m devtools.soak --minutes $(or $(MINUTES),30) --seed $(or $(SEED),1) $(ARGS)

.PHONY: privacy-crawl
privacy-crawl: dev ## crawl for private data as anonymous, foreign and other labs' users (SEED=1 MAX_PAGES=3000)
	@$(VENV_PYTHON) -m devtools.privacy_crawl --seed $(or $(SEED),1) --most $(or $(MAX_PAGES),3000) $(ARGS)

.PHONY: recovery-drill
recovery-drill: dev ## restore a backup, recover to a point in time, upgrade an old version; check that no data are lost
	@$(VENV_PYTHON) -m devtools.recovery_drill $(ARGS)

.PHONY: screenshots
screenshots: dev browser ## take pictures of all pages of `make run` into var/screenshots/ (URL=, VAR=)
	$(VENV_PYTHON) -m devtools.screenshots $(or $(URL),http://127.0.0.1:8000) $(or $(VAR),var)

.PHONY: calibrate
calibrate: dev ## measure the error rates of the statistics (REPETITIONS=10000)
	$(VENV_PYTHON) -m devtools.calibration --repetitions $(or $(REPETITIONS),10000) \
		--write docs/figures/calibration.md

.PHONY: judge
judge: dev ## judge a running product by simulated worlds (URL= TOKEN_FILE= OPTIONS=--help)
	$(VENV_PYTHON) -m devtools.judge $(URL) $(TOKEN_FILE) $(OPTIONS)

.PHONY: agent
agent: ## pack the agent into dist/virtlab-agent.pyz, with its checksum
	@$(PYTHON) -m agents.build dist/virtlab-agent.pyz

.PHONY: agent-packages
agent-packages: ## pack the agent into dist/ as one file, deb, rpm and wheel
	@$(PYTHON) -m agents.packages.build dist

# Debian: apt-get install --no-install-recommends gcc musl-tools gcc-i686-linux-gnu \
#         libc6-dev-i386-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
#         gcc-mingw-w64-x86-64-win32 gcc-mingw-w64-i686-win32 \
#         qemu-user-static wine64 (the command lists missing compilers)
.PHONY: probe
probe: ## compile the kernels into one static program per platform in dist/
	@$(PYTHON) -m agents.kernels.static_build dist

# Debian: apt-get install --no-install-recommends gcc-mingw-w64-x86-64-win32 \
#         gcc-mingw-w64-i686-win32
.PHONY: agent-windows
agent-windows: venv ## pack the Windows agent with Python and kernels into dist/
	@$(VENV_PYTHON) -m agents.build --windows dist

.PHONY: client
client: ## pack the Python client into a wheel in dist/ (pip install dist/*.whl)
	@$(PYTHON) -m client.build dist

.PHONY: testbed
testbed: venv ## measure real guests, a container and this machine (SESSIONS=, REPETITIONS=, SERVER=)
	@$(VENV_PYTHON) -m testbed $(if $(REPETITIONS),--repetitions $(REPETITIONS)) \
		$(if $(SESSIONS),--sessions $(SESSIONS)) $(if $(SEED),--seed "$(SEED)") \
		$(if $(ONLY),--only "$(ONLY)") \
		$(if $(STUDY),--study "$(STUDY)") $(if $(RECORD),--record "$(RECORD)")

.PHONY: testbed-vm
testbed-vm: venv ## measure start-up, memory and migration of emulated machines (SESSIONS=, REPETITIONS=, SERVER=)
	@$(VENV_PYTHON) -m testbed.host_measurements $(if $(REPETITIONS),--repetitions $(REPETITIONS)) \
	    $(if $(SESSIONS),--sessions $(SESSIONS))

.PHONY: testbed-short
testbed-short: venv ## run testbed with one guest, one container and a wrong clock
	@$(VENV_PYTHON) -m testbed --short $(if $(REPETITIONS),--repetitions $(REPETITIONS)) \
		$(if $(ONLY),--only "$(ONLY)")

.PHONY: lock
lock: dev ## pin the newest package versions in requirements*.txt
	$(VENV_PYTHON) -m pip install --quiet uv
	for name in requirements requirements-dev; do \
		$(VENV_PYTHON) -m uv pip compile --universal --python-version 3.11 --generate-hashes \
			--custom-compile-command "make lock" --upgrade --quiet \
			--output-file $$name.txt $$name.in || exit; \
	done

AUDIT := $(VENV_PYTHON) -m uv tool run --from

.PHONY: audit
audit: dev ## list known vulnerabilities of the pinned packages; needs PyPI's list of advisories
	$(VENV_PYTHON) -m pip install --quiet uv
	for name in requirements requirements-dev; do \
		$(AUDIT) pip-audit==2.10.1 pip-audit --strict --disable-pip --require-hashes \
			--requirement $$name.txt || exit; \
	done

.PHONY: sbom
sbom: dev ## write dist/virtlab.cdx.json, the software bill of materials (CycloneDX)
	$(VENV_PYTHON) -m pip install --quiet uv
	mkdir -p dist
	$(AUDIT) cyclonedx-bom==7.5.0 cyclonedx-py requirements --pyproject pyproject.toml \
		--output-reproducible --validate --output-file dist/virtlab.cdx.json requirements.txt

.PHONY: clean
clean: ## remove generated files; var/ and its data are kept
	rm -rf .venv .pythons .citus .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## list these targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

# Internal targets.

.PHONY: venv
venv:
	@$(call bootstrap,)

.PHONY: dev
dev:
	@$(call bootstrap,--dev)

.PHONY: browser
browser: dev
	@$(VENV_PYTHON) -m running.headless_browser

# Secrets have no defaults: the first `make up` generates them.
.env:
	@umask 077; for name in SECRET_KEY POSTGRES_PASSWORD DATABASE_PASSWORD OWNER_DATABASE_PASSWORD; do \
		echo "$$name=$$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"; \
	done > $@; echo 'ALLOWED_HOSTS=localhost' >> $@
	@echo "written: .env (keep this file: it has the passwords of the database)"

define bootstrap
command -v $(PYTHON) >/dev/null || { \
	echo "Virtlab needs Python 3.11 or newer, but $(PYTHON) was not found. On Debian:" \
		"apt install python3 python3-venv" >&2; exit 1; }; \
$(PYTHON) running/create_venv.py $(1) $(EXACT_OPTION)
endef
