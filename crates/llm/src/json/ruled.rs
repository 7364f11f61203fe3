//! Reads JSON with rules for its keys and texts, so that a fault names its own place and not that of the whole.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// What keys and texts must be, besides JSON.
pub trait Rules: Copy {
    /// # Errors
    /// What is wrong with a text.
    fn text(self, _text: &str) -> Result<(), String> {
        Ok(())
    }

    /// `before`: the fields of the object that come before the key.
    ///
    /// # Errors
    /// What is wrong with the key.
    fn key(self, _key: &str, _before: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

/// Reads a value of any kind.
///
/// # Errors
/// It is no JSON, or a key or a text breaks a rule.
pub fn read<'de, D: Deserializer<'de>>(deserializer: D, rules: impl Rules) -> Result<Value, D::Error> {
    Ruled(rules).deserialize(deserializer)
}

#[derive(Clone, Copy)]
struct Ruled<R>(R);

impl<'de, R: Rules> DeserializeSeed<'de> for Ruled<R> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: Rules> Visitor<'de> for Ruled<R> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        self.0.text(&text).map_err(E::custom)?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.0.key(&key, &fields).map_err(A::Error::custom)?;
            let value = entries.next_value_seed(self)?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Short;

    impl Rules for Short {
        fn text(self, text: &str) -> Result<(), String> {
            if text.len() > 3 { Err(format!("`{text}` is long")) } else { Ok(()) }
        }

        fn key(self, key: &str, before: &Map<String, Value>) -> Result<(), String> {
            if before.len() == 2 { Err(format!("`{key}` is the third")) } else { Ok(()) }
        }
    }

    fn short(text: &str) -> Result<Value, String> {
        read(&mut serde_json::Deserializer::from_str(text), Short).map_err(|error| error.to_string())
    }

    #[test]
    fn a_rule_is_kept_at_every_depth_and_a_fault_has_its_place() {
        let good = r#"{"a":[null,true,-1,18446744073709551615,0.25,"ü",{"b":"abc"}],"long key":[]}"#;
        assert_eq!(short(good), serde_json::from_str(good).map_err(|error| error.to_string()));
        for (text, fault) in [
            ("[\n{\"a\":\"long\"}]", "`long` is long at line 2 column 11"),
            ("{\"a\":1,\n\"b\":2,\n\"c\":3}", "`c` is the third at line 3 column 3"),
            ("[1", "EOF while parsing a list at line 1 column 2"),
        ] {
            assert_eq!(short(text), Err(fault.to_owned()), "{text}");
        }
    }
}
