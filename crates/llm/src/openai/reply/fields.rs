//! Fields of a completion, read as generously as servers write them.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

/// Of anything that a server lists: a body of a megabyte must not become a list of a hundred.
const MOST_ITEMS: usize = 1_024;

/// The limit for one call: a higher count is an error of the server, and sums of it would overflow.
const MOST_TOKENS: u64 = 1 << 40;

/// Of one call: more is no price.
const MOST_DOLLARS: f64 = 1e6;

pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Text that is borrowed if it has no escapes: serde does not borrow `Option<Cow<str>>` by itself.
#[derive(Debug, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A list, or null. Longer ones than any honest reply has are refused.
#[derive(Debug)]
pub(crate) struct Few<T>(pub(crate) Vec<T>);

/// The first item of a list, if there is one. Boxed, because serde moves values many times.
#[derive(Debug)]
pub(crate) struct First<T>(pub(crate) Option<Box<T>>);

/// `null`, text, or an array of parts whose texts are kept; reasoning is not part of the reply.
#[derive(Debug)]
pub(crate) struct Content<'a>(pub(crate) Cow<'a, str>);

/// JSON text, or, against the protocol but often, the JSON itself.
#[derive(Debug)]
pub(crate) struct Arguments<'a>(pub(crate) Cow<'a, str>);

/// The name of an action; `None` for other uses of the field.
#[derive(Debug)]
pub(crate) struct Action<'a>(pub(crate) Option<Cow<'a, str>>);

/// A count of tokens; `None` for null and for invalid numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<u64>);

/// An amount of money in nano-dollars; `None` for null and for invalid amounts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dollars(pub(crate) Option<i64>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FewVisitor(PhantomData))
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or null")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Few<T>, E> {
        Ok(Few::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Few<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            if items.len() == MOST_ITEMS {
                return Err(de::Error::custom(format_args!("a list of more than {MOST_ITEMS} items")));
            }
            items.push(item);
        }
        Ok(Few(items))
    }
}

impl<T> Default for First<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FirstVisitor(PhantomData))
    }
}

struct FirstVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstVisitor<T> {
    type Value = First<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or null")
    }

    fn visit_unit<E: de::Error>(self) -> Result<First<T>, E> {
        Ok(First::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First<T>, A::Error> {
        let first = list.next_element()?.map(Box::new);
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(First(first))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor).map(Self)
    }
}

/// Text, the text of a part, or the texts of a list of parts.
struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a list of parts, or null")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let part = Part::deserialize(MapAccessDeserializer::new(map))?;
        let is_text = part.r#type.is_none_or(|kind| matches!(&*kind.0, "text" | "output_text"));
        Ok(part.text.filter(|_| is_text).map_or(Cow::Borrowed(""), |text| text.0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut text = String::new();
        while let Some(Content(part)) = list.next_element()? {
            text.push_str(&part);
        }
        Ok(Cow::Owned(text))
    }
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    r#type: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor).map(Self)
    }
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments as JSON text")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(|value| Cow::Owned(value.to_string()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Action<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ActionVisitor).map(Self)
    }
}

struct ActionVisitor;

impl<'de> Visitor<'de> for ActionVisitor {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an action")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = Value::deserialize(deserializer)?.as_f64();
        Ok(Self(
            amount
                .filter(|dollars| (0.0..=MOST_DOLLARS).contains(dollars))
                .map(|dollars| (dollars * 1e9).round() as i64),
        ))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens")
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<Count, E> {
        Ok(Count((count <= MOST_TOKENS).then_some(count)))
    }

    fn visit_i64<E: de::Error>(self, count: i64) -> Result<Count, E> {
        u64::try_from(count).map_or(Ok(Count(None)), |count| self.visit_u64(count))
    }

    fn visit_f64<E: de::Error>(self, count: f64) -> Result<Count, E> {
        if count >= 0.0 { self.visit_u64(count as u64) } else { Ok(Count(None)) }
    }

    fn visit_unit<E: de::Error>(self) -> Result<Count, E> {
        Ok(Count(None))
    }
}
