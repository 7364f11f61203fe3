//! The names of scenarios and cases for people: unique, and without hashes if there is a better name.

use std::collections::BTreeMap;

use super::{Case, Plan};
use crate::question::QUESTION;

impl Plan {
    /// By group: the scenario's name; with its file if another scenario has the same name, and with its line if the
    /// file is the same too.
    #[must_use]
    pub fn titles(&self) -> Vec<String> {
        let mut titles: Vec<String> = self.groups.iter().map(|group| group.name.clone()).collect();
        let with_file = |index: usize| {
            let group = &self.groups[index];
            format!("{} ({})", group.name, group.source.path)
        };
        let with_line = |index: usize| {
            let group = &self.groups[index];
            format!("{} ({}:{})", group.name, group.source.path, group.source.line)
        };
        tell_apart(&mut titles, with_file);
        tell_apart(&mut titles, with_line);
        tell_apart(&mut titles, |index| self.groups[index].key.clone());
        titles
    }

    /// What distinguishes a case from others of its scenario: the question of a knowledge base, or the row of a data
    /// set.
    #[must_use]
    pub fn variant(&self, case: &Case) -> Option<String> {
        if let Some(question) = self.question(case) {
            return Some(question.to_owned());
        }
        let row = case.row_id()?;
        Some(match &case.combination {
            Some(combination) => format!("{row} {combination}"),
            None => row.to_owned(),
        })
    }

    /// The question that a case of a knowledge base asks. No other scenario has a place for the parameter.
    #[must_use]
    pub fn question<'a>(&self, case: &'a Case) -> Option<&'a str> {
        let (_, question) = case.parameters.iter().find(|(parameter, _)| parameter == QUESTION)?;
        question.as_str()
    }
}

/// Renames those that share a name.
fn tell_apart(titles: &mut [String], anew: impl Fn(usize) -> String) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    titles.iter().for_each(|title| *counts.entry(title).or_default() += 1);
    let alike: Vec<usize> = (0..titles.len()).filter(|index| counts[titles[*index].as_str()] > 1).collect();
    for index in alike {
        titles[index] = anew(index);
    }
}
