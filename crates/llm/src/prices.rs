//! The price table: what models cost, by their providers' ids, on a date.
//!
//! gabfest ships a table, and `gabfest prices update` creates a newer one. `litellm` reads the file from which both are
//! made.

mod litellm;
mod pricing;

use std::{collections::BTreeMap, sync::OnceLock};

use serde::{Deserialize, Serialize};

use crate::price::Price;

pub use self::pricing::Pricing;

/// Made by `gabfest prices update` from the file in litellm's package; `NOTICE` in the same folder has its license.
const SHIPPED: &str = include_str!("prices/shipped.json");

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The date of the prices.
    pub date: String,
    /// The source of the prices.
    pub source: String,
    /// By the model's id at its provider.
    pub models: BTreeMap<String, Price>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("it is not a price table: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("the price of {0} is not an amount of money")]
    Price(String),
    #[error("it holds no price of a model that gabfest knows the provider of")]
    Nothing,
}

impl Table {
    /// The table of this build.
    #[must_use]
    pub fn shipped() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Self::read(SHIPPED).expect("a test reads the table that is shipped"))
    }

    /// A table that `gabfest prices update` wrote.
    pub fn read(text: &str) -> Result<Self, Error> {
        let table: Self = serde_json::from_str(text)?;
        match table.models.iter().find(|(_, price)| !price.is_valid()) {
            Some((model, _)) => Err(Error::Price(model.clone())),
            None => Ok(table),
        }
    }

    /// From litellm's `model_prices_and_context_window.json`, taken on `date`.
    pub fn of_litellm(text: &str, date: &str, source: &str) -> Result<Self, Error> {
        let models = litellm::models(text)?;
        if models.is_empty() {
            return Err(Error::Nothing);
        }
        Ok(Self { date: date.to_owned(), source: source.to_owned(), models })
    }

    /// One model a line, so that two tables can be compared.
    #[must_use]
    pub fn to_json(&self) -> String {
        let line = |(id, price): (&String, &Price)| format!("    {}: {}", text(id), text(price));
        let models: Vec<String> = self.models.iter().map(line).collect();
        format!(
            "{{\n  \"date\": {},\n  \"source\": {},\n  \"models\": {{\n{}\n  }}\n}}\n",
            text(&self.date),
            text(&self.source),
            models.join(",\n")
        )
    }

    /// The price of exactly this id.
    #[must_use]
    pub fn price(&self, model: &str) -> Option<&Price> {
        self.models.get(model)
    }

    /// Why a model has no price: the table, and ids with the same start.
    #[must_use]
    pub fn missing(&self, model: &str) -> String {
        let alike = |length: usize| {
            let beginning = &model[..model.floor_char_boundary(length)];
            let ids = self.models.range(beginning.to_owned()..).map(|(id, _)| id.as_str());
            ids.take_while(|id| id.starts_with(beginning)).take(3).collect::<Vec<_>>()
        };
        let near = (3..=model.len()).rev().map(alike).find(|ids| !ids.is_empty()).unwrap_or_default();
        let near = if near.is_empty() { String::new() } else { format!(", but has {}", near.join(", ")) };
        format!("the price table of {} ({} models) has no `{model}`{near}", self.date, self.models.len())
    }
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_table_is_dated_small_and_has_the_main_models() {
        let table = Table::shipped();
        assert!(SHIPPED.len() <= 300 * 1024, "{}", SHIPPED.len());
        assert_eq!(table.date.len(), "2026-11-23".len(), "{}", table.date);
        for model in ["gpt-5", "gpt-5-mini", "o3", "claude-sonnet-4-5", "gemini-2.5-pro", "mistral-large-latest"] {
            assert!(table.price(model).is_some(), "{model}");
        }
        // From the providers' own price lists.
        let price = table.price("gpt-5").expect("there");
        assert_eq!((price.input_per_million, price.output_per_million), (1.25, 10.0));
        assert_eq!(price.cached_input_per_million, Some(0.125));
        let price = table.price("gemini-2.5-pro").expect("there");
        assert_eq!((price.above[0].tokens, price.above[0].input_per_million), (200_000, Some(2.5)));
    }

    #[test]
    fn a_table_that_is_written_is_read_again() {
        let table = Table::shipped();
        assert_eq!(&Table::read(&table.to_json()).expect("a table"), table);
        assert_eq!(table.to_json(), SHIPPED, "shipped as it is written");
    }

    #[test]
    fn invalid_tables_are_refused() {
        let broken = r#"{"date":"d","source":"s","models":{"m":{"input_per_million":-1,"output_per_million":0}}}"#;
        for (text, expected) in [(broken, "the price of m"), ("{}", "not a price table"), ("[", "not a price table")] {
            let error = Table::read(text).expect_err("refused").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_missing_model_is_reported_with_similar_ids() {
        let message = Table::shipped().missing("gpt-5-ultra-nano");
        assert!(message.contains("has no `gpt-5-ultra-nano`, but has gpt-5"), "{message}");
        let message = Table::shipped().missing("qqq-é");
        assert!(message.ends_with("has no `qqq-é`"), "{message}");
        assert!(Table::shipped().missing("").ends_with("has no ``"));
    }
}
