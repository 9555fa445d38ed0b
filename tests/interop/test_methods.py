"""`methods` against dense solutions in numpy: the predictions of each method, the chosen settings, and the output."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import country
import dense

FEATURES = ["rooms", "area"]
METHODS = ["unsmoothed", "shrinkage", "kernel", "p-es", "hem", "hem+p-es", "lgc", "laprls", "gpr"]
ONE = {"c": 0.7, "delta": 0.3, "eta": 0.05, "alpha": 0.95, "ridge": 2.0, "laplacian": 0.5, "constant": 4.0, "noise": 0.02}


class Town(country.Country):
    """With two features, and two rows at one place."""

    def __init__(self, folder):
        super().__init__(folder, (130, 110, 90))
        rng = np.random.default_rng(3)
        for name, rows in self.tables.items():
            price = rows["price"].to_numpy()
            for feature, scale in zip(FEATURES, (1.0, 500.0)):
                rows = rows.append_column(feature, pa.array(scale * (price + rng.normal(0, 1, len(price)))))
            for axis in ("latitude", "longitude"):
                values = rows[axis].to_numpy().copy()
                values[1] = values[0]
                rows = rows.set_column(rows.schema.get_field_index(axis), axis, [values])
            self.tables[name] = rows
            pq.write_table(rows, self.paths[name])


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    return Town(tmp_path_factory.mktemp("town"))


def arguments(town, features=True, **flags):
    flags = {"train": town.paths["train"], "validation": town.paths["validation"], "test": town.paths["test"], "label": "price", "prediction": "xgb"} | flags
    if features:
        flags["features"] = ",".join(FEATURES)
    return [part for name, value in flags.items() for part in (["--" + name.replace("_", "-")] + ([] if value is True else [str(value)]))]


@pytest.fixture
def methods(geosmooth, town):
    def run(*more, **flags):
        process = geosmooth("methods", *arguments(town, **flags), "--json", *more)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    return run


def gaussian(sigma, here, there):
    return np.exp(-(dense.in_sigmas(sigma, here, there) ** 2) / 2)


def predicted(town, rows, method, sigma, c, delta, eta, alpha, ridge, laplacian, constant, noise):
    """The definition of each method, by dense solutions."""
    labels, values = town.column("train", "price"), town.column(rows, "xgb")
    known, here = town.at("train"), town.at(rows)
    across, among = gaussian(sigma, here, known), gaussian(sigma, here, here)
    mass = across.sum(axis=1) + among.sum(axis=1)
    centred = labels - labels.mean()

    def pes(values):
        return c * (among @ values + across @ labels) / mass + (1 - c) * values

    def hem():
        matrix = np.eye(len(here)) - (1 - eta) * among / mass[:, None]
        return np.linalg.solve(matrix, (1 - eta) * (across @ labels) / mass + eta * values)

    def lgc():
        everywhere = np.vstack([known, here])
        ties = gaussian(sigma, everywhere, everywhere) - np.eye(len(everywhere))
        degrees = ties.sum(axis=1)
        roots = np.where(degrees < 1e-4, np.inf, np.sqrt(degrees))
        start = np.concatenate([labels, values]) - labels.mean()
        solution = np.linalg.solve(np.eye(len(everywhere)) - alpha * ties / np.outer(roots, roots), (1 - alpha) * start)
        return labels.mean() + solution[len(known) :]

    def laprls():
        own, other = (np.column_stack([town.column(table, name) for name in FEATURES]) for table in ("train", rows))
        own, other = ((x - own.mean(axis=0)) / own.std(axis=0) for x in (own, other))
        everywhere, every = np.vstack([known, here]), np.vstack([own, other])
        ties = gaussian(sigma, everywhere, everywhere)
        rough = every.T @ (np.diag(ties.sum(axis=1)) - ties) @ every
        weights = np.linalg.solve(own.T @ own + ridge * np.eye(len(FEATURES)) + laplacian * rough, own.T @ centred)
        return labels.mean() + other @ weights

    def gpr():
        matrix = constant * gaussian(sigma, known, known) + noise * np.eye(len(known))
        return labels.mean() + constant * across @ np.linalg.solve(matrix, centred)

    return {
        "unsmoothed": lambda: values,
        "shrinkage": lambda: delta * values.mean() + (1 - delta) * values,
        "kernel": lambda: across @ labels / across.sum(axis=1),
        "p-es": lambda: pes(values),
        "hem": hem,
        "hem+p-es": lambda: pes(hem()),
        "lgc": lgc,
        "laprls": laprls,
        "gpr": gpr,
    }[method]()


@pytest.mark.parametrize("sigma", ["1km", "0.01deg", "40m"])
@pytest.mark.parametrize("engine", ["exact", "sparse", "fast"])
def test_scores_are_those_of_dense_solves(methods, town, sigma, engine):
    grids = {f"{name}_grid": value for name, value in ONE.items()}
    found = methods(metric="rmse", sigma_grid=sigma, tolerance="1e-10", engine=engine, **grids)
    assert sorted(line["method"] for line in found["methods"]) == sorted(METHODS)
    for line in found["methods"]:
        for rows, score in (("validation", line["validation_score"]), ("test", line["score"])):
            expected = country.score("rmse", predicted(town, rows, line["method"], sigma, **ONE), town.column(rows, "price"))
            # Validation rows are searched with a tolerance of 1e-4.
            assert score == pytest.approx(expected, rel=1e-8 if rows == "test" else 1e-3), (line, rows)
        assert line["configurations"] == 1 and line["unconverged"] == 0


@pytest.mark.parametrize("method", ["hem", "gpr", "laprls", "p-es", "lgc"])
def test_the_best_on_validation_is_chosen(methods, town, method):
    knobs = {"hem": ["eta"], "gpr": ["constant", "noise"], "laprls": ["ridge", "laplacian"], "p-es": ["c"], "lgc": ["alpha"]}[method]
    grids = {"eta": [0.05, 0.3, 0.8], "alpha": [0.2, 0.9], "c": [0.2, 0.9], "ridge": [0.1, 100], "laplacian": [0.01, 10], "constant": [0.5, 5], "noise": [0.1, 2]}
    sigmas = ["200m", "1km"]
    found = methods(methods=method, metric="mae", sigma_grid=",".join(sigmas), **{f"{name}_grid": ",".join(map(str, grids[name])) for name in knobs})
    line = found["methods"][0]

    def score(setting):
        values = predicted(town, "validation", method, setting[0], **(ONE | dict(zip(knobs, setting[1:]))))
        return country.score("mae", values, town.column("validation", "price"))

    settings = [(sigma, *values) for sigma in sigmas for values in np.array(np.meshgrid(*[grids[name] for name in knobs])).T.reshape(-1, len(knobs))]
    best = min(settings, key=score)
    assert line["configurations"] == len(settings)
    assert [line["hyperparameters"][name] for name in knobs] == pytest.approx(list(best[1:]))
    assert line["hyperparameters"]["sigma"] == {"200m": "200m", "1km": "1000m"}[best[0]]
    assert line["score"] == pytest.approx(
        country.score("mae", predicted(town, "test", method, best[0], **(ONE | dict(zip(knobs, best[1:])))), town.column("test", "price")), rel=1e-5
    )


def test_the_grids_of_the_paper(methods):
    found = methods()
    tried = {line["method"]: line["configurations"] for line in found["methods"]}
    assert tried == {"unsmoothed": 1, "shrinkage": 11, "kernel": 9, "p-es": 55, "hem": 30, "hem+p-es": 55, "lgc": 30, "laprls": 125, "gpr": 48}
    scores = [line["score"] for line in found["methods"]]
    assert scores == sorted(scores, reverse=True)
    assert found["rows"] == {"train": 130, "validation": 110, "test": 90, "skipped": 0}
    chosen = {line["method"]: line["hyperparameters"] for line in found["methods"]}
    assert set(chosen["hem+p-es"]) == {"prediction", "hem_sigma", "hem_eta", "sigma", "c"}
    assert set(chosen["gpr"]) == {"sigma", "constant", "noise"}


def test_predictions_compete(methods):
    found = methods(prediction="ridge,xgb", methods="p-es,unsmoothed")
    assert {line["method"]: line["configurations"] for line in found["methods"]} == {"p-es": 110, "unsmoothed": 2}
    assert all(line["hyperparameters"]["prediction"] == "xgb" for line in found["methods"])


def test_the_same_for_any_number_of_threads(methods):
    one, two = (methods(threads=count, sigma_grid="100m,1km") for count in (1, 2))
    for first, second in zip(one["methods"], two["methods"]):
        assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_what_does_not_converge_is_said(geosmooth, town):
    process = geosmooth("methods", *arguments(town, methods="hem", sigma_grid="1km", eta_grid="1e-13,0.5"), "--json")
    line = json.loads(process.stdout)["methods"][0]
    assert (line["unconverged"], line["configurations"], line["hyperparameters"]["eta"]) == (1, 2, 0.5)
    assert "hem: 1 of 2 settings did not converge" in process.stderr
    process = geosmooth("methods", *arguments(town, methods="hem,p-es", sigma_grid="1km", eta_grid="1e-13"), "--json")
    found = json.loads(process.stdout)
    assert [line["method"] for line in found["methods"]] == ["p-es", "hem"]
    assert found["methods"][1]["score"] is None and "none of 1 settings converged" in found["warnings"][0]


def test_without_features_laprls_is_left_out_and_said(geosmooth, town):
    process = geosmooth("methods", *arguments(town, features=False, sigma_grid="1km"))
    assert process.returncode == 0 and "laprls is left out" in process.stderr
    lines = process.stdout.splitlines()
    assert any(line.startswith("p-es") and "█" in line for line in lines) and not any(line.startswith("laprls") for line in lines)


def test_rows_with_holes_can_be_skipped(geosmooth, town, tmp_path):
    rows = town.tables["test"]
    holes = rows["rooms"].to_pylist()
    holes[4] = None
    path = tmp_path / "holes.parquet"
    pq.write_table(rows.set_column(rows.schema.get_field_index("rooms"), "rooms", [holes]), path)
    process = geosmooth("methods", *arguments(town, test=path, methods="laprls", sigma_grid="1km", on_invalid="skip"), "--json")
    assert json.loads(process.stdout)["rows"]["skipped"] == 1


def test_a_page_with_bars(geosmooth, town, tmp_path):
    process = geosmooth("methods", *arguments(town, sigma_grid="1km", methods="p-es,gpr", report=tmp_path / "page"))
    assert process.returncode == 0, process.stderr
    assert {path.name for path in (tmp_path / "page").iterdir()} == {"index.html", "scores.svg", "seconds.svg"}
    assert ">gpr<" in (tmp_path / "page" / "scores.svg").read_text()
