"""Tune post-estimation smoothing on the sample data with dense sums, all pairs, nothing cut off.

For each prediction column: the spread sigma (metres), the mixing weight c and the weight of the
training labels that score best on the validation rows, then R² on the test rows, which took no
part in the choice. A reference to check geosmooth against.

    python tune_by_hand.py

Prints the Markdown table of README.md; takes about a minute and a half on one core.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

HERE = Path(__file__).resolve().parent
EARTH_RADIUS = 6_371_008.8  # metres
PREDICTIONS = ["xgb", "ridge", "rff", "xgb_location"]
SIGMAS = [20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200, 250, 300, 400, 500, 700, 1000, 2000]
LABEL_WEIGHTS = [2.0**power for power in range(-2, 7)]
BLOCK = 500  # target rows at a time: 500 × 17,000 distances are 68 MB


def distances(targets, sources):
    """Great-circle distances in metres between all pairs, by the haversine formula."""
    lat1, lon1 = np.radians(targets[["latitude", "longitude"]].to_numpy()).T[:, :, None]
    lat2, lon2 = np.radians(sources[["latitude", "longitude"]].to_numpy()).T[:, None, :]
    h = np.sin((lat2 - lat1) / 2) ** 2
    h += np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(h))


def kernel_sums(targets, sources, columns, sigmas):
    """For each sigma the sums over sources of K·value, one column per value, and of K, last."""
    values = np.column_stack([sources[columns], np.ones(len(sources))])
    sums = {sigma: np.empty((len(targets), len(columns) + 1)) for sigma in sigmas}
    for start in range(0, len(targets), BLOCK):
        rows = slice(start, start + BLOCK)
        squared = distances(targets.iloc[rows], sources) ** 2
        for sigma in sigmas:
            sums[sigma][rows] = np.exp(squared / (-2 * sigma**2)) @ values
    return sums


class Smoother:
    """P-ES of one table of predictions beside the training labels, for several sigmas."""

    def __init__(self, train, table, sigmas):
        self.table = table
        self.labels = table["log_price"].to_numpy()
        self.of_predictions = kernel_sums(table, table, PREDICTIONS, sigmas)
        self.of_labels = kernel_sums(table, train, ["log_price"], sigmas)

    def means(self, column, sigma, label_weight):
        """W ŷ: the kernel mean of predictions (weight 1) and training labels (label_weight)."""
        predictions, labels = self.of_predictions[sigma], self.of_labels[sigma]
        numerator = predictions[:, PREDICTIONS.index(column)] + label_weight * labels[:, 0]
        return numerator / (predictions[:, -1] + label_weight * labels[:, -1])

    def best_c(self, column, sigma, label_weight):
        """The c in [0, 1] with the least squared error, in closed form, to two decimals."""
        raw = self.table[column].to_numpy()
        step = self.means(column, sigma, label_weight) - raw
        return round(float(np.clip(step @ (self.labels - raw) / (step @ step), 0, 1)), 2)

    def score(self, column, sigma, label_weight, c):
        raw = self.table[column].to_numpy()
        return r2_score(self.labels, raw + c * (self.means(column, sigma, label_weight) - raw))


def tune(validation, column, label_weights):
    """The (sigma, label_weight, c) with the best R² on validation."""
    choices = [(s, w, validation.best_c(column, s, w)) for s in SIGMAS for w in label_weights]
    return max(choices, key=lambda choice: validation.score(column, *choice))


def main():
    names = ["train", "validation", "test"]
    train, validation, test = (pd.read_parquet(HERE / f"{name}.parquet") for name in names)
    on_validation = Smoother(train, validation, SIGMAS)
    chosen = [
        (column, *tune(on_validation, column, weights))
        for weights in ([1], LABEL_WEIGHTS)
        for column in PREDICTIONS
    ]
    on_test = Smoother(train, test, sorted({sigma for _, sigma, _, _ in chosen}))

    print("| prediction | label weight | σ | c | validation R² | test R² |")
    print("| --- | ---: | ---: | ---: | --- | --- |")
    for column, sigma, weight, c in chosen:
        change = [
            f"{part.score(column, sigma, weight, 0):.4f} → {part.score(column, sigma, weight, c):.4f}"
            for part in (on_validation, on_test)
        ]
        print(f"| `{column}` | {weight:g} | {sigma} m | {c} | {change[0]} | {change[1]} |")


if __name__ == "__main__":
    main()
