"""`tune` against dense sums in numpy, its guarantees (no leak, no harm), and `smooth --params` with its output."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dense
from country import PREDICTIONS, Country, mix, score

SIGMAS = ["0.0001deg", "0.001deg", "0.01deg", "0.1deg", "1deg"]
CS = [step / 10 for step in range(11)]
METRICS = ["r2", "rmse", "mae", "mape", "median_error"]


@pytest.fixture(scope="module")
def country(tmp_path_factory):
    return Country(tmp_path_factory.mktemp("country"))


@pytest.fixture
def tune(geosmooth, country):
    """Runs `tune` on the country and returns its JSON."""

    def run(*arguments, validation=True, predictions=PREDICTIONS):
        rows = ["--validation", country.paths["validation"]] if validation else []
        columns = ["--train", country.paths["train"], "--label", "price", "--prediction", ",".join(predictions)]
        process = geosmooth("tune", *rows, *columns, "--json", *arguments)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    return run


def sign(metric):
    return 1 if metric == "r2" else -1


@pytest.mark.parametrize("metric", METRICS)
def test_the_grids_of_the_paper_score_as_dense_sums(tune, country, metric):
    tuned = tune("--sigma-grid", ",".join(SIGMAS), "--c-grid", ",".join(map(str, CS)), "--metric", metric)
    truth = country.column("validation", "price")
    expected = {}
    for prediction in PREDICTIONS:
        raw = country.column("validation", prediction)
        for sigma in SIGMAS:
            means = country.means("validation", prediction, sigma)
            for c in CS:
                expected[prediction, sigma, c] = score(metric, mix(c, means, raw), truth)
    found = {(point["prediction"], point["sigma"], point["c"]): point["score"] for point in tuned["grid"]}
    assert found.keys() == expected.keys()
    assert all(point["label_weight"] == 1 for point in tuned["grid"])
    assert max(abs(found[key] - expected[key]) for key in expected) <= 1e-6
    best = max(expected, key=lambda key: sign(metric) * expected[key])
    assert (tuned["best"]["prediction"], tuned["best"]["sigma"], tuned["best"]["c"]) == best
    assert tuned["metric"] == metric
    raw = {prediction: score(metric, country.column("validation", prediction), truth) for prediction in PREDICTIONS}
    first = max(raw, key=lambda key: sign(metric) * raw[key])
    assert tuned["unsmoothed"]["prediction"] == first
    assert abs(tuned["unsmoothed"]["score"] - raw[first]) <= 1e-12


def test_label_weights_are_listed_too(tune, country):
    weights = [0, 0.5, 4]
    tuned = tune("--sigma-grid", "500m,1km", "--c-grid", "0.6", "--label-weight", "0,0.5,4", predictions=["xgb"])
    assert [(point["sigma"], point["label_weight"]) for point in tuned["grid"]] == [(s, w) for s in ("500m", "1km") for w in weights]
    for point in tuned["grid"]:
        means = country.means("validation", "xgb", point["sigma"], point["label_weight"])
        smoothed = mix(0.6, means, country.column("validation", "xgb"))
        assert abs(point["score"] - score("r2", smoothed, country.column("validation", "price"))) <= 1e-6


def test_c_in_closed_form_is_the_limit_of_the_sweep(tune):
    fine = tune("--sigma-grid", "1km", "--c-grid", ",".join(f"{step / 1000}" for step in range(1001)), predictions=["xgb"])
    free = tune("--sigma-grid", "1km", predictions=["xgb"])
    assert abs(free["best"]["c"] - fine["best"]["c"]) <= 0.0005 + 1e-12
    assert free["best"]["score"] >= fine["best"]["score"] - 1e-12


@pytest.mark.parametrize("metric", METRICS)
def test_the_search_beats_a_grid(tune, metric):
    sigmas = "20m,50m,100m,200m,300m,500m,700m,1km,1500m,2km,3km,5km,10km"
    grid = tune("--sigma-grid", sigmas, "--label-weight", "0,0.25,1,4,16,64,256", "--metric", metric)
    free = tune("--metric", metric)
    assert sign(metric) * free["best"]["score"] >= sign(metric) * grid["best"]["score"] - 1e-4
    assert sign(metric) * free["best"]["score"] > sign(metric) * free["unsmoothed"]["score"]


def test_the_best_score_is_that_of_dense_sums(tune, country):
    best = tune(predictions=["xgb"])["best"]
    means = country.means("validation", "xgb", best["sigma"], best["label_weight"])
    smoothed = mix(best["c"], means, country.column("validation", "xgb"))
    assert abs(best["score"] - score("r2", smoothed, country.column("validation", "price"))) <= 1e-6


def test_leave_one_out_hides_each_rows_own_label(tune, country):
    tuned = tune("--leave-one-out", "--sigma-grid", "400m,1km", "--c-grid", "0,0.7", "--label-weight", "3", validation=False)
    at, labels = country.at("train"), country.column("train", "price")
    for point in tuned["grid"]:
        raw = country.column("train", point["prediction"])
        kernel = np.exp(-(dense.in_sigmas(point["sigma"], at, at) ** 2) / 2)
        others = 3 * (kernel - np.diag(np.diag(kernel)))
        means = (kernel @ raw + others @ labels) / (kernel.sum(axis=1) + others.sum(axis=1))
        assert abs(point["score"] - score("r2", mix(point["c"], means, raw), labels)) <= 1e-6


def test_blocked_folds_are_harder_than_leave_one_out(tune):
    """A hidden block has no labels close by, so that smoothing gains less there."""
    settings = ["--sigma-grid", "700m", "--label-weight", "50", "--c-grid", "0.8"]
    alone = tune("--leave-one-out", *settings, validation=False, predictions=["xgb"])
    folds = tune("--folds", "5", "--block", "3km", *settings, validation=False, predictions=["xgb"])
    assert folds["best"]["score"] < alone["best"]["score"] - 0.01
    assert folds == {**tune("--folds", "5", "--block", "3km", *settings, validation=False, predictions=["xgb"]), "seconds": folds["seconds"]}


def test_validation_labels_are_no_sources(geosmooth, country, tmp_path):
    """Other true values of validation rows change the score, but not the smoothed values: scores still equal those of dense sums."""
    rng = np.random.default_rng(3)
    table = country.tables["validation"]
    truth = rng.normal(12, 1, len(table))
    path = tmp_path / "other.parquet"
    pq.write_table(table.set_column(table.schema.get_field_index("price"), "price", [truth]), path)
    process = geosmooth(
        "tune", "--train", country.paths["train"], "--validation", path, "--label", "price", "--prediction", "xgb",
        "--sigma-grid", "1km", "--c-grid", "1", "--json",
    )  # fmt: skip
    point = json.loads(process.stdout)["grid"][0]
    assert abs(point["score"] - score("r2", country.means("validation", "xgb", "1km"), truth)) <= 1e-6


def noise(rng, path, error):
    """Rows without a spatial pattern, and a model that predicts them with independent errors."""
    price = rng.normal(10, 1, 300)
    at = {"lat": rng.uniform(40, 41, 300), "lon": rng.uniform(-84, -83, 300)}
    pq.write_table(pa.table(at | {"price": price, "model": price + rng.normal(0, error, 300)}), path)
    return path


@pytest.mark.parametrize("error", [0, 0.01])
@pytest.mark.parametrize("grids", [[], ["--sigma-grid", "1km,10km,100km", "--c-grid", "0,0.5,1"]])
def test_smoothing_does_no_harm(geosmooth, tmp_path, error, grids):
    """If smoothing does not help, c is 0, and a gain within noise is reported as such."""
    rng = np.random.default_rng(8)
    files = [part for name in ("train", "validation") for part in ("--" + name, noise(rng, tmp_path / f"{name}.parquet", error))]
    process = geosmooth("tune", *files, "--label", "price", "--prediction", "model", "--json", *grids)
    tuned = json.loads(process.stdout)
    assert tuned["best"]["score"] >= tuned["unsmoothed"]["score"]
    if error == 0 or grids:
        assert tuned["best"]["c"] == 0 and tuned["best"]["score"] == tuned["unsmoothed"]["score"]
        assert any("c = 0" in warning for warning in tuned["warnings"])
        assert "warning: smoothing does not help" in process.stderr
    elif tuned["best"]["c"] > 0:
        assert any("within noise" in warning for warning in tuned["warnings"])


def test_edges_and_noise_are_said(tune):
    assert any("largest tried" in warning for warning in tune("--sigma-grid", "10m,100m")["warnings"])
    assert any("smallest tried" in warning for warning in tune("--sigma-grid", "1km,50km")["warnings"])
    assert any("label weight" in w for w in tune("--sigma-grid", "1km", "--label-weight", "0.01,0.02")["warnings"])
    assert any("the best c" in warning for warning in tune("--sigma-grid", "1km", "--c-grid", "0,0.1")["warnings"])
    within = tune("--sigma-grid", "5m", "--c-grid", "0,1", predictions=["xgb"])
    assert within["best"]["c"] == 0 or any("within noise" in warning for warning in within["warnings"])
    clear = tune()
    assert clear["gain"]["low"] > 0 and not any("noise" in warning for warning in clear["warnings"])


def test_the_search_stays_within_its_range(tune):
    for low, high in ((20, 100), (2000, 2100)):
        tuned = tune("--sigma-range", f"{low}m,{high}m", "--train-prediction", "xgb_oof", predictions=["xgb"])
        widths = [point["sigma"] for point in tuned["grid"]] + [point["correct"]["sigma"] for point in tuned["grid"] if "correct" in point]
        assert all(low <= float(width.removesuffix("m")) <= high for width in widths), widths
        assert any("correct" in point for point in tuned["grid"])


@pytest.mark.parametrize("rows", [2, 5, 10, 29])
def test_few_rows_prove_nothing(geosmooth, country, tmp_path, rows):
    pq.write_table(country.tables["validation"].slice(0, rows), tmp_path / "few.parquet")
    files = ["--train", country.paths["train"], "--validation", tmp_path / "few.parquet", "--label", "price", "--prediction", "xgb"]
    tuned = json.loads(geosmooth("tune", *files, "--train-prediction", "xgb_oof", "--json").stdout)
    assert "correct" not in tuned["best"]
    assert tuned["best"]["c"] == 0 or any("within noise" in warning for warning in tuned["warnings"])


def test_copies_of_training_rows_are_noticed(geosmooth, country, tmp_path):
    pq.write_table(country.tables["train"], tmp_path / "copy.parquet")
    files = ["--train", country.paths["train"], "--validation", tmp_path / "copy.parquet", "--label", "price", "--prediction", "xgb"]
    process = geosmooth("tune", *files, "--sigma-grid", "1km")
    assert process.returncode == 0 and "warning: 260 of 260 validation rows" in process.stderr
    assert "leak" in process.stderr


def test_groups_and_coincident_rows(geosmooth, tmp_path):
    """On an index, in groups, several rows at each place: validation and leave-one-out against dense sums."""
    rng = np.random.default_rng(4)

    def rows(n):
        return pa.table({"x": rng.integers(0, 12, n) * 1.0, "market": rng.integers(0, 3, n), "y": rng.normal(0, 1, n), "p": rng.normal(0, 1, n)})

    train, validation = rows(90), rows(80)
    for name, table in (("train", train), ("validation", validation)):
        pq.write_table(table, tmp_path / f"{name}.parquet")

    def kernel(here, there):
        (x, g), (u, h) = ((t["x"].to_numpy()[:, None], t["market"].to_numpy()[:, None]) for t in (here, there))
        return np.exp(-((x - u.T) ** 2) / 2 / 1.5**2) * (g == h.T)

    flags = ["--label", "y", "--prediction", "p", "--index", "x", "--group", "market", "--sigma-grid", "1.5", "--label-weight", "3", "--c-grid", "0.7", "--json"]
    for way, targets in ((["--validation", tmp_path / "validation.parquet"], validation), (["--leave-one-out"], train)):
        own, labels = kernel(targets, targets), 3 * kernel(targets, train)
        labels = labels if targets is validation else labels - np.diag(np.diag(labels))
        raw = targets["p"].to_numpy()
        means = (own @ raw + labels @ train["y"].to_numpy()) / (own.sum(axis=1) + labels.sum(axis=1))
        tuned = json.loads(geosmooth("tune", "--train", tmp_path / "train.parquet", *way, *flags).stdout)
        assert tuned["grid"][0]["score"] == pytest.approx(score("r2", mix(0.7, means, raw), targets["y"].to_numpy()), abs=1e-6)


def test_no_labelled_rows_at_all(geosmooth, country):
    process = geosmooth(
        "tune", "--validation", country.paths["validation"], "--label", "price", "--prediction", "xgb", "--sigma-grid", "1km", "--c-grid", "0.5", "--json"
    )
    point = json.loads(process.stdout)["grid"][0]
    raw = country.column("validation", "xgb")
    means = dense.mean(dense.kernel("1km", country.at("validation")), raw)
    assert abs(point["score"] - score("r2", mix(0.5, means, raw), country.column("validation", "price"))) <= 1e-6


def smoothed(geosmooth, country, folder, *arguments):
    out = folder / "smoothed.parquet"
    files = ["--train", country.paths["train"], "--test", country.paths["test"]]
    process = geosmooth("smooth", *files, *arguments, "-o", out, "--overwrite", "--json", "--certificate")
    assert process.returncode == 0, process.stderr
    return pq.read_table(out), json.loads(process.stdout)


def test_tuned_parameters_are_all_that_smooth_needs(tune, geosmooth, country, tmp_path):
    file = tmp_path / "tuned.json"
    best = tune("-o", file)["best"]
    written = json.loads(file.read_text())
    assert written["version"] == 1 and written["provenance"]["metric"] == "r2"
    assert (written["sigma"], written["c"], written["label_weight"]) == (best["sigma"], best["c"], best["label_weight"])
    by_file, summary = smoothed(geosmooth, country, tmp_path, "--params", file)
    flags = ["--sigma", best["sigma"], "--c", best["c"], "--label-weight", best["label_weight"]]
    by_hand, _ = smoothed(geosmooth, country, tmp_path, "--label", "price", "--prediction", best["prediction"], *flags)
    assert by_file.equals(by_hand)
    assert summary["scores"][0]["after"]["r2"] > summary["scores"][0]["before"]["r2"]
    assert set(summary["scores"][0]["after"]) == set(METRICS)
    overridden, summary = smoothed(geosmooth, country, tmp_path, "--params", file, "--c", "0")
    assert summary["c"] == 0 and overridden["xgb_smoothed"].equals(overridden["xgb"])


@pytest.mark.parametrize("engine", ["exact", "sparse", "fast"])
@pytest.mark.parametrize(("width", "shrink"), [("900m", 0.7), ("900m", 0), ("20m", 0.001), ("20m", 50), ("20km", 1)])
def test_the_correct_step_is_that_of_dense_sums(geosmooth, country, tmp_path, engine, width, shrink):
    flags = ["--label", "price", "--prediction", "xgb", "--train-prediction", "xgb_oof", "--sigma", "600m", "--c", "0.4", "--label-weight", "2"]
    correct = ["--correct-sigma", width, "--correct-shrink", shrink, "--engine", engine]
    table, summary = smoothed(geosmooth, country, tmp_path, *flags, *correct)
    corrected = country.corrected("test", "xgb", width, shrink)
    expected = mix(0.4, country.means("test", "xgb", "600m", 2, corrected), corrected)
    error = abs(table["xgb_smoothed"].to_numpy() - expected)
    spread = np.ptp(np.concatenate([corrected, country.column("train", "price")]))
    assert error.max() <= 1e-6 * spread
    assert (error <= table["xgb_error_bound"].to_numpy() + 1e-13 * spread).all()
    assert summary["error_bound"]["max"] <= 1e-6
    assert summary["correct"]["shrink"] == shrink


def test_tuning_keeps_the_correct_step_where_it_pays(tune, geosmooth, country, tmp_path):
    file = tmp_path / "tuned.json"
    plain = tune(predictions=["xgb"])["best"]
    best = tune("--train-prediction", "xgb_oof", "-o", file, predictions=["xgb"])["best"]
    assert best["score"] > plain["score"] and best["correct"]["shrink"] > 0
    corrected = country.corrected("validation", "xgb", best["correct"]["sigma"], best["correct"]["shrink"])
    smooth = mix(best["c"], country.means("validation", "xgb", best["sigma"], best["label_weight"], corrected), corrected)
    assert abs(best["score"] - score("r2", smooth, country.column("validation", "price"))) <= 1e-6
    assert json.loads(file.read_text())["correct"]["train_prediction"] == "xgb_oof"
    table, summary = smoothed(geosmooth, country, tmp_path, "--params", file)
    corrected = country.corrected("test", "xgb", best["correct"]["sigma"], best["correct"]["shrink"])
    expected = mix(best["c"], country.means("test", "xgb", best["sigma"], best["label_weight"], corrected), corrected)
    assert abs(table["xgb_smoothed"].to_numpy() - expected).max() <= 1e-6 * 10
    assert summary["correct"] == best["correct"]


def test_residuals_that_say_nothing_are_left_alone(geosmooth, country, tmp_path):
    """Out-of-fold predictions that are noise: the correct step cannot help and is not chosen."""
    rng = np.random.default_rng(9)
    train = country.tables["train"]
    column = train.schema.get_field_index("xgb_oof")
    path = tmp_path / "train.parquet"
    pq.write_table(train.set_column(column, "xgb_oof", [train["price"].to_numpy() + rng.normal(0, 30, len(train))]), path)
    files = ["--train", path, "--validation", country.paths["validation"], "--label", "price", "--prediction", "xgb"]
    tuned = json.loads(geosmooth("tune", *files, "--train-prediction", "xgb_oof", "--json").stdout)
    assert "correct" not in tuned["best"]
    assert any("correct" in point for point in tuned["grid"])


def test_leave_one_out_does_not_try_the_correct_step(tune, geosmooth, country):
    flags = ["--leave-one-out", "--train-prediction", "xgb_oof,ridge_oof"]
    assert not any("correct" in point for point in tune(*flags, validation=False)["grid"])
    process = geosmooth("tune", "--train", country.paths["train"], "--label", "price", "--prediction", "xgb,ridge", *flags)
    assert "warning: the correct step is not tried with --leave-one-out" in process.stderr
    assert any("correct" in point for point in tune("--folds", "4", "--block", "2km", *flags[1:], validation=False)["grid"])


SAMPLE = Path(__file__).parents[2] / "data-samples"
ON_SAMPLE = ["--train", SAMPLE / "train.parquet", "--label", "log_price"]


def on_sample(geosmooth, *arguments):
    rows = ["--validation", SAMPLE / "validation.parquet"]
    return json.loads(geosmooth("tune", *ON_SAMPLE, *rows, *arguments, "--json").stdout)


def test_the_same_for_any_number_of_threads(geosmooth):
    flags = ["--prediction", "xgb", "--train-prediction", "xgb_oof", "--engine", "fast"]
    one, three = (on_sample(geosmooth, *flags, "--threads", threads) for threads in (1, 3))
    assert {**one, "seconds": 0} == {**three, "seconds": 0}


@pytest.mark.parametrize("prediction", ["xgb", "ridge", "rff", "xgb_location"])
def test_each_step_pays_on_the_holdout_rows_of_the_sample(geosmooth, tmp_path, prediction):
    """The paper's grid, then the search, then with the correct step: each at least as good on holdout rows."""

    def holdout(*flags):
        tuned = tmp_path / "tuned.json"
        on_sample(geosmooth, "--prediction", prediction, *flags, "-o", tuned, "--overwrite")
        out = ["-o", tmp_path / "out.parquet", "--overwrite", "--json"]
        process = geosmooth("smooth", *ON_SAMPLE, "--test", SAMPLE / "test.parquet", "--params", tuned, *out)
        return json.loads(process.stdout)["scores"][0]["after"]["r2"]

    paper = holdout("--sigma-grid", ",".join(SIGMAS), "--c-grid", ",".join(map(str, CS)))
    searched = holdout()
    corrected = holdout("--train-prediction", f"{prediction}_oof")
    assert paper < searched < corrected


def test_the_table_for_people(geosmooth, country, tmp_path):
    files = ["--train", country.paths["train"], "--validation", country.paths["validation"], "--label", "price"]
    process = geosmooth("tune", *files, "--prediction", "xgb,ridge", "-o", tmp_path / "tuned.json")
    assert process.returncode == 0
    for word in ("scored on  validation rows", "best", "sigma", "gain", "ridge", "R²"):
        assert word in process.stdout


def test_the_bound_of_the_correct_step_where_no_residual_matters(geosmooth, tmp_path):
    """Rows so far away that they are left out of the sums: the bound must include them."""
    pq.write_table(pa.table({"x": [0.0, 0.01], "y": [100.0, 50.0], "oof": [0.0, 0.0]}), tmp_path / "train.parquet")
    pq.write_table(pa.table({"x": [6.4, 6.45, 6.5], "p": [1.0, 2.0, 3.0]}), tmp_path / "test.parquet")
    flags = ["--train", tmp_path / "train.parquet", "--test", tmp_path / "test.parquet", "--label", "y", "--prediction", "p", "--index", "x"]
    correct = ["--train-prediction", "oof", "--correct-sigma", "1", "--correct-shrink", "1", "--sigma", "1", "--c", "0", "--certificate"]
    for engine in ("exact", "sparse", "fast"):
        out = tmp_path / "out.parquet"
        process = geosmooth("smooth", *flags, *correct, "--engine", engine, "-o", out, "--overwrite")
        assert process.returncode == 0, process.stderr
        table = pq.read_table(out)
        x = table["x"].to_numpy()[:, None]
        k = np.exp(-((x - np.array([0.0, 0.01])) ** 2) / 2)
        exact = table["p"].to_numpy() + k @ [100.0, 50.0] / (k.sum(axis=1) + 1)
        assert (abs(table["p_smoothed"].to_numpy() - exact) <= table["p_error_bound"].to_numpy()).all(), engine
