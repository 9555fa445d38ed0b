"""A small country for tuning: prices that vary smoothly over space, models that do not know the location, labelled rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dense

PREDICTIONS = ["xgb", "ridge"]


def rows(n, seed):
    """Rows with places, the truth, two predictions that do not depend on location, and the same predictions out of fold."""
    rng = np.random.default_rng(seed)
    at = np.column_stack([41.65 + rng.uniform(-0.05, 0.05, n), -83.54 + rng.uniform(-0.05, 0.05, n)])
    field = np.sin(at[:, 0] * 90) + np.cos(at[:, 1] * 70)
    own = rng.normal(0, 1, n)
    price = 12 + field + own
    models = {"xgb": 12 + own + rng.normal(0, 0.4, n), "ridge": 12 + own + rng.normal(0, 0.7, n)}
    table = {"latitude": at[:, 0], "longitude": at[:, 1], "price": price} | models
    return pa.table(table | {f"{name}_oof": values for name, values in models.items()})


class Country:
    """Tables in files, with reference results from dense sums."""

    def __init__(self, folder, n=(260, 240, 220)):
        self.tables = {name: rows(size, seed) for seed, (name, size) in enumerate(zip(("train", "validation", "test"), n), 5)}
        self.paths = {name: folder / f"{name}.parquet" for name in self.tables}
        for name, table in self.tables.items():
            pq.write_table(table, self.paths[name])

    def column(self, table, name):
        return self.tables[table][name].to_numpy()

    def at(self, table):
        return np.column_stack([self.column(table, "latitude"), self.column(table, "longitude")])

    def means(self, table, prediction, sigma, label_weight=1.0, values=None):
        """W ŷ: the average around each row; predictions have weight 1, labels the label weight."""
        values = self.column(table, prediction) if values is None else values
        kernel = dense.kernel(sigma, self.at(table), self.at("train"), label_weight)
        return dense.mean(kernel, np.concatenate([values, self.column("train", "price")]))

    def corrected(self, table, prediction, sigma, shrink):
        """ŷ' = ŷ + Σ K r / (Σ K + κ)."""
        kernel = np.exp(-(dense.in_sigmas(sigma, self.at(table), self.at("train")) ** 2) / 2)
        residuals = self.column("train", "price") - self.column("train", f"{prediction}_oof")
        return self.column(table, prediction) + kernel @ residuals / (kernel.sum(axis=1) + shrink)


def mix(c, means, predictions):
    return c * means + (1 - c) * predictions


def score(metric, predicted, truth):
    error = predicted - truth
    return {
        "r2": lambda: 1 - (error**2).mean() / truth.var(),
        "rmse": lambda: np.sqrt((error**2).mean()),
        "mae": lambda: abs(error).mean(),
        "mape": lambda: abs(error / truth).mean(),
        "median_error": lambda: np.median(abs(error)),
    }[metric]()
