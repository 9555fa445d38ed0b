"""More rows than memory: `smooth` under a small limit, against all rows at once, as a Markdown report.

    target/bench-venv/bin/python benches/out_of_core.py > benches/results/DATE-out-of-core-CPU.md
    target/bench-venv/bin/python benches/out_of_core.py --rows 40000000 --limit 2GiB --alone >> benches/results/DATE-out-of-core-CPU.md

So many rows are labelled and as many to predict. Widths are given in degrees and metres, so that both ways of going beyond memory are
taken: tiles and moments. Every run is compared with one that had all rows at once, unless memory does not hold them (`--alone`); differences
are relative to the range.
"""

import argparse
import json
import os
import subprocess
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from make_data import field
from side_by_side import BINARY, cpu

SIGMAS = ["0.001deg", "0.01deg", "1deg", "500m", "100km"]
CHUNK = 1_000_000


def towns(n, rng, cities=400):
    """Like the country of make_data.py, but with the same cities in every chunk."""
    fixed = np.random.default_rng(7)
    centre = np.c_[fixed.uniform(26, 48, cities), fixed.uniform(-123, -70, cities)]
    spread = fixed.uniform(0.05, 0.25, cities)
    weight = 1 / (np.arange(cities) + 3.0)
    city = rng.choice(cities, n, p=weight / weight.sum())
    far, angle = rng.exponential(1.0, n) * spread[city], rng.uniform(0, 2 * np.pi, n)
    place = centre[city] + np.c_[far * np.sin(angle), far * np.cos(angle)]
    rural = rng.random(n) < 0.03
    place[rural] = np.c_[rng.uniform(26, 48, rural.sum()), rng.uniform(-123, -70, rural.sum())]
    return place


def write(path, rows, seed):
    """Writes a file of this many rows in chunks, so that it takes little memory."""
    writer = None
    for chunk, start in enumerate(range(0, rows, CHUNK)):
        n, rng = min(CHUNK, rows - start), np.random.default_rng([seed, chunk])
        place = towns(n, rng)
        price, model = (np.exp(field(place) * share + 12.3 * (1 - share) + noise * rng.standard_normal(n))
                        for share, noise in ((1.0, 0.15), (0.4, 0.25)))
        table = pa.table({"id": np.arange(start, start + n), "latitude": place[:, 0], "longitude": place[:, 1], "price": price, "predicted": model})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def smooth(folder, sigma, out, limit=None):
    flags = ["--memory-limit", limit, "--spill-dir", str(folder)] if limit else []
    command = [BINARY, "smooth", "--train", folder / "train.parquet", "--test", folder / "test.parquet", "--label", "price", "--prediction", "predicted",
               "--sigma", sigma, "--c", "0.6", "--json", "--overwrite", "-o", out, *flags]
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(process.stderr)
    return json.loads(process.stdout)


def difference(one, other, report_range):
    """Largest difference of two outputs, relative to the range of the values."""
    largest = 0.0
    files = [pq.ParquetFile(path) for path in (one, other)]
    for batches in zip(*(file.iter_batches(CHUNK, columns=["predicted_smoothed"]) for file in files), strict=True):
        a, b = (batch.column(0).to_numpy() for batch in batches)
        largest = max(largest, float(np.abs(a - b).max()))
    return largest / report_range


def value_range(folder):
    ends = [pc.min_max(pq.read_table(folder / name, columns=[column])[column]).as_py()
            for name, column in (("train.parquet", "price"), ("test.parquet", "predicted"))]
    return max(end["max"] for end in ends) - min(end["min"] for end in ends)


def way(report):
    streamed = report["streamed"]
    if streamed["by"] == "tiles":
        return f"{streamed['tiles']:,} tiles, {streamed['copies']:.2f} copies"
    return f"moments, {streamed['node_bytes'] / 2**20:,.1f} MiB of nodes"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=10_000_000, help="labelled rows, and rows to predict")
    arguments.add_argument("--limit", default="1GiB")
    arguments.add_argument("--alone", action="store_true", help="without the run that has all rows at once")
    arguments.add_argument("--sigmas", default=",".join(SIGMAS))
    arguments.add_argument("--data", type=Path, help="a folder to keep the rows in, or to find them")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.data or Path(temporary)
        for seed, name in enumerate(("train.parquet", "test.parquet")):
            if not (folder / name).exists():
                write(folder / name, asked.rows, seed)
        whole = value_range(folder)
        print(f"# Beyond memory, {date.today()}\n\n{cpu()}. {asked.rows:,} + {asked.rows:,} rows, Parquet to Parquet, one run each.\n")
        print(f"| σ | way | seconds under {asked.limit} | peak memory | all at once: seconds | peak memory | ratio | largest difference | largest bound |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
        for sigma in asked.sigmas.split(","):
            line(folder, sigma, asked.limit, asked.alone, whole)


def line(folder, sigma, limit, alone, whole):
    """One width, with and without the limit."""
    little, much = folder / "little.parquet", folder / "much.parquet"
    streamed, at_once = smooth(folder, sigma, little, limit), "- | - | - | -"
    if not alone:
        report = smooth(folder, sigma, much)
        assert "streamed" not in report, "memory does not hold all rows: --alone"
        ratio = streamed["seconds"]["total"] / report["seconds"]["total"]
        at_once = f"{report['seconds']['total']:.1f} | {peak(report)} | {ratio:.2f} | {difference(little, much, whole):.1e}"
        os.remove(much)
    os.remove(little)
    print(f"| {sigma} | {way(streamed)} | {streamed['seconds']['total']:.1f} | {peak(streamed)} | {at_once} | {streamed['error_bound']['max']:.1e} |", flush=True)


def peak(report):
    return f"{report['peak_memory_bytes'] / 2**20:,.0f} MiB"


if __name__ == "__main__":
    main()
