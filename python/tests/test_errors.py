"""Errors are Python's own kinds, with the text of the command line in which options are keywords."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import COLUMNS, SAMPLES

import geosmooth

TEST = SAMPLES / "test.parquet"


def said(raised):
    """What an exception says, with options as bare names."""
    message, _, hint = str(raised.value).partition("\nhint: ")
    assert "--" not in message + hint
    return re.sub(r'(\w)="?([^"\s,;]+)"?', r"\1 \2", f"error: {message}\nhint: {hint}\n")


def printed(text):
    """What the command line says, with options as bare names."""
    return re.sub("--([a-z-]+)", lambda flag: flag[1].replace("-", "_"), text)


@pytest.mark.parametrize(
    "options",
    [
        {"prediction": "xbg", "sigma": "300m", "c": 1},
        {"prediction": "stories", "sigma": "300m", "c": 1},
        {"prediction": "xgb", "sigma": "300", "c": 1},
        {"prediction": "xgb", "sigma": "-3m", "c": 1},
        {"prediction": "xgb", "sigma": "300m", "c": 1.5},
        {"prediction": "xgb", "sigma": "300m"},
        {"prediction": "xgb", "c": 1},
        {"sigma": "300m", "c": 1},
        {"prediction": "xgb", "sigma": "300m", "c": 1, "engine": "warp"},
        {"prediction": "xgb", "sigma": "300m", "c": 1, "label_weight": 2},
        {"prediction": "xgb", "sigma": "300m", "c": 1, "threads": 0},
    ],
    ids=lambda options: " ".join(f"{name}={value}" for name, value in options.items()),
)
def test_the_text_is_that_of_the_command_line(refusal, tmp_path, options):
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}={value}",)]
    expected = refusal("smooth", "--test", TEST, "-o", tmp_path / "out.parquet", *words)
    with pytest.raises(ValueError) as raised:
        geosmooth.smooth(TEST, output=tmp_path / "out.parquet", **options)
    assert said(raised) == printed(expected)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"lat": "latitude"}, "lon is missing", "column of longitudes"),
        ({"lat": "latitude", "lon": "longitude", "index": "id"}, "more than one way", "give lat and lon, or geometry, or index"),
        ({"tolerance": 1e-3, "cutoff": 5}, "a tolerance and a cutoff", "give tolerance or cutoff"),
        ({"on_invalid": "maybe"}, "on_invalid is 'maybe'", "one of error, skip"),
        ({"no_correct": True, "correct_shrink": 1}, "both asked for and left out", "leave out no_correct"),
    ],
)
def test_options_that_contradict_each_other(sample, options, message, hint):
    with pytest.raises(ValueError) as raised:
        geosmooth.smooth(sample["test"], prediction="xgb", sigma="300m", c=1, **options)
    first, second = str(raised.value).split("\nhint: ")
    assert message in first and hint in second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"leave_one_out": True, "validation": True}, "more than one way"),
        ({"folds": 5}, "block is missing"),
        ({"folds": 5, "block": 0}, "block '0' is not a length"),
        ({"validation": True, "sigma_grid": ["1km"], "sigma_range": ["1m", "2m"]}, "a grid and a range"),
        ({"validation": True, "sigma_range": ["1m"]}, "not two lengths"),
        ({}, "validation is missing"),
    ],
)
def test_tuning_that_contradicts_itself(sample, options, message):
    if options.pop("validation", False):
        options["validation"] = sample["validation"]
    with pytest.raises(ValueError, match=message):
        geosmooth.tune(train=sample["train"], **COLUMNS, **options)


def test_a_table_is_called_by_its_role(sample):
    with pytest.raises(ValueError, match="<train>: column 'price_usd' does not exist\nhint: .*columns are"):
        geosmooth.smooth(sample["test"], sample["train"], label="price_usd", prediction="xgb", sigma="1m", c=1)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.parquet.*\nhint: check the path"):
        geosmooth.smooth(tmp_path / "nowhere.parquet", prediction="xgb", sigma="1m", c=1, output=tmp_path / "out")
    with pytest.raises(FileNotFoundError):
        geosmooth.smooth(TEST, params=tmp_path / "tuned.json", output=tmp_path / "out")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        geosmooth.smooth(__file__, prediction="xgb", sigma="1m", c=1, output=tmp_path / "out")


def test_too_little_memory(sample):
    with pytest.raises(MemoryError, match="the memory limit leaves .*\nhint: raise memory_limit"):
        geosmooth.smooth(sample["test"], prediction="xgb", sigma="1m", c=1, memory_limit="1MiB")
    with pytest.raises(MemoryError, match="weight matrix"):
        geosmooth.weights(sample["test"], sigma="500km", memory_limit="4MB")


def test_params_that_make_no_sense(sample):
    with pytest.raises(ValueError, match="<params>: has no version"):
        geosmooth.smooth(sample["test"], params={"sigma": "1m"})


def test_the_index_is_no_coordinate():
    frame = pd.DataFrame({"model": [1.0]}, index=pd.Index([41.0], name="latitude"))
    with pytest.raises(ValueError, match="no columns that look like latitude"):
        geosmooth.smooth(frame, prediction="model", sigma="1m", c=1)


def test_warnings_are_python_warnings(sample):
    noise = sample["validation"].to_pandas()
    noise["noise"] = noise["log_price"] + np.random.default_rng(0).normal(size=len(noise)) * 1e-9
    with pytest.warns(geosmooth.GeosmoothWarning, match="smoothing does not help") as caught:
        tuned = geosmooth.tune(noise, label="log_price", prediction="noise", sigma_grid=["1km"])
    assert tuned.c == 0 and tuned.warnings
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", geosmooth.GeosmoothWarning)
        geosmooth.smooth(sample["test"], sample["train"], **COLUMNS, sigma="300m", c=0.5)
