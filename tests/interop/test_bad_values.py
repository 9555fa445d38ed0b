"""Predictions and labels that are missing, infinite or constant, and labels of weight 0. Numbers as in the list of bad inputs."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dense
from damage import assert_explained, refused, run, written
from sample import Reference, at, column, test_rows, train_rows, with_column

ENGINES = pytest.mark.parametrize("engine", ["exact", "sparse", "fast"])
INVALID = {"null": None, "NaN": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
ROWS_HIT = [7, 60, 149]


def spoilt(table, name, value):
    """The table with this value in three rows of a column."""
    values = table[name].to_pylist()
    for row in ROWS_HIT:
        values[row] = value
    return with_column(table, name, pa.array(values, pa.float64()))


@pytest.mark.parametrize("value", INVALID)
def test_30_invalid_predictions(refused, written, value):
    test = spoilt(test_rows(), "xgb", INVALID[value])
    refused("test.parquet", "'xgb'", f"is {value} at row 7", "3 ", test=written(test), hint="--on-invalid skip")


@pytest.mark.parametrize("value", INVALID)
def test_30_invalid_labels(refused, written, value):
    train = written(spoilt(train_rows(), "price", INVALID[value]), "train.parquet")
    said = ("train.parquet", "'price'", f"is {value} at row 7", "3 ")
    refused(*said, test=written(test_rows()), train=train, label="price", hint="--on-invalid skip")


def test_30_the_row_is_counted_through_all_files(refused, tmp_path):
    (tmp_path / "parts").mkdir()
    for number in range(3):
        pq.write_table(spoilt(test_rows(), "xgb", None) if number == 2 else test_rows(), tmp_path / "parts" / f"{number}.parquet")
    refused("'xgb'", "row 307", test=tmp_path / "parts")


@ENGINES
@pytest.mark.parametrize("value", INVALID)
def test_30_skipped(smooth, written, value, engine):
    test, train = spoilt(test_rows(), "xgb", INVALID[value]), spoilt(train_rows(), "price", INVALID[value])
    out = smooth(written(test), written(train, "train.parquet"), on_invalid="skip", engine=engine)
    kept = [[row for row in range(len(table)) if row not in ROWS_HIT] for table in (test, train)]
    reference = Reference(test.take(kept[0]), train.take(kept[1]))
    smoothed = pq.read_table(out)["xgb_smoothed"]
    assert [row for row, x in enumerate(smoothed.to_pylist()) if x is None] == ROWS_HIT
    assert abs(smoothed.take(kept[0]).to_numpy() - reference.smoothed).max() <= 1e-6 * reference.range


def with_predictions(values):
    return with_column(test_rows(), "xgb", pa.array(values))


def assert_as_exact(out, values, tolerance=1e-6):
    """Smoothed values equal those of numpy on values scaled to at most 1, and lie within their range."""
    smoothed, scale = pq.read_table(out)["xgb_smoothed"].to_numpy(), abs(values).max()
    unit = values / scale if scale >= 1e-290 else values * 2.0**1000 / (scale * 2.0**1000)
    expected = dense.mean(dense.kernel("500m", at(test_rows())), unit)
    found = smoothed / scale if scale >= 1e-290 else smoothed * 2.0**1000 / (scale * 2.0**1000)
    assert np.isfinite(smoothed).all() and values.min() <= smoothed.min() and smoothed.max() <= values.max()
    # Near the smallest subnormal numbers, rounding errors are relatively large; the error bound includes them.
    bound = pq.read_table(out)["xgb_error_bound"].to_numpy()
    assert (abs(found - expected) <= bound / scale + 1e-12).all()
    assert (bound / scale <= tolerance * np.ptp(unit) + 16 * 5e-324 / scale).all()


@ENGINES
@pytest.mark.parametrize("size", [1e300, 1e308, 1.7976931348623157e308])
def test_31_values_near_the_largest(smooth, written, size, engine):
    """Values of both signs, whose difference overflows."""
    values = np.where(np.arange(150) % 2, size, -size) * np.linspace(0.5, 1, 150)
    assert_as_exact(smooth(written(with_predictions(values)), engine=engine, certificate=True), values)


@ENGINES
@pytest.mark.parametrize("size", [1e-300, 1e-308, 1e-315, 5e-322])
def test_32_values_near_the_smallest(smooth, written, size, engine):
    values = np.where(np.arange(150) % 2, size, -size) * np.linspace(0.5, 1, 150)
    assert_as_exact(smooth(written(with_predictions(values)), engine=engine, certificate=True), values)


@ENGINES
def test_32_negative_zero(smooth, written, engine):
    """Zeros of either sign are equal; a column of them is unchanged."""
    mixed = np.where(np.arange(150) % 3, 0.0, -0.0)
    assert (pq.read_table(smooth(written(with_predictions(mixed)), engine=engine))["xgb_smoothed"].to_numpy() == 0).all()
    out = smooth(written(with_predictions(np.full(150, -0.0))), engine=engine)
    assert (pq.read_table(out)["xgb_smoothed"].to_numpy() == 0).all()


@ENGINES
def test_34_small_differences_on_a_large_value(smooth, written, engine):
    """1e16 plus a few units: plain sums of such numbers would lose the differences."""
    values = 1e16 + 2.0 * (np.arange(150) % 7)
    smoothed = pq.read_table(smooth(written(with_predictions(values)), engine=engine))["xgb_smoothed"].to_numpy()
    expected = dense.mean(dense.kernel("500m", at(test_rows())), values - 1e16)
    # The next float after 1e16 is 1e16 + 2: the error may be 1.
    assert abs((smoothed - 1e16) - expected).max() <= 1.0 + 1e-6 * 12


@pytest.mark.parametrize("kind", ["float64", "null"])
@pytest.mark.parametrize("role", ["prediction", "label"])
def test_35_whole_column_null(refused, smooth, written, role, kind):
    nulls = lambda table, name: with_column(table, name, pa.nulls(len(table), pa.float64() if kind == "float64" else pa.null()))
    test = nulls(test_rows(), "xgb") if role == "prediction" else test_rows()
    train = nulls(train_rows(), "price") if role == "label" else train_rows()
    paths = {"test": written(test), "train": written(train, "train.parquet")}
    refused("xgb" if role == "prediction" else "price", **paths, label="price")
    if kind == "null":
        return
    out = smooth(paths["test"], paths["train"], on_invalid="skip")
    if role == "prediction":
        assert pq.read_table(out)["xgb_smoothed"].null_count == 150
    else:
        Reference(test_rows()).assert_close(out, 1e-6)


@ENGINES
@pytest.mark.parametrize("value", [0.1, 1 / 3, -7e-300, 1e308, 5e-324, 123456.789, 0.0])
def test_33_all_equal_comes_back_bit_by_bit(smooth, written, value, engine):
    test = with_column(test_rows(), "xgb", pa.array(np.full(150, value)))
    train = with_column(train_rows(), "price", pa.array(np.full(200, value)))
    out = smooth(written(test), written(train, "train.parquet"), c=0.7, label_weight=0.3, engine=engine)
    bits = pq.read_table(out)["xgb_smoothed"].to_numpy().view(np.uint64)
    assert (bits == np.float64(value).view(np.uint64)).all()


@ENGINES
def test_36_label_weight_0(smooth, written, engine):
    """Labels of weight 0 have the same effect as no labels, whatever their values."""
    train = with_column(train_rows(), "price", pa.array(column(train_rows(), "price") * 1e6))
    out = smooth(written(test_rows()), written(train, "train.parquet"), label_weight=0, engine=engine)
    Reference(test_rows()).assert_close(out, 1e-6)


@ENGINES
@pytest.mark.parametrize("weight", [1e-12, 1e12])
def test_36_label_weight_tiny_or_huge(smooth, written, weight, engine):
    test, train = test_rows(), train_rows()
    out = smooth(written(test), written(train, "train.parquet"), label_weight=weight, engine=engine)
    Reference(test, train, label_weight=weight).assert_close(out, 1e-6)


@ENGINES
@pytest.mark.parametrize("weight", ["1e200", "1e308"])
def test_36_label_weight_beyond_reason(binary, written, tmp_path, weight, engine):
    """Refused or right: with such weights only labels count, as from 1e40 on."""
    test, train, out = test_rows(), train_rows(), tmp_path / "out.parquet"
    flags = {"test": written(test), "train": written(train, "train.parquet"), "label": "price", "label_weight": weight}
    process = run(binary, flags | {"output": out, "engine": engine, "certificate": True})
    if process.returncode != 0:
        return assert_explained(process, 2, ["label", "weight"])
    reference = Reference(test, train, label_weight=1e40)
    reference.assert_close(out, 1e-6)
    assert abs(pq.read_table(out)["n_effective"].to_numpy() / dense.n_effective(reference.kernel) - 1).max() <= 1e-4


@pytest.mark.parametrize("weight", ["-1", "-0.001", "nan", "NaN", "inf", "-inf", "1e400", "much", ""])
def test_36_label_weight_impossible(refused, written, weight):
    train = written(train_rows(20), "train.parquet")
    said = weight if weight not in ("nan", "1e400") else {"nan": "NaN", "1e400": "inf"}[weight]
    refused("label", "weight", said, test=written(test_rows(20)), train=train, label="price", label_weight=weight)


def test_34_a_tolerance_that_is_missed_is_said(geosmooth, tmp_path):
    """Issue 15: the error for 10¹⁵ + N(0, 1) was more than a tenth of the range, without a warning."""
    rng = np.random.default_rng(3)
    table = pa.table({"latitude": rng.uniform(41.5, 41.8, 500), "longitude": rng.uniform(-83.8, -83.4, 500), "model": 1e15 + rng.normal(0.0, 1.0, 500)})
    pq.write_table(table, tmp_path / "huge.parquet")
    flags = ["--test", tmp_path / "huge.parquet", "--prediction", "model", "--sigma", "1km", "--c", "0.5", "-o", tmp_path / "out.parquet"]
    process = geosmooth("smooth", *flags, "--json")
    assert process.returncode == 0
    finding = json.loads(process.stdout)["findings"][0]
    assert (finding["code"], finding["severity"]) == ("tolerance", "warning")
    assert "500 of 500" in finding["message"] and "subtract a constant" in finding["message"]
    assert f"warning: {finding['message']}" in process.stderr


def test_45_a_stray_row_is_said_and_spoils_no_other(geosmooth, tmp_path):
    """Issue 15: one row 10⁸ σ away, corrected without shrinkage, made the bound of every row the whole range."""
    rng = np.random.default_rng(4)
    place = rng.uniform(0.0, 100.0, 501)
    place[500] = 1.5e9
    pq.write_table(pa.table({"x": place, "model": rng.normal(100.0, 10.0, 501)}), tmp_path / "test.parquet")
    labelled = {"x": rng.uniform(0.0, 100.0, 500), "y": rng.normal(100.0, 10.0, 500), "fold": rng.normal(100.0, 10.0, 500)}
    pq.write_table(pa.table(labelled), tmp_path / "train.parquet")
    process = geosmooth(
        "smooth", "--test", tmp_path / "test.parquet", "--train", tmp_path / "train.parquet", "--index", "x", "--label", "y", "--prediction", "model",
        "--train-prediction", "fold", "--correct-sigma", "5", "--correct-shrink", "0", "--sigma", "5", "--c", "0.5", "--certificate", "--json",
        "-o", tmp_path / "out.parquet",
    )
    assert process.returncode == 0, process.stderr
    assert "1 of 501" in json.loads(process.stdout)["findings"][0]["message"]
    bounds = pq.read_table(tmp_path / "out.parquet")["model_error_bound"].to_numpy()
    assert bounds[500] > 1.0 and bounds[:500].max() < 1e-6 * 80.0


def test_34_nothing_is_said_where_the_tolerance_is_kept(geosmooth, tmp_path):
    """Prices in the millions."""
    rng = np.random.default_rng(5)
    table = pa.table({"latitude": rng.uniform(41.5, 41.8, 500), "longitude": rng.uniform(-83.8, -83.4, 500), "model": rng.lognormal(14.0, 0.5, 500)})
    pq.write_table(table, tmp_path / "prices.parquet")
    process = geosmooth("smooth", "--test", tmp_path / "prices.parquet", "--prediction", "model", "--sigma", "1km", "--c", "0.5", "-o",
                        tmp_path / "out.parquet", "--json", "--tolerance", "1e-12")
    assert json.loads(process.stdout)["findings"] == [] and process.stderr == ""
