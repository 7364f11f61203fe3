//! The name of a case for people: its scenario, and the question of a knowledge base or the row of a data set.

use scenario::Case;

pub(super) struct Called {
    pub(super) title: String,
    pub(super) variant: Option<String>,
}

impl Called {
    pub(super) fn name_of(&self, case: &Case, agents: usize) -> String {
        let variant = self.variant.as_ref().or(case.combination.as_ref()).filter(|variant| **variant != self.title);
        let agent = (agents > 1).then_some(&case.agent);
        let rest = [variant, case.persona.as_ref(), agent];
        rest.into_iter().flatten().fold(self.title.clone(), |name, part| format!("{name} / {part}"))
    }
}
