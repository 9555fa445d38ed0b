//! Where the coordinates are: named columns, `GeoParquet` points, or index columns.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, Fields, Float64Type};
use geo_traits::{CoordTrait, GeometryTrait, GeometryType, PointTrait};
use serde_json::Value;

use super::budget::Taken;
use super::input::{Input, type_name};
use super::json::parse_json;
use super::origin::Origin;
use super::read::Numbers;
use super::shortened;
use crate::error::Error;

/// Which columns hold the places, as far as the user said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinateRequest {
    /// `GeoParquet` metadata, then the usual names.
    Find,
    /// Columns of latitude and longitude.
    LatLon(String, String),
    /// A column of points, as WKB or as structs of x and y.
    Geometry(String),
    /// One to three plain axes.
    Index(Vec<String>),
}

/// The coordinates of each row; what is null or empty is NaN.
#[derive(Clone, Debug)]
pub struct CoordinateColumns {
    /// Latitude and longitude, or the index columns less where they are counted from.
    pub axes: Vec<Numbers>,
    /// Whether the axes are index columns.
    pub is_index: bool,
    /// Something that the user should know about how they were read.
    pub note: Option<String>,
}

/// Pairs of names that mean latitude and longitude, whatever their case.
const USUAL_NAMES: [(&str, &str); 4] = [("latitude", "longitude"), ("lat", "lon"), ("lat", "lng"), ("lat", "long")];

/// Coordinate reference systems in which x is longitude and y latitude in degrees on (nearly) WGS 84.
const DEGREES: [&str; 4] = ["OGC:CRS84", "OGC:CRS84h", "EPSG:4326", "EPSG:4979"];

/// Bytes that an object of JSON takes once it is parsed, and each further element of an object or a list: maps have nodes of
/// eleven entries of 56 bytes, half full in long ones; lists grow by doubling, 32 bytes an element.
const BYTES_PER_OBJECT: u64 = 768;
const BYTES_PER_ELEMENT: u64 = 128;

impl Input {
    /// Finds and reads the coordinates. Those of an index are counted from the origin that all inputs of a run share.
    ///
    /// # Errors
    /// If they cannot be found or are not what they should be.
    pub fn coordinates(&self, request: &CoordinateRequest, origin: &mut Origin) -> Result<CoordinateColumns, Error> {
        match request {
            CoordinateRequest::LatLon(latitude, longitude) => self.lat_lon(latitude, longitude),
            CoordinateRequest::Geometry(column) => {
                let encoding = self.described(Some(column))?.and_then(|(_, encoding)| encoding);
                self.points(column, encoding)
            }
            CoordinateRequest::Index(columns) => {
                Ok(CoordinateColumns { axes: self.index(columns, origin)?, is_index: true, note: None })
            }
            CoordinateRequest::Find => match self.described(None)? {
                Some((column, encoding)) => self.points(&column, encoding),
                None => self.usual_names(),
            },
        }
    }

    fn lat_lon(&self, latitude: &str, longitude: &str) -> Result<CoordinateColumns, Error> {
        if latitude == longitude {
            return Err(self.wrong_column(
                latitude,
                "is given for both latitude and longitude",
                "name two different columns",
            ));
        }
        Ok(CoordinateColumns { axes: self.numbers(&[latitude, longitude])?, is_index: false, note: None })
    }

    fn usual_names(&self) -> Result<CoordinateColumns, Error> {
        let find = |wanted: &str| {
            self.schema().fields().iter().map(|field| field.name()).find(|name| name.eq_ignore_ascii_case(wanted))
        };
        for (latitude, longitude) in USUAL_NAMES {
            if let (Some(latitude), Some(longitude)) = (find(latitude), find(longitude)) {
                return self.lat_lon(latitude, longitude);
            }
        }
        Err(Error::File {
            path: self.path().to_owned(),
            problem: "has no columns that look like latitude and longitude".to_owned(),
            hint: format!(
                "name them with `lat` and `lon`, or use `geometry` or `index`; the columns are {}",
                self.listed()
            ),
        })
    }

    /// The column of points that was given or that the metadata name, and how they are encoded if they say so: under the key
    /// `geo` as in `GeoParquet`, or in a column's `GeoArrow` type. What they say must be points in longitude and latitude.
    fn described(&self, given: Option<&str>) -> Result<Option<(String, Option<Encoding>)>, Error> {
        let Some(text) = self.key_value("geo") else {
            let fields = self.schema().fields().iter();
            let described =
                fields.filter_map(|field| geoarrow(field).map(|(encoding, details)| (field.name(), encoding, details)));
            let mut wanted = described.filter(|(name, ..)| given.is_none_or(|given| given == *name));
            return wanted.next().map(|(name, encoding, details)| self.geoarrow(name, encoding, details)).transpose();
        };
        let _room = self.room_to_parse(text)?;
        let geo = parse_json(text).map_err(|problem| self.bad_geo(&problem))?;
        let primary = || geo.get("primary_column")?.as_str();
        let column = given.or_else(primary).ok_or_else(|| self.bad_geo("names no primary column"))?;
        let Some(described) = geo.get("columns").and_then(|columns| columns.get(column)) else {
            return Ok(Some((column.to_owned(), None)));
        };
        described.get("crs").map_or(Ok(()), |crs| self.check_crs(column, crs))?;
        let encoding = described.get("encoding").map(|encoding| self.encoding(column, &plain(encoding))).transpose()?;
        Ok(Some((column.to_owned(), encoding)))
    }

    /// A column with a `GeoArrow` type: the part of its name behind the dot, and JSON with the rest.
    fn geoarrow(&self, column: &str, encoding: &str, details: &str) -> Result<(String, Option<Encoding>), Error> {
        let _room = self.room_to_parse(details)?;
        if !details.is_empty() {
            let hint = "name the columns with `lat` and `lon`";
            let problem = |problem| {
                self.wrong_column(column, &format!("has GeoArrow metadata, of which this is wrong: it {problem}"), hint)
            };
            let details = parse_json(details).map_err(problem)?;
            details.get("crs").map_or(Ok(()), |crs| self.check_crs(column, crs))?;
        }
        Ok((column.to_owned(), Some(self.encoding(column, encoding)?)))
    }

    /// Memory to parse JSON of whatever length.
    fn room_to_parse(&self, text: &str) -> Result<Taken, Error> {
        self.budget.take(parsed_size(text), || format!("reading the metadata of {}", self.path().display()))
    }

    /// How points are encoded, by its name.
    fn encoding(&self, column: &str, name: &str) -> Result<Encoding, Error> {
        match name {
            _ if name.eq_ignore_ascii_case("wkb") => Ok(Encoding::Wkb),
            _ if name.eq_ignore_ascii_case("point") => Ok(Encoding::Point),
            _ => {
                let problem = format!("has the encoding '{}', not WKB or point", shortened(name, 80));
                Err(self.wrong_column(column, &problem, ONLY_POINTS))
            }
        }
    }

    fn bad_geo(&self, problem: &str) -> Error {
        Error::File {
            path: self.path().to_owned(),
            problem: format!("its GeoParquet metadata {problem}"),
            hint: "name the columns with `lat` and `lon`, or `geometry`".to_owned(),
        }
    }

    fn points(&self, column: &str, encoding: Option<Encoding>) -> Result<CoordinateColumns, Error> {
        let (root, field) = self.column(column)?;
        let mut points = Points { first_row: self.first_row(), ..Points::default() };
        match field.data_type() {
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView if encoding != Some(Encoding::Point) => {
                let read = self.arrays(&[root], &[], as_binary)?;
                points.make_room(self)?;
                for array in &read.arrays[0] {
                    points.add_wkb(array).map_err(|problem| self.wrong_column(column, &problem, ONLY_POINTS))?;
                }
            }
            DataType::Struct(fields) if encoding != Some(Encoding::Wkb) && has_axes(fields) => {
                points.has_z = fields.find("z").is_some();
                if ["x", "y"].iter().any(|axis| !is_double(fields, axis)) {
                    return Err(self.wrong_column(column, "has points whose x and y are not doubles", ONLY_POINTS));
                }
                let read = self.arrays(&[root], &["x", "y"], |array| Ok(array.clone()))?;
                points.make_room(self)?;
                for array in &read.arrays[0] {
                    points.add_struct(array).map_err(|problem| self.wrong_column(column, &problem, ONLY_POINTS))?;
                }
            }
            other => {
                let points = encoding.map_or("points", Encoding::name);
                return Err(self.wrong_column(column, &format!("is {}, not {points}", type_name(other)), ONLY_POINTS));
            }
        }
        Ok(points.into_columns(column))
    }

    /// `GeoParquet` without a crs is longitude and latitude; with one it must say so.
    fn check_crs(&self, column: &str, crs: &Value) -> Result<(), Error> {
        let name = crs_name(crs);
        if DEGREES.contains(&name.as_str()) {
            return Ok(());
        }
        let hint = "convert the points to longitude and latitude (EPSG:4326), or give projected coordinates with `index` and a plain `sigma`";
        Err(self.wrong_column(
            column,
            &format!("has the coordinate reference system {name}, not longitude and latitude"),
            hint,
        ))
    }
}

const ONLY_POINTS: &str = "give a column of WKB points or of structs with x and y";

/// How metadata say that points are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Wkb,
    /// Structs of x and y.
    Point,
}

impl Encoding {
    /// What the column must then hold.
    fn name(self) -> &'static str {
        match self {
            Self::Wkb => "WKB as its metadata say",
            Self::Point => "structs of x and y as its metadata say",
        }
    }
}

/// The `GeoArrow` type of a column, if it has one: its name without the prefix, and the JSON that goes with it.
fn geoarrow(field: &Field) -> Option<(&str, &str)> {
    let metadata = field.metadata();
    let encoding = metadata.get("ARROW:extension:name")?.strip_prefix("geoarrow.")?;
    Some((encoding, metadata.get("ARROW:extension:metadata").map_or("", String::as_str)))
}

/// Bytes that JSON may take while it is parsed, with two copies of the longest string.
fn parsed_size(text: &str) -> u64 {
    let (mut size, mut is_quoted, mut is_escaped) = (3 * text.len() as u64, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_quoted,
            b'"' => is_quoted = !is_quoted,
            b'{' if !is_quoted => size += BYTES_PER_OBJECT,
            b'[' | b',' if !is_quoted => size += BYTES_PER_ELEMENT,
            _ => {}
        }
    }
    size
}

fn has_axes(fields: &Fields) -> bool {
    fields.find("x").is_some() && fields.find("y").is_some()
}

fn is_double(fields: &Fields, name: &str) -> bool {
    fields.find(name).is_some_and(|(_, field)| field.data_type() == &DataType::Float64)
}

/// `EPSG:3857` and the like, or the name, or what else there is.
fn crs_name(crs: &Value) -> String {
    let id = || Some(format!("{}:{}", crs.pointer("/id/authority")?.as_str()?, plain(crs.pointer("/id/code")?)));
    let name = || Some(plain(crs.get("name")?));
    let text =
        if crs.is_null() { "unknown (null)".to_owned() } else { id().or_else(name).unwrap_or_else(|| plain(crs)) };
    shortened(&text, 80)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn as_binary(array: &ArrayRef) -> Result<ArrayRef, parquet::errors::ParquetError> {
    Ok(arrow::compute::cast(array, &DataType::LargeBinary)?)
}

/// Points while they are read: x is longitude, y latitude.
#[derive(Default)]
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Rows of the input before them.
    first_row: usize,
    first_null: Option<usize>,
    has_z: bool,
}

impl Points {
    /// Makes room for all rows of an input.
    fn make_room(&mut self, input: &Input) -> Result<(), Error> {
        let rows = input.rows();
        input.budget.take(16 * rows as u64, || input.reading())?.keep(u64::MAX);
        self.x.reserve_exact(rows);
        self.y.reserve_exact(rows);
        Ok(())
    }

    fn add_wkb(&mut self, array: &ArrayRef) -> Result<(), String> {
        for bytes in array.as_binary::<i64>() {
            let point = bytes.map(|bytes| self.parse(bytes)).transpose()?;
            self.push(point.flatten());
        }
        Ok(())
    }

    /// One WKB geometry; `None` for an empty point.
    fn parse(&mut self, bytes: &[u8]) -> Result<Option<(f64, f64)>, String> {
        let row = self.first_row + self.x.len();
        let geometry =
            wkb::reader::read_wkb(bytes).map_err(|error| format!("is not valid WKB at row {row}: {error}"))?;
        let GeometryType::Point(point) = geometry.as_type() else {
            return Err(format!("holds a geometry that is not a point at row {row}"));
        };
        self.has_z |= point.dim().size() > 2;
        Ok(point.coord().map(|coord| (coord.x(), coord.y())))
    }

    fn add_struct(&mut self, array: &ArrayRef) -> Result<(), String> {
        let points = array.as_struct();
        let axis = |name: &str| points.column_by_name(name).and_then(|axis| axis.as_primitive_opt::<Float64Type>());
        let (Some(x), Some(y)) = (axis("x"), axis("y")) else {
            return Err("has points whose x and y are not doubles".to_owned());
        };
        for row in 0..points.len() {
            let valid = points.is_valid(row) && x.is_valid(row) && y.is_valid(row);
            self.push(valid.then(|| (x.value(row), y.value(row))));
        }
        Ok(())
    }

    fn push(&mut self, point: Option<(f64, f64)>) {
        if point.is_none() {
            self.first_null.get_or_insert(self.x.len());
        }
        let (x, y) = point.unwrap_or((f64::NAN, f64::NAN));
        self.x.push(x);
        self.y.push(y);
    }

    fn into_columns(self, column: &str) -> CoordinateColumns {
        let numbers = |values| Numbers { name: column.to_owned(), values, first_null: self.first_null };
        CoordinateColumns {
            axes: vec![numbers(self.y), numbers(self.x)],
            is_index: false,
            note: self.has_z.then(|| format!("the z values of '{}' are ignored", shortened(column, 80))),
        }
    }
}
