"""Tuning on the sample and on the workload of the paper's Table 2, compared with numpy, as a Markdown report.

    cargo build --release
    target/bench-venv/bin/python benches/tuning.py > benches/results/DATE-tuning-CPU.md

Three tables. What each way of smoothing reaches on the holdout rows of the sample, with everything chosen on the validation
rows. How long the paper's grid takes in numpy and the automatic search takes here, on the sample. And the
paper's Table 2 for P-ES: 10,000 rows each to train, validate and hold out, 5 widths × 11 mixing weights × 6 models. The
numpy code computes each kernel once for all mixing weights and all models, which is as well as dense sums can do.
The environment variable GEOSMOOTH names another binary than target/release/geosmooth.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make_data  # noqa: E402

BINARY = os.environ.get("GEOSMOOTH", HERE.parent / "target" / "release" / "geosmooth")
SAMPLE = HERE.parent / "data-samples"
PREDICTIONS = ["xgb", "ridge", "rff", "xgb_location"]
SIGMAS = [10.0**power for power in range(-4, 1)]
CS = [step / 10 for step in range(11)]
PAPER = ["--sigma-grid", ",".join(f"{sigma}deg" for sigma in SIGMAS), "--c-grid", ",".join(map(str, CS))]
RUNS = 3
BLOCK = 500


def geosmooth(subcommand, *arguments):
    command = [BINARY, subcommand, *map(str, arguments), "--json", "--overwrite"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def fastest(work):
    """The shortest time of several runs, and the result of the last."""
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


# --- the sample ---------------------------------------------------------------------------------------------------


def holdout(folder, prediction, flags, labelled=True):
    """R² on the holdout rows of the sample, with parameters from the validation rows; and the parameters."""
    tuned = folder / "tuned.json"
    train = ["--train", SAMPLE / "train.parquet"] if labelled else []
    rows = ["--validation", SAMPLE / "validation.parquet", "--label", "log_price", "--prediction", prediction]
    best = geosmooth("tune", *train, *rows, *flags, "-o", tuned)["best"]
    test = ["--test", SAMPLE / "test.parquet", "--label", "log_price", "--params", tuned, "-o", folder / "out.parquet"]
    scores = geosmooth("smooth", *train, *test)["scores"][0]
    return scores["before"]["r2"], scores["after"]["r2"], best


def variants(folder):
    oof = lambda prediction: ["--train-prediction", f"{prediction}_oof"]  # noqa: E731
    ways = {
        "predictions only": lambda p: holdout(folder, p, [], labelled=False),
        "the paper's grid, with labels": lambda p: holdout(folder, p, PAPER),
        "labels, weight 1": lambda p: holdout(folder, p, ["--label-weight", "1"]),
        "labels, weight tuned": lambda p: holdout(folder, p, []),
        "correct step alone": lambda p: holdout(folder, p, ["--c-grid", "0", *oof(p)]),
        "all: correct, labels, weight": lambda p: holdout(folder, p, oof(p)),
    }
    print("| | " + " | ".join(f"`{p}`" for p in PREDICTIONS) + " |")
    print("| --- |" + " ---: |" * len(PREDICTIONS))
    results = {way: [run(p) for p in PREDICTIONS] for way, run in ways.items()}
    first = next(iter(results.values()))
    print("| unsmoothed | " + " | ".join(f"{before:.4f}" for before, _, _ in first) + " |")
    for way, cells in results.items():
        print(f"| {way} | " + " | ".join(f"{after:.4f}" for _, after, _ in cells) + " |")
    print("\nWhat was chosen in the last line:\n")
    print("| prediction | σ | c | label weight | σ of the correct step | its shrinkage |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for prediction, (_, _, best) in zip(PREDICTIONS, results["all: correct, labels, weight"]):
        correct = best.get("correct") or {"sigma": "-", "shrink": "-"}
        print(f"| `{prediction}` | {best['sigma']} | {best['c']} | {best['label_weight']} | {correct['sigma']} | {correct['shrink']} |")


# --- numpy --------------------------------------------------------------------------------------------------------


def table(path, columns):
    return np.column_stack([pq.read_table(path, columns=[name])[name].to_numpy() for name in columns])


def numpy_grid(train, validation, predictions, label):
    """The paper's grid by dense sums: the best (R², prediction, σ, c)."""
    places = ["latitude", "longitude"]
    labels, here = table(train, [label])[:, 0], table(validation, places)
    raw, truth = table(validation, predictions), table(validation, [label])[:, 0]
    sources = np.vstack([here, table(train, places)])
    values = np.vstack([raw, np.repeat(labels[:, None], len(predictions), 1)])
    values = np.column_stack([values, np.ones(len(values))])
    means = np.empty((len(SIGMAS), len(here), len(predictions)))
    for start in range(0, len(here), BLOCK):
        rows = slice(start, start + BLOCK)
        squared = ((here[rows, None, :] - sources[None, :, :]) ** 2).sum(axis=2)
        for at, sigma in enumerate(SIGMAS):
            sums = np.exp(squared / (-2 * sigma**2)) @ values
            means[at, rows] = sums[:, :-1] / sums[:, -1:]
    scores = {
        (prediction, sigma, c): 1 - ((c * means[at][:, k] + (1 - c) * raw[:, k] - truth) ** 2).mean() / truth.var()
        for k, prediction in enumerate(predictions)
        for at, sigma in enumerate(SIGMAS)
        for c in CS
    }
    best = max(scores, key=scores.get)
    return scores[best], *best


def tune(train, validation, predictions, label, *flags):
    rows = ["--train", train, "--validation", validation, "--label", label, "--prediction", ",".join(predictions)]
    return geosmooth("tune", *rows, *flags)


def compare_times(train, validation, predictions, label, ways):
    """One line for numpy, then one for each way to tune here."""
    dense, (score, *point) = fastest(lambda: numpy_grid(train, validation, predictions, label))
    settings = len(predictions) * len(SIGMAS) * len(CS)
    print("| | settings | seconds | times faster | R² on validation |")
    print("| --- | ---: | ---: | ---: | ---: |")
    print(f"| numpy, the paper's grid | {settings} | {dense:.2f} | 1 | {score:.4f} |")
    for way, flags in ways.items():
        seconds, tuned = fastest(lambda flags=flags: tune(train, validation, predictions, label, *flags))
        print(f"| {way} | {len(tuned['grid'])} | {seconds:.2f} | {dense / seconds:.0f} | {tuned['best']['score']:.4f} |")
        if flags == PAPER:
            best = tuned["best"]
            same = [best["prediction"], float(best["sigma"].removesuffix("deg")), best["c"]] == list(point)
            assert same and abs(best["score"] - score) <= 1e-6, (best, point, score)


# --- the paper's Table 2 ------------------------------------------------------------------------------------------


def country(folder, n=10_000, models=6):
    """Train, validation and holdout rows, with the predictions of six models of different quality."""
    make_data.main(str(folder), n, 2 * n)
    rng = np.random.default_rng(11)
    both = pq.read_table(folder / "test.parquet")
    truth = both["price"].to_numpy()
    names = [f"model_{number}" for number in range(models)]
    for number, name in enumerate(names):
        noise = np.exp(rng.normal(0, 0.05 + 0.05 * number, len(truth)))
        both = both.append_column(name, pa.array(both["predicted"].to_numpy() * noise))
    pq.write_table(both.slice(0, n), folder / "validation.parquet")
    pq.write_table(both.slice(n), folder / "holdout.parquet")
    return names


def table_two(folder):
    names = country(folder)
    train, validation, test = (folder / f"{name}.parquet" for name in ("train", "validation", "holdout"))
    ways = {"geosmooth, the same grid": PAPER, "geosmooth, automatic": []}
    compare_times(train, validation, names, "price", ways)
    tuned = folder / "tuned.json"
    tune(train, validation, names, "price", *PAPER, "-o", tuned)
    rows = ["--train", train, "--test", test, "--params", tuned, "-o", folder / "out.parquet"]
    seconds, _ = fastest(lambda: geosmooth("smooth", *rows))
    print(f"\nSmoothing the 10,000 holdout rows with what was found takes another {seconds:.2f} s.")
    print("The paper reports 27.0 s for this workload, on other data and another machine (48 cores).")


def main():
    print(f"# Tuning, {date.today()}\n")
    print(f"{platform.system()}, {os.cpu_count()} cores; numpy {np.__version__}. Fastest of {RUNS} runs.\n")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        print("## Holdout R² on the sample\n")
        variants(folder)
        print("\n## Seconds on the sample, from files to parameters, all four predictions\n")
        oof = ["--train-prediction", ",".join(f"{p}_oof" for p in PREDICTIONS)]
        ways = {"the paper's grid": PAPER, "automatic": [], "automatic, with the correct step": oof}
        compare_times(SAMPLE / "train.parquet", SAMPLE / "validation.parquet", PREDICTIONS, "log_price", ways)
        print("\n## The workload of the paper's Table 2\n")
        table_two(folder)


if __name__ == "__main__":
    main()
