"""Tuning on Spark against tuning on one machine."""

import runpy

import geosmooth
import geosmooth.spark
import numpy as np
import pyarrow as pa
import pytest
from cluster import rows, values
from conftest import REPOSITORY, SAMPLES

ASKED = {"label": "price", "prediction": ["model", "other"], "sigma_grid": ["2km", "100km"]}


@pytest.fixture(scope="module")
def tables():
    """Rows to score on and labelled rows, with a second prediction that is worse."""
    found = []
    for seed in (40, 41):
        table = rows(1500, seed)
        noise = np.random.default_rng(seed).normal(0, 0.3, len(table))
        found.append(table.append_column("other", pa.array(values(table, "model") + noise)))
    return found


def close(found, expected):
    """The same points with the same scores. Scores of a search have a tolerance of their own."""
    names = [(line["prediction"], line["sigma"], line["label_weight"]) for line in found]
    assert names == [(line["prediction"], line["sigma"], line["label_weight"]) for line in expected]
    for mine, theirs in zip(found, expected, strict=True):
        assert mine["score"] == pytest.approx(theirs["score"], abs=1e-5) and mine["c"] == pytest.approx(theirs["c"], abs=2e-4)


def in_order(grid):
    return sorted(grid, key=lambda line: (line["sigma"], line["prediction"], line["label_weight"], line["c"]))


@pytest.mark.filterwarnings("ignore::geosmooth.GeosmoothWarning")
@pytest.mark.parametrize("more", [{"label_weight": [1.0, 8.0]}, {"metric": "rmse", "c_grid": [0.0, 0.3, 1.0]}])
def test_the_same_grid_has_the_same_scores(spark, tables, more):
    frames = [spark.createDataFrame(table) for table in tables]
    found = geosmooth.spark.tune(*frames, **ASKED, **more, memory_per_task="2MiB")
    expected = geosmooth.tune(*tables, **ASKED, **more)
    close(in_order(found.grid), in_order(expected.grid))
    close([found.best], [expected.best])
    assert found.unsmoothed["prediction"] == expected.unsmoothed["prediction"]
    assert found.unsmoothed["score"] == pytest.approx(expected.unsmoothed["score"], abs=1e-9)
    assert (found.sigma, found.metric, found.rows) == (expected.sigma, expected.metric, 1500)


def test_what_was_found_is_taken_here_and_there(spark, tables, tmp_path):
    check, train = tables
    frames = [spark.createDataFrame(table) for table in tables]
    tuned = geosmooth.spark.tune(*frames, label="price", prediction="model", sigma_grid=["50km"], label_weight=2)
    tuned.save(tmp_path / "tuned.json")
    here = geosmooth.spark.smooth(*frames, params=tuned).toArrow().sort_by("id")
    there = geosmooth.smooth(check, train, params=tmp_path / "tuned.json")
    assert np.abs(values(here) - values(there)).max() <= 1e-5
    score = 1 - np.mean((values(here) - values(check, "price")) ** 2) / np.var(values(check, "price"))
    assert score == pytest.approx(tuned.best["score"], abs=1e-6)


def test_labels_of_validation_rows_only_score(spark, tables):
    """Labels that are turned around change the scores, but not the averages: c = 1 scores as one machine would without seeing them."""
    check, train = tables
    turned = check.set_column(check.column_names.index("price"), "price", pa.array(-values(check, "price")))
    frames = [spark.createDataFrame(table) for table in (turned, train)]
    found = geosmooth.spark.tune(*frames, label="price", prediction="model", sigma_grid=["50km"], c_grid=[1.0], metric="rmse")
    means = values(geosmooth.smooth(check, train, label="price", prediction="model", sigma="50km", c=1))
    expected = np.sqrt(np.mean((means + values(check, "price")) ** 2))
    assert found.grid[0]["score"] == pytest.approx(expected, rel=1e-5)


def test_predictions_that_are_right_stay(spark, tables):
    check = tables[0]
    noise = np.random.default_rng(0).normal(size=len(check))
    check = check.append_column("right", pa.array(values(check, "price") + 1e-9 * noise))
    with pytest.warns(geosmooth.GeosmoothWarning, match="smoothing does not help here"):
        tuned = geosmooth.spark.tune(spark.createDataFrame(check), label="price", prediction="right", sigma_grid=["50km"])
    assert tuned.c == 0 and tuned.best["score"] == tuned.unsmoothed["score"] and tuned.warnings


def test_refusals(spark, tables):
    frames = [spark.createDataFrame(table) for table in tables]
    asked = {"label": "price", "prediction": "model", "sigma_grid": ["1km"]}
    for wrong, text in (
        ({"metric": "mae"}, "metric is 'mae', but must be r2 or rmse\nhint: "),
        ({"sigma_grid": []}, "values of sigma_grid to try is empty"),
        ({"c_grid": [2.0]}, "c is 2.0, but must be between 0 and 1"),
        ({"label": "cost"}, "<validation>: column 'cost' does not exist"),
        ({"sigma_grid": ["1"]}, "sigma 1 does not fit latitude and longitude"),
    ):
        with pytest.raises(ValueError, match=text):
            geosmooth.spark.tune(*frames, **asked | wrong)
    with pytest.raises(ValueError, match="fewer than two rows to tune on"):
        geosmooth.spark.tune(frames[0].limit(1), frames[1], **asked)


def test_the_example_of_the_guide(spark, tmp_path, capsys):
    example = runpy.run_path(str(REPOSITORY / "python" / "examples" / "on_spark.py"))
    samples = [str(SAMPLES / f"{name}.parquet") for name in ("test", "validation", "train")]
    example["main"](spark, *samples, str(tmp_path / "out"))
    assert "<Tuning on " in capsys.readouterr().out
    written = spark.read.parquet(str(tmp_path / "out")).select("xgb", "xgb_smoothed", "log_price").toArrow()
    truth = values(written, "log_price")
    before, after = (np.mean((values(written, name) - truth) ** 2) for name in ("xgb", "xgb_smoothed"))
    assert after < 0.95 * before
