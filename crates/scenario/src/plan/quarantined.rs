//! Which entry of the quarantine a case has, and entries without a case.

use super::{Case, Plan};
use crate::Quarantine;

impl Plan {
    /// The first entry that means this case. `title` and `variant`: as [`Plan::titles`] and [`Plan::variant`] say.
    #[must_use]
    pub fn quarantine(&self, case: &Case, title: &str, variant: Option<&str>) -> Option<&Quarantine> {
        self.gates.quarantine.iter().find(|entry| means(entry, case, title, variant))
    }

    /// The places of the entries that mean no case of the plan.
    #[must_use]
    pub fn unknown_in(&self, entries: &[Quarantine]) -> Vec<usize> {
        let titles = self.titles();
        let mut left: Vec<usize> = (0..entries.len()).collect();
        for case in self.cases() {
            if left.is_empty() {
                break;
            }
            let Some(title) = titles.get(case.group) else { continue };
            let variant = self.variant(&case);
            left.retain(|index| !means(&entries[*index], &case, title, variant.as_deref()));
        }
        left
    }
}

fn means(entry: &Quarantine, case: &Case, title: &str, variant: Option<&str>) -> bool {
    entry.means(&case.scenario, title, [variant, case.combination.as_deref(), case.persona.as_deref()])
}
