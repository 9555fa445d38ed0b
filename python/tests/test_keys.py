"""Groups by keys of every type, and index columns far beyond 2^53, of tables and arrays that a program holds: cases 74 and 75 of the list of bad inputs, issue 15."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import geosmooth
from geosmooth import PostEstimationSmoother

LARGE = 12_345_678_901_234_567_890
START = 1_763_500_000_123_456_789
STEPS = np.array([0, 100, 200, 5000])
VALUES = [1.0, 20.0, 300.0, 4.0]
ASKED = {"prediction": "model", "c": 1}

TYPES = [pa.decimal128(38, 0), pa.decimal256(76, 3), pa.decimal64(3, 1), pa.decimal32(2, 0)]
KEYS = {str(kind): pa.array([Decimal(1), Decimal(2)] if kind.bit_width < 128 else [Decimal(LARGE), Decimal(LARGE + 1)], kind) for kind in TYPES}
KEYS |= {
    "dictionary": KEYS["decimal128(38, 0)"].dictionary_encode(),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), KEYS["decimal128(38, 0)"]),
    "text view": pa.array(["a", "b"], pa.string_view()),
    "bytes view": pa.array([b"\xff", b"\xfe"], pa.binary_view()),
    "scale below zero": pa.array([Decimal("1E+4"), Decimal("2E+4")], pa.decimal128(9, -4)),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_74_keys_of_tables(key):
    rows = pa.table({"x": [0.0, 0.0], "model": [0.0, 10.0], "key": key})
    assert geosmooth.smooth(rows, **ASKED, index="x", group="key", sigma=1)["model_smoothed"].to_pylist() == [0.0, 10.0]


def test_74_keys_of_frames():
    values = {"x": [0.0] * 3, "model": [0.0, 10.0, 4.0]}
    keys = [Decimal(LARGE), Decimal(LARGE + 1), Decimal(LARGE)]
    for frame in [pd.DataFrame(values | {"key": keys}), pl.DataFrame(values | {"key": keys})]:
        assert list(geosmooth.smooth(frame, **ASKED, index="x", group="key", sigma=1)["model_smoothed"]) == [2.0, 10.0, 2.0]


@pytest.mark.parametrize("sigma", [1, 100])
def test_75_index_columns_of_frames(sigma):
    near = geosmooth.smooth(pd.DataFrame({"t": STEPS, "model": VALUES}), **ASKED, index="t", sigma=sigma)["model_smoothed"]
    far = {"t": START + STEPS, "model": VALUES}
    for frame in [pd.DataFrame(far), pl.DataFrame(far), pl.DataFrame(far).cast({"t": pl.Decimal(38, 0)})]:
        assert list(geosmooth.smooth(frame, **ASKED, index="t", sigma=sigma)["model_smoothed"]) == list(near)
    assert sigma > 1 or list(near) == VALUES


def test_75_details_show_the_column_as_it_is():
    rows = geosmooth.smooth(pd.DataFrame({"t": START + STEPS, "model": VALUES}), **ASKED, index="t", sigma=1, details=True).rows
    assert np.abs(rows.axes[0] - (START + STEPS).astype(float)).max() <= 256


@pytest.mark.parametrize("start", [2**53 + 1, -(2**53) - 5000])
def test_75_arrays_beyond_floats_are_refused(start):
    places = (start + STEPS)[:, None]
    with pytest.raises(ValueError, match="beyond 2\\^53.*\nhint: subtract one number"):
        geosmooth.kernel_sums(places, places, VALUES, sigma=1)
    with pytest.raises(ValueError, match="beyond 2\\^53"):
        PostEstimationSmoother(sigma=1).fit(places, VALUES)
    fitted = PostEstimationSmoother(sigma=1).fit(places - start, VALUES)
    for use in (lambda: fitted.predict(places), lambda: fitted.smooth(places, VALUES)):
        with pytest.raises(ValueError, match="beyond 2\\^53"):
            use()


def test_75_arrays_within_floats_are_taken():
    places = np.array([[2**53], [-(2**53)]])
    assert geosmooth.kernel_sums(places, places, [1.0, 2.0], sigma=1).mass.tolist() == [1.0, 1.0]
