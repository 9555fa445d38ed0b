"""Inputs that are not files, outputs that cannot be written, runs that are killed. Numbers as in the list of bad inputs."""

import os
import signal
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import as_arguments
from damage import EARLIER, assert_explained, environment, flags_with_defaults, refused, run, temporary_files, written
from sample import Reference, test_rows, train_rows, with_column

AS_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
ROLES = pytest.mark.parametrize("role", ["test", "train"])


@pytest.fixture
def in_role(written):
    """Valid flags, but with this path for the test or the training rows."""

    def flags(role, path):
        sound = {"test": written(test_rows(20), "sound.parquet"), "train": written(train_rows(20), "labels.parquet")}
        return sound | {"label": "price", role: path}

    return flags


# --- inputs -----------------------------------------------------------------------------------------------------


@ROLES
def test_60_missing(refused, in_role, tmp_path, role):
    refused("cannot read", "nowhere.parquet", code=1, **in_role(role, tmp_path / "nowhere.parquet"))


@ROLES
def test_60_below_a_file(refused, in_role, tmp_path, role):
    refused("cannot read", "x.parquet", code=1, **in_role(role, tmp_path / "sound.parquet" / "x.parquet"))


@ROLES
def test_60_directory_without_parquet_files(refused, in_role, tmp_path, role):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "rows.csv").write_text("latitude,longitude\n")
    refused("folder", ".parquet", **in_role(role, tmp_path / "folder"))


@ROLES
def test_60_fifo(refused, in_role, tmp_path, role):
    os.mkfifo(tmp_path / "pipe.parquet")
    refused("pipe.parquet", "not a regular file", **in_role(role, tmp_path / "pipe.parquet"))


def test_60_fifo_in_a_directory(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    pq.write_table(test_rows(20), tmp_path / "folder" / "1.parquet")
    os.mkfifo(tmp_path / "folder" / "2.parquet")
    refused("2.parquet", "not a regular file", test=tmp_path / "folder")


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/stdin"])
def test_60_device(refused, device):
    refused(device, "not a regular file", test=device)


@pytest.mark.parametrize("links", ["nowhere", "itself"])
def test_60_symlink_to(refused, tmp_path, links):
    link = tmp_path / "link.parquet"
    link.symlink_to({"nowhere": tmp_path / "gone.parquet", "itself": link}[links])
    refused("cannot read", "link.parquet", code=1, test=link)


@AS_ROOT
@ROLES
def test_60_no_permission(refused, in_role, written, role):
    path = written(test_rows(20), "locked.parquet")
    path.chmod(0)
    refused("cannot read", "locked.parquet", code=1, **in_role(role, path))


@pytest.mark.parametrize("pattern", ["*.nothing", "nowhere/*.parquet", "part-[0-9].parquet", "?"])
@ROLES
def test_66_glob_without_a_match(refused, in_role, tmp_path, pattern, role):
    refused(pattern, "matches no file", **in_role(role, tmp_path / pattern))


@pytest.mark.parametrize("pattern", ["[.parquet", "***", "a**b"])
def test_66_no_glob(refused, tmp_path, pattern):
    refused(pattern, "not a valid pattern", test=tmp_path / pattern)


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [("", 50), ("*", 50), ("*.parquet", 50), ("**/*.parquet", 60), ("**/[a-z._]*.parquet", 60), (".*.parquet", 7), ("_d*", 5), ("**/_temporary/*", 3), (".hidden", 2), (".c.parquet", 7)],
)
def test_90_hidden_files(binary, tmp_path, pattern, rows):
    """Issue 15, point 5: in folders and patterns, names that begin with a dot or an underscore are taken only if these are spelled out."""
    files = {"a": 20, "b": 30, ".c": 7, "_d": 5, "deep/e": 10, "deep/_temporary/f": 3, ".hidden/g": 2}
    for name, count in files.items():
        path = tmp_path / "in" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(test_rows(count), path)
    pq.write_table(test_rows(20), tmp_path / "in" / ".geosmooth-x.tmp")
    process = run(binary, {"test": tmp_path / "in" / pattern, "output": tmp_path / "out.parquet"})
    assert process.returncode == 0, process.stderr
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == rows


# --- outputs ----------------------------------------------------------------------------------------------------

LINKS = {
    "the same path": lambda path, link: path,
    "a path with dots": lambda path, link: path.parent / "." / ".." / path.parent.name / path.name,
    "a symlink": lambda path, link: link.symlink_to(path) or link,
    "a hard link": lambda path, link: link.hardlink_to(path) or link,
    "a symlink to a symlink": lambda path, link: link.with_suffix(".2").symlink_to(path) or link.symlink_to(link.with_suffix(".2")) or link,
}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("flag", ["output", "matrix"])
@pytest.mark.parametrize("link", LINKS)
@ROLES
def test_61_output_is_an_input(binary, in_role, tmp_path, role, link, flag, overwrite):
    flags = in_role(role, tmp_path / "it.parquet")
    pq.write_table(test_rows(20) if role == "test" else train_rows(20), tmp_path / "it.parquet")
    before = (tmp_path / "it.parquet").read_bytes()
    flags |= {"output": tmp_path / "out.parquet", "engine": "sparse"} | ({"overwrite": True} if overwrite else {})
    flags[flag] = LINKS[link](tmp_path / "it.parquet", tmp_path / "link.parquet")
    assert_explained(run(binary, flags), 2, [flags[flag], "input"])
    assert (tmp_path / "it.parquet").read_bytes() == before
    assert not (tmp_path / "out.parquet").exists() and temporary_files(tmp_path) == []


def test_61_output_is_one_of_several_inputs(binary, tmp_path):
    (tmp_path / "parts").mkdir()
    for number in range(3):
        pq.write_table(test_rows(20), tmp_path / "parts" / f"{number}.parquet")
    before = (tmp_path / "parts" / "2.parquet").read_bytes()
    flags = {"test": tmp_path / "parts", "output": tmp_path / "parts" / "2.parquet", "overwrite": True}
    assert_explained(run(binary, flags), 2, ["2.parquet", "input"])
    assert (tmp_path / "parts" / "2.parquet").read_bytes() == before
    assert temporary_files(tmp_path / "parts") == []


@pytest.mark.parametrize("flag", ["output", "matrix"])
def test_61_output_exists(binary, written, tmp_path, flag):
    flags = {"test": written(test_rows(20)), "output": tmp_path / "out.parquet", "engine": "sparse"}
    flags[flag] = written(EARLIER, "earlier.parquet")
    assert_explained(run(binary, flags), 2, ["earlier.parquet", "exists"], "--overwrite")
    assert (tmp_path / "earlier.parquet").read_bytes() == EARLIER
    assert not (tmp_path / "out.parquet").exists() and temporary_files(tmp_path) == []


NO_FOLDERS = {
    "missing": lambda tmp_path: tmp_path / "nowhere" / "out.parquet",
    "a file": lambda tmp_path: tmp_path / "spoilt.parquet" / "out.parquet",
    "of the kernel": lambda tmp_path: "/proc/out.parquet",
}


@pytest.mark.parametrize("flag", ["output", "matrix"])
@pytest.mark.parametrize("folder", NO_FOLDERS)
def test_62_folder_that_cannot_be_written(binary, written, tmp_path, folder, flag):
    """Detected before the rows are read: one of the rows is bad."""
    assert_folder_is_tried_first(binary, written, tmp_path, flag, NO_FOLDERS[folder](tmp_path))


@AS_ROOT
def test_62_folder_without_permission(binary, written, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    assert_folder_is_tried_first(binary, written, tmp_path, "output", tmp_path / "locked" / "out.parquet")


def assert_folder_is_tried_first(binary, written, tmp_path, flag, path):
    flags = {"test": written(with_a_bad_row(), "spoilt.parquet"), "output": tmp_path / "out.parquet", "engine": "sparse"}
    assert_explained(run(binary, flags | {flag: path}), 1, [path], "folder")
    assert not (tmp_path / "out.parquet").exists() and temporary_files(tmp_path) == []


def with_a_bad_row():
    return with_column(test_rows(20), "xgb", pa.array([*test_rows(20)["xgb"].to_pylist()[:19], None]))


NO_NAMES = {
    "a folder to be": lambda tmp_path: f"{tmp_path}/folder/",
    "too long": lambda tmp_path: tmp_path / ("n" * 300),
    "a symlink to nowhere": lambda tmp_path: (tmp_path / "link").symlink_to("nowhere") or tmp_path / "link",
}


@pytest.mark.parametrize("name", NO_NAMES)
def test_62_name_that_cannot_be_written(binary, written, tmp_path, name):
    """Detected before the rows are read (one of them is bad), and the hint does not suggest a full disk."""
    path = NO_NAMES[name](tmp_path)
    process = run(binary, {"test": written(with_a_bad_row()), "output": path})
    assert process.returncode in (1, 2)
    assert_explained(process, process.returncode, [path])
    assert b"disk full" not in process.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == (["link", "test.parquet"] if "link" in name else ["test.parquet"])


@pytest.mark.parametrize("output", ["folder", "/dev/null", "/dev/full", ""])
def test_62_output_that_is_no_file(binary, written, tmp_path, output):
    (tmp_path / "folder").mkdir()
    output = tmp_path / output if output == "folder" else output
    process = run(binary, {"test": written(test_rows(20)), "output": output, "overwrite": True})
    assert_explained(process, 2, [output])
    assert list((tmp_path / "folder").iterdir()) == [] and temporary_files(tmp_path) == []


# --- stdout -----------------------------------------------------------------------------------------------------


@pytest.fixture
def in_shell(binary, written, tmp_path):
    """Runs a valid request in a shell with this redirection of stdout."""

    def run(redirection, *more):
        flags = flags_with_defaults({"test": written(test_rows()), "output": tmp_path / "out.parquet"})
        command = [str(part) for part in (binary, "smooth", *as_arguments(flags), *more)]
        script = f'set -o pipefail; "$@" {redirection}'
        return subprocess.run(["bash", "-c", script, "bash", *command], stderr=subprocess.PIPE, timeout=60, env=environment())

    return run


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["table", "json"])
@pytest.mark.parametrize("redirection", [">&-", "<&- >&-", "| true", "| head -c 1 >/dev/null"])
def test_67_nobody_listens(in_shell, tmp_path, redirection, more):
    """The output file exists, and its numbers are right."""
    process = in_shell(redirection, *more)
    assert (process.returncode, process.stderr) == (0, b"")
    Reference(test_rows()).assert_close(tmp_path / "out.parquet", 1e-6)


def test_67_no_stream_at_all(in_shell, tmp_path):
    assert in_shell("<&- >&- 2>&-").returncode == 0
    Reference(test_rows()).assert_close(tmp_path / "out.parquet", 1e-6)


def test_67_stdout_is_full(in_shell, tmp_path):
    """The printed table is lost, which is reported; the output is complete."""
    process = in_shell("> /dev/full")
    process.stdout = b""
    assert_explained(process, 1, ["stdout"])
    Reference(test_rows()).assert_close(tmp_path / "out.parquet", 1e-6)


# --- kill -9 ----------------------------------------------------------------------------------------------------


def kill_after(seconds):
    def wait(process, folder):
        time.sleep(seconds)

    return wait


def kill_at_size(size):
    """Once the temporary file has grown to this size, or the process has ended."""

    def wait(process, folder):
        while process.poll() is None and max(map(written_so_far, temporary_files(folder)), default=-1) < size:
            time.sleep(1e-4)

    return wait


def written_so_far(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1


@pytest.mark.parametrize("earlier", [False, True], ids=["no output yet", "an earlier output"])
def test_68_killed(binary, much, tmp_path, earlier):
    """At any time, the final name belongs to the earlier file or to the complete result."""
    out = tmp_path / "out.parquet"
    flags = flags_with_defaults({"test": much, "output": out, "sigma": "1m"}) | ({"overwrite": True} if earlier else {})
    command = [binary, "smooth", *map(str, as_arguments(flags))]
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    duration, whole = time.monotonic() - start, out.read_bytes()
    before = EARLIER if earlier else None

    found = []
    moments = [kill_after(t) for t in np.linspace(0, duration, 16)]
    moments += [kill_at_size(size) for size in np.linspace(1, len(whole), 16)]
    for wait in moments:
        out.unlink(missing_ok=True)
        if earlier:
            out.write_bytes(EARLIER)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            wait(process, tmp_path)
            process.kill()
        left = temporary_files(tmp_path)
        half_written = process.returncode == -signal.SIGKILL and any(path.stat().st_size for path in left)
        for path in left:
            path.unlink()
        found.append((out.read_bytes() if out.exists() else None, half_written))
    assert all(content in (before, whole) for content, _ in found)
    assert any(content == before for content, _ in found)
    assert sum(half_written for _, half_written in found) >= 3, "too few kills fell into the writing"
