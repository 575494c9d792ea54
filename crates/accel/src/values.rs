//! Macros for the serde readers and writers of records. They define the methods for Rust types that
//! have the same form in JSON (such as `i8` and `i32`), and implement traits of serde that differ
//! only in their names.

/// Methods of a `Serializer` whose `Ok` says whether a value was written, by its methods `array`
/// and `object`.
macro_rules! written_as_json {
    ($array:ty, $object:ty) => {
        $crate::values::written_as_json!(i8 serialize_i8, i16 serialize_i16, i32 serialize_i32);
        $crate::values::written_as_json!(u8 serialize_u8, u16 serialize_u16, u32 serialize_u32);

        fn serialize_char(self, value: char) -> Done {
            self.serialize_str(value.encode_utf8(&mut [0; 4]))
        }

        fn serialize_unit(self) -> Done {
            self.serialize_none()
        }

        fn serialize_unit_struct(self, _: &'static str) -> Done {
            self.serialize_none()
        }

        fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
            value.serialize(self)
        }

        fn serialize_newtype_struct<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            value: &T,
        ) -> Done {
            value.serialize(self)
        }

        fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
            self.serialize_str(variant)
        }

        /// An object of one member, as for a union.
        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            variant: &'static str,
            value: &T,
        ) -> Done {
            let mut object = self.object()?;
            SerializeStruct::serialize_field(&mut object, variant, value)?;
            SerializeStruct::end(object)
        }

        fn serialize_seq(self, _: Option<usize>) -> Result<$array, ValueError> {
            self.array()
        }

        fn serialize_tuple(self, _: usize) -> Result<$array, ValueError> {
            self.array()
        }

        fn serialize_tuple_struct(
            self,
            _: &'static str,
            _: usize,
        ) -> Result<$array, ValueError> {
            self.array()
        }

        fn serialize_map(self, _: Option<usize>) -> Result<$object, ValueError> {
            self.object()
        }
    };
    ($($number:ident $method:ident),+) => {$(
        fn $method(self, value: $number) -> Done {
            self.serialize_i64(value.into())
        }
    )+};
}

/// The serde traits of types that are arrays in JSON, by the type's methods `element` and `finish`.
macro_rules! elements {
    ([$($generics:tt)*] $array:ty) => {
        $crate::values::elements!([$($generics)*] $array, SerializeSeq, serialize_element);
        $crate::values::elements!([$($generics)*] $array, SerializeTuple, serialize_element);
        $crate::values::elements!([$($generics)*] $array, SerializeTupleStruct, serialize_field);
    };
    ([$($generics:tt)*] $array:ty, $of:ident, $method:ident) => {
        impl<$($generics)*> $of for $array {
            type Ok = bool;
            type Error = ValueError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
                self.element(value)
            }

            fn end(self) -> Done {
                self.finish()
            }
        }
    };
}

/// `SerializeStruct` by the type's methods `member` and `finish`.
macro_rules! members {
    ([$($generics:tt)*] $object:ty) => {
        impl<$($generics)*> SerializeStruct for $object {
            type Ok = bool;
            type Error = ValueError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), ValueError> {
                self.member(name, value)
            }

            fn end(self) -> Done {
                self.finish()
            }
        }
    };
}

/// Methods of a `Deserializer<'a>` whose values are always present: an absent field is not a
/// member.
macro_rules! read_as_present {
    () => {
        fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
            visitor.visit_some(self)
        }

        fn deserialize_newtype_struct<V: Visitor<'a>>(
            self,
            _name: &'static str,
            visitor: V,
        ) -> Result<V::Value, ValueError> {
            visitor.visit_newtype_struct(self)
        }
    };
}

pub(crate) use {elements, members, read_as_present, written_as_json};
