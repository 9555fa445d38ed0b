"""`diagnose` against the definitions on dense matrices."""

import json

import numpy as np
import pytest

import dense
from country import Country


@pytest.fixture(scope="module")
def country(tmp_path_factory):
    return Country(tmp_path_factory.mktemp("country"))


@pytest.fixture
def diagnose(geosmooth, country):
    def run(*arguments, train=True):
        labelled = ["--train", country.paths["train"]] if train else []
        flags = ["--validation", country.paths["validation"], "--label", "price", "--prediction", "xgb", "--json"]
        process = geosmooth("diagnose", *labelled, *flags, *arguments)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    return run


class Dense:
    """W over validation rows and labels, and the quantities derived from it."""

    def __init__(self, country, sigma, label_weight, train):
        self.truth, self.predicted = (country.column("validation", name) for name in ("price", "xgb"))
        labels = country.column("train", "price") if train else np.array([])
        self.kernel = dense.kernel(sigma, country.at("validation"), country.at("train") if train else None, label_weight)
        self.w = self.kernel / self.kernel.sum(axis=1, keepdims=True)
        self.error = self.predicted - self.truth
        self.mean = self.w @ np.concatenate([self.predicted, labels])
        self.mean_of_truth = self.w @ np.concatenate([self.truth, labels])
        self.mean_of_error = self.w @ np.concatenate([self.error, np.zeros(len(labels))])

    def gamma(self):
        return self.error @ self.mean_of_error / (self.error @ self.error)

    def beta(self):
        return self.error @ (self.mean_of_truth - self.truth) / (self.error @ self.error)

    def c_star(self):
        """The formula of the paper, from γ and β."""
        squares, sum_ = self.error @ self.error, self.gamma() + self.beta()
        apart = ((self.mean - self.truth) ** 2).sum()
        return (1 - sum_) * squares / (apart + (1 - 2 * sum_) * squares)

    def moran(self, error):
        n = len(error)
        kernel = self.kernel[:, :n] - np.diag(np.diag(self.kernel[:, :n]))
        z = error - error.mean()
        return z @ (kernel @ z / kernel.sum(axis=1)) / (z @ z)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("sigma", ["300m", "0.01deg", "5km"])
def test_the_definitions_hold(diagnose, country, sigma, train):
    weight = 2.5 if train else 1
    found = diagnose("--sigma", sigma, *(["--label-weight", weight] if train else []), train=train)
    reference = Dense(country, sigma, weight, train)
    assert found["gamma"] == pytest.approx(reference.gamma(), abs=1e-6)
    assert found["beta"] == pytest.approx(reference.beta(), abs=1e-6)
    c = np.clip(reference.c_star(), 0, 1)
    assert found["c_star"] == pytest.approx(c, abs=1e-5) and found["c"] == found["c_star"]
    smoothed = c * reference.mean + (1 - c) * reference.predicted
    assert found["mse_before"] == pytest.approx((reference.error**2).mean(), rel=1e-12)
    assert found["mse_after"] == pytest.approx(((smoothed - reference.truth) ** 2).mean(), rel=1e-6)
    assert found["moran_before"] == pytest.approx(reference.moran(reference.error), abs=1e-6)
    assert found["moran_after"] == pytest.approx(reference.moran(smoothed - reference.truth), abs=1e-5)
    effective = dense.n_effective(reference.kernel)
    assert found["n_effective"]["min"] == pytest.approx(effective.min(), rel=1e-5)
    assert found["n_effective"]["median"] == pytest.approx(np.median(effective), rel=1e-5)
    assert found["n_effective"]["max"] == pytest.approx(effective.max(), rel=1e-5)
    assert found["isolated_rows"] == (reference.kernel.sum(axis=1) < 2).sum()


def test_the_variogram_is_that_of_all_pairs(diagnose, country):
    found = diagnose("--sigma", "400m", "--c", "0.5")["variogram"]
    reference = Dense(country, "400m", 1, True)
    smoothed = 0.5 * (reference.mean + reference.predicted)
    distance = dense.great_circle(country.at("validation"), country.at("validation"))
    pairs = ~np.eye(len(distance), dtype=bool)
    for lag, found in zip(range(20), found, strict=True):
        chosen = pairs & (distance >= 200 * lag) & (distance < 200 * (lag + 1))
        assert found["pairs"] == chosen.sum()
        assert found["distance"] == pytest.approx(distance[chosen].mean(), rel=1e-9)
        for name, error in (("before", reference.error), ("after", smoothed - reference.truth)):
            halves = (error[:, None] - error[None, :])[chosen] ** 2 / 2
            assert found[name] == pytest.approx(halves.mean(), rel=1e-4)


def test_c_of_the_user_and_of_a_file(diagnose, geosmooth, country, tmp_path):
    assert diagnose("--sigma", "1km", "--c", "0.25")["c"] == 0.25
    file = tmp_path / "tuned.json"
    flags = ["--train", country.paths["train"], "--validation", country.paths["validation"], "--label", "price"]
    geosmooth("tune", *flags, "--prediction", "xgb", "--train-prediction", "xgb_oof", "-o", file)
    found = diagnose("--params", file)
    assert found["c"] == json.loads(file.read_text())["c"]
    assert found["mse_after"] < found["mse_before"]


def test_sentences_for_people(geosmooth, country):
    flags = ["--train", country.paths["train"], "--validation", country.paths["validation"], "--label", "price"]
    process = geosmooth("diagnose", *flags, "--prediction", "xgb", "--sigma", "700m")
    assert process.returncode == 0
    for words in ("Smoothing can help", "the mean squared error becomes", "Errors of neighbours", "Moran's I"):
        assert words in process.stdout, process.stdout


def test_perfect_predictions_have_nothing_to_smooth(geosmooth, country):
    flags = ["--train", country.paths["train"], "--validation", country.paths["validation"], "--label", "price", "--prediction", "price", "--sigma", "1km"]
    found = json.loads(geosmooth("diagnose", *flags, "--json").stdout)
    assert (found["gamma"], found["beta"], found["c_star"], found["mse_after"]) == (0, 0, 0, 0)
    assert "nothing to smooth" in geosmooth("diagnose", *flags).stdout


def test_the_correct_step_is_told_apart(diagnose, country):
    found = diagnose("--sigma", "700m", "--train-prediction", "xgb_oof", "--correct-sigma", "1km", "--correct-shrink", "0.5", "--c", "0.2")
    error = country.corrected("validation", "xgb", "1km", 0.5) - country.column("validation", "price")
    assert found["mse_corrected"] == pytest.approx((error**2).mean(), rel=1e-6)
    assert found["mse_at_c_star"] <= min(found["mse_corrected"], found["mse_after"])
