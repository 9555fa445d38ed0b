"""Files with large metadata: many row groups, many columns, long or many key-value pairs (issue 15)."""

import base64
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forge
from conftest import as_arguments
from damage import assert_explained, environment, flags_with_defaults, temporary_files
from faults import peak
from sample import Reference, test_rows
from test_forged_parquet import file_of, without_rows

MIB = 1 << 20
BESIDE = 30 * MIB  # memory that a run may take beside its limit, for the program itself


def peak_of(binary, flags, folder):
    """The finished process and its peak memory."""
    said = folder / "said"
    command = [binary, "smooth", *map(str, as_arguments(flags_with_defaults(flags)))]
    with said.open("wb") as file:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file, env=environment())
        # The kernel's peak for a finished process includes that of its parent, this one.
        most = 0
        while process.poll() is None:
            most = max(most, peak(process.pid))
            time.sleep(0.002)
    return subprocess.CompletedProcess(command, process.returncode, b"", said.read_bytes()), most


def within(binary, folder, limit, **flags):
    """Runs within a limit in MiB or is refused; in both cases the memory stays below the limit. Returns whether it ran."""
    flags = {"output": folder / "out.parquet", "memory_limit": f"{limit}MiB", "threads": 2, "overwrite": True} | flags
    process, most = peak_of(binary, flags, folder)
    assert most <= limit * MIB + BESIDE, f"{most / MIB:.0f} MiB under {limit}: {process.stderr}"
    if process.returncode:
        assert_explained(process, 2, ["needs about"], "--memory-limit")
    return process.returncode == 0


# --- 80: row groups ---------------------------------------------------------------------------------------------


def with_empty_groups(table, groups):
    """A file with these rows and additional empty row groups."""
    file = file_of(table)
    whole = file.groups()[0]
    file.footer[forge.GROUPS] = (forge.LIST, (forge.STRUCT, [whole, *[without_rows(whole)] * (groups - 1)]))
    return file.put_together()


def test_80_more_row_groups_than_one_output_holds(binary, tmp_path):
    """Each file can be read; together they were called damaged, after all the work."""
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.parquet").write_bytes(with_empty_groups(test_rows(20), 20_000))
    process, _ = peak_of(binary, {"test": tmp_path / "in", "output": tmp_path / "out.parquet"}, tmp_path)
    assert_explained(process, 2, ["40000 row groups", "2 files", "32767"], "larger row groups")
    assert not (tmp_path / "out.parquet").exists() and temporary_files(tmp_path) == []


def test_80_as_many_row_groups_as_one_output_holds(smooth, tmp_path):
    test = test_rows(20)
    (tmp_path / "test.parquet").write_bytes(with_empty_groups(test, 32_767))
    out = smooth(tmp_path / "test.parquet")
    assert pq.read_metadata(out).num_row_groups == 32_767
    Reference(test).assert_close(out)


# --- 81: pairs of keys and values -------------------------------------------------------------------------------


def test_81_a_million_pairs(smooth, tmp_path):
    """Such files were called damaged: their copy in the Arrow schema has more tables than the Parquet crate reads."""
    test = test_rows(20)
    pairs = {f"key {number}": f"value {number}" for number in range(1_000_000)}
    pq.write_table(test.replace_schema_metadata(pairs), tmp_path / "test.parquet")
    out = smooth(tmp_path / "test.parquet", memory_limit="3GiB")
    # Other readers have their own limits.
    sizes = {"thrift_container_size_limit": 10**8, "thrift_string_size_limit": 10**9}
    file = pq.ParquetFile(out, **sizes)
    assert file.metadata.metadata | {b"ARROW:schema": b""} == {key.encode(): value.encode() for key, value in pairs.items()} | {b"ARROW:schema": b""}
    values = file.read()["xgb_smoothed"].to_numpy()
    reference = Reference(test)
    assert abs(values - reference.smoothed).max() <= 1e-5 * reference.range


def test_81_an_arrow_schema_of_a_million_parts(binary, tmp_path):
    """Metadata of a column stay in the Arrow schema."""
    field = pa.field("xgb", pa.float64(), metadata={f"key {number}": "" for number in range(1_000_000)})
    test = test_rows(20)
    schema = pa.schema([*list(test.schema)[:3], field])
    pq.write_table(pa.table(test.columns, schema=schema), tmp_path / "bad.parquet")
    process, _ = peak_of(binary, {"test": tmp_path / "bad.parquet", "output": tmp_path / "out.parquet"}, tmp_path)
    assert_explained(process, 2, ["bad.parquet", "Arrow schema", "more than 1000000 parts"], "fewer")


@pytest.mark.parametrize("length, kept", [(5, {b"only here", b"both"}), (5 << 20, {b"only here"})])
def test_81_embedded_metadata_are_kept_unless_they_are_long_and_a_pair_repeats_them(smooth, tmp_path, length, kept):
    """As the Rust Parquet writer stores them."""
    test, value = test_rows(20), "v" * length
    file = file_of(test.replace_schema_metadata({"only here": value, "both": value}))
    pairs = file.footer[forge.KEY_VALUES][1][1]
    file.footer[forge.KEY_VALUES] = (forge.LIST, (forge.STRUCT, [pair for pair in pairs if pair[1][1] != b"only here"]))
    (tmp_path / "test.parquet").write_bytes(file.put_together())
    out = smooth(tmp_path / "test.parquet")
    written = pq.read_metadata(out).metadata
    embedded = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(written[b"ARROW:schema"]))).metadata
    assert embedded.keys() == kept and written[b"both"] == value.encode()


@pytest.mark.parametrize("limit", [40, 100, 200, 400])
@pytest.mark.parametrize("key", ["note", "geo"])
def test_81_a_long_pair(binary, tmp_path, key, limit):
    """30 MB, which were held ten times regardless of the limit."""
    value = "v" * 30_000_000 if key == "note" else '{"primary_column": "p", "columns": {"p": {"encoding": "WKB", "crs": "' + "c" * 30_000_000 + '"}}}'
    test = test_rows(20)
    pq.write_table(test.replace_schema_metadata({key: value}), tmp_path / "test.parquet")
    ran = within(binary, tmp_path, limit, test=tmp_path / "test.parquet", lat="latitude", lon="longitude")
    assert ran == (limit == 400)
    if ran:
        assert pq.read_metadata(tmp_path / "out.parquet").metadata[key.encode()] == value.encode()
        Reference(test).assert_close(tmp_path / "out.parquet")


@pytest.mark.parametrize("limit", [40, 100, 400])
def test_81_a_long_crs_that_is_looked_at(binary, tmp_path, limit):
    """A name of 20 MB, which a message must show on one line."""
    points = pa.array([b"\x01\x01\x00\x00\x00" + np.array([lon, lat]).tobytes() for lat, lon in [(41.0, -83.0)] * 20])
    geo = '{"version": "1.0.0", "primary_column": "p", "columns": {"p": {"encoding": "WKB", "geometry_types": [], "crs": "' + "c" * 20_000_000 + '"}}}'
    test = test_rows(20).select(["id", "xgb"]).append_column("p", points).replace_schema_metadata({"geo": geo})
    pq.write_table(test, tmp_path / "test.parquet")
    flags = {"test": tmp_path / "test.parquet", "output": tmp_path / "out.parquet", "memory_limit": f"{limit}MiB", "threads": 2}
    process, most = peak_of(binary, flags, tmp_path)
    assert most <= limit * MIB + BESIDE, f"{most / MIB:.0f} MiB under {limit}"
    said = ["has the coordinate reference system cccc"] if limit == 400 else ["needs about"] if limit == 40 else []
    assert_explained(process, 2, said)


# --- 82: columns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [100, 160, 250, 500])
def test_82_many_columns_in_many_row_groups(binary, tmp_path, limit):
    """The writer holds the metadata of every column of every row group once more."""
    test = test_rows(40)
    wide = {f"c{number}": pa.array(np.zeros(40, np.int8)) for number in range(4000)}
    test = pa.table({name: test[name] for name in test.column_names} | wide)
    pq.write_table(test, tmp_path / "test.parquet", row_group_size=1, use_dictionary=False)
    ran = within(binary, tmp_path, limit, test=tmp_path / "test.parquet")
    assert ran == (limit >= 500) or 100 < limit < 500
    if ran:
        Reference(test).assert_close(tmp_path / "out.parquet")


def test_82_a_matrix_of_all_pairs_is_refused_by_a_sample(binary, tmp_path):
    """Examining whole tiles took a gigabyte and most of a minute before the run was refused."""
    rng, n = np.random.default_rng(5), 150_000
    table = pa.table({"latitude": rng.uniform(40, 42, n), "longitude": rng.uniform(-84, -82, n), "xgb": rng.normal(size=n)})
    pq.write_table(table, tmp_path / "test.parquet")
    flags = {"test": tmp_path / "test.parquet", "output": tmp_path / "out.parquet", "sigma": "1000km", "engine": "sparse", "matrix": tmp_path / "matrix.parquet"}
    process, most = peak_of(binary, flags | {"memory_limit": "150MiB", "threads": 2}, tmp_path)
    assert_explained(process, 2, ["weight matrix", "needs about"], "--memory-limit")
    assert most <= 150 * MIB + BESIDE, f"{most / MIB:.0f} MiB"
