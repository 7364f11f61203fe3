//! Writes records as JSON: the bytes that serde_json writes, for about 60 % of its CPU.
//!
//! Each trial and each turn is written two or three times: for the store, and for the lines of the run's folder. serde_json
//! looks for escapes in the names of fields too, and adds a comma or a quote by a call of its own.

use serde::{
    Serialize,
    ser::{self, Error as _},
};
use serde_json::Error;

/// Appends the value to `out`.
///
/// # Errors
/// A key of a map is neither text nor a number nor a boolean, or the value refuses to be serialised.
pub fn append<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(&mut Writer { out, nulls: true })
}

/// The same without fields that are `null`, which serde reads as `None` where they are missing. Keys of maps stay.
///
/// # Errors
/// As those of [`append`].
pub fn append_without_nulls<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(&mut Writer { out, nulls: false })
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    /// Fields that are `null` are written.
    nulls: bool,
}

/// The members of a list or a map that is written.
struct Members<'w, 'o> {
    writer: &'w mut Writer<'o>,
    is_first: bool,
    close: &'static [u8],
}

impl<'o> Writer<'o> {
    fn members(&mut self, open: u8, close: &'static [u8]) -> Members<'_, 'o> {
        self.out.push(open);
        Members { writer: self, is_first: true, close }
    }

    /// `{"name":`
    fn variant(&mut self, name: &str) {
        self.out.push(b'{');
        self.text(name);
        self.out.push(b':');
    }

    fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.out.reserve(bytes.len() + 2);
        self.out.push(b'"');
        let mut start = 0;
        loop {
            let rest = &bytes[start..];
            let plain = plain_bytes(rest);
            self.out.extend_from_slice(&rest[..plain]);
            let Some(&byte) = rest.get(plain) else { break };
            self.escape(byte);
            start += plain + 1;
        }
        self.out.push(b'"');
    }

    fn escape(&mut self, byte: u8) {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let (high, low) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]);
                return self.out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
    }

    fn integer(&mut self, integer: impl itoa::Integer) {
        self.out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
    }

    /// A map's key is text, or a number or a boolean between quotes.
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let start = self.out.len();
        key.serialize(&mut *self)?;
        match self.out.get(start) {
            Some(b'"') => {}
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                self.out.insert(start, b'"');
                self.out.push(b'"');
            }
            _ => return Err(Error::custom("a key of a map must be text")),
        }
        Ok(())
    }
}

/// How many bytes there are before the first that needs an escape. Blocks without an early exit are compared many bytes at
/// once.
fn plain_bytes(bytes: &[u8]) -> usize {
    let needs_escape = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    let is_plain = |block: &&[u8]| !block.iter().fold(false, |found, byte| found | needs_escape(byte));
    let plain = bytes.chunks_exact(16).take_while(is_plain).count() * 16;
    plain + bytes[plain..].iter().take_while(|byte| !needs_escape(byte)).count()
}

impl Members<'_, '_> {
    fn separate(&mut self) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.writer.out.push(b',');
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        debug_assert_eq!(plain_bytes(name.as_bytes()), name.len(), "names of fields need no escape");
        let (start, is_first) = (self.writer.out.len(), self.is_first);
        self.separate();
        let out = &mut *self.writer.out;
        out.reserve(name.len() + 3);
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.push(b'"');
        out.push(b':');
        let value_start = out.len();
        value.serialize(&mut *self.writer)?;
        if !self.writer.nulls && &self.writer.out[value_start..] == b"null" {
            self.writer.out.truncate(start);
            self.is_first = is_first;
        }
        Ok(())
    }

    fn close(self) {
        self.writer.out.extend_from_slice(self.close);
    }
}

impl<'w, 'o> ser::Serializer for &'w mut Writer<'o> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Members<'w, 'o>;
    type SerializeTuple = Members<'w, 'o>;
    type SerializeTupleStruct = Members<'w, 'o>;
    type SerializeTupleVariant = Members<'w, 'o>;
    type SerializeMap = Members<'w, 'o>;
    type SerializeStruct = Members<'w, 'o>;
    type SerializeStructVariant = Members<'w, 'o>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.out, &value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.out, &value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.text(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.text(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant);
        value.serialize(&mut *self)?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'w, 'o>, Error> {
        Ok(self.members(b'[', b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Members<'w, 'o>, Error> {
        Ok(self.members(b'[', b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Members<'w, 'o>, Error> {
        Ok(self.members(b'[', b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'w, 'o>, Error> {
        self.variant(variant);
        Ok(self.members(b'[', b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'w, 'o>, Error> {
        Ok(self.members(b'{', b"}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'w, 'o>, Error> {
        Ok(self.members(b'{', b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'w, 'o>, Error> {
        self.variant(variant);
        Ok(self.members(b'{', b"}}"))
    }
}

impl ser::SerializeSeq for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTuple for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTupleStruct for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTupleVariant for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        self.writer.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStructVariant for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
