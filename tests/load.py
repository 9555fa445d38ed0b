"""Load: many runs at once under a small memory limit, then runs for as long as asked for; nothing may grow and nothing stay behind.

    python tests/load.py --minutes 60

Runs the binary that GEOSMOOTH names, and the Python package where it is installed, all in this process.
"""

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

REPOSITORY = Path(__file__).parents[1]
BINARY = Path(os.environ.get("GEOSMOOTH", REPOSITORY / "target" / "release" / "geosmooth")).resolve()
SAMPLES = REPOSITORY / "data-samples"
ROWS = 100_000
AT_ONCE = 20
CORES = 2
# Memory that the system gives in huge pages comes and goes by as much from run to run.
NOISE = 24e6


def rows(n, seed):
    rng = np.random.default_rng(seed)
    at = rng.uniform([40, -85], [42, -83], (n, 2))
    return pa.table({"latitude": at[:, 0], "longitude": at[:, 1], "model": rng.normal(size=n), "price": rng.normal(size=n)})


def smoothing(folder, out, *more, test="test.parquet"):
    known = ["--train", folder / "train.parquet", "--label", "price", "--prediction", "model", "--c", "0.5", "--json"]
    return [BINARY, "smooth", "--test", folder / test, *known, "-o", out, "--overwrite", *more]


def tiled(folder, out, *more):
    """More rows than the limit holds: tile by tile, from disk."""
    return smoothing(folder, out, "--memory-limit", "64MiB", "--spill-dir", folder / "spill", *more, test="many.parquet")


def requests(folder):
    """What is asked for in turn, over and over: every engine, and everything that writes."""
    known = ["--train", SAMPLES / "train.parquet", "--label", "log_price", "--prediction", "xgb"]
    for engine, sigma in itertools.product(["fast", "sparse"], ["50m", "500m", "0.002deg"]):
        yield f"{engine} {sigma}", smoothing(folder, folder / "out.parquet", "--engine", engine, "--sigma", sigma, "--certificate")
    yield "tiles 500m", tiled(folder, folder / "out.parquet", "--sigma", "500m")
    yield "tiles certified", tiled(folder, folder / "out.parquet", "--sigma", "0.002deg", "--certificate")
    yield "refused", smoothing(folder, folder / "refused.parquet", "--sigma", "1km", "--memory-limit", "1MB")
    yield "tune", [BINARY, "tune", *known, "--validation", SAMPLES / "validation.parquet", "-o", folder / "tuned.json", "--overwrite", "--json"]
    yield "diagnose", [BINARY, "diagnose", *known, "--validation", SAMPLES / "validation.parquet", "--sigma", "500m", "--report", folder / "page", "--overwrite", "--json"]


def run(command):
    return watch(subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE))


def watch(process):
    """Waits for a process; gives its exit code, what it said, and what it told of its run."""
    out, err = process.communicate(timeout=600)
    told = json.loads(out) if process.returncode == 0 and out else {}
    return process.returncode, err.decode(), told


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def check_refusal(code, said):
    lines = said.splitlines()
    check(code in (1, 2) and len(lines) == 2 and lines[0].startswith("error: ") and lines[1].startswith("hint: "), f"{code}: {said}")


def check_folder(folder):
    left = [*folder.rglob(".geosmooth-*"), *(folder / "spill").iterdir()]
    check(not left, f"left behind: {left}")


# --- at once ----------------------------------------------------------------------------------------------------


def at_once(folder):
    """Twenty runs on two cores, some with room enough, some without, some tile by tile."""
    limits = ["2MB", "60MB", "90MB", "200MB", None]
    begun, processes = time.monotonic(), []
    for number in range(AT_ONCE):
        limit, engine, out = limits[number % 5], ["fast", "sparse", "auto"][number % 3], folder / f"{number}.parquet"
        if limit:
            command = smoothing(folder, out, "--sigma", "300m", "--engine", engine, "--memory-limit", limit)
        else:
            command = tiled(folder, out, "--sigma", "300m")
        processes.append((number, subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)))
    done, peaks = 0, []
    for number, process in processes:
        code, said, told = watch(process)
        output = folder / f"{number}.parquet"
        if code == 0:
            done, peaks = done + 1, [*peaks, told["peak_memory_bytes"]]
            check(pq.read_table(output)["model_smoothed"].null_count == 0, f"{output} is not whole")
            output.unlink()
        else:
            check_refusal(code, said)
            check(not output.exists(), f"{output} was refused but is there")
    check_folder(folder)
    check(0 < done < AT_ONCE, f"{done} of {AT_ONCE} runs finished: the limits tell nothing")
    print(f"{AT_ONCE} runs at once on {CORES} cores: {done} finished, {AT_ONCE - done} refused, {time.monotonic() - begun:.1f} s, peak of one {max(peaks) / 1e6:.0f} MB")


# --- again and again --------------------------------------------------------------------------------------------


class Peaks:
    """Memory over time, by what was done."""

    def __init__(self):
        self.of = {}

    def add(self, what, memory):
        self.of.setdefault(what, []).append(memory)

    def check(self):
        for what, memory in self.of.items():
            # The first runs may still be filling what is kept.
            half = len(memory) // 2
            if half < 3:
                continue
            early, late = max(memory[1:half + 1]), max(memory[half + 1:])
            check(late <= 1.05 * early + NOISE, f"{what} grew from {early / 1e6:.0f} to {late / 1e6:.0f} MB in {len(memory)} runs")
            print(f"  {what:<22} {len(memory):>6} runs, at most {early / 1e6:.1f} MB in the first half, {late / 1e6:.1f} MB in the second")


def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def in_process():
    """One turn of the Python package in this very process, if it is installed."""
    try:
        import geosmooth
    except ImportError:
        return None
    tables = {name: pq.read_table(SAMPLES / f"{name}.parquet") for name in ("train", "validation", "test")}
    columns = {"label": "log_price", "prediction": "xgb"}

    def turn():
        geosmooth.smooth(tables["test"], tables["train"], **columns, sigma="300m", c=0.7, certificate=True)
        geosmooth.smooth(tables["test"], tables["train"], **columns, sigma="0.002deg", c=0.7, engine="sparse")
        geosmooth.tune(tables["validation"], tables["train"], **columns, sigma_grid=["100m", "300m"])

    return turn


def again_and_again(folder, minutes):
    peaks, turn, begun, turns = Peaks(), in_process(), time.monotonic(), 0
    if turn is None:
        print("the Python package is not installed: runs of the command only")
    while time.monotonic() - begun < 60 * minutes:
        for what, command in requests(folder):
            code, said, told = run(command)
            if what == "refused":
                check_refusal(code, said)
            else:
                check(code == 0, f"{what}: {code}: {said}")
            check(("streamed" in told) == what.startswith("tiles"), f"{what}: {told}")
            # The limit counts what is made of the rows; the program itself holds some more.
            check("streamed" not in told or told["peak_memory_bytes"] <= (64 << 20) + (40 << 20), f"{what}: {told}")
            if memory := told.get("peak_memory_bytes"):
                peaks.add(what, memory)
        if turn:
            for _ in range(5):
                turn()
            peaks.add("in one process", resident())
        check_folder(folder)
        turns += 1
    print(f"{turns} turns in {(time.monotonic() - begun) / 60:.1f} minutes, nothing left behind")
    peaks.check()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    minutes = parser.parse_args().minutes
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    folder = Path(tempfile.mkdtemp(prefix="load-"))
    os.environ["TMPDIR"] = str(folder)
    try:
        (folder / "spill").mkdir()
        pq.write_table(rows(ROWS, 1), folder / "test.parquet")
        pq.write_table(rows(4 * ROWS, 3), folder / "many.parquet")
        pq.write_table(rows(ROWS, 2), folder / "train.parquet")
        at_once(folder)
        again_and_again(folder, minutes)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
