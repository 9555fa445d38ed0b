"""Makes what the corpora of `read`, `tables` and `engines` begin with; what the fuzzer found lies beside it. Needs pyarrow.

    python fuzz/make_corpus.py
"""

import json
import struct
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CORPUS = Path(__file__).parent / "corpus"


def point(x: float, y: float) -> bytes:
    return struct.pack("<BIdd", 1, 1, x, y)


def read() -> None:
    """Small files: every codec and encoding, every way to say where rows are."""
    folder = CORPUS / "read"
    rows = 6
    lat = [41.6 + 0.01 * row for row in range(rows)]
    lon = [-83.5 + 0.01 * row for row in range(rows)]
    plain = pa.table({"lat": lat, "lon": lon, "v": pa.array([1, 2, None, 4, 5, 6], pa.int32()), "g": list("aabbcc")})

    def write(name: str, table: pa.Table, **options) -> None:
        pq.write_table(table, folder / name, store_schema=False, **{"compression": "none", **options})

    for codec in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]:
        write(f"codec-{codec}", plain, compression=codec, use_dictionary=False)
    write("dictionary", plain, use_dictionary=True, write_page_checksum=True)
    write("pages-v2", plain, data_page_version="2.0", data_page_size=16, write_batch_size=2, write_page_index=True)
    write("row-groups", plain, row_group_size=2)
    write("indexes", plain, bloom_filter_options={"g": True}, write_page_index=True)
    write("no-rows", plain.slice(0, 0))
    numbers = plain.select(["lat", "lon", "v"])
    write("byte-stream-split", numbers, use_dictionary=False, use_byte_stream_split=["lat", "lon"])
    delta = pa.table({"i": pa.array(range(40), pa.int64()), "s": [f"key{i}" for i in range(40)]})
    encodings = {"i": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"}
    write("delta", delta, use_dictionary=False, column_encoding=encodings)
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}}
    wkb = pa.table({"geometry": [point(x, y) for x, y in zip(lon, lat)], "v": range(rows)})
    write("geo-wkb", wkb.replace_schema_metadata({"geo": json.dumps(geo)}))
    native = pa.array([{"x": x, "y": y} for x, y in zip(lon, lat)])
    write("geo-struct", pa.table({"geometry": native}).replace_schema_metadata({"geo": json.dumps(geo)}))
    nested = pa.table({"l": [[1.0], [], None, [2.0, 3.0], [4.0], []], "d": pa.array(range(6), pa.decimal128(9, 2)).cast(pa.decimal128(12, 2))})
    write("nested", nested)
    small = pa.table({"half": pa.array([1.0, 2.0], pa.float16()), "when": pa.array([1, 2], pa.timestamp("us", "UTC"))})
    pq.write_table(small.append_column("key", pa.array(["p", "q"]).dictionary_encode()), folder / "arrow-schema")
    large = 12_345_678_901_234_567_890
    keys = {
        "decimal": pa.array([Decimal(large), Decimal(large + 1)], pa.decimal128(38, 0)),
        "wide": pa.array([Decimal(large), Decimal(large + 1)], pa.decimal256(76, 3)),
        "uuid": pa.array([bytes(16), bytes(range(16))], pa.binary(16)),
        "bytes": pa.array([b"\xff", b"0xff"]),
        "moment": pa.array([2**62, 2**62 + 100], pa.timestamp("ns")),
        "span": pa.array([1, 2**63 - 1], pa.duration("s")),
        "unsigned": pa.array([2**64 - 1, 2**64 - 2], pa.uint64()),
    }
    pq.write_table(pa.table(keys), folder / "keys", compression="none")
    for name in ["codec-none", "dictionary", "geo-wkb", "nested"]:
        file = (folder / name).read_bytes()
        (length,) = struct.unpack("<I", file[-8:-4])
        pages, footer = file[4 : -8 - length], file[-8 - length : -8]
        (folder / f"undressed-{name}").write_bytes(struct.pack("<H", len(pages)) + pages + footer)


def tables() -> None:
    """A column of each type beside another, near zero and far from it: kind, scale, wrapping, rows; two bases; a base and a step for each row."""
    folder = CORPUS / "tables"
    folder.mkdir(exist_ok=True)

    def column(kind: int, scale: int, wrapping: int, bases: list[int]) -> bytes:
        rows = [(row % 3, [0, 1, 100, 0, -3][row % 5]) for row in range(12)]
        values = b"".join(base.to_bytes(32, "little", signed=True) for base in bases)
        return bytes([kind, scale, wrapping, len(rows) - 1]) + values + b"".join(struct.pack("<Bb", *row) for row in rows)

    near, far = [0, 200], [2**62 + 1, 2**62 + 1000]
    wide = [10**50 + 1, 10**50 + 1000]
    for kind in range(24):
        for name, bases in {"near": near, "far": wide if kind == 15 else far}.items():
            other = column((kind + 1) % 24, 0, 0, bases)
            (folder / f"{name}-{kind}").write_bytes(column(kind, 0, 0, bases) + column(kind, 0, 3, bases))
            (folder / f"{name}-{kind}-and-another").write_bytes(column(kind, 3, 1, bases) + other)
    for scale in (2, 9, 40, 70):
        (folder / f"decimals-{scale}").write_bytes(column(14, scale, 0, far) + column(15, scale + 38, 0, far))


def number(value: float) -> bytes:
    """As `Bytes::number` reads it: short where that is exact."""
    for exponent in range(-128, 127):
        digits = value * 256.0 / 2.0**exponent
        if exponent != -1 and digits.is_integer() and abs(digits) < 2**15:
            return struct.pack("<bh", exponent, int(digits))
    return b"\xff" + struct.pack("<d", value)


SAME, UNIFORM, NORMAL, LINE, GRID, FARTHER, LAST_BITS, ANY_BITS = range(8)
EIGHT_TIMES, OWN_VALUE, SPLIT_GROUPS, LABELLED = 8, 16, 32, 128
ANYTHING, IN_SIGMAS, LEAVE_ONE_OUT, GROUPS = 1, 2, 4, 8
FEW_CELLS, SMALL_TILES, FAST_TILES = 16, 32, 64
SPACES = {"degrees": 2, "metres": 2, "index1": 1, "index2": 2, "index3": 3}


def cluster(kind: int, centre: list[float], spread: float, count: int = 0, group: int = 0, value: float = 0.0) -> bytes:
    own = number(value) if kind & OWN_VALUE else b""
    return bytes([kind, group, count]) + b"".join(map(number, centre)) + number(spread) + own


def problem(space: str, flags: int, sigma: float, clusters: list[bytes], tolerance=127, c=0, weight=1.0, values=(100.0, 20.0)) -> bytes:
    head = bytes([list(SPACES).index(space), flags, tolerance, c])
    return head + b"".join(map(number, [sigma, weight, *values])) + struct.pack("<H", 7) + b"".join(clusters)


def engines() -> None:
    """Layouts that are hard in different ways, in every metric; then extremes."""
    folder = CORPUS / "engines"
    for space, axes in SPACES.items():
        sigma = 500.0 if space == "metres" else 0.25
        at = lambda *centre: (list(centre) + [0.0] * 3)[:axes]
        far = at(40.0, 30.0, 8.0)
        many = 255 if axes == 3 else 80
        layouts = {
            "dense": [cluster(UNIFORM | EIGHT_TIMES, at(1.0, 2.0, 3.0), 4.0, many), cluster(UNIFORM | LABELLED, at(1.0, 2.0, 3.0), 4.0, 99)],
            "city": [cluster(NORMAL | EIGHT_TIMES, at(), 0.5, many)] + [cluster(SAME, at(step), 0.0) for step in [4.0, 6.0, 7.0, 25.0, 38.0, 52.0]],
            "few": [cluster(NORMAL, far, 1.0, 9), cluster(LABELLED | GRID, far, 0.5, 9), cluster(LAST_BITS, far, 0.0, 5), cluster(FARTHER, far, 1.0, 12)],
            "line": [cluster(LINE, far, 0.25, 150), cluster(SAME | LABELLED, far, 0.0, 3)],
            "groups": [cluster(NORMAL | SPLIT_GROUPS, far, 2.0, 30), cluster(NORMAL | LABELLED | OWN_VALUE, far, 2.0, 8, 1, 150.0)],
            "any-bits": [cluster(ANY_BITS, far, 0.0, 20), cluster(ANY_BITS | LABELLED, far, 0.0, 20)],
        }
        for name, clusters in layouts.items():
            flags = IN_SIGMAS | (GROUPS if name == "groups" else 0)
            for own, flag in [("", 0), ("-left-out", LEAVE_ONE_OUT)]:
                (folder / f"{space}-{name}{own}").write_bytes(problem(space, flags | flag, sigma, clusters))
        towns = [cluster(kind, at(50.0 * town, 30.0 * (town % 3)), 2.0, 20) for town in range(12) for kind in (NORMAL, UNIFORM | LABELLED)]
        for own, flag in [("", FAST_TILES), ("-few-cells", FEW_CELLS)]:
            (folder / f"{space}-tiles{own}").write_bytes(problem(space, IN_SIGMAS | SMALL_TILES | flag, sigma / 16, towns))
    pair = [cluster(SAME, [0.0, 0.0], 0.0), cluster(SAME | OWN_VALUE, [1.0, 0.0], 0.0, value=-1e308), cluster(SAME | LABELLED, [0.0, 1.0], 0.0)]
    extremes = {
        "huge-values": problem("index2", 0, 1.0, pair, values=(1e308, 0.0)),
        "all-of-the-range": problem("index2", 0, 1.0, pair, values=(1.7976931348623157e308, 1e300)),
        "subnormal-values": problem("index2", 0, 1.0, pair[::2], values=(5e-324, 1e-320)),
        "offset": problem("index2", 0, 1.0, pair[::2] * 5, values=(1e16, 4.0)),
        "tiny-sigma": problem("index2", LEAVE_ONE_OUT, 1e-100, pair),
        "huge-sigma": problem("metres", 0, 1e100, pair),
        "heavy-labels": problem("degrees", IN_SIGMAS, 0.01, [cluster(NORMAL, [0, 0], 5.0, 40), cluster(LABELLED | NORMAL, [20.0, 0], 5.0, 40)], weight=1e100),
        "light-labels": problem("degrees", IN_SIGMAS | LEAVE_ONE_OUT, 0.01, [cluster(SAME, [0, 0], 5.0), cluster(LABELLED | NORMAL, [9.0, 0], 5.0, 40)], weight=1e-100),
        "poles": problem("metres", 0, 1000.0, [cluster(NORMAL, [89.996, 0], 0.005, 60), cluster(UNIFORM | LABELLED, [-90.0, 0], 360.0, 20)]),
        "nothing": b"",
        "not-a-number": problem("index1", ANYTHING, float("nan"), [cluster(SAME, [float("inf")], 0.0)]),
    }
    for name, data in extremes.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    read()
    tables()
    engines()
