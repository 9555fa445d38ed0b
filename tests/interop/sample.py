"""Sample data: two tables with houses around a town, and their smoothed values."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dense

TOWN = (41.65, -83.54)
SPREAD = 0.02  # degrees: about 2 km, so that a row has some dozen neighbours within 500 m


def places(rng, n):
    return np.column_stack([centre + rng.normal(0, SPREAD, n) for centre in TOWN])


def test_rows(n=150, seed=1):
    """Rows to be predicted: id, latitude, longitude, xgb."""
    rng = np.random.default_rng(seed)
    at = places(rng, n)
    return pa.table({"id": np.arange(n), "latitude": at[:, 0], "longitude": at[:, 1], "xgb": rng.normal(200, 50, n)})


def train_rows(n=200, seed=2):
    """Rows with known labels: latitude, longitude, price."""
    rng = np.random.default_rng(seed)
    at = places(rng, n)
    return pa.table({"latitude": at[:, 0], "longitude": at[:, 1], "price": rng.normal(200, 50, n)})


test_rows.__test__ = False  # rows of a test set, not a test


def column(table, name):
    """A numeric column as float64."""
    return np.array([float(value) for value in table[name].to_pylist()])


def at(table, names=("latitude", "longitude")):
    return np.column_stack([column(table, name) for name in names])


def with_column(table, name, values):
    return table.set_column(table.schema.get_field_index(name), name, values)


class Reference:
    """Dense numpy results for these tables: the kernel, the source values and their range, the smoothed predictions."""

    def __init__(self, test, train=None, sigma="500m", c=1.0, label_weight=1.0):
        self.kernel = dense.kernel(sigma, at(test), None if train is None else at(train), label_weight)
        self.predictions = column(test, "xgb")
        self.labels = column(train, "price") if train is not None else np.array([])
        self.values = np.concatenate([self.predictions, self.labels])
        self.range = np.ptp(self.values)
        self.smoothed = dense.smooth(self.kernel, self.predictions, self.labels, c)

    def assert_close(self, out, tolerance=1e-5):
        """The smoothed column of this output file equals the reference, within this fraction of the range."""
        smoothed = pq.read_table(out, columns=["xgb_smoothed"])["xgb_smoothed"]
        assert smoothed.type == pa.float64()
        assert smoothed.null_count == 0
        assert abs(smoothed.to_numpy() - self.smoothed).max() <= tolerance * self.range
