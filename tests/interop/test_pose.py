"""`geosmooth reproduce pose` on files that pyarrow wrote, against numpy."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import poses


def run(geosmooth, folder, validation, test, *flags):
    sets = ["--validation", poses.write(validation, folder / "validation.parquet"), "--test", poses.write(test, folder / "test.parquet", 1)]
    return geosmooth("reproduce", "pose", *sets, "--out", folder / "out", "--json", *flags)


def assert_scores(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] is None if value is None else np.isclose(found[name], value, rtol=1e-6, atol=1e-9), name


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("root", [["hip"], ["knee", "ankle"]])
def test_choice_and_scores_are_those_of_numpy(geosmooth, tmp_path, dimensions, root):
    validation, test = poses.videos(1, dimensions), poses.videos(2, dimensions)
    process = run(geosmooth, tmp_path, validation, test, "--root", ",".join(root))
    assert process.returncode == 0, process.stderr
    model = json.loads(process.stdout)["models"][0]
    smoothed = lambda sets, sigma, c: [(truth, poses.smooth(predicted, sigma, c)) for truth, predicted in sets]
    surface = np.array([[poses.scores(smoothed(validation, sigma, c))["pck"] for c in poses.CS] for sigma in poses.SIGMAS])
    assert np.allclose(model["validation"], surface)
    row, column = np.unravel_index(surface.argmax(), surface.shape)
    assert (model["sigma"], model["c"]) == (poses.SIGMAS[row], poses.CS[column]) and model["c"] > 0
    numbers = [poses.JOINTS.index(joint) for joint in root]
    assert_scores(model["before"], poses.scores(test, numbers))
    assert_scores(model["after"], poses.scores(smoothed(test, model["sigma"], model["c"]), numbers))


def test_the_first_joint_is_the_root_unless_told(geosmooth, tmp_path):
    test = poses.videos(2)
    process = run(geosmooth, tmp_path, poses.videos(1), test)
    assert_scores(json.loads(process.stdout)["models"][0]["before"], poses.scores(test))


def damaged(path, change):
    table = pq.read_table(path)
    pq.write_table(change(table), path)
    return path


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda table: table.slice(1), "joints once"),
        (lambda table: table.drop_columns(["predicted_y"]), "column 'predicted_y' does not exist"),
        (lambda table: table.drop_columns(["video"]), "column 'video' does not exist"),
        (lambda table: table.slice(0, 0), "no rows of joints"),
        (lambda table: table.set_column(3, "x", [[None] + table["x"].to_pylist()[1:]]), "no finite number at row 0"),
    ],
)
def test_videos_that_make_no_sense(geosmooth, tmp_path, change, words):
    validation = poses.write(poses.videos(1), tmp_path / "validation.parquet")
    test = damaged(poses.write(poses.videos(2), tmp_path / "test.parquet"), change)
    process = geosmooth("reproduce", "pose", "--validation", validation, "--test", test, "--out", tmp_path / "out")
    error, hint = process.stderr.splitlines()
    assert process.returncode == 2 and error.startswith("error: ") and hint.startswith("hint: ")
    assert words in error


def test_an_unknown_root(geosmooth, tmp_path):
    process = run(geosmooth, tmp_path, poses.videos(1), poses.videos(2), "--root", "tail")
    assert process.returncode == 2 and "no joint 'tail'" in process.stderr
