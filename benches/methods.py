"""The paper's comparison of methods at its size, and single settings beside dense numpy and scikit-learn, as a Markdown report.

    cargo build --release
    target/bench-venv/bin/python benches/methods.py > benches/results/DATE-methods-CPU.md

A synthetic country with 10,000 rows each to train, validate and hold out (n as first argument), four features that know
half of the price, and the paper's grids. First `geosmooth methods` as a whole, beside the seconds that the paper reports.
Then one setting at a time: harmonic energy and LapRLS as dense numpy solves them, and scikit-learn's Gaussian process at
each noise level. The others predict the holdout rows only, geosmooth the validation rows as well.
Those are CPU seconds on one thread each, so that it does not matter what else the machine does, and geosmooth's include
the start of the program and reading. The environment variable GEOSMOOTH names another binary than target/release/geosmooth.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402, since it starts its threads when it is imported
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import sklearn  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: E402
from sklearn.gaussian_process.kernels import RBF, ConstantKernel  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make_data  # noqa: E402

BINARY = os.environ.get("GEOSMOOTH", HERE.parent / "target" / "release" / "geosmooth")
FEATURES = [f"feature_{number}" for number in range(4)]
# Seconds of the paper's Table 2, on 48 cores and other data; for six models, where a method uses their predictions.
PAPER = {"kernel": 20.6, "gpr": 1336.1, "laprls": 1683.6, "p-es": 27.0, "hem": 898.6, "hem+p-es": 287.8, "shrinkage": 0.0}


def country(folder, n):
    """Train, validation and holdout rows; features come from a separate random generator."""
    make_data.main(str(folder), n, 2 * n)
    rng = np.random.default_rng(23)

    def with_features(name):
        rows = pq.read_table(folder / f"{name}.parquet")
        known = np.log(rows["price"].to_numpy())
        for feature in FEATURES:
            rows = rows.append_column(feature, pa.array(0.5 * known + rng.normal(0, 0.3, len(known))))
        return rows

    train, both = with_features("train"), with_features("test")
    tables = {"train": train, "validation": both.slice(0, n), "holdout": both.slice(n)}
    for name, rows in tables.items():
        pq.write_table(rows, folder / f"{name}.parquet")
    return tables


def methods(folder, *flags):
    rows = [part for flag, name in (("train",) * 2, ("validation",) * 2, ("test", "holdout")) for part in (f"--{flag}", folder / f"{name}.parquet")]
    rest = ["--label", "price", "--prediction", "predicted", "--features", ",".join(FEATURES), "--json"]
    command = [BINARY, "methods", *rows, *rest, *map(str, flags)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def one(folder, method, **grids):
    """Holdout score and CPU seconds of one setting, with a validation of that single setting."""
    flags = [part for name, value in grids.items() for part in (f"--{name}-grid", value)]
    start = spent_by_children()
    found = methods(folder, "--methods", method, "--threads", 1, *flags)["methods"][0]
    return found["score"], spent_by_children() - start


def spent_by_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def r2(values, truth):
    return 1 - ((values - truth) ** 2).mean() / truth.var()


# --- dense numpy --------------------------------------------------------------------------------------------------


def places(rows):
    return np.column_stack([rows["latitude"].to_numpy(), rows["longitude"].to_numpy()])


def kernel(a, b, sigma):
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
    return np.exp(squared.clip(0) / (-2 * sigma**2))


def dense_hem(tables, rows, sigma, eta):
    at, known = places(rows), places(tables["train"])
    among, across = kernel(at, at, sigma), kernel(at, known, sigma)
    mass = among.sum(axis=1) + across.sum(axis=1)
    right = (1 - eta) * (across @ tables["train"]["price"].to_numpy()) / mass + eta * rows["predicted"].to_numpy()
    matrix = among * (-(1 - eta) / mass[:, None])
    matrix[np.diag_indices_from(matrix)] += 1
    return np.linalg.solve(matrix, right)


def dense_laprls(tables, rows, sigma, ridge, laplacian):
    known, other = (np.column_stack([table[name].to_numpy() for name in FEATURES]) for table in (tables["train"], rows))
    centre, deviation = known.mean(axis=0), known.std(axis=0)
    known, other = (known - centre) / deviation, (other - centre) / deviation
    every, labels = np.vstack([known, other]), tables["train"]["price"].to_numpy()
    weights = kernel(*[np.vstack([places(tables["train"]), places(rows)])] * 2, sigma)
    rough = every.T @ (weights.sum(axis=1)[:, None] * every) - every.T @ (weights @ every)
    matrix = known.T @ known + ridge * np.eye(len(FEATURES)) + laplacian * rough
    return labels.mean() + other @ np.linalg.solve(matrix, known.T @ (labels - labels.mean()))


def sklearn_gpr(tables, rows, sigma, noise):
    labels = tables["train"]["price"].to_numpy()
    model = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(sigma), alpha=noise, optimizer=None)
    model.fit(places(tables["train"]), labels - labels.mean())
    return labels.mean() + model.predict(places(rows))


# --- the report ---------------------------------------------------------------------------------------------------


def whole(folder):
    found = methods(folder)
    print("| method | R² | seconds | the paper's seconds | settings | not converged |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for line in found["methods"]:
        paper = PAPER.get(line["method"], "")
        print(f"| {line['method']} | {line['score']:.4f} | {line['seconds']:.2f} | {paper} | {line['configurations']} | {line['unconverged']} |")
    print(f"\nThe whole run takes {found['seconds']:.1f} s, reading included.")


def single(folder, tables):
    holdout = tables["holdout"]
    truth = holdout["price"].to_numpy()
    print("| setting | geosmooth | instead | times faster | R² | R² of the other |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")

    def beside(name, other, method, **grids):
        score, seconds = one(folder, method, **grids)
        values, other_seconds = timed(other)
        times = other_seconds / seconds
        print(f"| {name} | {seconds:.3f} | {other_seconds:.2f} | {times:.1f} | {score:.6f} | {r2(values, truth):.6f} |", flush=True)

    for sigma in (0.1, 1.0):
        other = lambda: dense_hem(tables, holdout, sigma, 0.208)  # noqa: E731
        beside(f"hem, σ {sigma}°, η 0.208; numpy", other, "hem", sigma=f"{sigma}deg", eta=0.208)
    other = lambda: dense_laprls(tables, holdout, 0.1, 1.0, 0.01)  # noqa: E731
    beside("laprls, σ 0.1°, ridge 1, laplacian 0.01; numpy", other, "laprls", sigma="0.1deg", ridge=1, laplacian=0.01)
    for sigma in (10 ** (-2 / 3), 10 ** (2 / 3)):
        for noise in (1e-6, 1e-3, 1.0):
            other = lambda: sklearn_gpr(tables, holdout, sigma, noise)  # noqa: E731
            beside(f"gpr, σ {sigma:.3g}°, noise {noise:g}; scikit-learn", other, "gpr", sigma=f"{sigma}deg", constant=1, noise=noise)


def main(n=10_000):
    print(f"# Methods, {date.today()}\n")
    print(f"{platform.system()}, {os.cpu_count()} cores; numpy {np.__version__}, scikit-learn {sklearn.__version__}. {n:,} rows each to train, validate and hold out.\n")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        tables = country(folder, n)
        print("## The whole comparison, with the paper's grids\n")
        whole(folder)
        print("\n## One setting at a time, CPU seconds on one thread\n")
        single(folder, tables)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
