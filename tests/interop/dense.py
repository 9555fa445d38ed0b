"""Post-estimation smoothing by all pairs in numpy: the reference for the program's results.

`test_dense.py` holds it against tests/golden/golden.json, which was made with 40 digits.
"""

import numpy as np

EARTH_RADIUS = 6371008.8
METRES = {"km": 1000.0, "mi": 1609.344, "m": 1.0}


def great_circle(here, there):
    """Metres between all pairs of (latitude, longitude): by the haversine formula, beyond 90° by its complement."""
    (phi, lam), (psi, mu) = here.T[:, :, None], there.T[:, None, :]
    sin, cos = (lambda degrees: np.sin(np.radians(degrees))), (lambda degrees: np.cos(np.radians(degrees)))
    both = cos(phi) * cos(psi)
    haversine = sin((phi - psi) / 2) ** 2 + both * sin((lam - mu) / 2) ** 2
    complement = sin((phi + psi) / 2) ** 2 + both * cos((lam - mu) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arctan2(np.sqrt(haversine), np.sqrt(complement))


def euclidean(here, there):
    return np.sqrt(((here[:, None, :] - there[None, :, :]) ** 2).sum(axis=2))


def in_sigmas(sigma, here, there):
    """Distances divided by sigma, in the metric that its unit selects; a plain number is for index columns."""
    for unit, metres in METRES.items():
        if sigma.endswith(unit):
            return great_circle(here, there) / (float(sigma.removesuffix(unit)) * metres)
    return euclidean(here, there) / float(sigma.removesuffix("deg"))


def kernel(sigma, targets, label_places=None, label_weight=1.0):
    """The weighted Gaussian kernel between each target (rows) and all targets, then all labels (columns)."""
    own = np.exp(-(in_sigmas(sigma, targets, targets) ** 2) / 2)
    if label_places is None or len(label_places) == 0:
        return own
    return np.hstack([own, label_weight * np.exp(-(in_sigmas(sigma, targets, label_places) ** 2) / 2)])


def mean(k, values):
    return k @ values / k.sum(axis=1)


def smooth(k, predictions, labels=(), c=1.0):
    return c * mean(k, np.concatenate([predictions, labels])) + (1 - c) * predictions


def n_effective(k):
    return k.sum(axis=1) ** 2 / (k**2).sum(axis=1)
