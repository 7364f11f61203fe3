//! Spans of time and rates as users write them: `90s`, `1h30m`, `5/s`, `300/m`.

use std::{borrow::Cow, fmt, str::FromStr};

use scenario::time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Span {
    pub(crate) micros: u64,
}

/// A number, perhaps of a unit of time: a rate with one, a number of slots without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Amount {
    pub(crate) count: f64,
    pub(crate) per: Option<Span>,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        time::read(text).map(|micros| Self { micros })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&time::show(self.micros))
    }
}

impl FromStr for Amount {
    type Err = String;

    /// `5/s`, `300/m`, `5/10s`, or a number alone.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a rate such as 5/s, 300/m or 1000/h, found {text:?}");
        let (count, per) = match text.split_once('/') {
            Some((count, per)) => (count, Some(per.trim())),
            None => (text, None),
        };
        let count: f64 = count.trim().parse().map_err(|_| wrong())?;
        if !(0.0..=1e9).contains(&count) {
            return Err(wrong());
        }
        let per = match per {
            Some(per) if per.starts_with(|letter: char| letter.is_ascii_digit()) => Some(per.parse::<Span>()?),
            Some(per) => Some(format!("1{per}").parse::<Span>().map_err(|_| wrong())?),
            None => None,
        };
        if per.is_some_and(|per| per.micros == 0) {
            return Err(wrong());
        }
        Ok(Self { count, per })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        match self.per {
            Some(per) => {
                let text = per.to_string();
                write!(
                    f,
                    "/{}",
                    text.strip_prefix('1')
                        .filter(|unit| !unit.starts_with(|c: char| c.is_ascii_digit()))
                        .unwrap_or(&text)
                )
            }
            None => Ok(()),
        }
    }
}

impl Amount {
    /// A number alone counts for each `unit`.
    pub(crate) fn per_second(self, unit: Option<Span>) -> f64 {
        let micros = self.per.or(unit).map_or(1_000_000, |span| span.micros.max(1));
        self.count * 1e6 / micros as f64
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with its unit such as 500ms, 90s, 15m or 1h30m")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Span, E> {
                // YAML reads `0` as a number, and nothing is as long in every unit.
                if number == 0 {
                    Ok(Span::default())
                } else {
                    Err(E::invalid_type(de::Unexpected::Unsigned(number), &self))
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as 5/s, 300/m or 1000/h, or a number of slots")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Amount, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Amount, E> {
                number.to_string().parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "pattern": r"^(0|(\s*[0-9.]+\s*(d|h|m|min|s|ms|us)\s*)+)$", "maximum": 0 })
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "pattern": r"^\s*[0-9.]+\s*(/\s*[0-9.]*\s*(d|h|m|min|s|ms|us)\s*)?$", "minimum": 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        for (text, micros, shown) in [
            ("500ms", 500_000, "500ms"),
            ("90s", 90_000_000, "1m30s"),
            ("1h30m", 5_400_000_000, "1h30m"),
            ("1.5 s", 1_500_000, "1s500ms"),
            ("2h", 7_200_000_000, "2h"),
            ("15min", 900_000_000, "15m"),
            ("1d", 86_400_000_000, "1d"),
            ("0", 0, "0s"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!((span.micros, span.to_string().as_str()), (micros, shown), "{text}");
        }
        for text in ["", "5", "s", "5 parsecs", "-1s", "1.2.3s", "1h30", "32d", "5/s"] {
            let error = text.parse::<Span>().unwrap_err();
            assert!(error.contains("expected a time") && error.contains(text), "{text}: {error}");
        }
    }

    #[test]
    fn rates_are_read_with_their_units() {
        for (text, per_second, shown) in [
            ("5/s", 5.0, "5/s"),
            ("300/m", 5.0, "300/m"),
            ("1800/h", 0.5, "1800/h"),
            ("5/10s", 0.5, "5/10s"),
            ("0.5/s", 0.5, "0.5/s"),
            ("7", 7.0, "7"),
            ("2/1s", 2.0, "2/s"),
        ] {
            let rate: Amount = text.parse().unwrap();
            assert_eq!((rate.per_second(None), rate.to_string().as_str()), (per_second, shown), "{text}");
        }
        let minute = "1m".parse().unwrap();
        assert_eq!("30".parse::<Amount>().unwrap().per_second(Some(minute)), 0.5, "timeUnit of k6");
        for text in ["", "fast", "5/", "5/x", "-1/s", "5/0s", "nan/s", "inf"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }
}
