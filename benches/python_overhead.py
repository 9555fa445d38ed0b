"""The overhead of Python over the Rust core: 304,000 + 304,000 rows from polars and back, against plan and apply alone.

    make wheel test-python
    target/python-venv/bin/python benches/python_overhead.py [ROUNDS]

The whole call takes polars frames, reads columns out of them, plans, applies, and gives a polars frame back. Rounds go
through all widths by turns. The overhead is the least that any call adds to its own plan and apply, over the fastest plan and
apply: other work on the machine lengthens both, but seldom all of them.
"""

import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import geosmooth
import make_data

ROWS = 304_000
SIGMAS = ["0.001deg", "0.01deg", "0.1deg", "1deg", "100m", "1km"]


def once(test, train, sigma):
    """Seconds of the whole call, and of plan and apply within it."""
    start = time.perf_counter()
    smoothing = geosmooth.smooth(test, train, label="price", prediction="predicted", sigma=sigma, c=0.5, details=True)
    return time.perf_counter() - start, smoothing.seconds["plan"] + smoothing.seconds["apply"]


def main(rounds=7):
    with tempfile.TemporaryDirectory() as folder:
        make_data.main(folder, ROWS, ROWS)
        test, train = (pl.read_parquet(Path(folder) / f"{name}.parquet") for name in ("test", "train"))
    # Rows to predict have no label: scoring is not measured here.
    test = test.drop("price")
    seconds = {sigma: [] for sigma in SIGMAS}
    for _ in range(rounds):
        for sigma in SIGMAS:
            seconds[sigma].append(once(test, train, sigma))
    print("| σ | plan and apply | a call adds | overhead |\n| --- | ---: | ---: | ---: |")
    for sigma, pairs in seconds.items():
        core, added = min(core for _, core in pairs), min(call - core for call, core in pairs)
        print(f"| {sigma} | {core:.3f} | {1e3 * added:.1f} ms | {100 * added / core:.1f} % |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
