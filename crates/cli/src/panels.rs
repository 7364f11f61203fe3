//! The judges of blocking criteria: two names in a panel are two judges only if models of two families answer.

use std::collections::BTreeSet;

use scenario::{Check, Diagnostic, Reading, Rule};
use yaml::{Findings, Spot};

use crate::{references::place, settings::Settings};

/// One error for each rubric with a blocking criterion whose judges are of one family by these settings. Names that the
/// settings do not define are the concern of [`crate::references`].
pub(crate) fn faults(reading: &Reading, settings: &Settings) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for file in &reading.scenarios {
        for check in file.script.scenario.checks() {
            let Some((criterion, judge)) = lone_judge(check, settings) else { continue };
            let document = file.first();
            let mut findings = Findings::of(&document);
            let name = check.judging.panel.first().map_or("", String::as_str);
            let spot = place(&document.root(), "panel", name).unwrap_or(Spot::at(check.line, 0));
            let message = format!(
                "the blocking criterion `{criterion}` needs judges of two or more families of models, and all of `panel` are {judge}"
            );
            findings.error(spot, message);
            findings.help(
                "name endpoints with models of different families in `models` of gabfest.yaml; `family: NAME` at an endpoint says what \
                 its model's name does not",
            );
            faults.extend(findings.into_sorted());
        }
    }
    faults
}

/// A blocking criterion, and what all judges of its panel are.
fn lone_judge<'a>(check: &'a Check, settings: &Settings) -> Option<(&'a str, String)> {
    let Rule::Rubric(rubric) = &check.rule else { return None };
    let criterion = rubric.criteria.iter().find(|criterion| criterion.blocking)?;
    let judges = check.judging.panel.iter().map(|name| Some(answering(settings.models.get(name)?, settings)));
    let judges = judges.collect::<Option<BTreeSet<String>>>()?;
    let judge = judges.first().filter(|_| judges.len() == 1)?;
    Some((&criterion.name, judge.clone()))
}

/// The family of the model behind an endpoint; without a model's name its address. Each endpoint of the built-in mock is a judge
/// of its own.
fn answering(endpoint: &str, settings: &Settings) -> String {
    let of = settings.endpoints.get(endpoint);
    if let Some(family) = of.and_then(llm::endpoint::Settings::family) {
        return format!("of the family `{family}`");
    }
    let address = of.and_then(|of| of.url.as_deref()).map(|url| url.trim_end_matches('/'));
    format!("`{}`", address.unwrap_or(endpoint))
}
