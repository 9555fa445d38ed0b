"""Peak memory of the command under --memory-limit, for kinds of rows that once exceeded it, as a Markdown table.

usage: memory.py DIR [--binary target/release/geosmooth] [--limits 64,100,200,400,1024] [--only KIND,…]

DIR receives the data, 350 MB. Fails if a run that ends well or is refused holds more than its limit and SLACK.
A run that would need more memory than the limit and cannot be done in parts is refused; that counts as "refused" here.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROWS, LABELLED = 1_000_000, 250_000
# Memory of the program itself, which the limit does not include.
SLACK = 30
MIB = 1 << 20

PLAIN = ["--test", "plain.parquet", "--train", "plain_train.parquet", "--label", "price", "--prediction", "model"]
TOWNS = [text.replace("plain", "towns") for text in PLAIN]
WIDE = ["--test", "wide.parquet", "--prediction", "model", "--sigma", "2km"]

KINDS = {
    "plain, metres": [*PLAIN, "--sigma", "2km"],
    "plain, degrees": [*PLAIN, "--sigma", "0.02deg"],
    "plain, 1,000 km": [*PLAIN, "--sigma", "1000km"],
    "10⁴ groups": [*PLAIN, "--sigma", "2km", "--group", "few"],
    "5·10⁵ groups": [*PLAIN, "--sigma", "2km", "--group", "pairs"],
    "10⁶ groups": [*PLAIN, "--sigma", "2km", "--group", "id"],
    "10⁶ groups, degrees": [*PLAIN, "--sigma", "0.02deg", "--group", "id"],
    "10⁶ groups by text": [*PLAIN, "--sigma", "2km", "--group", "text"],
    "40 towns, metres": [*TOWNS, "--sigma", "500m"],
    "40 towns, degrees": [*TOWNS, "--sigma", "0.005deg"],
    "40 towns, certificate": [*TOWNS, "--sigma", "500m", "--certificate"],
    "40 towns, four columns": [*TOWNS[:-1], "model,b,c,d", "--sigma", "500m"],
    "sparse": [*PLAIN, "--sigma", "200m", "--engine", "sparse"],
    "sparse, 10⁶ groups": [*PLAIN, "--sigma", "2km", "--engine", "sparse", "--group", "id"],
    "exact, 10⁴ groups": [*PLAIN, "--sigma", "2km", "--engine", "exact", "--group", "few"],
    "exact, 10⁶ groups": [*PLAIN, "--sigma", "2km", "--engine", "exact", "--group", "id"],
    "correct step": [*PLAIN, "--sigma", "2km", "--train-prediction", "fold", "--correct-sigma", "5km"],
    "10,000 columns, 40 row groups": WIDE,
}


def make(folder):
    """Rows all over a country and rows in towns; and a few of ten thousand columns."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    towns = np.random.default_rng(1).normal(0.0, 2.0, (40, 2))

    def uniform(n, rng):
        return np.c_[rng.uniform(26, 48, n), rng.uniform(-123, -70, n)]

    def in_towns(n, rng):
        town = rng.choice(40, n, p=(weights := 1.0 / np.arange(1, 41)) / weights.sum())
        beyond = (rng.random((n, 1)) < 0.05) * rng.normal(0.0, 1.0, (n, 2))
        return towns[town] + rng.normal(0.0, 0.03, (n, 2)) + beyond + [40.0, -84.0]

    def write(name, n, place, columns, seed):
        rng = np.random.default_rng(seed)
        where, number = place(n, rng), np.arange(n)
        table = {"id": number, "few": number % 10_000, "pairs": number // 2, "latitude": where[:, 0], "longitude": where[:, 1]}
        table |= {column: rng.normal(100.0, 10.0, n) for column in columns}
        table["text"] = pa.array([f"market-{i:07}" for i in range(n)])
        pq.write_table(pa.table(table), folder / f"{name}.parquet", row_group_size=100_000)

    for name, place in (("plain", uniform), ("towns", in_towns)):
        write(name, ROWS, place, ["model", "b", "c", "d"], 2)
        write(f"{name}_train", LABELLED, place, ["price", "fold"], 3)
    rng = np.random.default_rng(4)
    where = uniform(4000, rng)
    wide = {"latitude": where[:, 0], "longitude": where[:, 1], "model": rng.normal(100.0, 10.0, 4000)}
    wide |= {f"column_{i}": np.zeros(4000, np.int8) for i in range(10_000 - len(wide))}
    pq.write_table(pa.table(wide), folder / "wide.parquet", row_group_size=100)


def run(binary, folder, arguments, limit):
    """The outcome of a run, and its peak memory in MiB."""
    command = [binary, "smooth", *arguments, "--c", "0.5", "-o", "out.parquet", "--overwrite", "--json"]
    command += ["--memory-limit", f"{limit}MiB"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss // 1024
    if code == 0:
        return (json.loads(out).get("streamed") or {"by": "at once"})["by"], peak
    if code == 2 and "memory limit" in err:
        return "refused", peak
    return f"FAILED {code}: {err.strip()[:100]}", peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--binary", default="target/release/geosmooth")
    parser.add_argument("--limits", default="64,100,200,400,1024")
    parser.add_argument("--only")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.make:
        return make(args.folder)
    if not (args.folder / "wide.parquet").exists():
        # In a separate process: the memory of this process counts for those that it starts.
        subprocess.run([sys.executable, __file__, args.folder, "--make"], check=True)
    binary, limits = Path(args.binary).resolve(), [int(limit) for limit in args.limits.split(",")]
    kinds = args.only.split(";") if args.only else KINDS
    print("| rows | " + " | ".join(f"{limit} MiB" for limit in limits) + " |\n| --- |" + " ---: |" * len(limits))
    beyond = []
    for kind in kinds:
        cells = []
        for limit in limits:
            way, peak = run(binary, args.folder, KINDS[kind], limit)
            cells.append(f"{peak}, {way}")
            if peak > limit + SLACK or way.startswith("FAILED"):
                beyond.append(f"{kind} under {limit} MiB: {peak} MiB, {way}")
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    if beyond:
        sys.exit("beyond the limit:\n" + "\n".join(beyond))


if __name__ == "__main__":
    main()
