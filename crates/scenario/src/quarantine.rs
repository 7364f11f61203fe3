//! Quarantined cases: they are played and shown, and no gate depends on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An entry of the quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Quarantine {
    /// The name of a scenario, for all of its cases, or of a case as the report shows it, such as `refund / impatient`.
    pub case: String,
    /// Who looks after the case.
    pub owner: String,
    /// Why it may fail.
    pub reason: String,
    /// The last day of the entry, such as 2026-12-24 (UTC). After it, the case counts again.
    #[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
    pub expires: String,
}

impl Quarantine {
    /// `today`: `YYYY-MM-DD`.
    #[must_use]
    pub fn is_expired(&self, today: &str) -> bool {
        self.expires.as_str() < today
    }

    /// Whether the entry means a case. `scenario` and `title`: names of its scenario; `parts`: its variant, its combination and its
    /// persona.
    #[must_use]
    pub fn means(&self, scenario: &str, title: &str, parts: [Option<&str>; 3]) -> bool {
        let mut names = self.case.split(" / ").map(str::trim);
        let first = names.next().unwrap_or_default();
        (first == scenario || first == title) && names.all(|name| parts.contains(&Some(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_means_a_scenario_or_one_of_its_cases() {
        let entry = |case: &str| Quarantine { case: case.to_owned(), ..Quarantine::default() };
        let means =
            |case: &str| entry(case).means("refund", "refund (a.yaml)", [None, Some("combo-1"), Some("impatient")]);
        for case in ["refund", "refund (a.yaml)", "refund / impatient", "refund / combo-1 / impatient"] {
            assert!(means(case), "{case}");
        }
        for case in ["", "refunds", "impatient", "refund / polite", "refund / combo-1 / polite"] {
            assert!(!means(case), "{case}");
        }
        let until = Quarantine { expires: "2026-12-24".to_owned(), ..Quarantine::default() };
        assert!(!until.is_expired("2026-12-24") && until.is_expired("2026-12-25"));
    }
}
