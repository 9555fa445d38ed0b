"""Values of keywords: what numpy and pandas have for numbers, flags and lists is taken; what is of a wrong type is refused in one line."""

import numpy as np
import pandas as pd
import pytest
from conftest import COLUMNS

import geosmooth


@pytest.fixture(scope="module")
def rows(sample):
    return sample["validation"].slice(0, 400), sample["train"].slice(0, 400)


OPTIONS = {"sigma_grid": ["1km"], "c_grid": [0.0, 0.5, 1.0], "label_weight": [1.0, 2.0]}
LIKE_LISTS = {
    "tuples": {"sigma_grid": ("1km",), "c_grid": (0, 0.5, 1), "label_weight": (1, 2)},
    "arrays": {"sigma_grid": np.array(["1km"]), "c_grid": np.linspace(0, 1, 3), "label_weight": np.array([1, 2], np.float32)},
    "series": {"sigma_grid": pd.Series(["1km"]), "c_grid": pd.Series([0, 0.5, 1]), "label_weight": pd.Index([1, 2])},
    "texts": {"sigma_grid": "1km", "c_grid": "0,0.5,1", "label_weight": "1, 2"},
    "ranges": {"sigma_grid": iter(["1km"]), "c_grid": np.arange(3) / 2, "label_weight": range(1, 3)},
}


@pytest.mark.filterwarnings("ignore::geosmooth.GeosmoothWarning")
@pytest.mark.parametrize("kind", LIKE_LISTS)
def test_lists_of_any_kind(rows, kind):
    assert geosmooth.tune(*rows, **COLUMNS, **LIKE_LISTS[kind]).grid == geosmooth.tune(*rows, **COLUMNS, **OPTIONS).grid


def test_scalars_of_numpy(rows):
    plain = geosmooth.smooth(*rows, **COLUMNS, sigma="1km", c=0.5, label_weight=2, tolerance=1e-3, certificate=True, threads=1)
    numpy = {"c": np.float32(0.5), "label_weight": np.int8(2), "tolerance": np.array(1e-3), "certificate": np.True_, "threads": np.int64(1)}
    assert geosmooth.smooth(*rows, label=np.str_("log_price"), prediction=np.array(["xgb"]), sigma="1km", **numpy).equals(plain)


WRONG = {
    "c": [True, np.True_, "0.5", [0.5], 1j],
    "sigma": [True, ["1km"], b"1km"],
    "label_weight": [False, "1"],
    "threads": [2.5, True, "2", -1],
    "certificate": ["yes", 1],
    "label": [3],
    "prediction": [5, [5], b"xgb"],
    "engine": [1],
    "params": [3, 1.5],
    "report": [7],
    "memory_limit": [True, [1]],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values], ids=str)
def test_values_of_a_wrong_type(rows, name, value):
    with pytest.raises(TypeError) as raised:
        geosmooth.smooth(*rows, **{**COLUMNS, "sigma": "1km", "c": 0.5, name: value})
    said = str(raised.value)
    assert said.startswith(f"{name} is ") and type(value).__name__ in said or isinstance(value, list), said
    assert ", not a" in said or "not True or False" in said
    assert "\n" not in said


def test_lists_of_a_wrong_type(rows):
    for options in ({"c_grid": ["a"]}, {"c_grid": [True]}, {"c_grid": b"01"}, {"sigma_grid": [None]}, {"sigma_grid": [["1km"]]}):
        with pytest.raises(TypeError, match="c_grid is|sigma_grid is"):
            geosmooth.tune(*rows, **COLUMNS, **options)
    with pytest.raises(ValueError, match="c_grid: 'half' is not a number"):
        geosmooth.tune(*rows, **COLUMNS, c_grid="0,half")


def test_parameters_of_numpy(rows, sample):
    parameters = {"version": 1, "prediction": "xgb", "label": "log_price", "sigma": "1km", "c": np.float64(0.5), "label_weight": np.int64(2)}
    expected = geosmooth.smooth(*rows, **COLUMNS, sigma="1km", c=0.5, label_weight=2)
    assert geosmooth.smooth(*rows, params=parameters).equals(expected)
    with pytest.raises(ValueError, match="<params>: .*unknown field `nonsense`"):
        geosmooth.smooth(*rows, params={**parameters, "nonsense": 1})
    with pytest.raises(TypeError, match="neither text nor a number"):
        geosmooth.smooth(*rows, params={**parameters, "provenance": object()})


def test_a_missing_figure_is_none(rows):
    test, train = (table.to_pandas() for table in rows)
    test["log_price"] = 1.0
    smoothing = geosmooth.smooth(test, train, **COLUMNS, sigma="1km", c=0.5, details=True)
    assert smoothing.scores[0]["before"]["r2"] is None
    assert list(smoothing.summary) == [
        "engine", "sigma", "c", "label_weight", "tolerance", "rows", "seconds", "error_bound", "peak_memory_bytes", "scores", "findings",
    ]  # fmt: skip
