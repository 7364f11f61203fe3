//! The judges of blocking criteria: two names in a panel are two judges only if two models answer.

use std::collections::BTreeSet;

use scenario::{Check, Diagnostic, Reading, Rule};
use yaml::{Findings, Spot};

use crate::{references::place, settings::Settings};

/// One error for each rubric with a blocking criterion whose judges are one model by these settings. Names that the
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
                "the blocking criterion `{criterion}` needs two or more judges, and {judge} answers for every name of `panel`"
            );
            findings.error(spot, message);
            findings.help("name endpoints with different models in `models` of gabfest.yaml");
            faults.extend(findings.into_sorted());
        }
    }
    faults
}

/// A blocking criterion, and the one model that all judges of its panel are.
fn lone_judge<'a>(check: &'a Check, settings: &Settings) -> Option<(&'a str, String)> {
    let Rule::Rubric(rubric) = &check.rule else { return None };
    let criterion = rubric.criteria.iter().find(|criterion| criterion.blocking)?;
    let judges = check.judging.panel.iter().map(|name| Some(answering(settings.models.get(name)?, settings)));
    let judges = judges.collect::<Option<BTreeSet<(String, String)>>>()?;
    let (place, model) = judges.first().filter(|_| judges.len() == 1)?;
    let judge = if model.is_empty() { place.clone() } else { format!("{model} of {place}") };
    Some((&criterion.name, judge))
}

/// The address and the model behind an endpoint. Each endpoint of the built-in mock is a judge of its own.
fn answering(endpoint: &str, settings: &Settings) -> (String, String) {
    let named = || (endpoint.to_owned(), String::new());
    settings.endpoints.get(endpoint).map_or_else(named, |of| match &of.url {
        Some(url) => (url.trim_end_matches('/').to_owned(), of.model.clone().unwrap_or_default()),
        None if of.kind == llm::endpoint::Kind::Mock => named(),
        None => (format!("{:?}", of.kind).to_lowercase(), of.model.clone().unwrap_or_default()),
    })
}
