//! Results as Python's own objects, and dictionaries as values of the crate. Fields keep their order; a number that is not finite
//! becomes `None`, as it is null in JSON.

use std::fmt;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::Serialize;
use serde::ser::{self, Impossible};
use serde_json::{Map, Value};

/// A value of the crate as an object.
pub(crate) fn object<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    value.serialize(Objects { py }).map_err(|Failed(error)| error)
}

/// What Python raised meanwhile.
#[derive(Debug)]
struct Failed(PyErr);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(PyValueError::new_err(message.to_string()))
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

type Made<'py> = Result<Bound<'py, PyAny>, Failed>;

/// Makes objects.
#[derive(Clone, Copy)]
struct Objects<'py> {
    py: Python<'py>,
}

impl<'py> Objects<'py> {
    fn of(self, value: impl IntoPyObjectExt<'py>) -> Made<'py> {
        Ok(value.into_bound_py_any(self.py)?)
    }

    fn none(self) -> Bound<'py, PyAny> {
        self.py.None().into_bound(self.py)
    }

    fn list(self) -> Items<'py> {
        Items { objects: self, items: Vec::new() }
    }

    fn dictionary(self) -> Fields<'py> {
        Fields { objects: self, dictionary: PyDict::new(self.py), key: None }
    }
}

fn never(what: &str) -> Failed {
    ser::Error::custom(format!("no result has {what}"))
}

macro_rules! plain {
    ($($method:ident: $kind:ty),*) => {
        $(fn $method(self, value: $kind) -> Made<'py> { self.of(value) })*
    };
}

impl<'py> ser::Serializer for Objects<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;
    type SerializeSeq = Items<'py>;
    type SerializeTuple = Items<'py>;
    type SerializeTupleStruct = Impossible<Self::Ok, Failed>;
    type SerializeTupleVariant = Impossible<Self::Ok, Failed>;
    type SerializeMap = Fields<'py>;
    type SerializeStruct = Fields<'py>;
    type SerializeStructVariant = Impossible<Self::Ok, Failed>;

    plain!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);
    plain!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);
    plain!(serialize_char: char, serialize_str: &str, serialize_bytes: &[u8]);

    fn serialize_f32(self, value: f32) -> Made<'py> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Made<'py> {
        if value.is_finite() { self.of(value) } else { Ok(self.none()) }
    }

    fn serialize_none(self) -> Made<'py> {
        Ok(self.none())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Made<'py> {
        Ok(self.none())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Made<'py> {
        Ok(self.none())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Made<'py> {
        self.of(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Made<'py> {
        Err(never("variants with a value"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'py>, Failed> {
        Ok(self.list())
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'py>, Failed> {
        Ok(self.list())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Failed> {
        Err(never("structs without names of fields"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Failed> {
        Err(never("variants with values"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields<'py>, Failed> {
        Ok(self.dictionary())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields<'py>, Failed> {
        Ok(self.dictionary())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Failed> {
        Err(never("variants with fields"))
    }
}

/// A list to be.
struct Items<'py> {
    objects: Objects<'py>,
    items: Vec<Bound<'py, PyAny>>,
}

impl<'py> Items<'py> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.items.push(value.serialize(self.objects)?);
        Ok(())
    }

    fn finish(self) -> Made<'py> {
        Ok(PyList::new(self.objects.py, self.items)?.into_any())
    }
}

impl<'py> ser::SerializeSeq for Items<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.push(value)
    }

    fn end(self) -> Made<'py> {
        self.finish()
    }
}

impl<'py> ser::SerializeTuple for Items<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.push(value)
    }

    fn end(self) -> Made<'py> {
        self.finish()
    }
}

/// A dictionary to be.
struct Fields<'py> {
    objects: Objects<'py>,
    dictionary: Bound<'py, PyDict>,
    key: Option<Bound<'py, PyAny>>,
}

impl<'py> ser::SerializeMap for Fields<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        self.key = Some(key.serialize(self.objects)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        let key = self.key.take().ok_or_else(|| never("values without a key"))?;
        Ok(self.dictionary.set_item(key, value.serialize(self.objects)?)?)
    }

    fn end(self) -> Made<'py> {
        Ok(self.dictionary.into_any())
    }
}

impl<'py> ser::SerializeStruct for Fields<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Failed> {
        Ok(self.dictionary.set_item(name, value.serialize(self.objects)?)?)
    }

    fn end(self) -> Made<'py> {
        Ok(self.dictionary.into_any())
    }
}

/// A dictionary, list, text, number or nothing as a value of the crate; numbers of numpy are numbers.
pub(crate) fn json_of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(fields) = object.cast::<PyDict>() {
        let fields = fields.iter().map(|(name, value)| Ok((name.extract()?, json_of(&value)?)));
        return fields.collect::<PyResult<Map<String, Value>>>().map(Value::Object);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_owned()));
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if object.is_instance_of::<PyInt>() || (!object.is_instance_of::<PyFloat>() && object.hasattr("__index__")?) {
        return object.extract::<i64>().map_or_else(|_| float(object), |whole| Ok(Value::from(whole)));
    }
    if object.hasattr("__float__")? && !object.hasattr("__len__")? {
        return float(object);
    }
    match object.try_iter() {
        Ok(items) => items.map(|item| json_of(&item?)).collect::<PyResult<Vec<Value>>>().map(Value::Array),
        Err(_) => Err(PyTypeError::new_err(format!("parameters hold {object}, which is neither text nor a number"))),
    }
}

fn float(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    object.extract::<f64>().map(Value::from)
}
