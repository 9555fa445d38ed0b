//! The structs of Parquet's footer, page headers and indexes as Thrift writes them, as far as anybody reads them. Names are those
//! that our visitors listen for; the rest go by their kind.

use super::thrift::Field;
use super::thrift::Shape::{self, Byte, Bytes, Double, Flag, Integer, List, Struct};

const fn unnamed(id: i16, shape: Shape) -> Field {
    Field(id, "", shape)
}

pub(super) static FILE: &[Field] = &[
    unnamed(1, Integer),
    Field(2, "schema", List(&Struct(SCHEMA_ELEMENT))),
    unnamed(3, Integer),
    Field(4, "row_groups", List(&Struct(ROW_GROUP))),
    Field(5, "pairs", List(&Struct(KEY_VALUE))),
    unnamed(6, Bytes),
    unnamed(7, List(&Struct(&[]))),
    Field(8, "encryption", Struct(&[])),
    unnamed(9, Bytes),
];

static SCHEMA_ELEMENT: &[Field] = &[
    unnamed(1, Integer),
    unnamed(2, Integer),
    unnamed(3, Integer),
    unnamed(4, Bytes),
    Field(5, "children", Integer),
    unnamed(6, Integer),
    unnamed(7, Integer),
    unnamed(8, Integer),
    unnamed(9, Integer),
    unnamed(10, Struct(LOGICAL_TYPE)),
];

static LOGICAL_TYPE: &[Field] = &[
    unnamed(5, Struct(&[unnamed(1, Integer), unnamed(2, Integer)])),
    unnamed(7, Struct(&[unnamed(1, Flag), unnamed(2, Struct(&[]))])),
    unnamed(8, Struct(&[unnamed(1, Flag), unnamed(2, Struct(&[]))])),
    unnamed(10, Struct(&[unnamed(1, Byte), unnamed(2, Flag)])),
    unnamed(16, Struct(&[unnamed(1, Byte)])),
    unnamed(17, Struct(&[unnamed(1, Bytes)])),
    unnamed(18, Struct(&[unnamed(1, Bytes), unnamed(2, Integer)])),
];

static KEY_VALUE: &[Field] = &[unnamed(1, Bytes), unnamed(2, Bytes)];

static ROW_GROUP: &[Field] = &[
    Field(1, "columns", List(&Struct(COLUMN_CHUNK))),
    unnamed(2, Integer),
    unnamed(3, Integer),
    unnamed(4, List(&Struct(&[unnamed(1, Integer), unnamed(2, Flag), unnamed(3, Flag)]))),
    unnamed(5, Integer),
    unnamed(6, Integer),
    unnamed(7, Integer),
];

static COLUMN_CHUNK: &[Field] = &[
    unnamed(1, Bytes),
    unnamed(2, Integer),
    unnamed(3, Struct(COLUMN)),
    unnamed(4, Integer),
    unnamed(5, Integer),
    unnamed(6, Integer),
    unnamed(7, Integer),
    Field(8, "encryption", Struct(&[])),
    unnamed(9, Bytes),
];

static COLUMN: &[Field] = &[
    unnamed(1, Integer),
    Field(2, "numbers", List(&Integer)),
    unnamed(3, List(&Bytes)),
    Field(4, "codec", Integer),
    unnamed(5, Integer),
    unnamed(6, Integer),
    unnamed(7, Integer),
    Field(8, "pairs", List(&Struct(KEY_VALUE))),
    unnamed(9, Integer),
    unnamed(10, Integer),
    unnamed(11, Integer),
    unnamed(12, Struct(STATISTICS)),
    unnamed(13, List(&Struct(&[unnamed(1, Integer), unnamed(2, Integer), unnamed(3, Integer)]))),
    unnamed(14, Integer),
    unnamed(15, Integer),
    unnamed(
        16,
        Struct(&[unnamed(1, Integer), Field(2, "numbers", List(&Integer)), Field(3, "numbers", List(&Integer))]),
    ),
    unnamed(17, Struct(&[unnamed(1, Struct(BOX)), Field(2, "numbers", List(&Integer))])),
];

static STATISTICS: &[Field] = &[
    unnamed(1, Bytes),
    unnamed(2, Bytes),
    unnamed(3, Integer),
    unnamed(4, Integer),
    unnamed(5, Bytes),
    unnamed(6, Bytes),
    unnamed(7, Flag),
    unnamed(8, Flag),
];

static BOX: &[Field] = &[
    unnamed(1, Double),
    unnamed(2, Double),
    unnamed(3, Double),
    unnamed(4, Double),
    unnamed(5, Double),
    unnamed(6, Double),
    unnamed(7, Double),
    unnamed(8, Double),
];

pub(super) static PAGE: &[Field] = &[
    Field(1, "type", Integer),
    Field(2, "unpacked", Integer),
    Field(3, "packed", Integer),
    unnamed(4, Integer),
    Field(
        5,
        "data",
        Struct(&[
            Field(1, "values", Integer),
            Field(2, "encoding", Integer),
            unnamed(3, Integer),
            unnamed(4, Integer),
            unnamed(5, Struct(STATISTICS)),
        ]),
    ),
    Field(6, "index", Struct(&[])),
    Field(7, "dictionary", Struct(&[Field(1, "values", Integer), Field(2, "encoding", Integer), unnamed(3, Flag)])),
    Field(
        8,
        "data v2",
        Struct(&[
            Field(1, "values", Integer),
            unnamed(2, Integer),
            unnamed(3, Integer),
            Field(4, "encoding", Integer),
            Field(5, "levels", Integer),
            Field(6, "levels", Integer),
            Field(7, "is packed", Flag),
            unnamed(8, Struct(STATISTICS)),
        ]),
    ),
];

pub(super) static OFFSET_INDEX: &[Field] = &[
    unnamed(1, List(&Struct(&[unnamed(1, Integer), unnamed(2, Integer), unnamed(3, Integer)]))),
    unnamed(2, List(&Integer)),
];

pub(super) static BLOOM_FILTER: &[Field] =
    &[Field(1, "bytes", Integer), unnamed(2, Struct(&[])), unnamed(3, Struct(&[])), unnamed(4, Struct(&[]))];
