"""Makes golden.json: small cases of post-estimation smoothing with results that can be trusted to the last digit.

    python tests/golden/make_golden.py          # needs numpy and mpmath; writes golden.json beside this file

It shares nothing with the program: all pairs, and every step from sines to the final ratio in 40 decimal digits
(mpmath), rounded to a 64-bit float once at the end. On the sphere the angle between two places is
atan2(|u x v|, u . v) of their unit vectors, which with 40 digits is right for millimetres, for half the globe and
for antipodes alike; no formula has to be chosen by distance.

Inputs have at most 15 significant digits, so that every JSON reader gets the same floats from them.
"""

import json
from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.dps = 40

EARTH_RADIUS = mp.mpf("6371008.8")
METRES = {"km": 1000, "m": 1}


# --- the smoothing ----------------------------------------------------------------------------------------------


def unit_vector(latitude, longitude):
    phi, lam = mp.radians(mp.mpf(float(latitude))), mp.radians(mp.mpf(float(longitude)))
    return mp.cos(phi) * mp.cos(lam), mp.cos(phi) * mp.sin(lam), mp.sin(phi)


def great_circle(u, v):
    """Metres between two unit vectors."""
    cross = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    dot = u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
    return EARTH_RADIUS * mp.atan2(mp.sqrt(sum(x * x for x in cross)), dot)


def plain_degrees(p, q):
    """Euclidean distance on latitude and longitude as they stand: 359 and -1 are far apart."""
    return mp.sqrt((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2)


def metric(sigma):
    """How the unit of sigma measures: sigma as a number, what a place is, and the distance of two of them."""
    if sigma.endswith("deg"):
        return mp.mpf(float(sigma[:-3])), lambda *place: tuple(mp.mpf(float(x)) for x in place), plain_degrees
    unit = "km" if sigma.endswith("km") else "m"
    return mp.mpf(float(sigma.removesuffix(unit))) * METRES[unit], unit_vector, great_circle


def smooth(sigma, c, label_weight, targets, predictions, label_places, labels):
    """c W y + (1 - c) y. W: targets by targets and labels, Gaussian, each row divided by its sum."""
    width, place, distance = metric(sigma)
    at = [place(*p) for p in targets]
    sources = at + [place(*p) for p in label_places]
    weights = [mp.mpf(1)] * len(targets) + [mp.mpf(label_weight)] * len(labels)
    values = [mp.mpf(float(v)) for v in [*predictions, *labels]]
    smoothed = []
    for target, prediction in zip(at, values):
        kernel = [w * mp.exp(-((distance(target, s) / width) ** 2) / 2) for w, s in zip(weights, sources)]
        mean = mp.fdot(kernel, values) / mp.fsum(kernel)
        smoothed.append(float(mp.mpf(c) * mean + (1 - mp.mpf(c)) * prediction))
    return smoothed


# --- the places -------------------------------------------------------------------------------------------------


def around(rng, centre, radius, n):
    """n places spread evenly over the disc of so many metres around a centre, longitudes from -180 to 180."""
    phi, lam = np.radians(centre)
    angle = radius / float(EARTH_RADIUS) * np.sqrt(rng.random(n))
    bearing = 2 * np.pi * rng.random(n)
    sin_latitude = np.sin(phi) * np.cos(angle) + np.cos(phi) * np.sin(angle) * np.cos(bearing)
    east = np.sin(bearing) * np.sin(angle) * np.cos(phi)
    north = np.cos(angle) - np.sin(phi) * sin_latitude
    longitude = np.degrees(lam + np.arctan2(east, north))
    return tidy(np.degrees(np.arcsin(sin_latitude)), (longitude + 180) % 360 - 180)


def box(rng, centre, half, n):
    """n places in a square of so many degrees to each side of a centre."""
    return tidy(*(c + rng.uniform(-half, half, n) for c in centre))


def tidy(latitude, longitude):
    return np.column_stack([np.round(latitude, 10), np.round(longitude, 10)])


def from_0_to_360(places, rows):
    """The same places, some of them with longitudes counted from 0 to 360."""
    places = places.copy()
    places[rows, 1] = np.round(places[rows, 1] % 360, 10)
    return places


def values(rng, n):
    return np.round(rng.uniform(50, 500, n), 2)


# --- the cases --------------------------------------------------------------------------------------------------

TOLEDO, SUVA, NORTH_POLE, SOUTH_POLE = (41.65, -83.54), (-18.1, 179.99), (90.0, 0.0), (-90.0, 0.0)


def case(rng, name, sigma, targets, labels_at=(), c=1.0, label_weight=1.0):
    predictions, labels = values(rng, len(targets)), values(rng, len(labels_at))
    column = lambda places, axis: [float(p[axis]) for p in places]
    return {
        "name": name,
        "sigma": sigma,
        "c": c,
        "label_weight": label_weight,
        "latitude": column(targets, 0),
        "longitude": column(targets, 1),
        "prediction": predictions.tolist(),
        "label_latitude": column(labels_at, 0),
        "label_longitude": column(labels_at, 1),
        "label": labels.tolist(),
        "expected": smooth(sigma, c, label_weight, targets, predictions, labels_at, labels),
    }


def metres(rng):
    """From a street to the globe; the disc is three sigma wide, so that neighbours matter."""
    weights = [1.0, 2.5, 1.0, 0.3, 1.0, 10.0, 1.0]
    for sigma, label_weight in zip(["10m", "100m", "1km", "10km", "100km", "1000km", "3000km"], weights):
        radius = 3 * float(metric(sigma)[0])
        targets, labels_at = around(rng, TOLEDO, radius, 40), around(rng, TOLEDO, radius, 50)
        yield case(rng, f"{sigma} with labels", sigma, targets, labels_at, c=0.6, label_weight=label_weight)
        yield case(rng, f"{sigma} predictions only", sigma, targets)


def degrees(rng):
    weights = [1.0, 0.5, 1.0, 4.0, 1.0, 1.0]
    for sigma, label_weight in zip(["0.0001deg", "0.001deg", "0.01deg", "0.1deg", "1deg", "10deg"], weights):
        half = 3 * float(metric(sigma)[0])
        targets, labels_at = box(rng, TOLEDO, half, 40), box(rng, TOLEDO, half, 50)
        yield case(rng, f"{sigma} with labels", sigma, targets, labels_at, c=0.6, label_weight=label_weight)
        yield case(rng, f"{sigma} predictions only", sigma, targets)


def date_line(rng):
    targets = np.vstack([around(rng, SUVA, 90_000, 38), [(-18.1, 180.0), (-18.1, -180.0)]])
    labels_at = around(rng, SUVA, 90_000, 40)
    yield case(rng, "date line", "30km", targets, labels_at)
    mixed = from_0_to_360(targets, slice(0, None, 2)), from_0_to_360(labels_at, slice(0, None, 3))
    yield case(rng, "date line, some longitudes from 0 to 360", "30km", *mixed, c=0.8)
    yield case(rng, "date line in plain degrees, which do not wrap", "0.3deg", *mixed, c=0.8)
    greenwich = from_0_to_360(around(rng, (51.5, 0.0), 30_000, 40), slice(0, None, 2))
    yield case(rng, "Greenwich, some longitudes from 0 to 360", "10km", greenwich)


def poles(rng):
    for name, pole in (("north pole", NORTH_POLE), ("south pole", SOUTH_POLE)):
        on_it = [(pole[0], longitude) for longitude in (0.0, 123.4, -77.0, 180.0, 359.0)]
        targets = np.vstack([around(rng, pole, 600_000, 40), on_it])
        labels_at = np.vstack([around(rng, pole, 600_000, 40), [(pole[0], -12.5)]])
        yield case(rng, name, "200km", targets, labels_at, c=0.9)
        near = around(rng, pole, 3_000, 40)
        yield case(rng, f"{name}, within 3 km", "1km", np.vstack([near, on_it]))


def antipodes(rng):
    """Two places opposite to each other, and others from a nanodegree to some degrees beside them."""
    steps = np.concatenate([[0.0], np.logspace(-9, 1, 14)])
    here = tidy(20 + steps * np.cos(7 * steps), 30 + steps)
    there = tidy(-20 + steps * np.sin(5 * steps), -150 + steps)
    pairs = np.vstack([here, there])
    for sigma in ("3000km", "20000km"):
        yield case(rng, f"antipodes at {sigma}", sigma, pairs, pairs[::-2], c=0.7, label_weight=2.0)


def globe(rng):
    latitude = np.degrees(np.arcsin(rng.uniform(-1, 1, 90)))
    places = tidy(latitude, rng.uniform(-180, 360, 90))
    yield case(rng, "the whole globe", "3000km", places[:45], places[45:])


def duplicates(rng):
    few = around(rng, TOLEDO, 1_000, 6)
    targets, labels_at = few[rng.integers(0, 6, 40)], few[rng.integers(0, 5, 40)]
    yield case(rng, "duplicates", "300m", targets, labels_at, label_weight=1.5)
    yield case(rng, "duplicates in degrees", "0.003deg", targets, labels_at, c=0.5)
    yield case(rng, "all at one place", "300m", few[[0] * 30], few[[0] * 30])


def isolated(rng):
    """A row six sigma from a city gets e^-18 from each of its houses: little, but not nothing."""
    city, labels_at = around(rng, TOLEDO, 300, 50), around(rng, TOLEDO, 300, 60)
    lonely = tidy(TOLEDO[0] + np.degrees(6 * 500 / float(EARTH_RADIUS)), TOLEDO[1])
    targets = np.vstack([city[:20], lonely, city[20:]])
    yield case(rng, "isolated row", "500m", targets, labels_at)
    yield case(rng, "isolated row, heavy labels", "500m", targets, labels_at, label_weight=10_000.0)


def limits(rng):
    targets, labels_at = around(rng, TOLEDO, 1_500, 30), around(rng, TOLEDO, 1_500, 30)
    yield case(rng, "one row", "500m", targets[:1])
    yield case(rng, "two rows", "500m", targets[:2], c=0.5)
    yield case(rng, "one row, one label", "500m", targets[:1], labels_at[:1])
    yield case(rng, "c = 0", "500m", targets, labels_at, c=0.0)
    yield case(rng, "label weight 0", "500m", targets, labels_at, label_weight=0.0)
    yield case(rng, "sigma far below the spacing", "1m", targets, labels_at)
    yield case(rng, "sigma far beyond the globe", "1000000km", targets, labels_at)


def write(cases, path):
    """One line for each field, so that a change shows as the field that changed."""
    fields = lambda one: ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in one.items())
    path.write_text("[" + ",\n".join("{\n" + fields(one) + "\n}" for one in cases) + "]\n")


if __name__ == "__main__":
    themes = [metres, degrees, date_line, poles, antipodes, globe, duplicates, isolated, limits]
    cases = [one for seed, theme in enumerate(themes) for one in theme(np.random.default_rng(seed))]
    write(cases, Path(__file__).with_name("golden.json"))
