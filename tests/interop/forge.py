"""Takes Parquet files apart and puts them together again, to write metadata that no writer would write.

Thrift's compact encoding as far as Parquet uses it: a struct is a dict from field numbers to (kind, value), a list is
(kind of its elements, elements). What is written need not make sense.
"""

import struct
import zlib

import pyarrow as pa

MAGIC = b"PAR1"
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BYTES, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12

# --- Thrift -----------------------------------------------------------------------------------------------------


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def take(self, count):
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def value(self, kind):
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in (I16, I32, I64):
            value = self.varint()
            return value >> 1 ^ -(value & 1)
        if kind == DOUBLE:
            return struct.unpack("<d", self.take(8))[0]
        if kind == BYTES:
            return self.take(self.varint())
        if kind == LIST:
            header = self.byte()
            size = self.varint() if header >> 4 == 15 else header >> 4
            return (header & 15, [self.value(header & 15) for _ in range(size)])
        assert kind == STRUCT, kind
        fields, last = {}, 0
        while header := self.byte():
            last = last + (header >> 4) if header >> 4 else self.value(I16)
            fields[last] = (header & 15, self.value(header & 15))
        return fields


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def zigzag(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def list_header(kind, size):
    return bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + varint(size)


def written(kind, value):
    if isinstance(value, Raw):
        return value.data
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([value & 255])
    if kind in (I16, I32, I64):
        return zigzag(value)
    if kind == DOUBLE:
        return struct.pack("<d", value)
    if kind == BYTES:
        return varint(len(value)) + value
    if kind == LIST:
        element, values = value
        return list_header(element, len(values)) + b"".join(written(element, v) for v in values)
    out, last = b"", 0
    for number, (field, content) in value.items():
        step = number - last
        out += bytes([step << 4 | field]) if 0 < step < 16 else bytes([field]) + zigzag(number)
        out += written(field, content)
        last = number
    return out + b"\0"


class Raw:
    """Raw bytes to write instead of a value."""

    def __init__(self, data):
        self.data = data


# --- Parquet ----------------------------------------------------------------------------------------------------

# Fields of the footer, of a row group, of a column and of page headers that are forged.
VERSION, SCHEMA, ROWS, GROUPS, KEY_VALUES = 1, 2, 3, 4, 5
COLUMNS, GROUP_ROWS = 1, 3
META, OFFSET_INDEX_START, OFFSET_INDEX_LENGTH = 3, 4, 5
CODEC, VALUES, UNPACKED, PACKED, DATA_START, DICTIONARY_START, BLOOM_START, BLOOM_LENGTH = 4, 5, 6, 7, 9, 11, 14, 15
PAGE_TYPE, PAGE_UNPACKED, PAGE_PACKED, PAGE_CRC, DATA_HEADER, DICTIONARY_HEADER, DATA_HEADER_V2 = 1, 2, 3, 4, 5, 7, 8


class File:
    """A file with its parsed footer."""

    def __init__(self, data):
        length = struct.unpack("<I", data[-8:-4])[0]
        self.body = bytearray(data[: -8 - length])
        self.footer = Reader(data, len(data) - 8 - length).value(STRUCT)

    def put_together(self):
        footer = written(STRUCT, self.footer)
        return bytes(self.body) + footer + struct.pack("<I", len(footer)) + MAGIC

    def groups(self):
        return self.footer[GROUPS][1][1]

    def chunk(self, column, group=0):
        """The metadata of a column of a row group."""
        return self.groups()[group][COLUMNS][1][1][column][META][1]

    def set(self, fields, number, value):
        fields[number] = (fields[number][0] if number in fields else I64, value)

    def pages(self, column, group=0):
        """The headers and contents of the pages of a column."""
        chunk = self.chunk(column, group)
        at = chunk[DICTIONARY_START if DICTIONARY_START in chunk else DATA_START][1]
        end, pages = at + chunk[PACKED][1], []
        while at < end:
            reader = Reader(self.body, at)
            header = reader.value(STRUCT)
            pages.append((header, reader.take(header[PAGE_PACKED][1])))
            at = reader.at
        return pages

    def set_pages(self, column, pages, group=0):
        """Appends these pages and makes the metadata of the column point to them."""
        chunk, start = self.chunk(column, group), len(self.body)
        chunk.pop(DICTIONARY_START, None)
        for header, content in pages:
            if header[PAGE_TYPE][1] == 2:
                chunk[DICTIONARY_START] = (I64, len(self.body))
            elif DATA_START in chunk and chunk[DATA_START][1] < start:
                chunk[DATA_START] = (I64, len(self.body))
            self.body += written(STRUCT, header) + content
        self.set(chunk, PACKED, len(self.body) - start)
        self.footer[GROUPS][1][1][group][COLUMNS][1][1][column][META] = (STRUCT, dict(sorted(chunk.items())))


def data_page(values, content, encoding=0, packed=None, unpacked=None):
    """A data page of the first version."""
    header = {
        PAGE_TYPE: (I32, 0),
        PAGE_UNPACKED: (I32, len(content) if unpacked is None else unpacked),
        PAGE_PACKED: (I32, len(content if packed is None else packed)),
        DATA_HEADER: (STRUCT, {1: (I32, values), 2: (I32, encoding), 3: (I32, 3), 4: (I32, 3)}),
    }
    return header, content if packed is None else packed


def dictionary_page(values, content, packed=None, unpacked=None):
    header = {
        PAGE_TYPE: (I32, 2),
        PAGE_UNPACKED: (I32, len(content) if unpacked is None else unpacked),
        PAGE_PACKED: (I32, len(content if packed is None else packed)),
        DICTIONARY_HEADER: (STRUCT, {1: (I32, values), 2: (I32, 0)}),
    }
    return header, content if packed is None else packed


def all_present(values):
    """Definition levels: no nulls."""
    run = varint(values << 1) + b"\1"
    return struct.pack("<I", len(run)) + run


def all_the_first(values):
    """Indices: this many times the first entry of the dictionary."""
    return b"\1" + varint(values << 1) + b"\0"


def crc(content):
    value = zlib.crc32(content)
    return value - (1 << 32) if value >> 31 else value


def packed(content, codec):
    return pa.compress(content, codec=codec, asbytes=True)
