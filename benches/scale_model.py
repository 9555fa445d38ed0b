"""A cost model for sizes that cannot be run here: fitted to some runs, checked on others, and extrapolated to many more rows.

    make python-venv && target/python-venv/bin/pip install -r benches/requirements.txt
    target/python-venv/bin/python benches/scale_model.py > benches/results/DATE-scale-model-CPU.md
    target/python-venv/bin/python benches/scale_model.py --plan          plans alone, with the seconds that were fitted last

How space is cut is not modelled but done: the census of a real set of rows, joined with itself until it counts as many as asked for, goes through
the partitioning code of the package. So tiles, copies of rows, bytes moved and memory of a task are what a run would have. What is fitted is
time: processor seconds = a · rows + b · rows in all tiles + m · multiplications on lattices, with a b of its own for metres, to runs of the command under
a small memory limit. Larger runs, and widths that the fit has not seen, are held out. Rows of tile groups count as rows in tiles and have their multiplications besides; no run of the fit has any.
"""

import argparse
import json
import math
import os
import pickle
import resource
import subprocess
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from geosmooth import _core

from out_of_core import write
from side_by_side import BINARY, cpu

FIT = [(rows, sigma) for rows in (1_000_000, 2_000_000) for sigma in ("0.002deg", "0.02deg", "0.5deg", "300m", "60km")]
HELD_OUT = [(1_000_000, "0.01deg"), (4_000_000, "0.002deg"), (4_000_000, "0.1deg"), (3_000_000, "1deg"), (3_000_000, "1km"), (4_000_000, "100km")]
# For each row of either kind: the larger a set, the more it may have.
LIMIT_PER_ROW, LEAST_LIMIT = 40, 256 << 20
TOLERANCE = 1e-6
SAMPLE = 2_000_000
PLANS = [(rows, sigma) for rows in (1e9, 1e11) for sigma in ("100m", "500m", "0.01deg", "1deg")]
# What the last fit found (benches/results/2026-11-18-scale-model-epyc-avx512.md): seconds for each row, each row in tiles in degrees and in metres, and each multiplication.
FITTED = np.array([0.40e-6, 0.64e-6, 1.39e-6, 0.117e-9])
MEMORY_PER_TASK = [gib << 30 for gib in (64, 16)]
# Cubes of space with rows in them beyond which Spark does not look for lattices.
MOST_CELLS = 1 << 15
# Place and value of a guest, its tile and its role; a row at home has all its columns besides, here a hundred bytes.
GUEST_BYTES, HOME_BYTES = 40, 140


def census(folder, sigma):
    """The census of the rows of a folder."""
    counted, ranges = _core.Census(sigma, 2), []
    for name, column, labelled in (("test.parquet", "predicted", False), ("train.parquet", "price", True)):
        for batch in pq.ParquetFile(folder / name).iter_batches(1 << 20, columns=["latitude", "longitude", column]):
            axes = [batch[k].to_numpy() for k in range(2)]
            counted.add({"axes": axes, "groups": None, "values": []}, labelled)
            values = batch[2].to_numpy()
            ranges.append((values.min(), values.max()))
    return counted, (float(min(low for low, _ in ranges)), float(max(high for _, high in ranges)))


def grown(counted, rows):
    """A census of at least this many rows of each kind, with the same places: joined with itself repeatedly."""
    while counted.rows[0] < rows:
        counted.join(pickle.loads(pickle.dumps(counted)))
    return counted


def chosen(counted, values, memory, most_cells=math.inf):
    """The chosen plan: its name, tiles, tile groups, rows in all of them, and multiplications; or the reason why there is none."""
    settings = {"c": 0.6, "label_weight": 1.0, "tolerance": TOLERANCE, "certificate": False, "memory": memory, "threads": 1}
    whole = _core.TileGroup.whole(counted, settings, [values], memory) if counted.occupied <= most_cells else None
    try:
        cut = _core.Partition(counted, settings, [values], memory, True)
    except MemoryError as error:
        if whole is None:
            return {"way": "refused", "why": str(error).splitlines()[0]}
        cut = None
    if whole is not None and (cut is None or whole.multiplications <= cut.work):
        return {"way": "moments", "tiles": 0, "tile_groups": 0, "copies": 0, "multiplications": whole.multiplications}
    return {"way": "tiles", "tiles": len(cut.tiles), "tile_groups": len(cut.tile_groups), "copies": cut.copies, "multiplications": cut.multiplications}


def run(folder, rows, sigma):
    """CPU seconds of an out-of-core run, and its report."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    limit = max(LEAST_LIMIT, 2 * rows * LIMIT_PER_ROW)
    command = [BINARY, "smooth", "--train", folder / "train.parquet", "--test", folder / "test.parquet", "--label", "price", "--prediction", "predicted",
               "--sigma", sigma, "--c", "0.6", "--json", "--overwrite", "-o", folder / "out.parquet", "--memory-limit", str(limit)]
    report = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, report, limit


def features(rows, sigma, way):
    copies = [0, way["copies"]] if sigma.endswith("m") else [way["copies"], 0]
    return [2 * rows, *copies, way["multiplications"]]


def data(folder, rows):
    """The folder of a data set with this many rows of each kind; created if it does not exist."""
    where = folder / str(rows)
    where.mkdir(exist_ok=True)
    for seed, name in enumerate(("train.parquet", "test.parquet")):
        if not (where / name).exists():
            write(where / name, rows, seed)
    return where


def measure(folder, runs):
    """For each run its rows and σ, the plan, the inputs of the model, and its seconds."""
    measured = []
    for rows in sorted({rows for rows, _ in runs}):
        where = data(folder, rows)
        for sigma in [sigma for count, sigma in runs if count == rows]:
            seconds, report, limit = run(where, rows, sigma)
            counted, values = census(where, sigma)
            way = chosen(counted, values, limit // 2)
            assert report["streamed"]["by"] == way["way"], (rows, sigma, report["streamed"], way)
            measured.append((rows, sigma, way, report["streamed"], seconds))
    return measured


def fitted(measured):
    """Non-negative coefficients with the least squared relative error in seconds."""
    table = np.array([features(rows, sigma, way) for rows, sigma, way, _, _ in measured], float)
    seconds = np.array([seconds for *_, seconds in measured])
    table /= seconds[:, None]
    active = list(range(table.shape[1]))
    while True:
        found, *_ = np.linalg.lstsq(table[:, active], np.ones(len(seconds)), rcond=None)
        if (found >= 0).all():
            break
        active.remove(active[int(np.argmin(found))])
    return np.array([found[active.index(k)] if k in active else 0.0 for k in range(table.shape[1])])


def table_of_runs(measured, coefficients):
    print("| rows | σ | way | tiles: planned, ran | copies: planned, ran | processor seconds | model | model / measured |")
    print("| --- | --- | --- | --- | --- | ---: | ---: | ---: |")
    for rows, sigma, way, ran, seconds in measured:
        expected = float(np.dot(features(rows, sigma, way), coefficients))
        tiles = f"{way['tiles']}, {ran['tiles']}" if "tiles" in ran else "-"
        copies = f"{way['copies'] / (2 * rows):.2f}, {ran['copies']:.2f}" if "copies" in ran else "-"
        print(f"| {rows:,} + {rows:,} | {sigma} | {way['way']} | {tiles} | {copies} | {seconds:.1f} | {expected:.1f} | {expected / seconds:.2f} |")


def table_of_plans(folder, coefficients):
    print("| rows of each kind | σ | memory of a task | way | tiles | tile groups | copies of a row | moved between machines | core-hours | seconds to plan |")
    print("| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rows, sigma in PLANS:
        counted, values = census(folder, sigma)
        counted = grown(counted, rows)
        for memory in MEMORY_PER_TASK:
            begin = time.perf_counter()
            way = chosen(counted, values, memory // 2, MOST_CELLS)
            line = planned(counted.rows[0], sigma, memory, way, coefficients)
            print(f"{line} {time.perf_counter() - begin:.1f} |", flush=True)
            if way["way"] == "moments":
                break


def planned(rows, sigma, memory, way, coefficients):
    """One line of the table."""
    line = f"| {rows:.1e} | {sigma} | {memory >> 30} GiB |"
    if way["way"] == "refused":
        return f"{line} refused: {way['why']} | | | | | |"
    moved = way["copies"] * GUEST_BYTES + (rows * HOME_BYTES if way["way"] == "tiles" else 0)
    hours = float(np.dot(features(rows, sigma, way), coefficients)) / 3600
    shown = f"{way['tiles']:,} | {way['tile_groups']:,} | {way['copies'] / (2 * rows):.2f} | {moved / 1e12:.2f} TB" if way["way"] == "tiles" else "- | - | - | moments alone"
    return f"{line} {way['way']} | {shown} | {hours:,.1f} |"


def fit_and_check(folder):
    """The coefficients and their errors."""
    fit, held_out = measure(folder, FIT), measure(folder, HELD_OUT)
    coefficients = fitted(fit)
    a, b, on_sphere, m = coefficients
    print(f"seconds = {a * 1e6:.2f} µs · rows + {b * 1e6:.2f} µs · rows in tiles ({on_sphere * 1e6:.2f} µs in metres) + {m * 1e9:.3f} ns · multiplications\n")
    print("## Runs that the model was fitted to\n")
    table_of_runs(fit, coefficients)
    print("\n## Runs that it has not seen\n")
    table_of_runs(held_out, coefficients)
    return coefficients


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", action="store_true", help="plans alone")
    plan = parser.parse_args().plan
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("SCALE_DATA", temporary))
        print(f"# What smoothing costs, {date.today()}\n\n{cpu()}. Processor seconds of the whole command, Parquet to Parquet, one run each.\n")
        coefficients = FITTED if plan else fit_and_check(folder)
        print("\n## What it says of more rows\n\nThe country of the benchmark, with more houses in it.\n")
        table_of_plans(data(folder, SAMPLE), coefficients)


if __name__ == "__main__":
    main()
