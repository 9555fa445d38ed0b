"""The functions: a subcommand each, with its options as keywords. A request is what a function was called with: `locals()`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from geosmooth import _core
from geosmooth._request import Progress, Request
from geosmooth._results import Choice, Comparison, Diagnosis, Smoothing, Standings, Tuning
from geosmooth._tables import with_columns

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Path: TypeAlias = str | os.PathLike[str]
Names: TypeAlias = str | Sequence[str]
Length: TypeAlias = str | float
"""A number with a unit, such as `"500m"` or `"0.01deg"`; a plain number for index columns."""
Parameters: TypeAlias = Choice | dict[str, Any] | Path
OnInvalid: TypeAlias = Literal["error", "skip"]
Engine: TypeAlias = Literal["auto", "exact", "sparse", "fast"]


def smooth(
    test: Any,
    train: Any = None,
    *,
    label: str | None = None,
    prediction: Names | None = None,
    sigma: Length | None = None,
    c: float | None = None,
    params: Parameters | None = None,
    label_weight: float | None = None,
    train_prediction: Names | None = None,
    correct_sigma: Length | None = None,
    correct_shrink: float | None = None,
    no_correct: bool = False,
    engine: Engine = "auto",
    tolerance: float | None = None,
    cutoff: float | None = None,
    certificate: bool = False,
    lat: str | None = None,
    lon: str | None = None,
    geometry: str | None = None,
    index: Names | None = None,
    group: str | None = None,
    on_invalid: OnInvalid = "error",
    output: Path | None = None,
    overwrite: bool = False,
    report: Path | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    spill_dir: Path | None = None,
    progress: Progress = False,
    details: bool = False,
) -> Any:
    """Smooths predictions over space, together with known labels.

    Gives back `test` with a column `<prediction>_smoothed` for each prediction: c times the average around each row plus
    (1 − c) times its own prediction. The average runs over the predictions of the test rows and the labels of the
    training rows, weighted by exp(−distance² / 2σ²). Every value is within `tolerance` (default 1e-6) of the exact one,
    relative to the range of the values.

    Parameters
    ----------
    test, train
        Rows to predict, and rows whose truth is known: tables of pandas, polars, pyarrow, GeoPandas or DuckDB, anything
        with `__arrow_c_stream__`, or Parquet files (a path, a folder or a glob). `train` may be left out.
    label, prediction
        The column with the truth in `train`, and the column or columns with predictions in `test`.
    sigma, c
        Bandwidth with its unit, and the mixing weight: 0 keeps each prediction, 1 replaces it by the average around it.
    params
        What `tune` found, or a file that it was saved to; other options override it.
    label_weight
        Weight of a known label against a prediction; 1 if left out.
    train_prediction, correct_sigma, correct_shrink, no_correct
        The correct step before smoothing: *out-of-fold* predictions in `train`, and bandwidth and shrinkage of the average of
        their errors, which corrects predictions.
    engine, tolerance, cutoff
        How to sum, and how accurately; the result is the same within the tolerance.
    certificate
        Add `<prediction>_error_bound`, the proven bound on the numerical error of each row, and `n_effective`, the effective
        number of sources in its average.
    lat, lon, geometry, index, group
        Where places are, unless they are found by themselves; rows of different groups, of any type, never touch.
    on_invalid
        What to do with rows whose place, prediction or label is missing or infinite: `"error"` names the first,
        `"skip"` leaves them out, with a missing result.
    output, overwrite, report
        Where the result goes if `test` is a path, and a folder for a page of results.
    threads, memory_limit, spill_dir, progress
        How to run. `spill_dir` is the folder for rows that do not fit into memory, the system's temporary folder if left out. `progress=True` draws a bar; a function is called with the phase, steps done and steps in all.
    details
        Give back a `Smoothing`: the table with scores, bounds and plots.

    Returns
    -------
    The kind of table that `test` is, index and order kept; the path of the output if `test` is a path.

    Examples
    --------
    >>> import pandas as pd
    >>> import geosmooth
    >>> homes = pd.DataFrame({"lat": [41.650, 41.651, 41.652], "lon": [-83.540, -83.541, -83.539], "model": [118.0, 150.0, 122.0]})
    >>> sales = pd.DataFrame({"lat": [41.651], "lon": [-83.540], "price": [125.0]})
    >>> smoothed = geosmooth.smooth(homes, sales, label="price", prediction="model", sigma="200m", c=0.6)
    >>> smoothed["model_smoothed"].round(1).tolist()
    [124.3, 138.2, 125.6]
    """
    request = Request(locals(), tables=["test", "train"])
    result = request.run(_core.smooth)
    table = with_columns(test, request.settled["test"], result["columns"]) if "test" in request.settled else output
    return Smoothing(result, table) if details else table


def tune(
    validation: Any = None,
    train: Any = None,
    *,
    label: str | None = None,
    prediction: Names | None = None,
    train_prediction: Names | None = None,
    leave_one_out: bool = False,
    folds: int | None = None,
    block: Length | None = None,
    metric: str = "r2",
    sigma_grid: Sequence[Length] | None = None,
    sigma_range: tuple[Length, Length] | None = None,
    c_grid: Sequence[float] | None = None,
    label_weight: float | Sequence[float] | None = None,
    engine: Engine = "auto",
    tolerance: float | None = None,
    cutoff: float | None = None,
    lat: str | None = None,
    lon: str | None = None,
    geometry: str | None = None,
    index: Names | None = None,
    group: str | None = None,
    on_invalid: OnInvalid = "error",
    output: Path | None = None,
    overwrite: bool = False,
    report: Path | None = None,
    surface: bool = False,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = False,
) -> Tuning:
    """Finds how to smooth: σ, c and the label weight that score best on rows whose truth is known.

    The labels of the validation rows are used for scores only, never for smoothing. If nothing beats the unsmoothed
    predictions, c = 0 is chosen and reported. Of several predictions the best is chosen. With `train_prediction` (out of
    fold) the correct step is tried too, and kept if it improves the score.

    Parameters
    ----------
    validation, train
        Rows to score on, and rows whose labels may be seen, as for `smooth`.
    leave_one_out, folds, block
        Score on the training rows instead, by leave-one-out, or by spatially blocked cross-validation with this many folds
        of blocks of a side length such as `"5km"`. Their predictions must be out of fold.
    metric
        Metric to optimize: r2, rmse, mae, mape or median_error.
    sigma_grid, sigma_range, c_grid, label_weight
        Try exactly these, or search σ between two; everything is searched if they are left out.
    output, overwrite, report
        A file for the parameters, and a folder for a page of results.
    surface
        Score over σ and c around the best too, for `Tuning.plot_surface`.

    The other parameters are those of `smooth`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import geosmooth
    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(rng.uniform(0, 100, 400))
    >>> rows = pd.DataFrame({"x": x, "price": np.sin(x / 9), "model": np.sin(x / 9) + rng.normal(0, 0.3, 400)})
    >>> tuned = geosmooth.tune(rows[::2], rows[1::2], label="price", prediction="model", index="x")
    >>> tuned.unsmoothed["score"] < 0.9 < 0.97 < tuned.best["score"]
    True
    >>> smoothed = geosmooth.smooth(rows[::2], rows[1::2], params=tuned)
    """
    request = Request(locals(), tables=["validation", "train"])
    return Tuning(request.run(_core.tune))


def compare(
    test: Any,
    train: Any = None,
    *,
    label: str | None = None,
    prediction: Names | None = None,
    sigma: Length | None = None,
    c: float = 1.0,
    params: Parameters | None = None,
    engines: Sequence[str] = ("exact", "sparse", "fast"),
    label_weight: float | None = None,
    train_prediction: Names | None = None,
    correct_sigma: Length | None = None,
    correct_shrink: float | None = None,
    no_correct: bool = False,
    tolerance: float | None = None,
    cutoff: float | None = None,
    lat: str | None = None,
    lon: str | None = None,
    geometry: str | None = None,
    index: Names | None = None,
    group: str | None = None,
    on_invalid: OnInvalid = "error",
    overwrite: bool = False,
    report: Path | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = False,
) -> Comparison:
    """Runs several engines on the same rows and compares their time and their numerical error.

    Parameters are those of `smooth`; `engines` are the ones to compare.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> import geosmooth
    >>> rng = np.random.default_rng(0)
    >>> rows = pa.table({"x": rng.uniform(0, 100, 500), "y": rng.uniform(0, 100, 500), "model": rng.normal(size=500)})
    >>> compared = geosmooth.compare(rows, prediction="model", index=["x", "y"], sigma=5)
    >>> [line["engine"] for line in compared.engines if line["within_tolerance"]]
    ['exact', 'sparse', 'fast']
    """
    request = Request(locals(), tables=["test", "train"])
    return Comparison(request.run(_core.compare))


def diagnose(
    validation: Any,
    train: Any = None,
    *,
    label: str | None = None,
    prediction: str | None = None,
    sigma: Length | None = None,
    c: float | None = None,
    params: Parameters | None = None,
    label_weight: float | None = None,
    train_prediction: str | None = None,
    correct_sigma: Length | None = None,
    correct_shrink: float | None = None,
    no_correct: bool = False,
    engine: Engine = "auto",
    tolerance: float | None = None,
    cutoff: float | None = None,
    lat: str | None = None,
    lon: str | None = None,
    geometry: str | None = None,
    index: Names | None = None,
    group: str | None = None,
    on_invalid: OnInvalid = "error",
    overwrite: bool = False,
    report: Path | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = False,
) -> Diagnosis:
    """Reports whether smoothing can help a prediction, and why.

    On rows whose truth is known: γ, β and c* of the paper's Theorem 1, Moran's I and variogram of the errors before and
    after, and the effective number of sources in the averages. Parameters are those of `smooth`; c is the best if left out.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> import geosmooth
    >>> rng = np.random.default_rng(0)
    >>> x = np.arange(300.0)
    >>> rows = pl.DataFrame({"x": x, "price": x / 10, "model": x / 10 + rng.normal(size=300)})
    >>> diagnosis = geosmooth.diagnose(rows, label="price", prediction="model", index="x", sigma=3)
    >>> diagnosis.gamma + diagnosis.beta < 1
    True
    >>> print(diagnosis.sentences[0])
    Smoothing can help: gamma + beta is 0.1472, below 1 (Theorem 1).
    """
    request = Request(locals(), tables=["validation", "train"])
    return Diagnosis(request.run(_core.diagnose))


def methods(
    test: Any,
    validation: Any,
    train: Any,
    *,
    label: str | None = None,
    prediction: Names | None = None,
    features: Names | None = None,
    methods: Names | None = None,
    metric: str = "r2",
    sigma_grid: Sequence[Length] | None = None,
    c_grid: Sequence[float] | None = None,
    delta_grid: Sequence[float] | None = None,
    eta_grid: Sequence[float] | None = None,
    alpha_grid: Sequence[float] | None = None,
    ridge_grid: Sequence[float] | None = None,
    laplacian_grid: Sequence[float] | None = None,
    constant_grid: Sequence[float] | None = None,
    noise_grid: Sequence[float] | None = None,
    engine: Engine = "auto",
    tolerance: float | None = None,
    cutoff: float | None = None,
    lat: str | None = None,
    lon: str | None = None,
    geometry: str | None = None,
    index: Names | None = None,
    group: str | None = None,
    on_invalid: OnInvalid = "error",
    overwrite: bool = False,
    report: Path | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = False,
) -> Standings:
    """Compares post-estimation smoothing with other methods that use location.

    Each method is tuned on the validation rows, and its best setting is scored on the test rows. The labels of both are used
    for scores only.

    Parameters
    ----------
    test, validation, train
        Rows to score on, rows to choose settings on, and rows to learn from, as for `smooth`; all with the label.
    features
        Numeric feature columns for LapRLS, in all three tables; without them LapRLS is left out.
    methods
        Methods to run, of unsmoothed, shrinkage, kernel, p-es, hem, hem+p-es, lgc, laprls, gpr; all that can run if left out.
    metric
        Metric to optimize: r2, rmse, mae, mape or median_error.
    sigma_grid, c_grid, delta_grid, eta_grid, alpha_grid, ridge_grid, laplacian_grid, constant_grid, noise_grid
        Settings to try; those of the paper if left out, with σ in degrees.

    The other parameters are those of `smooth`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import geosmooth
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 100, 300)
    >>> rows = pd.DataFrame({"x": x, "price": np.sin(x / 9), "model": np.sin(x / 9) + rng.normal(0, 0.3, 300)})
    >>> standings = geosmooth.methods(rows[:100], rows[100:200], rows[200:], label="price", prediction="model", index="x",
    ...     methods=["unsmoothed", "shrinkage", "p-es"], sigma_grid=[1, 3, 9])
    >>> [line["method"] for line in standings.methods]
    ['p-es', 'unsmoothed', 'shrinkage']
    """
    request = Request(locals(), tables=["test", "validation", "train"])
    return Standings(request.run(_core.methods))


def weights(
    test: Any,
    train: Any = None,
    *,
    sigma: Length | None = None,
    params: Parameters | None = None,
    label_weight: float | None = None,
    tolerance: float | None = None,
    cutoff: float | None = None,
    lat: str | None = None,
    lon: str | None = None,
    geometry: str | None = None,
    index: Names | None = None,
    group: str | None = None,
    on_invalid: OnInvalid = "error",
    threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = False,
) -> csr_array:
    """The averaging matrix W as a `scipy.sparse.csr_array`: rows sum to one.

    It has a row for each test row and a column for each test row and then each training row, as they stand in the
    tables; rows that were skipped are empty. `smoothed = c · (W @ values) + (1 − c) · predictions`, `values` being
    predictions and labels behind each other. Parameters are those of `smooth`.

    Examples
    --------
    >>> import pandas as pd
    >>> import geosmooth
    >>> W = geosmooth.weights(pd.DataFrame({"x": [0.0, 1.0, 5.0]}), index="x", sigma=1)
    >>> W.toarray().round(3).tolist()
    [[0.622, 0.378, 0.0], [0.377, 0.622, 0.0], [0.0, 0.0, 1.0]]
    """
    request = Request(locals(), tables=["test", "train"])
    try:
        from scipy.sparse import csr_array
    except ImportError as missing:
        raise ImportError("the sparse matrix needs scipy\nhint: pip install 'geosmooth[sparse]'") from missing
    matrix = request.run(_core.weights)
    return csr_array((matrix["weights"], matrix["columns"], matrix["starts"]), shape=matrix["shape"])
