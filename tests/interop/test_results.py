"""Guarantees of the results: the weight matrix, the error bounds, groups."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dense
from sample import TOWN, Reference, test_rows, train_rows, with_column

# The reference has rounding errors, too: differences below this fraction of the range are ignored.
ROUNDING = 1e-12


def written(tmp_path, test, train):
    pq.write_table(test, tmp_path / "test.parquet")
    pq.write_table(train, tmp_path / "train.parquet")
    return tmp_path / "test.parquet", tmp_path / "train.parquet"


def with_duplicates(table):
    """Every place three times, with its values unchanged, in random order."""
    third = np.arange(len(table)) // 3
    for name in ("latitude", "longitude"):
        table = with_column(table, name, table[name].take(pa.array(third)))
    return table.take(pa.array(np.random.default_rng(7).permutation(len(table))))


def with_a_lonely_row(table):
    """The first row is six sigma (of 500 m) north of a cluster of all others."""
    rng = np.random.default_rng(8)
    north = TOWN[0] + np.degrees(6 * 500 / dense.EARTH_RADIUS)
    crowd = [centre + rng.normal(0, 1e-3, len(table)) for centre in TOWN]
    crowd[0][0], crowd[1][0] = north, TOWN[1]
    return with_column(with_column(table, "latitude", pa.array(crowd[0])), "longitude", pa.array(crowd[1]))


PLACES = {"scattered": lambda table: table, "duplicates": with_duplicates, "a lonely row": with_a_lonely_row}


# --- the weight matrix ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", ["500m", "0.004deg"])
@pytest.mark.parametrize("label_weight", [1, 2.5])
@pytest.mark.parametrize("places", PLACES)
def test_the_matrix_is_the_smoother(smooth, tmp_path, places, label_weight, sigma):
    test, train = PLACES[places](test_rows()), PLACES[places](train_rows())
    reference = Reference(test, train, sigma=sigma, label_weight=label_weight)
    options = {"sigma": sigma, "label_weight": label_weight, "engine": "sparse", "matrix": tmp_path / "matrix.parquet"}
    smoothed = pq.read_table(smooth(*written(tmp_path, test, train), **options))["xgb_smoothed"].to_numpy()

    matrix = pq.read_table(tmp_path / "matrix.parquet")
    assert matrix.column_names == ["row", "column", "weight"]
    row, column, weight = (matrix[name].to_numpy() for name in matrix.column_names)
    row, column = row.astype(np.int64), column.astype(np.int64)

    assert (np.unique(row) == np.arange(len(test))).all()
    assert 0 <= column.min() and column.max() < len(test) + len(train)
    same_row = row[1:] == row[:-1]
    assert (row[1:] >= row[:-1]).all() and (column[1:] > column[:-1])[same_row].all()

    w = np.zeros_like(reference.kernel)
    w[row, column] = weight
    assert abs(w.sum(axis=1) - 1).max() <= ROUNDING
    assert abs(w @ reference.values - smoothed).max() <= ROUNDING * reference.range
    assert abs(w - reference.kernel / reference.kernel.sum(axis=1, keepdims=True)).sum(axis=1).max() <= 2e-6


def test_the_matrix_without_training_rows(smooth, tmp_path):
    test_path, _ = written(tmp_path, test_rows(), train_rows())
    smoothed = pq.read_table(smooth(test_path, engine="sparse", matrix=tmp_path / "matrix.parquet"))["xgb_smoothed"]
    matrix = pq.read_table(tmp_path / "matrix.parquet")
    w = np.zeros((150, 150))
    w[matrix["row"].to_numpy(), matrix["column"].to_numpy()] = matrix["weight"].to_numpy()
    reference = Reference(test_rows())
    assert abs(w @ reference.values - smoothed.to_numpy()).max() <= ROUNDING * reference.range


# --- the certificate --------------------------------------------------------------------------------------------

ENGINES = {
    "auto": {},
    "exact": {"engine": "exact"},
    "sparse": {"engine": "sparse"},
    "sparse at 1e-3": {"engine": "sparse", "tolerance": 1e-3},
    "fast": {"engine": "fast"},
    "fast at 1e-3": {"engine": "fast", "tolerance": 1e-3},
    "sparse cut at 3 sigma": {"engine": "sparse", "cutoff": 3},
}


@pytest.mark.parametrize("c", [1, 0.6])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_bound_holds_on_every_row(smooth, tmp_path, engine, places, c):
    test, train = PLACES[places](test_rows()), PLACES[places](train_rows())
    options = ENGINES[engine]
    out = pq.read_table(smooth(*written(tmp_path, test, train), c=c, certificate=True, **options))
    reference = Reference(test, train, c=c)
    error = abs(out["xgb_smoothed"].to_numpy() - reference.smoothed)
    bound = out["xgb_error_bound"].to_numpy()
    assert (error <= bound + ROUNDING * reference.range).all()
    if "cutoff" not in options:
        assert bound.max() <= options.get("tolerance", 1e-6) * reference.range


def test_a_hard_cut_shows_in_the_bound(smooth, tmp_path):
    """With a cutoff at three sigma, the error of the distant row exceeds the tolerance, and its bound shows that."""
    test, train = with_a_lonely_row(test_rows()), with_a_lonely_row(train_rows()).slice(1)
    out = pq.read_table(
        smooth(*written(tmp_path, test, train), engine="sparse", cutoff=3, label_weight=1e4, certificate=True)
    )
    reference = Reference(test, train, label_weight=1e4)
    error = abs(out["xgb_smoothed"].to_numpy() - reference.smoothed)
    assert error[0] > 1e-6 * reference.range
    assert (error <= out["xgb_error_bound"].to_numpy() + ROUNDING * reference.range).all()


@pytest.mark.parametrize("label_weight", [1, 2.5])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("engine", ["auto", "exact", "sparse", "fast"])
def test_the_effective_number_of_sources(smooth, tmp_path, engine, places, label_weight):
    test, train = PLACES[places](test_rows()), PLACES[places](train_rows())
    options = ENGINES[engine] | {"certificate": True, "label_weight": label_weight}
    found = pq.read_table(smooth(*written(tmp_path, test, train), **options))["n_effective"].to_numpy()
    expected = dense.n_effective(Reference(test, train, label_weight=label_weight).kernel)
    assert abs(found / expected - 1).max() <= 1e-4


def test_several_predictions_in_one_pass(smooth, tmp_path):
    test = test_rows().append_column("ridge", pa.array(np.random.default_rng(9).normal(150, 20, 150)))
    paths = written(tmp_path, test, train_rows())
    both = pq.read_table(smooth(*paths, prediction="xgb,ridge", engine="exact"))
    for name in ("xgb", "ridge"):
        alone = pq.read_table(smooth(*paths, prediction=name, engine="exact"))
        assert both[f"{name}_smoothed"].equals(alone[f"{name}_smoothed"])


# --- groups -----------------------------------------------------------------------------------------------------

GROUPS = {
    "string": pa.array(["flat", "house", "land"]),
    "dictionary": pa.array(["flat", "house", "land"]).dictionary_encode(),
    "int64": pa.array([7, -1, 2**62]),
}


def in_groups(table, kinds):
    """The table with a group for each row; the last group has few rows."""
    choice = np.random.default_rng(len(table)).choice(3, len(table), p=[0.5, 0.48, 0.02])
    return table.append_column("kind", kinds.take(pa.array(choice)))


@pytest.mark.parametrize("engine", ["auto", "exact", "sparse", "fast"])
@pytest.mark.parametrize("kinds", GROUPS)
def test_groups_equal_separate_runs(smooth, tmp_path, kinds, engine):
    test, train = in_groups(test_rows(), GROUPS[kinds]), in_groups(train_rows(), GROUPS[kinds])
    options, whole = ENGINES[engine], Reference(test, train).range
    together = pq.read_table(smooth(*written(tmp_path, test, train), group="kind", **options))
    for kind in GROUPS[kinds].to_pylist():
        of_kind = [pa.array([value == kind for value in table["kind"].to_pylist()]) for table in (test, train)]
        own_test, own_train = test.filter(of_kind[0]), train.filter(of_kind[1])
        assert len(own_test) and len(own_train)
        alone = pq.read_table(smooth(*written(tmp_path, own_test, own_train), **options))["xgb_smoothed"].to_numpy()
        difference = together["xgb_smoothed"].filter(of_kind[0]).to_numpy() - alone
        assert abs(difference).max() <= (ROUNDING if engine == "exact" else 1e-5) * whole
        assert abs(alone - Reference(own_test, own_train).smoothed).max() <= 1e-5 * whole


@pytest.mark.parametrize("zones", [("Europe/Paris", "Europe/Paris"), ("Asia/Kathmandu", "UTC"), ("Nowhere/Known", "+05:30"), (None, None)])
def test_groups_of_moments(smooth, tmp_path, zones):
    """A point in time is the same in every zone and unit. The first two are 02:30 in Paris, before and after the clocks go back."""
    moments = [1_729_989_000, 1_729_992_600, 0]
    in_zone = lambda unit, zone, per_second: pa.array([per_second * moment for moment in moments], pa.timestamp(unit, zone))
    test = in_groups(test_rows(), in_zone("us", zones[0], 1_000_000))
    train = in_groups(train_rows(), in_zone("ms", zones[1], 1000))
    found = pq.read_table(smooth(*written(tmp_path, test, train), group="kind"))["xgb_smoothed"]
    test, train = in_groups(test_rows(), GROUPS["string"]), in_groups(train_rows(), GROUPS["string"])
    assert found.equals(pq.read_table(smooth(*written(tmp_path, test, train), group="kind"))["xgb_smoothed"])
