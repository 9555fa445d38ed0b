"""The functions against the command line: the same figures, bit for bit."""

import inspect
import json

import numpy as np
import pytest
from conftest import COLUMNS, SAMPLES

import geosmooth

TRAIN, VALIDATION, TEST = (SAMPLES / f"{name}.parquet" for name in ("train", "validation", "test"))


@pytest.fixture(scope="module")
def tuned(sample):
    rows = sample["validation"], sample["train"]
    return geosmooth.tune(*rows, **COLUMNS, sigma_range=("50m", "2km"), surface=True)


def test_tune(command, tmp_path, tuned):
    out = tmp_path / "tuned.json"
    files = {"train": TRAIN, "validation": VALIDATION, "output": out}
    told = command("tune", **files, **COLUMNS, sigma_range="50m,2km")
    for name in ("best", "unsmoothed", "metric", "gain", "grid", "warnings", "rows"):
        assert tuned.summary[name] == told[name], name
    written = json.loads(out.read_text())
    for name in ("prediction", "sigma", "c", "label_weight", "places", "correct"):
        assert tuned.parameters[name] == written[name], name
    assert tuned.best["score"] > tuned.unsmoothed["score"]
    assert (tuned.sigma, tuned.c, tuned.label_weight) == (written["sigma"], written["c"], written["label_weight"])


def test_tuned_parameters_smooth(command, tmp_path, sample, tuned):
    saved = tmp_path / "tuned.json"
    tuned.save(saved)
    files = {"train": TRAIN, "test": TEST, "output": tmp_path / "out.parquet"}
    told = command("smooth", **files, params=saved)
    smoothings = [
        geosmooth.smooth(sample["test"], sample["train"], params=params, details=True)
        for params in (tuned, tuned.parameters, saved)
    ]
    for smoothing in smoothings:
        assert smoothing.scores == told["scores"]
        assert smoothing.error_bound == told["error_bound"]
        assert smoothing.summary["sigma"] == tuned.sigma
    assert smoothings[0].table.equals(smoothings[1].table) and smoothings[0].table.equals(smoothings[2].table)


@pytest.mark.filterwarnings("ignore::geosmooth.GeosmoothWarning")
def test_grids_are_lists(command, sample):
    rows = sample["validation"], sample["train"]
    told = command(
        "tune", train=TRAIN, validation=VALIDATION, **COLUMNS, sigma_grid="0.0002deg,0.001deg,0.01deg", c_grid="0,0.5,1", label_weight="1,2,400"
    )
    grids = {"sigma_grid": ["0.0002deg", "0.001deg", "0.01deg"], "c_grid": [0, 0.5, 1], "label_weight": [1, 2, 400]}
    assert geosmooth.tune(*rows, **COLUMNS, **grids).grid == told["grid"]


def test_folds_on_training_rows(sample):
    tuned = geosmooth.tune(
        train=sample["train"], **COLUMNS, train_prediction="xgb_oof", folds=5, block="5km", sigma_range=("100m", "1km")
    )
    assert tuned.parameters["provenance"]["scored_on"] == "5 folds of blocks of 5km"
    assert len(tuned.rows) == sample["train"].num_rows


def test_compare(command, sample):
    told = command("compare", train=TRAIN, test=TEST, **COLUMNS, sigma="300m")
    compared = geosmooth.compare(sample["test"], sample["train"], **COLUMNS, sigma="300m")
    for line, expected in zip(compared.engines, told["engines"], strict=True):
        assert {**line, "seconds": 0} == {**expected, "seconds": 0}
    assert all(len(errors) == sample["test"].num_rows for errors in compared.errors.values())


def test_diagnose(command, sample):
    told = command("diagnose", train=TRAIN, validation=VALIDATION, **COLUMNS, sigma="300m")
    diagnosis = geosmooth.diagnose(sample["validation"], sample["train"], **COLUMNS, sigma="300m")
    assert diagnosis.summary == told
    assert len(diagnosis.n_effective) == sample["validation"].num_rows
    assert diagnosis.sentences[0] in str(diagnosis)


def test_methods(command, sample):
    options = {"sigma_grid": "0.001deg,0.003deg", "methods": "unsmoothed,p-es,kernel,laprls", "features": "rooms,beds"}
    told = command("methods", train=TRAIN, validation=VALIDATION, test=TEST, **COLUMNS, **options)
    lists = {name: value.split(",") for name, value in options.items()}
    standings = geosmooth.methods(sample["test"], sample["validation"], sample["train"], **COLUMNS, **lists)
    for line, expected in zip(standings.methods, told["methods"], strict=True):
        assert {**line, "seconds": 0} == {**expected, "seconds": 0}
    assert standings.methods[0]["method"] == "p-es"


def test_weights_average(sample):
    test, train = sample["test"], sample["train"]
    options = {"sigma": "200m", "label_weight": 3}
    matrix = geosmooth.weights(test, train, **options)
    assert matrix.shape == (test.num_rows, test.num_rows + train.num_rows)
    assert abs(matrix.sum(axis=1) - 1).max() < 1e-12
    assert matrix.has_sorted_indices
    smoothed = geosmooth.smooth(test, train, **COLUMNS, **options, c=1, engine="sparse")["xgb_smoothed"].to_numpy()
    values = np.concatenate([test["xgb"].to_numpy(), train["log_price"].to_numpy()])
    assert abs(matrix @ values - smoothed).max() < 1e-12 * np.ptp(values)


def test_skipped_rows_of_the_matrix_are_empty(sample):
    holes = sample["test"].slice(0, 500).to_pandas()
    holes.loc[7, "latitude"] = np.nan
    matrix = geosmooth.weights(holes, sigma="200m", on_invalid="skip")
    assert matrix.shape == (500, 500)
    assert np.flatnonzero(np.diff(matrix.indptr) == 0).tolist() == [7]
    assert 7 not in matrix.indices


def kernel(targets, sources, sigma):
    squared = ((targets[:, None] - sources[None]) ** 2).sum(axis=2)
    return np.exp(-squared / (2 * sigma**2))


def test_kernel_sums():
    rng = np.random.default_rng(1)
    targets, sources, values = rng.normal(size=(40, 2)), rng.normal(size=(60, 2)), rng.normal(size=(60, 3))
    sums = geosmooth.kernel_sums(targets, sources, values, sigma=0.3)
    dense = kernel(targets, sources, 0.3)
    np.testing.assert_allclose(sums.mass, dense.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(sums.values, dense @ values, rtol=1e-11, atol=1e-13)
    assert (sums.error < 1e-10).all() and sums.error.shape == (40,)


@pytest.mark.parametrize("engine", ["sparse", "fast"])
def test_kernel_sums_keep_their_bound(engine):
    rng = np.random.default_rng(2)
    places, values = rng.uniform(size=(3000, 2)), rng.normal(size=3000)
    exact = geosmooth.kernel_sums(places, places, values, sigma=0.05, engine="exact")
    sums = geosmooth.kernel_sums(places, places, values, sigma=0.05, engine=engine, tolerance=1e-4)
    error = abs(sums.values[:, 0] / sums.mass - exact.values[:, 0] / exact.mass)
    assert (error <= np.ptp(values) * sums.error / sums.mass + 1e-12).all()
    assert sums.error.max() > 0


def test_arrays_of_any_layout():
    rng = np.random.default_rng(3)
    wide, values = rng.normal(size=(50, 4)), rng.integers(0, 9, 50)
    expected = geosmooth.kernel_sums(wide[:, :2].copy(), wide[:, :2].copy(), values.astype(float), sigma=1)
    frozen = wide.copy()
    frozen.flags.writeable = False
    fortran = np.asfortranarray(wide)
    for places in (wide, frozen, fortran):
        sums = geosmooth.kernel_sums(places[:, :2], places[:, :2], values, sigma=1)
        assert sums.mass.tobytes() == expected.mass.tobytes() and sums.values.tobytes() == expected.values.tobytes()
    backwards = geosmooth.kernel_sums(wide[::-1, :2], wide[:, :2], values, sigma=1)
    np.testing.assert_allclose(backwards.mass[::-1], expected.mass, rtol=1e-14)
    single = geosmooth.kernel_sums(wide[:, :2].astype(np.float32), wide[:, :2].astype(np.float32), values, sigma=1)
    np.testing.assert_allclose(single.mass, expected.mass, rtol=1e-5)


def test_arrays_that_are_no_numbers():
    places = [[0.0], [1.0]]
    for bad in (["a", "b"], [1j, 2j], [None, 1.0], np.array(["2020-01-01"] * 2, dtype="datetime64[D]")):
        with pytest.raises(TypeError, match="not real numbers"):
            geosmooth.kernel_sums(places, places, bad, sigma=1)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="at row 1"):
            geosmooth.kernel_sums(places, places, [0.0, value], sigma=1)
        with pytest.raises(ValueError, match="at row 1"):
            geosmooth.kernel_sums([[0.0], [value]], places, [0.0, 1.0], sigma=1)
    with pytest.raises(ValueError, match="values has 3 rows, expected 2"):
        geosmooth.kernel_sums(places, places, [1.0, 2.0, 3.0], sigma=1)
    with pytest.raises(ValueError, match="targets have 1 dimensions"):
        geosmooth.kernel_sums([0.0, 1.0], places, [1.0, 2.0], sigma=1)
    with pytest.raises(ValueError, match="latitude and longitude"):
        geosmooth.kernel_sums(places, places, [1.0, 2.0], sigma="1m")


APART = {
    "smooth": ({"matrix"}, {"details"}),  # weights() gives the matrix
    "tune": (set(), {"surface"}),
    "compare": (set(), set()),
    "diagnose": (set(), set()),
    "methods": ({"train-prediction"}, set()),  # methods() corrects nothing
}
"""Options of the command line alone, and keywords of Python alone, beside how each tells of its work."""


@pytest.mark.parametrize("name", APART)
def test_keywords_are_the_options_of_the_command_line(options_of, name):
    options = options_of(name)
    keywords = {word.replace("_", "-"): keyword for word, keyword in inspect.signature(getattr(geosmooth, name)).parameters.items()}
    only_there, only_here = APART[name]
    assert set(options) - set(keywords) == only_there | {"help", "json", "quiet"}
    assert set(keywords) - set(options) == only_here | {"progress"}
    for word, keyword in keywords.items():
        if options.get(word) and keyword.default is not None:
            given = keyword.default if isinstance(keyword.default, tuple) else [keyword.default]
            assert ",".join(f"{item:g}" if isinstance(item, float) else item for item in given) == options[word], word
