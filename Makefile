# Every target needs only Python >= 3.11 and make; `setup` brings the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := .ci/uv.lock
# pytest's workers: one more than cores unless told, since some always wait for disks and browsers.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)) + 1)" 2>/dev/null || echo auto)
# A file goes to one worker whole, which makes its fixtures once; in the order of tests/conftest.py.
SHARED_OUT = -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Tests write and sync as often as priste does, which takes a disk longer than all else: their files
# are kept in memory where there is room for them and programs among them may be run, and those of
# tests that passed are removed.
IN_MEMORY := import os; s = os.statvfs("/dev/shm"); \
	print("/dev/shm" if s.f_bavail * s.f_frsize > 2**31 and not s.f_flag & os.ST_NOEXEC else "")
SCRATCH = $(or $(TMPDIR),$(shell $(PYTHON) -c '$(IN_MEMORY)' 2>/dev/null),/tmp)
PYTEST = TMPDIR="$(SCRATCH)" $(BIN)/python -m pytest -o tmp_path_retention_policy=failed

# One thread per process: workers share the cores, and single-threaded ratios compare.
export OPENBLAS_NUM_THREADS := 1

# pytest rewrites tests and its plugins before it runs them; kept, this is done once for all workers.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup home-assistant lock demo docs evidence pictures test test-floats lint lint-page types bench redteam reproduce clean

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml $(UV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(UV)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m priste.quantify.warm_up
	touch $@

# A real Home Assistant, in an environment of its own, for the tests of the live service.
home-assistant: setup
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .home-assistant
	$(BIN)/uv pip install --quiet --python .home-assistant/bin/python --require-hashes \
		-r tests/home-assistant-requirements.lock

# Re-resolves the pinned sets, uv's own included; the only target that may change versions.
RESOLVE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
lock: $(VENV)/.ready
	$(RESOLVE) --extra dev pyproject.toml -o requirements.lock
	echo uv | $(RESOLVE) --no-annotate - -o $(UV)

demo: setup
	$(BIN)/python -m priste demo

test: setup
	$(PYTEST) $(SHARED_OUT)

# The numeric tests once more, as older processors compute: other kernels of the linear algebra, no
# fused multiply-add, no vector code. What hangs on last bits fails here. x86 with glibc only.
DOCUMENTED_RUNS := tests/paper/test_documented_runs.py
NUMERIC := tests/quantify tests/release tests/mechanisms tests/mobility tests/audit $(DOCUMENTED_RUNS)
# These show nothing about last bits: files, processes, statistics, refused arguments.
NOT_NUMERIC := $(addprefix --ignore=tests/,release/test_crash.py release/test_journals_move.py \
	release/test_journal_format.py release/test_ledger_files.py release/test_state_files.py \
	release/test_stream_machine.py release/test_flat_memory.py quantify/test_forgetting.py \
	quantify/test_quantifier_inputs.py quantify/test_warm_up.py audit/test_attacks.py \
	audit/test_black_box.py audit/test_black_box_power.py audit/test_emission_table_files.py \
	mobility/test_model_files.py)
# The second processor differs from the first in the order of sums alone, which tells in streams.
test-floats: setup
	OPENBLAS_CORETYPE=Prescott GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2 NPY_DISABLE_CPU_FEATURES=X86_V3 \
		$(PYTEST) -q $(SHARED_OUT) $(NUMERIC) $(NOT_NUMERIC)
	OPENBLAS_CORETYPE=Sandybridge \
		$(PYTEST) -q $(SHARED_OUT) tests/release $(DOCUMENTED_RUNS) $(NOT_NUMERIC)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(if $(shell command -v npm),$(MAKE) --no-print-directory lint-page,@echo "The checks of the studio's page need node and npm, which are not here: left out.")

# Types, style and unit tests of the page's modules: see frontend/. Needs node >= 20 and npm.
lint-page: frontend/node_modules/.ready
	cd frontend && npm run --silent check

frontend/node_modules/.ready: frontend/package-lock.json
	cd frontend && npm ci --silent
	touch $@

types: setup
	$(BIN)/mypy

# The paper's solvers are wanted by the benchmarks and by one table of the reproduction.
bench: setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r benchmarks/requirements.lock
	$(BIN)/python -m benchmarks

# Attacks on priste and its alternatives, resumable; the page is docs/evidence/red-team.md. A small form
# of minutes: make redteam ARGS=--quick. PyTorch is used where it is installed.
redteam: setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r benchmarks/requirements.lock
	$(BIN)/python -m benchmarks.redteam $(ARGS)

# The documentation as a site: site/index.html. Missing pages, links and anchors are errors.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The pages of docs/evidence, from the figures that benchmarks/results holds.
evidence: setup
	$(BIN)/python -m benchmarks.pages

# Every picture of docs/images that shows the program, with the figures that belong to them. Needs chromium.
pictures: setup
	$(BIN)/python docs/pictures/make_all.py
	$(BIN)/python -m benchmarks.pages

# Every figure and table of the paper, resumable; the page is reproduction/index.html. A smoke test of
# minutes: make reproduce ARGS=--quick. With the data set: make reproduce ARGS="--geolife DIR".
reproduce: setup
	$(BIN)/python -m paper all $(ARGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output site
