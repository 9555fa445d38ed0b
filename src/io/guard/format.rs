//! The Thrift structs of Parquet's footer, page headers and indexes, with the fields that the Parquet crate reads. A field has
//! a name if one of our visitors uses it.

use super::thrift::FieldSpec;
use super::thrift::FieldType::{self, Byte, Bytes, Double, Flag, Integer, List, Struct};

const fn unnamed(id: i16, shape: FieldType) -> FieldSpec {
    FieldSpec(id, "", shape)
}

pub(super) static FILE: &[FieldSpec] = &[
    unnamed(1, Integer),
    FieldSpec(2, "schema", List(&Struct(SCHEMA_ELEMENT))),
    unnamed(3, Integer),
    FieldSpec(4, "row_groups", List(&Struct(ROW_GROUP))),
    FieldSpec(5, "pairs", List(&Struct(KEY_VALUE))),
    unnamed(6, Bytes),
    unnamed(7, List(&Struct(&[]))),
    FieldSpec(8, "encryption", Struct(&[])),
    unnamed(9, Bytes),
];

static SCHEMA_ELEMENT: &[FieldSpec] = &[
    unnamed(1, Integer),
    unnamed(2, Integer),
    unnamed(3, Integer),
    unnamed(4, Bytes),
    FieldSpec(5, "children", Integer),
    unnamed(6, Integer),
    unnamed(7, Integer),
    unnamed(8, Integer),
    unnamed(9, Integer),
    unnamed(10, Struct(LOGICAL_TYPE)),
];

static LOGICAL_TYPE: &[FieldSpec] = &[
    unnamed(5, Struct(&[unnamed(1, Integer), unnamed(2, Integer)])),
    unnamed(7, Struct(&[unnamed(1, Flag), unnamed(2, Struct(&[]))])),
    unnamed(8, Struct(&[unnamed(1, Flag), unnamed(2, Struct(&[]))])),
    unnamed(10, Struct(&[unnamed(1, Byte), unnamed(2, Flag)])),
    unnamed(16, Struct(&[unnamed(1, Byte)])),
    unnamed(17, Struct(&[unnamed(1, Bytes)])),
    unnamed(18, Struct(&[unnamed(1, Bytes), unnamed(2, Integer)])),
];

static KEY_VALUE: &[FieldSpec] = &[unnamed(1, Bytes), unnamed(2, Bytes)];

static ROW_GROUP: &[FieldSpec] = &[
    FieldSpec(1, "columns", List(&Struct(COLUMN_CHUNK))),
    unnamed(2, Integer),
    unnamed(3, Integer),
    unnamed(4, List(&Struct(&[unnamed(1, Integer), unnamed(2, Flag), unnamed(3, Flag)]))),
    unnamed(5, Integer),
    unnamed(6, Integer),
    unnamed(7, Integer),
];

static COLUMN_CHUNK: &[FieldSpec] = &[
    unnamed(1, Bytes),
    unnamed(2, Integer),
    unnamed(3, Struct(COLUMN)),
    unnamed(4, Integer),
    unnamed(5, Integer),
    unnamed(6, Integer),
    unnamed(7, Integer),
    FieldSpec(8, "encryption", Struct(&[])),
    unnamed(9, Bytes),
];

static COLUMN: &[FieldSpec] = &[
    unnamed(1, Integer),
    FieldSpec(2, "numbers", List(&Integer)),
    unnamed(3, List(&Bytes)),
    FieldSpec(4, "codec", Integer),
    unnamed(5, Integer),
    unnamed(6, Integer),
    unnamed(7, Integer),
    FieldSpec(8, "pairs", List(&Struct(KEY_VALUE))),
    unnamed(9, Integer),
    unnamed(10, Integer),
    unnamed(11, Integer),
    unnamed(12, Struct(STATISTICS)),
    unnamed(13, List(&Struct(&[unnamed(1, Integer), unnamed(2, Integer), unnamed(3, Integer)]))),
    unnamed(14, Integer),
    unnamed(15, Integer),
    unnamed(
        16,
        Struct(&[
            unnamed(1, Integer),
            FieldSpec(2, "numbers", List(&Integer)),
            FieldSpec(3, "numbers", List(&Integer)),
        ]),
    ),
    unnamed(17, Struct(&[unnamed(1, Struct(BOX)), FieldSpec(2, "numbers", List(&Integer))])),
];

static STATISTICS: &[FieldSpec] = &[
    unnamed(1, Bytes),
    unnamed(2, Bytes),
    unnamed(3, Integer),
    unnamed(4, Integer),
    unnamed(5, Bytes),
    unnamed(6, Bytes),
    unnamed(7, Flag),
    unnamed(8, Flag),
];

static BOX: &[FieldSpec] = &[
    unnamed(1, Double),
    unnamed(2, Double),
    unnamed(3, Double),
    unnamed(4, Double),
    unnamed(5, Double),
    unnamed(6, Double),
    unnamed(7, Double),
    unnamed(8, Double),
];

pub(super) static PAGE: &[FieldSpec] = &[
    FieldSpec(1, "type", Integer),
    FieldSpec(2, "unpacked", Integer),
    FieldSpec(3, "packed", Integer),
    unnamed(4, Integer),
    FieldSpec(
        5,
        "data",
        Struct(&[
            FieldSpec(1, "values", Integer),
            FieldSpec(2, "encoding", Integer),
            unnamed(3, Integer),
            unnamed(4, Integer),
            unnamed(5, Struct(STATISTICS)),
        ]),
    ),
    FieldSpec(6, "index", Struct(&[])),
    FieldSpec(
        7,
        "dictionary",
        Struct(&[FieldSpec(1, "values", Integer), FieldSpec(2, "encoding", Integer), unnamed(3, Flag)]),
    ),
    FieldSpec(
        8,
        "data v2",
        Struct(&[
            FieldSpec(1, "values", Integer),
            unnamed(2, Integer),
            unnamed(3, Integer),
            FieldSpec(4, "encoding", Integer),
            FieldSpec(5, "levels", Integer),
            FieldSpec(6, "levels", Integer),
            FieldSpec(7, "is packed", Flag),
            unnamed(8, Struct(STATISTICS)),
        ]),
    ),
];

pub(super) static OFFSET_INDEX: &[FieldSpec] = &[
    unnamed(1, List(&Struct(&[unnamed(1, Integer), unnamed(2, Integer), unnamed(3, Integer)]))),
    unnamed(2, List(&Integer)),
];

pub(super) static BLOOM_FILTER: &[FieldSpec] =
    &[FieldSpec(1, "bytes", Integer), unnamed(2, Struct(&[])), unnamed(3, Struct(&[])), unnamed(4, Struct(&[]))];
