"""Files with false or excessive claims in their metadata. Numbers as in the list of bad inputs.

Every run has little address space: what makes room for what is merely claimed would be killed, and no test would pass.
"""

import base64
import io
import resource
import struct
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

import forge
from conftest import as_arguments
from damage import assert_explained, environment, flags_with_defaults, temporary_files
from forge import BYTES, I32, I64, LIST, STRUCT, all_present, all_the_first, data_page, dictionary_page
from sample import Reference, test_rows

LIMIT = "200MiB"
ADDRESS_SPACE = 2 << 30
SMALL_BOMB = 256 << 20  # more than the limit
CODECS = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]
LATITUDE, XGB = 1, 3  # columns of test_rows


def file_of(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return forge.File(sink.getvalue())


def run(binary, flags):
    """Runs `smooth` with a small address space."""
    little = lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    flags = flags_with_defaults({"memory_limit": LIMIT, "threads": 2} | flags)
    command = [binary, "smooth", *map(str, as_arguments(flags))]
    return subprocess.run(command, capture_output=True, timeout=60, env=environment(), preexec_fn=little)


@pytest.fixture
def forged(binary, tmp_path):
    """Expects that a forged file is refused in both roles, with a message that contains its name and these words."""

    def expect(data, *names, roles=("test", "train"), hint="", **flags):
        data = data.put_together() if isinstance(data, forge.File) else data
        bad, output = tmp_path / "bad.parquet", tmp_path / "out.parquet"
        bad.write_bytes(data)
        pq.write_table(test_rows(20), tmp_path / "sound.parquet")
        for role in roles:
            # As labelled rows too: the label is the column of predictions.
            files = {"test": bad} if role == "test" else {"test": tmp_path / "sound.parquet", "train": bad, "label": "xgb"}
            process = run(binary, files | {"output": output} | flags)
            assert_explained(process, 2, ["bad.parquet", *names], hint)
            assert not output.exists() and temporary_files(tmp_path) == []

    return expect


# --- 8: pages that claim too much -------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("field", [forge.PAGE_UNPACKED, forge.PAGE_PACKED])
@pytest.mark.parametrize("size", [2**31 - 1, 2**28, -1, 2**40])
def test_08_page_claims_2_gib(forged, codec, field, size):
    file = file_of(test_rows(20), compression=codec, use_dictionary=False)
    pages = file.pages(XGB)
    pages[0][0][field] = (I32, size)
    file.set_pages(XGB, pages)
    forged(file)


@pytest.mark.parametrize("codec", ["none", "snappy"])
@pytest.mark.parametrize("values", [2**31 - 1, 1000, -1])
@pytest.mark.parametrize("kind", ["number", "text"])
def test_08_dictionary_claims_many_values(forged, kind, values, codec):
    table = test_rows(20)
    if kind == "text":
        table = table.append_column("group", pa.array(["a", "b"] * 10))
    at = XGB if kind == "number" else 4
    file = file_of(table, compression=codec)
    pages = file.pages(at)
    pages[0][0][forge.DICTIONARY_HEADER][1][1] = (I32, values)
    file.set_pages(at, pages)
    forged(file, roles=["test"], **({"group": "group"} if kind == "text" else {}))


def delta(block, parts, values):
    """The header of delta-encoded numbers."""
    return forge.varint(block) + forge.varint(parts) + forge.varint(values) + forge.zigzag(0)


@pytest.mark.parametrize("values", [2**31 - 1, 2**40, 21])
@pytest.mark.parametrize("encoding", [6, 7])
def test_08_lengths_of_texts_claim_many(forged, encoding, values):
    """The count of lengths is in the page itself."""
    text = all_present(20) + delta(128, 4, values) + bytes(500)
    file = file_of(test_rows(20).append_column("group", pa.array(["a"] * 20)), compression="none")
    file.set_pages(4, [data_page(20, text, encoding)])
    forged(file, roles=["test"], group="group")


@pytest.mark.parametrize("values", [2**31 - 1, 2**40, 21])
def test_08_lengths_of_endings_claim_many(forged, values):
    """The second count of encoding 7."""
    file = file_of(test_rows(20).append_column("group", pa.array(["a"] * 20)), compression="none")
    second = all_present(20) + delta(128, 4, 20) + b"\0" + bytes(4) + delta(128, 4, values) + bytes(500)
    file.set_pages(4, [data_page(20, second, 7)])
    forged(file, roles=["test"], group="group")


def test_08_fixed_width_of_2_gib(forged):
    table = test_rows(20).append_column("group", pa.array([b"0123"] * 20, pa.binary(4)))
    file = file_of(table, compression="none")
    file.footer[forge.SCHEMA][1][1][5][2] = (I32, 2**31 - 1)
    file.footer.pop(forge.KEY_VALUES)
    forged(file, roles=["test"], group="group")


# --- 9: bombs ---------------------------------------------------------------------------------------------------


def set_rows(file, rows):
    """Makes all metadata except the pages claim this many rows."""
    file.set(file.footer, forge.ROWS, rows)
    file.set(file.groups()[0], forge.GROUP_ROWS, rows)
    for number in range(len(file.groups()[0][forge.COLUMNS][1][1])):
        file.set(file.chunk(number), forge.VALUES, rows)


def repeated(file, number, rows, value, width=2**31 - 1):
    """A column with one value for all rows, in a dictionary: some 20 bytes for two billion rows."""
    counts = [width] * (rows // width) + ([rows % width] if rows % width else [])
    pages = [data_page(count, all_present(count) + all_the_first(count), 8) for count in counts]
    file.set_pages(number, [dictionary_page(1, value), *pages])


def test_09_terabytes_in_a_few_kilobytes(forged):
    rows = 10**12
    file = file_of(test_rows(20), compression="none")
    set_rows(file, rows)
    for number in range(4):
        repeated(file, number, rows, struct.pack("<d", 41.0))
    assert len(file.put_together()) < 100_000
    forged(file, "needs about", roles=["test"], hint="--memory-limit")


@pytest.mark.parametrize("rows", [2**62, 2**63 - 1, 10**18])
def test_09_more_rows_than_can_be_counted(forged, rows):
    file = file_of(test_rows(20), compression="none")
    set_rows(file, rows)
    forged(file)


def test_09_terabytes_of_text(forged):
    """One text of a megabyte for a hundred thousand rows."""
    rows, text = 100_000, b"x" * 2**20
    file = file_of(test_rows(20).append_column("group", pa.array(["a"] * 20)), compression="none")
    set_rows(file, rows)
    for number in range(4):
        repeated(file, number, rows, struct.pack("<d", 41.0))
    repeated(file, 4, rows, struct.pack("<I", len(text)) + text)
    forged(file, "needs about", roles=["test"], hint="--memory-limit", group="group")


def test_09_texts_that_share_their_beginnings(forged):
    """Each text equals the one before: prefixes of a megabyte, empty suffixes."""
    rows, text = 100_000, b"x" * 2**20
    runs = -(-(rows - 1) // 128)
    # The first prefix is 0, the others are 2**20: one difference of 2**20, then zeros.
    prefixes = forge.varint(128) + forge.varint(1) + forge.varint(rows) + forge.zigzag(0)
    first = forge.zigzag(0) + bytes([21]) + (2**20).to_bytes(128 * 21 // 8, "little")
    prefixes += first + (forge.zigzag(0) + b"\0") * (runs - 1)
    suffixes = forge.varint(128) + forge.varint(1) + forge.varint(rows) + forge.zigzag(2**20)
    down = forge.zigzag(-(2**20)) + bytes([21])
    differences = sum(2**20 << (21 * i) for i in range(1, 128))
    suffixes += down + differences.to_bytes(128 * 21 // 8, "little") + (forge.zigzag(0) + b"\0") * (runs - 1)
    file = file_of(test_rows(20).append_column("group", pa.array(["a"] * 20)), compression="none")
    set_rows(file, rows)
    for number in range(4):
        repeated(file, number, rows, struct.pack("<d", 41.0))
    file.set_pages(4, [data_page(rows, all_present(rows) + prefixes + suffixes + text, 7)])
    forged(file, "needs about", roles=["test"], hint="--memory-limit", group="group")


@pytest.mark.parametrize("codec", ["gzip", "brotli"])
@pytest.mark.parametrize("is_text", [False, True])
def test_09_unpacks_to_more_than_it_claims(forged, codec, is_text):
    """Many zeros where 20 numbers are claimed; the codecs of the Parquet crate decompress to the end of the stream."""
    table = test_rows(20).append_column("group", pa.array(["a"] * 20))
    file = file_of(table, compression=codec, use_dictionary=False)
    at = 4 if is_text else XGB
    header, content = file.pages(at)[0]
    bomb = forge.packed(bytes(SMALL_BOMB), codec)
    header[forge.PAGE_PACKED] = (I32, len(bomb))
    file.set_pages(at, [(header, bomb)])
    forged(file, "unpacks to more", roles=["test"], **({"group": "group"} if is_text else {}))


def test_09_brotli_with_a_window_of_a_gibibyte(forged):
    file = file_of(test_rows(20), compression="brotli", use_dictionary=False)
    header, content = file.pages(XGB)[0]
    file.set_pages(XGB, [(header, b"\x11\x1e" + content[2:])])
    forged(file)


@pytest.mark.parametrize("codec", ["gzip", "brotli", "zstd"])
def test_09_pages_larger_than_the_limit(forged, codec):
    """Valid pages: zeros compress that well. Pages that do not fit are refused before they are decompressed."""
    text = struct.pack("<I", SMALL_BOMB // 20) + bytes(SMALL_BOMB // 20)
    content = all_present(20) + text * 20
    file = file_of(test_rows(20).append_column("group", pa.array(["a"] * 20)), compression=codec)
    file.set_pages(4, [data_page(20, b"", packed=forge.packed(content, codec), unpacked=len(content))])
    forged(file, "needs about", roles=["test"], hint="--memory-limit", group="group")


def test_09_row_groups_that_share_their_pages(forged):
    file = file_of(test_rows(2000), compression="none")
    group = file.groups()[0]
    file.footer[forge.GROUPS] = (LIST, (STRUCT, [group] * 3000))
    file.set(file.footer, forge.ROWS, 2000 * 3000)
    forged(file, "overlap")


# --- 10 and 11: schemas and row groups --------------------------------------------------------------------------


def nested(levels):
    """A schema with a column nested this many levels deep."""
    root = {4: (BYTES, b"schema"), 5: (I32, 5)}
    group = {3: (I32, 0), 4: (BYTES, b"g"), 5: (I32, 1)}
    return root, [group] * levels + [{1: (I32, 5), 3: (I32, 0), 4: (BYTES, b"leaf")}]


@pytest.mark.parametrize("levels", [150, 10_000, 500_000])
def test_10_schema_of_many_levels(forged, levels):
    file = file_of(test_rows(20))
    root, deep = nested(levels)
    elements = file.footer[forge.SCHEMA][1][1]
    file.footer[forge.SCHEMA] = (LIST, (STRUCT, [root, *elements[1:], *deep]))
    forged(file, "levels deep")


def test_10_twenty_levels_pass_through(smooth, tmp_path):
    test, kind, value = test_rows(), pa.int64(), 7
    for _ in range(20):
        kind, value = pa.struct([("inner", kind)]), {"inner": value}
    test = test.append_column("deep", pa.array([value] * len(test), kind))
    pq.write_table(test, tmp_path / "test.parquet")
    out = smooth(tmp_path / "test.parquet")
    assert pq.read_table(out)["deep"].equals(test["deep"])
    Reference(test).assert_close(out)


@pytest.mark.parametrize("children", [2**31 - 1, 100, -1, 2**40])
def test_10_more_children_than_there_are(forged, children):
    file = file_of(test_rows(20))
    file.footer[forge.SCHEMA][1][1][0][5] = (I32, children)
    forged(file)


@pytest.mark.parametrize("claimed", [10**6, 2**31 - 1, 2**32 + 1, 2**60])
@pytest.mark.parametrize("field", [forge.SCHEMA, forge.GROUPS, forge.KEY_VALUES])
def test_11_lists_that_claim_more_than_the_footer_holds(forged, field, claimed):
    file = file_of(test_rows(20))
    elements = b"".join(forge.written(STRUCT, element) for element in file.footer[field][1][1])
    file.footer[field] = (LIST, forge.Raw(forge.list_header(STRUCT, claimed) + elements))
    forged(file)


def test_11_a_million_row_groups(forged):
    file = file_of(pa.table({"xgb": [1.0]}), compression="none")
    group = forge.written(STRUCT, file.groups()[0])
    file.footer[forge.GROUPS] = (LIST, forge.Raw(forge.list_header(STRUCT, 10**6) + group * 10**6))
    forged(file, "1000000 row groups", hint="larger row groups")


def test_11_three_thousand_row_groups(smooth, tmp_path):
    test = test_rows(3000)
    pq.write_table(test, tmp_path / "test.parquet", row_group_size=1)
    assert pq.read_metadata(tmp_path / "test.parquet").num_row_groups == 3000
    Reference(test).assert_close(smooth(tmp_path / "test.parquet"))


def test_11_a_field_of_the_wrong_kind(forged):
    """The crate identifies fields by number: with text instead of the number of children it would parse another footer."""
    file = file_of(test_rows(20))
    for number, (kind, value) in [(forge.VERSION, (BYTES, b"\x02" * 40)), (forge.ROWS, (BYTES, b"\x02" * 40))]:
        before = file.footer[number]
        file.footer[number] = (kind, value)
        forged(file, "footer")
        file.footer[number] = before


# --- 12 to 14: checksums, encryption, codecs --------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", CODECS)
def test_12_wrong_page_checksum(forged, codec, version):
    file = file_of(test_rows(20), compression=codec, write_page_checksum=True, data_page_version=version)
    for header, content in file.pages(XGB):
        assert header[forge.PAGE_CRC][1] == forge.crc(content)
    pages = file.pages(XGB)
    pages[-1][0][forge.PAGE_CRC] = (I32, forge.crc(pages[-1][1]) ^ 1)
    file.set_pages(XGB, pages)
    forged(file, "checksum")


def test_12_flipped_bit_under_a_checksum(forged):
    file = file_of(test_rows(20), compression="none", use_dictionary=False, write_page_checksum=True)
    header, content = file.pages(XGB)[0]
    file.set_pages(XGB, [(header, content[:-1] + bytes([content[-1] ^ 1]))])
    forged(file, "checksum")


class Keys(pe.KmsClient):
    """Test keys."""

    def __init__(self, configuration):
        super().__init__()

    def wrap_key(self, key, name):
        return base64.b64encode(key)

    def unwrap_key(self, key, name):
        return base64.b64decode(key)


@pytest.mark.parametrize("plain_footer", [False, True])
def test_13_encrypted(forged, tmp_path, plain_footer):
    names = test_rows(1).column_names
    what = pe.EncryptionConfiguration(footer_key="f", column_keys={"c": names}, plaintext_footer=plain_footer)
    factory = pe.CryptoFactory(lambda configuration: Keys(configuration))
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), what)
    with pq.ParquetWriter(tmp_path / "it", test_rows(1).schema, encryption_properties=properties) as writer:
        writer.write_table(test_rows(20))
    data = (tmp_path / "it").read_bytes()
    assert data[-4:] == (b"PAR1" if plain_footer else b"PARE")
    forged(data, "is encrypted", hint="without encryption")


@pytest.mark.parametrize(("codec", "name"), [(3, "LZO"), (8, "codec 8"), (99, "codec 99"), (-1, "codec -1")])
def test_14_a_codec_we_lack(forged, codec, name):
    file = file_of(test_rows(20))
    file.set(file.chunk(XGB), forge.CODEC, codec)
    forged(file, name, hint="zstd")


def test_14_a_codec_we_lack_in_a_column_that_passes_through(smooth, tmp_path):
    test = test_rows()
    file = file_of(test)
    file.set(file.chunk(0), forge.CODEC, 3)
    (tmp_path / "test.parquet").write_bytes(file.put_together())
    Reference(test).assert_close(smooth(tmp_path / "test.parquet"))


# --- 15: numbers that disagree ----------------------------------------------------------------------------------

DISAGREEING = {
    "the footer": lambda file, by: file.set(file.footer, forge.ROWS, 20 + by),
    "the row group": lambda file, by: file.set(file.groups()[0], forge.GROUP_ROWS, 20 + by),
    "the column": lambda file, by: file.set(file.chunk(XGB), forge.VALUES, 20 + by),
    "everything but the pages": lambda file, by: set_rows(file, 20 + by),
    "a page": lambda file, by: set_page_rows(file, XGB, 20 + by),
    "everything but the values": lambda file, by: set_rows(file, 20 + by) or [set_page_rows(file, n, 20 + by) for n in range(4)],
}


def set_page_rows(file, number, rows):
    pages = file.pages(number)
    header = pages[-1][0]
    header[forge.DATA_HEADER if forge.DATA_HEADER in header else forge.DATA_HEADER_V2][1][1] = (I32, rows)
    file.set_pages(number, pages)


# Pages may hold more values than are read from them: unclaimed values are allowed.
CASES = [(who, by) for who in DISAGREEING for by in (1, -1, -20, 10**9) if by > 0 or who != "everything but the values"]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(("who", "by"), CASES)
def test_15_rows_that_disagree(forged, who, by, version):
    file = file_of(test_rows(20), data_page_version=version, compression="none", use_dictionary=False)
    DISAGREEING[who](file, by)
    forged(file)


OUTSIDE = [-1, 0, 1, 10**6, 2**40, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("field", [forge.DATA_START, forge.DICTIONARY_START, forge.PACKED])
@pytest.mark.parametrize("value", OUTSIDE)
def test_15_places_outside_the_file(forged, field, value):
    file = file_of(test_rows(20))
    if field == forge.DATA_START:
        file.chunk(XGB).pop(forge.DICTIONARY_START, None)
    file.set(file.chunk(XGB), field, value)
    forged(file)


@pytest.mark.parametrize("value", OUTSIDE)
@pytest.mark.parametrize("field", [4, 5, 6, 7])
def test_15_page_indexes_outside_the_file(binary, tmp_path, field, value):
    """A page index is optional: without one, the output has none and is correct."""
    test, out = test_rows(20), tmp_path / "out.parquet"
    file = file_of(test, write_page_index=True)
    chunk = file.groups()[0][forge.COLUMNS][1][1][XGB]
    assert field in chunk
    file.set(chunk, field, value)
    (tmp_path / "bad.parquet").write_bytes(file.put_together())
    process = run(binary, {"test": tmp_path / "bad.parquet", "output": out})
    if process.returncode == 0:
        assert pq.read_table(out).drop_columns("xgb_smoothed").equals(test)
        Reference(test).assert_close(out)
    else:
        assert_explained(process, 2, ["bad.parquet"])


def add_index(file, content, chunks):
    """Makes columns share the list of their pages."""
    for chunk in chunks:
        file.set(chunk, forge.OFFSET_INDEX_START, len(file.body))
        chunk[forge.OFFSET_INDEX_LENGTH] = (I32, len(content))
    file.body += content


@pytest.mark.parametrize("claimed", [2**31 - 1, 10**6, 2**32 + 1])
def test_15_a_page_index_that_claims_many_pages(forged, claimed):
    file = file_of(test_rows(20))
    add_index(file, b"\x19" + forge.list_header(STRUCT, claimed) + bytes(100), file.groups()[0][forge.COLUMNS][1][1])
    forged(file, "page index")


def without_rows(group):
    """A row group like this one, without rows."""
    chunks = [chunk | {forge.META: (STRUCT, emptied(chunk[forge.META][1]))} for chunk in group[forge.COLUMNS][1][1]]
    return group | {forge.COLUMNS: (LIST, (STRUCT, chunks)), forge.GROUP_ROWS: (I64, 0)}


def emptied(meta):
    meta = {number: field for number, field in meta.items() if number != forge.DICTIONARY_START}
    return meta | {forge.VALUES: (I64, 0), forge.PACKED: (I64, 0)}


def test_15_a_page_index_that_all_columns_share(forged):
    """Of a megabyte, parsed for each of 8000 columns."""
    file = file_of(test_rows(20))
    whole = file.groups()[0]
    file.footer[forge.GROUPS] = (LIST, (STRUCT, [whole, *(without_rows(whole) for _ in range(2000))]))
    page = forge.written(STRUCT, {1: (I64, 4), 2: (I32, 0), 3: (I64, 0)})
    index = b"\x19" + forge.list_header(STRUCT, 150_000) + page * 150_000 + b"\0"
    add_index(file, index, [chunk for group in file.groups() for chunk in group[forge.COLUMNS][1][1]])
    forged(file, "page index", "needs about", hint="--memory-limit")


BLOOM_BYTES = 16 << 20
BLOOM_KINDS = {number: (STRUCT, {1: (STRUCT, {})}) for number in (2, 3, 4)}


def with_bloom_filter(file, claimed, length=True):
    """Makes all columns share a Bloom filter."""
    content = forge.written(STRUCT, {1: (I32, claimed), **BLOOM_KINDS}) + bytes(BLOOM_BYTES)
    for group in file.groups():
        for chunk in group[forge.COLUMNS][1][1]:
            meta = chunk[forge.META][1] | {forge.BLOOM_START: (I64, len(file.body))}
            meta |= {forge.BLOOM_LENGTH: (I32, len(content))} if length else {}
            chunk[forge.META] = (STRUCT, dict(sorted(meta.items())))
    file.body += content


@pytest.mark.parametrize("length", [True, False])
@pytest.mark.parametrize("claimed", [BLOOM_BYTES, 2**31 - 1, 0, -1, 31])
def test_15_a_bloom_filter_that_all_columns_share(binary, tmp_path, claimed, length):
    """The shared filter is not copied for each of 200 columns."""
    test, out = test_rows(20), tmp_path / "out.parquet"
    for number in range(200):
        test = test.append_column(f"more {number}", pa.array(range(20)))
    file = file_of(test)
    with_bloom_filter(file, claimed, length)
    (tmp_path / "bad.parquet").write_bytes(file.put_together())
    process = run(binary, {"test": tmp_path / "bad.parquet", "output": out})
    assert process.returncode == 0, process.stderr
    assert out.stat().st_size < 2 * BLOOM_BYTES
    Reference(test).assert_close(out)


def test_15_pages_that_disagree_in_a_column_that_passes_through(forged):
    """Invalid filters would be copied to the output, where other readers would fail."""
    for number in (forge.PAGE_PACKED, forge.PAGE_UNPACKED):
        file = file_of(test_rows(20), compression="snappy")
        pages = file.pages(0)
        pages[-1][0][number] = (I32, 2**30)
        file.set_pages(0, pages)
        forged(file, roles=["test"])
    file = file_of(test_rows(20))
    set_page_rows(file, 0, 19)
    forged(file, "'id'", "holds 19", roles=["test"])


# --- 19: the embedded Arrow schema ------------------------------------------------------------------------------


def schema_of_shared_names(fields, length):
    """An Arrow schema of many fields that share one long name, stored once."""
    short = [f"{number:012d}" for number in range(fields)]
    message = bytearray(pa.schema([(name, pa.int64()) for name in ["n" * length, *short]]).serialize().to_pybytes())
    long_at = message.find(struct.pack("<I", length) + b"n" * length)
    for name in short:
        at = message.find(struct.pack("<I", 12) + name.encode())
        refers = at - 16
        assert struct.unpack_from("<I", message, refers)[0] == at - refers
        struct.pack_into("<I", message, refers, long_at - refers)
    return bytes(message)


def test_19_an_arrow_schema_of_shared_names(forged):
    """A megabyte in the file, 1.8 GB if every field has its own copy."""
    file = file_of(test_rows(20))
    schema = base64.b64encode(schema_of_shared_names(1800, 2**20))
    file.footer[forge.KEY_VALUES] = (LIST, (STRUCT, [{1: (BYTES, b"ARROW:schema"), 2: (BYTES, schema)}]))
    forged(file, "Arrow schema")


# --- 20: names ---------------------------------------------------------------------------------------------------


def test_20_a_long_name_that_does_not_exist(forged):
    """Suggesting a similar name must not take time proportional to the product of the lengths."""
    long = "n" * 30_000
    table = test_rows(20).append_column(long, pa.array([1.0] * 20))
    forged(file_of(table), "does not exist", roles=["test"], prediction=long + "o")


def test_26_names_that_command_the_terminal(binary, tmp_path):
    """Control characters are replaced; the message stays on one line."""
    table = test_rows(20).append_column("\x1b[31mred\x1e\n\u2028\x85", pa.array([1.0] * 20))
    pq.write_table(table, tmp_path / "bad.parquet")
    process = run(binary, {"test": tmp_path / "bad.parquet", "output": tmp_path / "out", "prediction": "red"})
    assert_explained(process, 2, ["bad.parquet", "does not exist"], "[31mred")
    assert b"\x1b" not in process.stderr


def test_50_metadata_of_many_lists(forged):
    """JSON takes more memory than its text."""
    table = test_rows(20).replace_schema_metadata({"geo": "[" + "0," * 8_000_000 + "0]"})
    forged(file_of(table), "needs about", roles=["test"], hint="--memory-limit")


# --- 83: values whose bytes are split (issue 15) -----------------------------------------------------------------

SPLIT = 9
WIDTHS = {"float64": 8, "float32": 4, "int64": 8, "int32": 4, "float16": 2, "decimal": 9}


def split_column(kind, version="1.0", nullable=True):
    """A file with values of this kind."""
    values = [float(number) for number in range(20)]
    column = pa.array(values).cast(pa.decimal128(20, 1)) if kind == "decimal" else pa.array(np.array(values, kind))
    test = test_rows(20).set_column(XGB, pa.field("xgb", column.type, nullable), column)
    return file_of(test, compression="none", use_dictionary=False, data_page_version=version)


def split_page(content, version, nullable=True, present=20):
    """A page of 20 rows, of which only the first ones have a value."""
    run = lambda count, level: forge.varint(count << 1) + bytes([level])
    levels = (run(present, 1) + (run(20 - present, 0) if present < 20 else b"")) if nullable else b""
    if version == "1.0":
        return data_page(20, (struct.pack("<I", len(levels)) + levels if nullable else b"") + content, SPLIT)
    content = levels + content
    details = {1: (I32, 20), 2: (I32, 20 - present), 3: (I32, 20), 4: (I32, SPLIT), 5: (I32, len(levels)), 6: (I32, 0), 7: (forge.FALSE, False)}
    header = {forge.PAGE_TYPE: (I32, 3), forge.PAGE_UNPACKED: (I32, len(content)), forge.PAGE_PACKED: (I32, len(content))}
    return header | {forge.DATA_HEADER_V2: (STRUCT, details)}, content


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("kind", WIDTHS)
def test_83_split_values_of_a_wrong_length(forged, kind, version, nullable):
    """Bytes of different values were combined, without an error."""
    width = WIDTHS[kind]
    for length in [19 * width, 21 * width, 40 * width, 20 * width + 1, 20 * width - 1, width, 0]:
        file = split_column(kind, version, nullable)
        file.set_pages(XGB, [split_page(bytes(length), version, nullable)])
        forged(file, "split", roles=["test"])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("kind", WIDTHS)
def test_83_split_values_for_those_that_are_missing(forged, kind, version):
    """Values for all rows although half of them are null."""
    file = split_column(kind, version)
    file.set_pages(XGB, [split_page(bytes(20 * WIDTHS[kind]), version, present=10)])
    forged(file, "split", roles=["test"], on_invalid="skip")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_83_split_values_of_the_right_length(smooth, tmp_path, version):
    """Some values are null, some are in a dictionary."""
    test = test_rows(20)
    values = test["xgb"].to_numpy()
    stream = lambda values: np.frombuffer(values.tobytes(), np.uint8).reshape(-1, 8).T.tobytes()
    file = split_column("float64", version)
    file.set_pages(XGB, [split_page(stream(values[:15]), version, present=15)])
    (tmp_path / "test.parquet").write_bytes(file.put_together())
    out = pq.read_table(smooth(tmp_path / "test.parquet", on_invalid="skip"))
    assert out["xgb"].to_pylist() == [*values[:15], *[None] * 5]
    kept = out.slice(0, 15)
    assert out["xgb_smoothed"].null_count == 5
    reference = Reference(kept)
    assert abs(kept["xgb_smoothed"].to_numpy() - reference.smoothed).max() <= 1e-5 * reference.range


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "float16"])
def test_83_split_values_of_writers(smooth, tmp_path, kind, version):
    """Pages of many values, every seventh missing at random."""
    rng = np.random.default_rng(3)
    values = pa.array(rng.integers(0, 100, 3000).astype(kind), mask=rng.random(3000) < 1 / 7)
    test = test_rows(3000).set_column(XGB, "xgb", values)
    options = {"use_dictionary": False, "column_encoding": {"xgb": "BYTE_STREAM_SPLIT"}, "data_page_size": 1000, "write_batch_size": 100}
    pq.write_table(test, tmp_path / "test.parquet", data_page_version=version, **options)
    out = pq.read_table(smooth(tmp_path / "test.parquet", on_invalid="skip", c=0))
    assert out["xgb_smoothed"].to_pylist() == [None if value is None else float(value) for value in values.to_pylist()]


# --- reading within the limit -----------------------------------------------------------------------------------


def test_56_what_reading_needs(forged):
    """Text of some 100 MB in total, in a file of 30 kB."""
    rng = np.random.default_rng(5)
    text = pa.array([bytes(rng.integers(97, 122, 100_000, dtype=np.uint8)).decode() for _ in range(500)])
    table = test_rows(500).append_column("group", text)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    forged(sink.getvalue(), "reading", "needs about", roles=["test"], hint="--memory-limit", group="group", memory_limit="20MiB")


def test_56_enough_for_reading(smooth, tmp_path):
    test = test_rows(5000)
    pq.write_table(test, tmp_path / "test.parquet")
    Reference(test).assert_close(smooth(tmp_path / "test.parquet", memory_limit="20MiB"))
