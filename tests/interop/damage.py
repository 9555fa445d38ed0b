"""Invalid inputs, and checks that the program refuses them, explains why and leaves no files behind."""

import io
import os
import struct
import subprocess

import pyarrow.parquet as pq
import pytest

from conftest import as_arguments
from sample import test_rows

MAGIC = b"PAR1"
EARLIER = b"an earlier result"


# --- damaged files ----------------------------------------------------------------------------------------------


def sound_bytes(n=20):
    """A small Parquet file as bytes."""
    sink = io.BytesIO()
    pq.write_table(test_rows(n), sink)
    return sink.getvalue()


def with_footer_length(data, length):
    return data[:-8] + struct.pack("<I", length) + MAGIC


def with_arrow_schema(data, change):
    """The file with its embedded Arrow schema changed, in place: `change` must keep the length."""
    start = data.rindex(b"ARROW:schema") + len(b"ARROW:schema")
    # The value follows its key as a Thrift string: a field header, the length as a varint, then base64.
    start = data.index(b"/////", start)
    end = start
    while chr(data[end]).isalnum() or data[end] in b"+/=":
        end += 1
    changed = change(data[start:end])
    assert len(changed) == end - start and changed != data[start:end]
    return data[:start] + changed + data[end:]


# --- refusal ----------------------------------------------------------------------------------------------------


def flags_with_defaults(flags):
    """The flags of a valid request, overridden by these; None removes a flag."""
    flags = {"prediction": "xgb", "sigma": "500m", "c": 1} | flags
    return {name: value for name, value in flags.items() if value is not None}


def run(binary, flags, *more, timeout=60):
    """Runs `smooth` with these flags and further arguments; values may be text, numbers, paths or bytes that are not valid text."""
    arguments = [a if isinstance(a, bytes) else str(a) for a in as_arguments(flags_with_defaults(flags))]
    return subprocess.run([binary, "smooth", *arguments, *more], capture_output=True, timeout=timeout, env=environment())


def environment():
    """The environment without RUST_BACKTRACE, which would add lines to errors."""
    return {name: value for name, value in os.environ.items() if name != "RUST_BACKTRACE"}


def assert_explained(process, code, names, hint=""):
    """The output is one error line with all these names, one hint line with this hint, and nothing else."""
    lines = process.stderr.decode().splitlines()
    assert process.returncode == code, (process.returncode, lines)
    assert len(lines) == 2 and lines[0].startswith("error: ") and lines[1].startswith("hint: "), lines
    for word in ("panic", "internal error", "unwrap", "RUST_BACKTRACE", ".rs:"):
        assert word not in lines[0], lines
    for name in map(str, names):
        assert name in lines[0], (name, lines)
    assert len(lines[1]) > len("hint: ") and hint in lines[1], (hint, lines)
    assert process.stdout == b"", process.stdout


def temporary_files(folder):
    return list(folder.glob(".geosmooth-*"))


@pytest.fixture
def refused(binary, tmp_path):
    """Expects that `smooth` refuses these flags with a message that contains these words, and leaves no files behind.

    Runs twice: once without an existing output, once with permission to replace an earlier one.
    """
    output = tmp_path / "refused.parquet"

    def expect(*names, code=2, hint="", **flags):
        assert names, "an error must name something"
        flags = {"output": output} | flags
        assert_explained(run(binary, flags), code, names, hint)
        assert not output.exists()
        output.write_bytes(EARLIER)
        assert_explained(run(binary, flags | {"overwrite": True}), code, names, hint)
        assert output.read_bytes() == EARLIER
        output.unlink()
        assert temporary_files(tmp_path) == []

    return expect


@pytest.fixture
def written(tmp_path):
    """Writes a table, or raw bytes, and returns the path."""

    def write(what, name="test.parquet", **options):
        path = tmp_path / name
        if isinstance(what, bytes):
            path.write_bytes(what)
        else:
            pq.write_table(what, path, **options)
        return path

    return write
