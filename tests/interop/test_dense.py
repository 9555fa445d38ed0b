"""The reference of these tests against values made with 40 digits."""

import json
from pathlib import Path

import numpy as np
import pytest

import dense

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text())


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_dense_numpy_agrees_with_forty_digits(case):
    targets = np.column_stack([case["latitude"], case["longitude"]])
    label_places = np.column_stack([case["label_latitude"], case["label_longitude"]])
    predictions, labels = np.array(case["prediction"]), np.array(case["label"])
    k = dense.kernel(case["sigma"], targets, label_places, case["label_weight"])
    error = dense.smooth(k, predictions, labels, case["c"]) - case["expected"]
    assert abs(error).max() <= 1e-12 * np.ptp(np.concatenate([predictions, labels])) + 1e-13 * abs(predictions).max()
