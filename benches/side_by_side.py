"""geosmooth and the alternatives that a user might run, side by side on one machine, as a Markdown report.

    cargo build --release
    python -m venv target/bench-venv && target/bench-venv/bin/pip install -r benches/requirements.txt
    target/bench-venv/bin/python benches/side_by_side.py > benches/results/DATE-CPU.md

Data: make_data.py, a seeded synthetic country of houses. Peers: peers.py, timed from arrays in memory to smoothed
values. geosmooth is timed by its own report: plan and apply for the engines, read and write for the files. Each contender
runs several times, alternating, and its fastest run counts: other work on the machine only ever makes a run slower.
The environment variable GEOSMOOTH names another binary than target/release/geosmooth.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make_data  # noqa: E402
import peers  # noqa: E402

BINARY = os.environ.get("GEOSMOOTH", HERE.parent / "target" / "release" / "geosmooth")
COLUMNS = ["--label", "price", "--prediction", "predicted"]
SMALL, LARGE = 20_000, 304_000
PEERS = {
    "numba_dense": peers.numba_dense,
    "scipy_ckdtree": peers.scipy_ckdtree,
    # Ten times smaller than our tolerance: FINUFFT's eps holds for the sums, not for their quotient.
    "finufft, eps 1e-7": partial(peers.finufft, eps=1e-7),
}


def data(folder, rows):
    where = folder / str(rows)
    where.mkdir()
    make_data.main(str(where), rows, rows)
    return where


def geosmooth(where, sigma, *more):
    """One run of the binary: its report, and the smoothed column."""
    out = where / "smoothed.parquet"
    files = ["--train", where / "train.parquet", "--test", where / "test.parquet"]
    command = [BINARY, "smooth", *files, *COLUMNS, "--sigma", sigma, "--c", "1", "--json", "--overwrite", "-o", out, *more]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return report, pq.read_table(out, columns=["predicted_smoothed"])["predicted_smoothed"].to_numpy()


def plan_and_apply(report):
    return report["seconds"]["plan"] + report["seconds"]["apply"]


def engines_against_peer(where, names, peer, sigma, runs):
    """The fastest seconds of the alternative and of each engine, with the difference from the alternative's result and the memory."""
    tt, y, te, p = peers.load(where)
    function = PEERS[peer]
    function(tt[:100], y[:100], te[:100], p[:100], sigma)  # importing and compiling do not count
    ours, theirs, last = {engine: [] for engine in names}, [], {}
    for _ in range(runs):
        for engine in names:
            last[engine] = geosmooth(where, f"{sigma}deg", "--engine", engine)
            ours[engine].append(plan_and_apply(last[engine][0]))
        start = time.perf_counter()
        result = function(tt, y, te, p, sigma)
        theirs.append(time.perf_counter() - start)
    span = max(p.max(), y.max()) - min(p.min(), y.min())
    for engine, (report, smoothed) in last.items():
        apart = np.nanmax(np.abs(result - smoothed)) / span
        yield engine, min(ours[engine]), min(theirs), apart, report["peak_memory_bytes"] / 2**20


def engines(small, large, runs):
    print("| rows | σ | engine | seconds | peer | seconds | times faster | largest difference | peak memory |")
    print("| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: |")
    cases = [(small, ["exact"], "numba_dense", sigma, runs) for sigma in (0.01, 0.1, 1.0)]
    cases += [(large, ["sparse", "fast"], "scipy_ckdtree", 0.001, runs), (large, ["sparse", "fast"], "scipy_ckdtree", 0.01, min(runs, 2))]
    cases += [(large, ["fast"], "finufft, eps 1e-7", sigma, runs) for sigma in (0.1, 1.0)]
    for where, names, peer, sigma, times in cases:
        rows = f"{int(where.name):,} + {int(where.name):,}"
        for engine, ours, theirs, apart, memory in engines_against_peer(where, names, peer, sigma, times):
            print(f"| {rows} | {sigma}° | {engine} | {ours:.3f} | {peer} | {theirs:.2f} | {theirs / ours:.1f} | {apart:.1e} | {memory:,.0f} MiB |", flush=True)


def metres_and_degrees(where, runs):
    """The cost of the sphere: `fast` with about equal sigmas in metres and in degrees."""
    print("| rows | σ | seconds | σ | seconds | metres / degrees |")
    print("| --- | --- | ---: | --- | ---: | ---: |")
    rows = f"{int(where.name):,} + {int(where.name):,}"
    for sigmas in (("100m", "0.001deg"), ("1km", "0.01deg"), ("10km", "0.1deg"), ("100km", "1deg"), ("400km", "4deg"), ("1000km", "10deg"), ("3000km", "30deg")):
        reports = [[geosmooth(where, sigma, "--engine", "fast")[0] for sigma in sigmas] for _ in range(runs)]
        metres, degrees = (min(map(plan_and_apply, of_sigma)) for of_sigma in zip(*reports))
        print(f"| {rows} | {sigmas[0]} | {metres:.3f} | {sigmas[1]} | {degrees:.3f} | {metres / degrees:.2f} |", flush=True)


def files(folder, runs):
    where = data(folder, 2_000_000)
    ours, theirs = [], []
    for _ in range(runs):
        # A tiny sigma with hardly any neighbours, so that reading and writing files dominates.
        report, _ = geosmooth(where, "1m", "--engine", "sparse")
        ours.append(report["seconds"]["read"] + report["seconds"]["write"])
        start = time.perf_counter()
        for name in ("train", "test"):
            duckdb.sql(f"COPY (SELECT * FROM '{where}/{name}.parquet') TO '{where}/copy.parquet' (FORMAT parquet, COMPRESSION zstd)")
        theirs.append(time.perf_counter() - start)
    print("| rows | geosmooth smooth: read and write | DuckDB: copy both files | ratio | peak memory of smooth | whole run |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    total, peak = report["seconds"]["total"], report["peak_memory_bytes"] / 2**20
    print(f"| 2,000,000 + 2,000,000 | {min(ours):.2f} s | {min(theirs):.2f} s | {min(ours) / min(theirs):.2f} | {peak:,.0f} MiB | {total:.2f} s |", flush=True)


def cpu():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    flags = next((line for line in lines if line.startswith("flags")), "")
    simd = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    return f"{name}, {os.cpu_count()} cores, {simd}"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=3)
    runs = options.parse_args().runs
    print(f"# Side by side, {date.today()}\n\n{cpu()}. Fastest of {runs} runs, alternating (2 beside scipy at σ = 0.01°).\n")
    with tempfile.TemporaryDirectory() as folder:
        small, large = data(Path(folder), SMALL), data(Path(folder), LARGE)
        print("## Engines: plan and apply\n")
        engines(small, large, runs)
        print("\n## `fast` in metres and in degrees: plan and apply\n")
        metres_and_degrees(large, runs)
        print("\n## Files\n")
        files(Path(folder), runs)


if __name__ == "__main__":
    main()
