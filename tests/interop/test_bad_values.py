"""Predictions and labels that are missing, infinite, constant or without weight. Numbers as in the list of bad inputs."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dense
from damage import assert_explained, refused, run, written
from sample import Reference, column, test_rows, train_rows, with_column

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
    """Labels without weight are as good as no labels, however wild they are."""
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
    """Refused, or right: labels alone count then, as they do from 1e40 on."""
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
