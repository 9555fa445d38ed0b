"""Plots draw what was found; they are looked at by people, so that here only their content is checked."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import COLUMNS

import geosmooth


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def tuned(sample):
    return geosmooth.tune(sample["validation"], sample["train"], **COLUMNS, sigma_range=("50m", "2km"), surface=True)


def test_score_curve(tuned):
    axes = tuned.plot()
    assert (axes.get_ylabel(), axes.get_xlabel(), axes.get_xscale()) == ("R²", "σ in metres", "log")
    curve, best = axes.get_lines()
    assert max(curve.get_ydata()) == pytest.approx(tuned.best["score"], abs=1e-5)
    assert best.get_xdata()[0] == float(tuned.sigma.removesuffix("m"))


def test_heat_map(tuned):
    axes = tuned.plot_surface()
    scores = np.array(tuned.surface[2])
    assert axes.collections[0].get_array().shape == scores.shape
    assert scores.max() == pytest.approx(tuned.best["score"], abs=1e-3)


def test_a_surface_must_be_asked_for(sample):
    tuned = geosmooth.tune(sample["validation"], **COLUMNS, sigma_range=("50m", "2km"))
    with pytest.raises(ValueError, match="surface=True"):
        tuned.plot_surface()


def test_maps(sample, tuned):
    smoothing = geosmooth.smooth(sample["test"], sample["train"], params=tuned, details=True)
    before, after = smoothing.plot().axes[:2]
    truth = sample["test"]["log_price"].to_numpy()
    for axes, values in ((before, smoothing.rows.before), (after, smoothing.rows.after)):
        np.testing.assert_array_equal(axes.collections[0].get_array(), values - truth)
        np.testing.assert_array_equal(axes.collections[0].get_offsets()[:, 1], sample["test"]["latitude"])
    assert before.collections[0].get_clim() == after.collections[0].get_clim()
    values = smoothing.plot_map(errors=False).axes[1]
    np.testing.assert_array_equal(values.collections[0].get_array(), smoothing.rows.after)


def test_maps_without_truth(sample):
    unknown = sample["test"].drop_columns(["log_price"])
    smoothing = geosmooth.smooth(unknown, prediction="xgb", sigma="300m", c=1, details=True)
    assert smoothing.plot().axes[0].get_title() == "before"
    with pytest.raises(ValueError, match="errors need the truth"):
        smoothing.plot_map(errors=True)


def test_one_index_is_drawn_along_it():
    import pyarrow as pa

    rows = pa.table({"frame": np.arange(50.0), "x": np.arange(50.0)})
    smoothing = geosmooth.smooth(rows, prediction="x", index="frame", sigma=2, c=1, details=True)
    assert smoothing.plot().axes[0].get_xlabel() == "index"


def test_engines_and_diagnosis(sample):
    compared = geosmooth.compare(sample["test"], prediction="xgb", sigma="300m")
    assert {text.get_text() for text in compared.plot().get_legend().get_texts()} <= {"sparse", "fast"}
    diagnosis = geosmooth.diagnose(sample["validation"], sample["train"], **COLUMNS, sigma="300m")
    lines = diagnosis.plot().get_lines()
    assert [line.get_label() for line in lines] == ["before", "after"]
    assert lines[0].get_ydata()[0] == diagnosis.variogram[0]["before"]
    assert diagnosis.plot_map().axes


def test_methods(sample):
    standings = geosmooth.methods(
        sample["test"], sample["validation"], sample["train"], **COLUMNS, methods=["unsmoothed", "p-es"], sigma_grid=["0.001deg"]
    )
    axes = standings.plot()
    assert [bar.get_width() for bar in axes.patches] == [line["score"] for line in standings.methods]


def test_matplotlib_is_optional(monkeypatch, tuned):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'geosmooth\[plot\]'"):
        tuned.plot()
