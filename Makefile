# All tests: `make test`. The rest are its parts, and what CI adds to them.

VENV := target/interop-venv
export GEOSMOOTH := $(CURDIR)/target/release/geosmooth

# The wheel is built in the same folder and from the same features, so that one build of each dependency does for all.
PYTHON_VENV := target/python-venv
PYTHON := python3
WHEELS := target/wheels
export PYO3_BUILD_EXTENSION_MODULE := 1

.PHONY: test test-rust test-library test-interop test-python python-venv wheel notebook sweep cases faults soak hostile fuzz miri deny msrv check features bench memory

# Without Python 3 the other parts are skipped and said so; CI demands them.
ifeq ($(CI)$(shell python3 -c 'import venv, ensurepip; print("here")' 2>/dev/null),)
test: test-rust
	@echo "skipped: the interop tests and the Python package need python3 with venv"
else
SCOPE := --workspace
test: test-rust test-interop test-python
endif

# In release: the tests sum over many pairs, and share their build with the program.
test-rust:
	cargo test --release $(SCOPE)

# The library without its default features: no command line, no models, no dense linear algebra. All packages are named, so
# that the dependencies are those of `test-rust` and only our own crates are built again.
LIBRARY_TESTS := --lib --test suite
test-library:
	cargo test --release --workspace --no-default-features $(LIBRARY_TESTS) -- --skip sweep --skip fuzz

# The fast engine against all pairs over every tolerance, width, layout and metric; `make test` does a part of it.
sweep:
	cargo test --release --test suite -- --ignored --nocapture sweep

# Each fuzz target, guided by coverage, for so many seconds: nightly Rust and cargo-fuzz. `make test` runs them on a few
# thousand inputs without either. Leaks are not looked for: threads of a pool end after it is gone, and what they still hold
# by then is taken for one.
SECONDS := 60
fuzz:
	cp Cargo.lock fuzz/Cargo.lock
	for target in read parameters tables engines; do \
	    mkdir -p fuzz/grown/$$target && \
	    RAYON_NUM_THREADS=1 cargo +nightly fuzz run $$target fuzz/grown/$$target fuzz/corpus/$$target -- \
	        -max_total_time=$(SECONDS) -timeout=30 -rss_limit_mb=2048 -malloc_limit_mb=1024 -detect_leaks=0 -print_final_stats=1 || exit 1; \
	done

# Unsafe code under Miri, which sees what is undefined: the allocator of the command, and what the tests of the guard, of sums
# and of places reach in dependencies, on plain code. Nightly Rust with its component miri.
MIRI := cargo +nightly miri test --target-dir target/miri
miri: export MIRIFLAGS := -Zmiri-disable-isolation
miri: export GEOSMOOTH_SIMD := plain
miri:
	$(MIRI) --bin geosmooth
	$(MIRI) --lib -- io::guard io::budget scene::radix scene::curve engine::fast::direct

# Files from and for other programs, and everything that people throw at it.
test-interop: $(VENV)/ready
	cargo build --release $(SCOPE)
	$(VENV)/bin/python -m pytest -q -rs tests/interop

# Ten thousand damaged files for each codec; `make test` tries three hundred.
hostile: export FLIPPED_FILES := 10000
hostile: $(VENV)/ready
	cargo build --release
	$(VENV)/bin/python -m pytest -q -s tests/interop/test_flipped_parquet.py

$(VENV)/ready: tests/interop/requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# The Python package: its wheel in a fresh environment, tests, examples in docstrings and pages, types, the notebook.
# One wheel does for all versions of Python: PYTHON=python3.15 tests it with another.
test-python: python-venv
	cd python/tests && ../../$(PYTHON_VENV)/bin/python -m pytest -q -rs -c ../pyproject.toml --rootdir .. .
	$(PYTHON_VENV)/bin/python python/tests/examples.py
	cd python && ../$(PYTHON_VENV)/bin/python -m mypy
	cd python/tests && ../../$(PYTHON_VENV)/bin/python -m mypy.stubtest geosmooth._core
	$(PYTHON_VENV)/bin/python python/tests/notebook.py

python-venv: wheel
	rm -rf $(PYTHON_VENV)
	$(PYTHON) -m venv $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt $(WHEELS)/*.whl

wheel: $(VENV)/ready
	rm -rf $(WHEELS)
	cd python && ../$(VENV)/bin/python -m maturin build --release --quiet --out ../$(WHEELS)

# Runs the notebook and keeps what it shows.
notebook:
	$(PYTHON_VENV)/bin/python python/tests/notebook.py --keep

# Everything that people throw at it, by number: one table of what was tried and how it went.
CASES := $(CURDIR)/target/cases.jsonl
NUMBERED := CASES=$(CASES) PYTHONPATH=$(CURDIR)/tests/interop
cases: $(VENV)/ready python-venv
	cargo build --release $(SCOPE)
	rm -f $(CASES)
	-$(NUMBERED) $(VENV)/bin/python -m pytest -q -rs -p cases tests/interop
	-cd python/tests && $(NUMBERED) ../../$(PYTHON_VENV)/bin/python -m pytest -q -rs -p cases -c ../pyproject.toml --rootdir .. .
	$(VENV)/bin/python tests/interop/cases.py $(CASES)

# Signals, kills, full disks and changing inputs, twenty times as often as `make test` tries them.
faults: $(VENV)/ready
	cargo build --release $(SCOPE)
	GEOSMOOTH_FAULTS=20 $(VENV)/bin/python -m pytest -q -rs tests/interop/test_faults.py

# Many runs at once, then runs for MINUTES: nothing grows, nothing is left behind.
MINUTES := 60
soak: python-venv
	cargo build --release $(SCOPE)
	nice $(PYTHON_VENV)/bin/python tests/load.py --minutes $(MINUTES)

# Peak memory of many kinds of runs under many limits; fails where one holds more than its limit.
memory: $(VENV)/ready
	cargo build --release $(SCOPE)
	$(VENV)/bin/python benches/memory.py target/memory

check:
	cargo fmt --check
	cargo clippy --release --all-targets $(SCOPE) -- -D warnings
	cargo clippy --release --lib --no-default-features $(SCOPE) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps $(SCOPE)

# Each feature alone: its build warns of nothing.
features:
	for features in '' baselines experiments jemalloc; do \
	    cargo clippy --release --lib --no-default-features --features "$$features" -- -D warnings || exit 1; \
	done

# Licences, duplicate versions and sources of dependencies: cargo-deny.
deny:
	cargo deny --workspace check licenses bans sources

# Whether the oldest compiler that we state builds everything.
msrv:
	cargo +$(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) check --workspace --all-targets --locked --target-dir target/msrv

bench:
	cargo bench
