"""Printed output with names that contain terminal control sequences. Numbers as in the list of bad inputs."""

import json
import shutil
import unicodedata
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sample import test_rows, train_rows
from test_faults import run

# Clear the screen, a line break, the 8-bit escape, delete, right-to-left override, the Unicode line separator.
WILD = "w\x1b[2J\nforged\x9b2K\x7f\r\u202eturned\u2066\u2028"


def assert_harmless(process):
    for text in (process.stdout.decode(), process.stderr.decode()):
        wild = [letter for letter in text if letter != "\n" and (unicodedata.category(letter) in ("Cc", "Zl", "Zp") or letter in "\u202e\u2066")]
        assert wild == [], text
        assert not any(line.startswith("forged") for line in text.splitlines()), text


@pytest.fixture
def wild(tmp_path):
    """Labelled rows and rows to predict with terminal control sequences in column, file and folder names."""
    folder = tmp_path / WILD
    folder.mkdir()

    def named(table):
        return table.rename_columns([{"xgb": WILD, "price": WILD + "price"}.get(name, name) for name in table.column_names])

    pq.write_table(named(test_rows(60)), folder / "test.parquet")
    pq.write_table(named(train_rows(60).append_column("xgb", test_rows(60)["xgb"])), folder / "train.parquet")
    return folder


def subcommands(folder):
    known = ["--train", folder / "train.parquet", "--label", WILD + "price", "--prediction", WILD]
    kernel = ["--sigma", "500m"]
    return {
        "smooth": ["smooth", "--test", folder / "test.parquet", "--prediction", WILD, "--c", "1", *kernel, "-o", folder / "out.parquet"],
        "tune": ["tune", *known, "--leave-one-out", "-o", folder / "tuned.json"],
        "compare": ["compare", *known, *kernel, "--test", folder / "test.parquet"],
        "missing column": ["smooth", "--test", folder / "test.parquet", "--prediction", WILD + "?", "--c", "1", *kernel, "-o", folder / "out.parquet"],
        "missing file": ["smooth", "--test", folder / "none.parquet", "--prediction", WILD, "--c", "1", *kernel, "-o", folder / "out.parquet"],
        "wild sigma": ["smooth", "--test", folder / "test.parquet", "--prediction", WILD, "--c", "1", "--sigma", "5" + WILD, "-o", folder / "out.parquet"],
        "wild engine": ["smooth", "--test", folder / "test.parquet", "--prediction", WILD, "--c", "1", *kernel, "--engine", WILD, "-o", folder / "out.parquet"],
        "wild option": ["smooth", "--" + WILD],
        "wild argument": ["tune", *known, "--folds", WILD, "--block", "1km"],
    }


@pytest.mark.parametrize("name", subcommands(Path()))
def test_93_names_do_not_command_the_terminal(binary, wild, name):
    """Issue 15, point 8: tables, warnings and errors."""
    process = run([binary, *subcommands(wild)[name]])
    assert (process.returncode == 0) == (name in ("smooth", "tune", "compare")), process.stderr
    assert process.stdout if process.returncode == 0 else process.stderr
    assert_harmless(process)


def test_93_nor_do_parameters(binary, wild):
    """Issue 15, point 8: fields of a file from an untrusted source."""
    assert run([binary, *subcommands(wild)["tune"], "--sigma-grid", "500m"]).returncode == 0
    tuned = json.loads((wild / "tuned.json").read_text())
    smooth = ["smooth", "--train", wild / "train.parquet", "--test", wild / "test.parquet", "--params", wild / "wild.json", "-o", wild / "out.parquet", "--overwrite"]
    for field in [name for name, value in tuned.items() if isinstance(value, str)] + ["sigma spaced"]:
        changed = tuned | ({field: WILD} if field != "sigma spaced" else {"sigma": "\n500m\n\u2028"})
        (wild / "wild.json").write_text(json.dumps(changed))
        assert_harmless(run([binary, *smooth]))


def test_93_json_is_exact(binary, wild):
    """Issue 15, point 8: output for programs keeps its meaning, and is harmless in a terminal."""
    process = run([binary, *subcommands(wild)["tune"], "--sigma-grid", "500m", "--json"])
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["best"]["prediction"] == WILD
    assert_harmless(process)
    assert json.loads((wild / "tuned.json").read_text())["prediction"] == WILD


def test_93_nor_does_the_demo(binary, tmp_path):
    process = run([binary, "demo", "--out", tmp_path / WILD])
    assert process.returncode == 0, process.stderr
    assert_harmless(process)
    shutil.rmtree(tmp_path / WILD)
