"""Post-estimation smoothing in the manner of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError("PostEstimationSmoother needs scikit-learn\nhint: pip install 'geosmooth[sklearn]'") from missing

from geosmooth import _core
from geosmooth._functions import Engine, Length, smooth, tune
from geosmooth._sums import refuse_beyond_floats, settings

AXES = ["axis 1", "axis 2", "axis 3"]
LAT_LON = ["latitude", "longitude"]


class PostEstimationSmoother(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Smooths the predictions of any model over space, together with labels that are known.

    Smoothing is transductive: `smooth` looks at all rows to predict at once, so that it is the main verb. `predict`
    averages the labels alone, as kernel regression does.

    Parameters
    ----------
    sigma
        Bandwidth. With a unit, such as `"500m"` or `"0.01deg"`, the two columns of coordinates are latitude and
        longitude; a plain number is in the unit of one to three columns.
    c
        Mixing weight: 0 keeps each prediction, 1 replaces it by the average around it.
    label_weight
        Weight of a label against a prediction; 0 ignores labels.
    engine, tolerance, threads
        As for `geosmooth.smooth`.

    Attributes
    ----------
    sigma_, c_, label_weight_
        What is smoothed with: the parameters, or what `tune` found.
    scores_
        After `tune`: the score of the predictions as they were (`unsmoothed`) and of the best (`best`), by `metric`.
    coordinates_, labels_
        The labelled rows.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> import numpy as np
    >>> from geosmooth import PostEstimationSmoother
    >>> sold, prices = np.array([[0.0], [10.0]]), np.array([100.0, 200.0])
    >>> smoother = PostEstimationSmoother(sigma=3.0, c=0.5).fit(sold, prices)
    >>> smoother.smooth([[1.0], [9.0]], [120.0, 170.0]).round(1).tolist()
    [115.8, 176.6]
    >>> smoother.predict([[5.0]]).tolist()
    [150.0]
    """

    def __init__(
        self,
        sigma: Length = 1.0,
        c: float = 0.5,
        label_weight: float = 1.0,
        engine: Engine = "auto",
        tolerance: float = 1e-6,
        threads: int | None = None,
    ) -> None:
        self.sigma = sigma
        self.c = c
        self.label_weight = label_weight
        self.engine = engine
        self.tolerance = tolerance
        self.threads = threads

    def fit(self, X: Any, y: ArrayLike) -> PostEstimationSmoother:
        """Keeps the places `X` and labels `y` of rows whose truth is known."""
        refuse_beyond_floats("X", X)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._check_names()
        self.coordinates_: NDArray[np.float64] = X
        self.labels_: NDArray[np.float64] = np.asarray(y, dtype=np.float64)
        self.sigma_: Length = self.sigma
        self.c_: float = self.c
        self.label_weight_: float = self.label_weight
        # Parameters out of range are found here rather than at the first row to smooth.
        smooth(self._rows(X[:1], self.labels_[:1], "prediction"), self._labelled(), **self._options())
        return self

    def smooth(self, X: Any, predictions: ArrayLike) -> NDArray[np.float64]:
        """The predictions at places `X`, smoothed together with the labels."""
        X, predictions = self._checked(X, predictions)
        smoothed = smooth(self._rows(X, predictions, "prediction"), self._labelled(), **self._options())
        return smoothed["prediction_smoothed"].to_numpy()  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The average of the labels around places `X`, without any prediction: kernel regression."""
        check_is_fitted(self)
        refuse_beyond_floats("X", X)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        asked = settings(self.sigma_, self.engine, self.tolerance, None, self.threads)
        return _core.kernel_average(X, self.coordinates_, self.labels_, asked)

    def tune(self, X: Any, predictions: ArrayLike, y: ArrayLike, *, metric: str = "r2", **grids: Any) -> PostEstimationSmoother:
        """Finds σ, c and the label weight on rows with predictions and truth `y`, which is never smoothed with.

        `grids` are those of `geosmooth.tune`: sigma_grid, sigma_range, c_grid, label_weight. Without them σ is searched
        over everything in the unit of `sigma`: metres for latitude and longitude.
        """
        X, predictions = self._checked(X, predictions)
        truth = check_array(y, ensure_2d=False, dtype=np.float64)
        check_consistent_length(X, truth)
        rows = self._rows(X, truth, "label").append_column("prediction", pa.array(predictions))
        options = {"engine": self.engine, "tolerance": self.tolerance, "threads": self.threads, **self._places()}
        found = tune(rows, self._labelled(), label="label", prediction="prediction", metric=metric, **grids, **options)
        self.sigma_ = found.sigma if self._is_geographic() else float(found.sigma)
        self.c_, self.label_weight_ = found.c, found.label_weight
        self.scores_ = {"unsmoothed": found.unsmoothed["score"], "best": found.best["score"], "metric": metric}
        return self

    def _is_geographic(self) -> bool:
        """Whether coordinates are latitude and longitude: the unit of σ says so."""
        try:
            float(self.sigma)
        except ValueError:
            return True
        return False

    def _names(self) -> list[str]:
        return LAT_LON if self._is_geographic() else AXES[: self.n_features_in_]

    def _places(self) -> dict[str, Any]:
        return dict(zip(("lat", "lon"), LAT_LON, strict=True)) if self._is_geographic() else {"index": self._names()}

    def _options(self) -> dict[str, Any]:
        return {
            "label": "label",
            "prediction": "prediction",
            "sigma": self.sigma_,
            "c": self.c_,
            "label_weight": self.label_weight_,
            "engine": self.engine,
            "tolerance": self.tolerance,
            "threads": self.threads,
            **self._places(),
        }

    def _check_names(self) -> None:
        """Latitude must come first; one to three axes are what distances are measured in."""
        names = getattr(self, "feature_names_in_", None)
        if not self._is_geographic():
            if self.n_features_in_ > len(AXES):
                raise ValueError(f"{self.n_features_in_} columns of coordinates, expected 1, 2 or 3")
        elif self.n_features_in_ != len(LAT_LON):
            raise ValueError(f"{self.n_features_in_} columns of coordinates, expected latitude and longitude")
        elif names is not None and not str(names[0]).lower().startswith("lat"):
            raise ValueError(f"the first column is {names[0]!r}\nhint: give latitude first, then longitude")

    def _checked(self, X: Any, predictions: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        check_is_fitted(self)
        refuse_beyond_floats("X", X)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        values = check_array(predictions, ensure_2d=False, dtype=np.float64)
        check_consistent_length(X, values)
        return X, values

    def _rows(self, X: NDArray[np.float64], values: NDArray[np.float64], name: str) -> pa.Table:
        columns = [np.ascontiguousarray(column) for column in X.T]
        return pa.table([*columns, values], names=[*self._names(), name])

    def _labelled(self) -> pa.Table:
        return self._rows(self.coordinates_, self.labels_, "label")
