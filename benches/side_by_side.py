"""geosmooth beside what a user would run instead, in one run on one machine, as a Markdown report.

    cargo build --release
    python -m venv target/bench-venv && target/bench-venv/bin/pip install -r benches/requirements.txt
    target/bench-venv/bin/python benches/side_by_side.py > benches/results/DATE-CPU.md

Data: make_data.py, a seeded synthetic country of houses. Peers: peers.py, timed from arrays in memory to smoothed
values. geosmooth is timed by its own report: plan and apply for the engines, read and write for the files. Each contender
runs several times, alternating, and its fastest run counts: other work on the machine only ever makes a run slower.
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
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make_data  # noqa: E402
import peers  # noqa: E402

BINARY = HERE.parent / "target" / "release" / "geosmooth"
COLUMNS = ["--label", "price", "--prediction", "predicted"]


def data(folder, rows):
    where = folder / str(rows)
    where.mkdir()
    make_data.main(str(where), rows, rows)
    return where


def geosmooth(where, sigma, *more):
    """One run of the real binary: its own report, and the smoothed column."""
    out = where / "smoothed.parquet"
    files = ["--train", where / "train.parquet", "--test", where / "test.parquet"]
    command = [BINARY, "smooth", *files, *COLUMNS, "--sigma", sigma, "--c", "1", "--json", "--overwrite", "-o", out, *more]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return report, pq.read_table(out, columns=["predicted_smoothed"])["predicted_smoothed"].to_numpy()


def engine_against_peer(where, engine, peer, sigma, runs):
    """Fastest seconds of both, and how far apart their results are."""
    tt, y, te, p = peers.load(where)
    function = getattr(peers, peer)
    function(tt[:100], y[:100], te[:100], p[:100], sigma)  # compilation does not count
    ours, theirs = [], []
    for _ in range(runs):
        report, smoothed = geosmooth(where, f"{sigma}deg", "--engine", engine)
        ours.append(report["seconds"]["plan"] + report["seconds"]["apply"])
        start = time.perf_counter()
        result = function(tt, y, te, p, sigma)
        theirs.append(time.perf_counter() - start)
    apart = np.nanmax(np.abs(result - smoothed)) / (max(p.max(), y.max()) - min(p.min(), y.min()))
    memory = report["peak_memory_bytes"] / 2**20
    return min(ours), min(theirs), apart, memory


def engines(folder, runs):
    print("| rows | σ | engine | seconds | peer | seconds | times faster | largest difference | peak memory |")
    print("| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: |")
    small, large = data(folder, 20_000), data(folder, 304_000)
    cases = [(small, "exact", "numba_dense", sigma, runs) for sigma in (0.01, 0.1, 1.0)]
    cases += [(large, "sparse", "scipy_ckdtree", 0.001, runs), (large, "sparse", "scipy_ckdtree", 0.01, 2)]
    for where, engine, peer, sigma, times in cases:
        ours, theirs, apart, memory = engine_against_peer(where, engine, peer, sigma, times)
        rows = f"{int(where.name):,} + {int(where.name):,}"
        print(f"| {rows} | {sigma}° | {engine} | {ours:.3f} | {peer} | {theirs:.2f} | {theirs / ours:.1f} | {apart:.1e} | {memory:,.0f} MiB |", flush=True)


def files(folder, runs):
    where = data(folder, 2_000_000)
    ours, theirs = [], []
    for _ in range(runs):
        # A tiny sigma: hardly any neighbours, so that the files are what takes the time.
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
    print(f"# Side by side, {date.today()}\n\n{cpu()}. Fastest of {runs} runs, alternating (2 at σ = 0.01°).\n")
    with tempfile.TemporaryDirectory() as folder:
        print("## Engines: plan and apply\n")
        engines(Path(folder), runs)
        print("\n## Files\n")
        files(Path(folder), runs)


if __name__ == "__main__":
    main()
