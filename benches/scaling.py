"""How the cost of the `fast` engine grows with the number of rows, as a Markdown report and a plot.

    target/bench-venv/bin/python benches/scaling.py --plot benches/results/scaling.svg > benches/results/scaling-DATE-CPU.md
    target/bench-venv/bin/python benches/scaling.py --ten-million

Half the rows are labelled, half are to predict; binary, data and timing are those of side_by_side.py. At a fixed sigma more
rows share each neighbourhood; with sigma shrinking as 1/sqrt(rows) each row keeps about as many neighbours. The column
cost / (n log n) stays at or below 1 where the cost grows no faster than n log n.
"""

import argparse
import math
import shutil
import tempfile
from datetime import date
from pathlib import Path

from side_by_side import cpu, data, geosmooth, plan_and_apply

SIZES = [250_000 * 2**doublings for doublings in range(6)]
RULES = {
    "σ fixed at 0.02°": lambda rows: 0.02,
    "σ = 0.02° · √(250,000 / rows)": lambda rows: 0.02 * math.sqrt(250_000 / rows),
}


def fast(where, sigma):
    """One run: seconds of plan and apply, and the peak memory in MiB."""
    report, _ = geosmooth(where, f"{sigma:.6f}deg", "--engine", "fast")
    return plan_and_apply(report), report["peak_memory_bytes"] / 2**20


def measure(folder, sizes, runs):
    """For each rule of sigma its points (rows, sigma, seconds, MiB); the data of one size is on disk at a time."""
    series = {rule: [] for rule in RULES}
    for rows in sizes:
        where = data(folder, rows // 2)
        results = [[fast(where, sigma(rows)) for sigma in RULES.values()] for _ in range(runs)]
        for (rule, sigma), of_rule in zip(RULES.items(), zip(*results)):
            series[rule].append((rows, sigma(rows), *min(of_rule)))
        shutil.rmtree(where)
    return series


def n_log_n(rows):
    return rows * math.log2(rows)


def table(points):
    print("| rows | σ | seconds | ns per row | cost / (n log n), first line = 1 | peak memory |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    first_rows, _, first_seconds, _ = points[0]
    for rows, sigma, seconds, memory in points:
        relative = (seconds / n_log_n(rows)) / (first_seconds / n_log_n(first_rows))
        print(f"| {rows:,} | {sigma:.5f}° | {seconds:.3f} | {seconds / rows * 1e9:,.0f} | {relative:.2f} | {memory:,.0f} MiB |")


def short(rows):
    return f"{rows / 1e6:g}M" if rows >= 1_000_000 else f"{rows / 1e3:g}k"


def plot(series, path):
    """Seconds over rows, both axes logarithmic, with n log n from the slower of the first points."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    # Text stays text: the file is small and can be searched. The fixed salt makes its bytes reproducible.
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "geosmooth", "font.family": "sans-serif"})
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    sizes = [rows for rows, *_ in next(iter(series.values()))]
    start = max(points[0][2] for points in series.values())
    guide = [start * n_log_n(rows) / n_log_n(sizes[0]) for rows in sizes]
    axes.plot(sizes, guide, "--", color="0.6", label="n log n")
    for (rule, points), colour, mark in zip(series.items(), ("#0b6aa8", "#d1620a"), "os"):
        axes.plot(sizes, [seconds for _, _, seconds, _ in points], marker=mark, color=colour, label=rule)
    axes.set(xscale="log", yscale="log", xlabel="rows (half labelled, half to predict)", ylabel="seconds, plan and apply")
    axes.set_xticks(sizes, [short(rows) for rows in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None})


def growth(folder, sizes, runs, path):
    series = measure(folder, sizes, runs)
    for rule, points in series.items():
        print(f"\n## {rule}\n")
        table(points)
    if path:
        plot(series, path)


def ten_million(folder):
    """One run from Parquet to Parquet at 0.01 degrees, by phase."""
    report, _ = geosmooth(data(folder, 10_000_000), "0.01deg", "--engine", "fast")
    seconds = report["seconds"]
    print("\n## Parquet to Parquet at σ = 0.01°, one run\n")
    print(f"| rows | {' | '.join(seconds)} | peak memory |")
    print(f"| --- |{' ---: |' * len(seconds)} ---: |")
    phases = " | ".join(f"{phase:.2f} s" for phase in seconds.values())
    rows = f"{report['rows']['train']:,} + {report['rows']['test']:,}"
    print(f"| {rows} | {phases} | {report['peak_memory_bytes'] / 2**20:,.0f} MiB |")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=2, help="the fastest counts")
    options.add_argument("--most", type=int, default=SIZES[-1], metavar="N", help="leave out sizes above N rows")
    options.add_argument("--plot", type=Path, metavar="FILE.svg", help="also draw seconds over rows")
    options.add_argument("--ten-million", action="store_true", help="instead run 10M + 10M rows once, Parquet to Parquet")
    chosen = options.parse_args()
    sizes = [rows for rows in SIZES if rows <= chosen.most]
    if not sizes:
        options.error(f"--most must be at least {SIZES[0]}")
    runs = "One run" if chosen.ten_million else f"Fastest of {chosen.runs} runs, alternating"
    print(f"# How `fast` grows, {date.today()}\n\n{cpu()}. {runs}.")
    with tempfile.TemporaryDirectory() as folder:
        if chosen.ten_million:
            ten_million(Path(folder))
        else:
            growth(Path(folder), sizes, chosen.runs, chosen.plot)


if __name__ == "__main__":
    main()
