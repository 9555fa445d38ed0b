"""PostEstimationSmoother: scikit-learn's own checks, and what it gives."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import geosmooth
from geosmooth import PostEstimationSmoother

MANY_COLUMNS = "fits four to ten columns, but distance is measured in one to three"
EXPECTED_FAILURES = dict.fromkeys(
    [
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_fit2d_1sample",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_regressor_data_not_an_array",
        "check_regressors_int",
        "check_regressors_no_decision_function",
        "check_regressors_train",
    ],
    MANY_COLUMNS,
)


@parametrize_with_checks([PostEstimationSmoother()], expected_failed_checks=lambda _: EXPECTED_FAILURES, xfail_strict=True)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def houses(sample):
    """Places, predictions and labels of the sample: labelled rows, rows to tune on, rows to predict."""

    def part(name):
        rows = sample[name].to_pandas()
        predictions = rows["xgb"] if "xgb" in rows else None
        return rows[["latitude", "longitude"]], predictions, rows["log_price"]

    return {name: part(name) for name in ("train", "validation", "test")}


@pytest.fixture(scope="module")
def fitted(houses):
    places, _, labels = houses["train"]
    return PostEstimationSmoother(sigma="300m", c=0.6, label_weight=4).fit(places, labels)


def test_it_smooths_as_the_function_does(sample, houses, fitted):
    places, predictions, _ = houses["test"]
    expected = geosmooth.smooth(
        sample["test"], sample["train"], label="log_price", prediction="xgb", sigma="300m", c=0.6, label_weight=4
    )
    assert fitted.smooth(places, predictions).tobytes() == expected["xgb_smoothed"].to_numpy().tobytes()
    in_arrays = PostEstimationSmoother(sigma="300m", c=0.6, label_weight=4).fit(*(np.asarray(part) for part in houses["train"][::2]))
    assert in_arrays.smooth(places.to_numpy(), predictions.tolist()).tobytes() == fitted.smooth(places, predictions).tobytes()


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_coordinates_come_in_tables_of_any_library(houses, fitted, kind):
    places, predictions, _ = houses["test"]
    smoother = clone(fitted).fit(kind(houses["train"][0]), houses["train"][2])
    assert smoother.smooth(kind(places), predictions).tobytes() == fitted.smooth(places, predictions).tobytes()
    with pytest.raises(ValueError, match="latitude first"):
        clone(fitted).fit(kind(places[["longitude", "latitude"]]), predictions)


def test_it_predicts_from_labels_alone(houses, fitted):
    places, _, truth = houses["test"]
    predicted = fitted.predict(places)
    sums = geosmooth.kernel_sums(places, houses["train"][0], houses["train"][2], sigma="300m")
    near = sums.mass > 1e-3
    np.testing.assert_allclose(predicted[near], (sums.values[:, 0] / sums.mass)[near], atol=1e-5)
    assert np.isfinite(predicted).all()
    assert 0.5 < fitted.score(places, truth) < 1


def test_tuning_is_learned(houses):
    smoother = PostEstimationSmoother(sigma="1km").fit(*houses["train"][::2])
    assert not hasattr(smoother, "scores_")
    assert smoother.tune(*houses["validation"], sigma_range=("50m", "2km")) is smoother
    assert smoother.sigma == "1km" and smoother.sigma_.endswith("m") and smoother.sigma_ != "1km"
    assert smoother.scores_["best"] > smoother.scores_["unsmoothed"] and smoother.scores_["metric"] == "r2"
    places, predictions, truth = houses["test"]
    error = lambda values: np.mean((values - truth) ** 2)
    assert error(smoother.smooth(places, predictions)) < 0.8 * error(predictions)
    refitted = smoother.fit(*houses["train"][::2])
    assert refitted.sigma_ == "1km" and refitted.c_ == 0.5


def test_plain_axes_are_tuned_in_their_unit():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 100, (400, 1))
    truth = np.sin(x[:, 0] / 9)
    smoother = PostEstimationSmoother().fit(x[:200], truth[:200])
    smoother.tune(x[200:], truth[200:] + rng.normal(0, 0.3, 200), truth[200:], metric="rmse")
    assert isinstance(smoother.sigma_, float) and 0 < smoother.sigma_ < 20


def test_clones_and_pickles(houses, fitted):
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params() and not hasattr(fresh, "coordinates_")
    with pytest.raises(NotFittedError):
        fresh.smooth(*houses["test"][:2])
    copy = pickle.loads(pickle.dumps(fitted))
    places, predictions, _ = houses["test"]
    assert copy.smooth(places, predictions).tobytes() == fitted.smooth(places, predictions).tobytes()
    assert copy.predict(places).tobytes() == fitted.predict(places).tobytes()


def test_it_is_searched_like_any_estimator(houses):
    places, _, labels = houses["train"]
    search = GridSearchCV(PostEstimationSmoother(), {"sigma": ["100m", "400m", "5km"]}, cv=3).fit(places[:3000], labels[:3000])
    assert search.best_params_ == {"sigma": "400m"}


def test_what_does_not_fit_is_refused(houses):
    places, predictions, labels = houses["validation"]
    swapped = places[["longitude", "latitude"]]
    for X, sigma, message in [
        (swapped, "1km", "latitude first"),
        (places.assign(height=0.0), "1km", "expected latitude and longitude"),
        (pd.concat([places, places], axis=1).to_numpy(), 1.0, "expected 1, 2 or 3"),
        (places, "far", "sigma 'far'"),
        (places + 90, "1km", "latitude"),
    ]:
        with pytest.raises(ValueError, match=message):
            PostEstimationSmoother(sigma=sigma).fit(X, labels)
    with pytest.raises(ValueError, match="c is 3"):
        PostEstimationSmoother(sigma="1km", c=3).fit(places, labels)
    fitted = PostEstimationSmoother(sigma="1km").fit(places, labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.smooth(places, predictions[:-1])
    with pytest.raises(ValueError, match="NaN"):
        fitted.smooth(places, predictions.where(predictions.index != 3))
