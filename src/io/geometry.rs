//! Finds and reads the coordinates: named columns, `GeoParquet` or `GeoArrow` points, or index columns.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Fields};
use serde_json::Value;

use super::budget::Reservation;
use super::input::{Input, type_name};
use super::json::parse_json;
use super::origin::Origin;
use super::point_column::Points;
use super::read::CoordinateColumns;
use super::shortened;
use crate::error::Error;

/// The columns that hold the places, as requested by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinateRequest {
    /// Not specified: try `GeoParquet` metadata, then the usual names.
    Find,
    /// Columns of latitude and longitude.
    LatLon(String, String),
    /// A column of points, as WKB or as structs of x and y.
    Geometry(String),
    /// One to three index columns.
    Index(Vec<String>),
}

/// Pairs of names for latitude and longitude, in any case.
const USUAL_NAMES: [(&str, &str); 4] = [("latitude", "longitude"), ("lat", "lon"), ("lat", "lng"), ("lat", "long")];

/// Coordinate reference systems in which x is longitude and y latitude in degrees on (nearly) WGS 84.
const DEGREES: [&str; 4] = ["OGC:CRS84", "OGC:CRS84h", "EPSG:4326", "EPSG:4979"];

/// Bytes of a parsed JSON object, and of each further element of an object or a list. A map node has eleven entries of 56
/// bytes, and long maps have nodes that are half full; lists grow by doubling, with 32 bytes for each element.
const BYTES_PER_OBJECT: u64 = 768;
const BYTES_PER_ELEMENT: u64 = 128;

/// The columns among these whose names, in any case, mean latitude and longitude; `None` if there is no such pair.
#[must_use]
pub fn lat_lon_names<'a>(columns: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let find = |wanted: &str| columns.iter().copied().find(|name| name.eq_ignore_ascii_case(wanted));
    USUAL_NAMES.into_iter().find_map(|(latitude, longitude)| find(latitude).zip(find(longitude)))
}

impl Input {
    /// Finds and reads the coordinates. Index columns are read relative to the origin that all inputs of a run share.
    ///
    /// # Errors
    /// If they cannot be found, or have the wrong type, encoding or coordinate reference system.
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
        let names: Vec<&str> = self.schema().fields().iter().map(|field| field.name().as_str()).collect();
        if let Some((latitude, longitude)) = lat_lon_names(&names) {
            return self.lat_lon(latitude, longitude);
        }
        Err(Error::File {
            subject: self.name().clone(),
            problem: "has no columns that look like latitude and longitude".to_owned(),
            hint: format!(
                "name them with `lat` and `lon`, or use `geometry` or `index`; the columns are {}",
                self.listed()
            ),
        })
    }

    /// The column of points, given or named by the metadata, and its encoding if the metadata state it. Metadata are the
    /// `GeoParquet` entry under the key `geo`, or a column's `GeoArrow` type. They must describe points in longitude and
    /// latitude.
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
        let primary = geo.get("primary_column").and_then(Value::as_str);
        let column = given.or(primary).ok_or_else(|| self.bad_geo("names no primary column"))?;
        let Some(described) = geo.get("columns").and_then(|columns| columns.get(column)) else {
            return Ok(Some((column.to_owned(), None)));
        };
        described.get("crs").map_or(Ok(()), |crs| self.check_crs(column, crs))?;
        let encoding = described.get("encoding").map(|encoding| self.encoding(column, &plain(encoding))).transpose()?;
        Ok(Some((column.to_owned(), encoding)))
    }

    /// A column with a `GeoArrow` type: `encoding` is the part of the type's name after the dot, `details` its JSON metadata.
    fn geoarrow(&self, column: &str, encoding: &str, details: &str) -> Result<(String, Option<Encoding>), Error> {
        let _room = self.room_to_parse(details)?;
        if !details.is_empty() {
            let details = parse_json(details).map_err(|problem| {
                let hint = "name the columns with `lat` and `lon`";
                self.wrong_column(column, &format!("has wrong GeoArrow metadata: it {problem}"), hint)
            })?;
            details.get("crs").map_or(Ok(()), |crs| self.check_crs(column, crs))?;
        }
        Ok((column.to_owned(), Some(self.encoding(column, encoding)?)))
    }

    /// Reserves memory to parse JSON.
    fn room_to_parse(&self, text: &str) -> Result<Reservation, Error> {
        self.budget.take(parsed_size(text), || format!("reading the metadata of {}", self.name()))
    }

    /// The encoding of this name.
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
            subject: self.name().clone(),
            problem: format!("its GeoParquet metadata {problem}"),
            hint: "name the columns with `lat` and `lon`, or `geometry`".to_owned(),
        }
    }

    fn points(&self, column: &str, encoding: Option<Encoding>) -> Result<CoordinateColumns, Error> {
        let (root, field) = self.column(column)?;
        let mut points = Points::starting_at(self.first_row());
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

    /// Checks a coordinate reference system. (`GeoParquet` without one means longitude and latitude.)
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

/// The encoding of points according to the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Wkb,
    /// Structs of x and y.
    Point,
}

impl Encoding {
    /// What the column must hold, for messages.
    fn name(self) -> &'static str {
        match self {
            Self::Wkb => "WKB as its metadata say",
            Self::Point => "structs of x and y as its metadata say",
        }
    }
}

/// The `GeoArrow` type of a column, if it has one: its name without the prefix, and its JSON metadata.
fn geoarrow(field: &Field) -> Option<(&str, &str)> {
    let metadata = field.metadata();
    let encoding = metadata.get("ARROW:extension:name")?.strip_prefix("geoarrow.")?;
    Some((encoding, metadata.get("ARROW:extension:metadata").map_or("", String::as_str)))
}

/// An upper bound on the bytes that parsing JSON takes, including two copies of the longest string.
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

/// The identifier of a coordinate reference system (`EPSG:3857`), or its name, or its JSON.
fn crs_name(crs: &Value) -> String {
    if crs.is_null() {
        return "unknown (null)".to_owned();
    }
    let name = crs_id(crs).or_else(|| crs.get("name").map(plain));
    shortened(&name.unwrap_or_else(|| plain(crs)), 80)
}

fn crs_id(crs: &Value) -> Option<String> {
    Some(format!("{}:{}", crs.pointer("/id/authority")?.as_str()?, plain(crs.pointer("/id/code")?)))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn as_binary(array: &ArrayRef) -> Result<ArrayRef, parquet::errors::ParquetError> {
    Ok(arrow::compute::cast(array, &DataType::LargeBinary)?)
}
