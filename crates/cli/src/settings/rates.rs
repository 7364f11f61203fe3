//! `gates.success_rate` of the settings: one least success rate, or several.

use std::{borrow::Cow, fmt};

use scenario::plan::{RateBy, RateGate, RatePer};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, IntoDeserializer as _, value::MapAccessDeserializer},
};

/// The most requirements on success rates: pages show each.
const MOST: usize = 64;

/// Requirements on success rates: a share such as `95%`, a mapping, or a list of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct SuccessRates(Vec<WrittenRate>);

/// The least success rate of the run, or of each of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuccessRate")]
struct WrittenRate {
    /// The least success rate: pass / (pass + fail + errors of the agent), such as `95%` or 0.95.
    min: Share,
    /// `point` (the default): the rate itself must reach `min`. `bound`: its one-sided lower bound (Clopper-Pearson) must. Then
    /// PASS and FAIL each are wrong in at most 5 % of runs, and too few trials are INCONCLUSIVE.
    #[serde(default)]
    by: By,
    /// The confidence of the bound (`95%`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confidence: Option<Share>,
    /// `run` (the default): the rate of the whole run. Otherwise the rate of each `case`, `scenario`, `tag`, `persona`, `suite` (the
    /// folder of the scenario's file) or `agent`.
    #[serde(default)]
    per: RatePer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RateBy")]
enum By {
    #[default]
    Point,
    Bound,
}

/// A share as users write it: `0.95` or `95%`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
struct Share(f64);

impl SuccessRates {
    /// What is wrong: the place in the list, the key, and the reason.
    pub(crate) fn faults(&self) -> Vec<(usize, &'static str, String)> {
        let mut faults: Vec<_> = self
            .0
            .iter()
            .enumerate()
            .flat_map(|(place, rate)| rate.faults().into_iter().map(move |(key, reason)| (place, key, reason)))
            .collect();
        if self.0.len() > MOST {
            faults.push((0, "", format!("has {} items, and may have {MOST}", self.0.len())));
        }
        faults
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The gates of a plan.
    pub(crate) fn gates(&self) -> Vec<RateGate> {
        self.0.iter().map(|rate| rate.gate()).collect()
    }
}

impl WrittenRate {
    fn of(min: Share) -> Self {
        Self { min, by: By::Point, confidence: None, per: RatePer::Run }
    }

    fn gate(&self) -> RateGate {
        const USUAL: f64 = 0.95;
        let by = match self.by {
            By::Point => RateBy::Point,
            By::Bound => RateBy::Bound(self.confidence.map_or(USUAL, |confidence| confidence.0)),
        };
        RateGate { min: self.min.0, by, per: self.per }
    }

    fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let Share(min) = self.min;
        if !(0.0..=1.0).contains(&min) {
            faults.push(("min", format!("is {min}, and must be from 0 to 1, or from 0% to 100%")));
        } else if min == 1.0 && self.by == By::Bound {
            let hint = "write `by: point` for 100%, or a rate such as 99%";
            faults.push(("min", format!("is 100%, which no number of trials shows by its bound\nhint: {hint}")));
        }
        match (self.by, self.confidence) {
            (By::Point, Some(_)) => {
                let hint = "write `by: bound`, or leave the confidence out";
                faults.push(("confidence", format!("is for `by: bound`; a rate by point has none\nhint: {hint}")));
            }
            (By::Bound, Some(Share(confidence))) if !(confidence > 0.5 && confidence < 1.0) => {
                faults.push(("confidence", format!("is {confidence}, and must be above 50% and below 100%")));
            }
            _ => {}
        }
        faults
    }
}

impl<'de> Deserialize<'de> for SuccessRates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A share or a mapping.
        struct One(WrittenRate);
        struct OfOne;
        struct OfAll;
        const EXPECTED: &str = "a share such as 95%, or a mapping with `min`, `by`, `confidence` and `per`";

        impl<'de> de::Visitor<'de> for OfOne {
            type Value = WrittenRate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WrittenRate, E> {
                Share::deserialize(text.into_deserializer()).map(WrittenRate::of)
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<WrittenRate, E> {
                Ok(WrittenRate::of(Share(number)))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<WrittenRate, E> {
                Ok(WrittenRate::of(Share(number as f64)))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<WrittenRate, E> {
                Ok(WrittenRate::of(Share(number as f64)))
            }

            fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<WrittenRate, M::Error> {
                WrittenRate::deserialize(MapAccessDeserializer::new(map))
            }
        }

        impl<'de> Deserialize<'de> for One {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(OfOne).map(Self)
            }
        }

        impl<'de> de::Visitor<'de> for OfAll {
            type Value = SuccessRates;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{EXPECTED}, or a list of them")
            }

            fn visit_unit<E: de::Error>(self) -> Result<SuccessRates, E> {
                Ok(SuccessRates::default())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SuccessRates, E> {
                OfOne.visit_str(text).map(SuccessRates::one)
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<SuccessRates, E> {
                OfOne.visit_f64(number).map(SuccessRates::one)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<SuccessRates, E> {
                OfOne.visit_u64(number).map(SuccessRates::one)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<SuccessRates, E> {
                OfOne.visit_i64(number).map(SuccessRates::one)
            }

            fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<SuccessRates, M::Error> {
                OfOne.visit_map(map).map(SuccessRates::one)
            }

            fn visit_seq<S: de::SeqAccess<'de>>(self, mut all: S) -> Result<SuccessRates, S::Error> {
                let mut rates = Vec::new();
                while let Some(One(rate)) = all.next_element()? {
                    rates.push(rate);
                }
                Ok(SuccessRates(rates))
            }
        }
        deserializer.deserialize_any(OfAll)
    }
}

impl SuccessRates {
    fn one(rate: WrittenRate) -> Self {
        Self(vec![rate])
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Share;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share such as 0.95 or 95%")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                // 99.9% is the decimal 0.999, which a division would miss.
                let percent = text.trim().strip_suffix('%').map(str::trim_end);
                let plain = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                let share = percent.filter(plain).and_then(|digits| format!("{digits}e-2").parse().ok());
                share.map(Share).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Share, E> {
                Ok(Share(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Share, E> {
                Ok(Share(number as f64))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Share, E> {
                Ok(Share(number as f64))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for SuccessRates {
    fn schema_name() -> Cow<'static, str> {
        "SuccessRates".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one =
            json_schema!({ "anyOf": [generator.subschema_for::<Share>(), generator.subschema_for::<WrittenRate>()] });
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "maxItems": MOST }] })
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)? *%$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SuccessRates, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_share_a_mapping_and_a_list_are_read() {
        let point = |min| RateGate { min, by: RateBy::Point, per: RatePer::Run };
        for (text, gates) in [
            ("0.95", vec![point(0.95)]),
            ("1", vec![point(1.0)]),
            (r#""95%""#, vec![point(0.95)]),
            (r#""99.9 %""#, vec![point(0.999)]),
            (r#"{"min": "90%"}"#, vec![point(0.9)]),
            (
                r#"{"min": 0.95, "by": "bound", "per": "scenario"}"#,
                vec![RateGate { min: 0.95, by: RateBy::Bound(0.95), per: RatePer::Scenario }],
            ),
            (
                r#"["90%", {"min": "80%", "by": "bound", "confidence": "99%", "per": "tag"}]"#,
                vec![point(0.9), RateGate { min: 0.8, by: RateBy::Bound(0.99), per: RatePer::Tag }],
            ),
            ("null", vec![]),
        ] {
            let rates = read(text).unwrap();
            assert_eq!((rates.gates(), rates.faults()), (gates, vec![]), "{text}");
        }
    }

    #[test]
    fn faults_name_the_key() {
        for (text, place, key, reason) in [
            ("1.5", 0, "min", "is 1.5, and must be from 0 to 1"),
            (r#"["90%", "101%"]"#, 1, "min", "is 1.01"),
            (r#"{"min": 1, "by": "bound"}"#, 0, "min", "is 100%, which no number of trials shows"),
            (r#"{"min": 0.9, "confidence": 0.95}"#, 0, "confidence", "is for `by: bound`"),
            (r#"{"min": 0.9, "by": "bound", "confidence": 0.5}"#, 0, "confidence", "must be above 50% and below 100%"),
        ] {
            let faults = read(text).unwrap().faults();
            let [(at, found, why)] = faults.as_slice() else { panic!("{text}: {faults:?}") };
            assert_eq!((*at, *found), (place, key), "{text}");
            assert!(why.contains(reason), "{text}: {why}");
        }
        for text in [r#""95""#, r#""much""#, r#"{"min": "-5%"}"#, r#"{"by": "bound"}"#, r#"{"min": 0.9, "per": "day"}"#]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
