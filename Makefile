# All tests: `make test`. The rest are its parts, and what CI adds to them.

VENV := target/interop-venv
export GEOSMOOTH := $(CURDIR)/target/release/geosmooth

.PHONY: test test-rust test-interop sweep check bench

# Without Python 3 the second part is skipped and said so; CI demands it.
ifeq ($(CI)$(shell python3 -c 'import venv, ensurepip; print("here")' 2>/dev/null),)
test: test-rust
	@echo "skipped: the interop tests need python3 with venv"
else
test: test-rust test-interop
endif

# In release: the tests sum over many pairs, and share their build with the program.
test-rust:
	cargo test --release

# The fast engine against all pairs over every tolerance, width, layout and metric; `make test` does a part of it.
sweep:
	cargo test --release --test suite -- --ignored --nocapture sweep

# Files from and for other programs, and everything that people throw at it.
test-interop: $(VENV)/ready
	cargo build --release
	$(VENV)/bin/python -m pytest -q tests/interop

$(VENV)/ready: tests/interop/requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

check:
	cargo fmt --check
	cargo clippy --release --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps

bench:
	cargo bench
