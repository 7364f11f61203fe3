//! `requirements`: the examined requirements, under their names in either scheme.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use scenario::{
    Battery,
    battery::{Injection, Requirement, planning},
};
use yaml::{Findings, Part, suggest};

yaml::bounded! {
    /// A probability.
    pub(crate) Probability: f64, "number", 0.0 to Some(1.0);
    /// A number of things, at least one.
    pub(crate) Many: u32, "integer", 1.0 to Some(1_000.0);
}

/// The most data sets of one conversation, and the longest wait for a question, unless written.
const MAX_SETS: u32 = 2;
const MAX_WAIT: u32 = 5;

/// How one requirement is examined.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Requirement")]
#[serde(default)]
pub(crate) struct RequirementDocument {
    /// The probability that a free turn becomes its test; for requirements with their own turns.
    probability: Option<Probability>,
    /// The most data sets of one conversation; 2 unless written.
    max_sets: Option<Many>,
    /// The most turns until its question; 5 unless written; for ML-I1.
    max_wait: Option<Many>,
    /// The share of its answers that must pass; all unless written.
    required: Option<Probability>,
}

#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) injections: Vec<Injection>,
    pub(super) observed: Vec<Requirement>,
    pub(super) required: Vec<(Requirement, f64)>,
}

pub(super) fn read(part: Option<&Part<'_>>, findings: &mut Findings) -> Entries {
    let mut entries = Entries::default();
    let Some(part) = part else { return entries };
    if !part.value().is_object() {
        findings.error(part.spot(), "expected a mapping of requirements");
        return entries;
    }
    let mut seen: Vec<(Requirement, &str)> = Vec::new();
    for (name, entry) in part.entries() {
        let Some(requirement) = Requirement::of_name(name) else {
            findings.error(part.key_spot(name), format!("unknown requirement `{name}`"));
            findings.help(help_for(name));
            continue;
        };
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == requirement) {
            findings.error(part.key_spot(name), format!("`{name}` and `{other}` are the same requirement"));
            continue;
        }
        seen.push((requirement, name));
        if let Some(written) = entry_of(&entry, findings) {
            add(&mut entries, requirement, written, &entry, findings);
        }
    }
    // Random draws are divided in this order, whatever the order in the file.
    entries.injections.sort_by_key(|injection| injection.requirement);
    entries.observed.sort_unstable();
    entries
}

/// `true` and `false`, a probability, or a mapping.
fn entry_of(part: &Part<'_>, findings: &mut Findings) -> Option<RequirementDocument> {
    match part.value() {
        Value::Bool(true) => Some(RequirementDocument::default()),
        Value::Bool(false) => None,
        Value::Number(number) => {
            let probability = number.as_f64().filter(|number| (0.0..=1.0).contains(number));
            if probability.is_none() {
                findings.error(part.spot(), format!("expected a probability from 0 to 1, found {number}"));
            }
            Some(RequirementDocument { probability: Some(Probability(probability?)), ..Default::default() })
        }
        Value::Object(_) => part.decode::<RequirementDocument>(findings),
        _ => {
            findings.error(part.spot(), "expected true, false, a probability, or a mapping");
            None
        }
    }
}

fn add(
    entries: &mut Entries,
    requirement: Requirement,
    written: RequirementDocument,
    part: &Part<'_>,
    findings: &mut Findings,
) {
    if let Some(share) = written.required {
        entries.required.push((requirement, share.0));
    }
    let id = requirement.id();
    if requirement.data().is_none() {
        if written.probability.as_ref().is_some_and(|probability| probability.0 == 0.0) {
            return;
        }
        if written.probability.is_some() || written.max_sets.is_some() || written.max_wait.is_some() {
            findings.warning(part.spot(), format!("{id} examines every reply: only `required` applies to it"));
        }
        entries.observed.push(requirement);
        return;
    }
    if written.max_wait.is_some() && requirement != Requirement::LongMemory {
        findings.warning(part.spot_of("max_wait"), format!("`max_wait` does not apply to {id}"));
    }
    let Some(probability) = written.probability else {
        findings.error(part.spot(), format!("{id} needs a probability, because it takes turns of the conversation"));
        findings.help("write a number from 0 to 1, or `{probability: 0.2, …}`");
        return;
    };
    entries.injections.push(Injection {
        requirement,
        probability: probability.0,
        max_sets: written.max_sets.map_or(MAX_SETS, |many| many.0),
        max_wait: written.max_wait.map_or(MAX_WAIT, |many| many.0),
    });
}

/// Checks of a battery that involve several of its parts.
pub(super) fn check(battery: &Battery, root: &Part<'_>, findings: &mut Findings) {
    let spot = root.key_spot("requirements");
    if battery.requirements().is_empty() {
        findings.error(spot, "the battery examines nothing");
        findings.help("enable a requirement, such as `ML-P1: true`");
    }
    let sum: f64 = battery.injections.iter().map(|injection| injection.probability).sum();
    if sum > 1.0 + 1e-9 {
        findings.error(spot, format!("the probabilities add up to {sum:.4}, which is more than 1"));
        findings.help("the rest of the turns belongs to the tester");
    }
    if battery.saved.is_some() {
        return;
    }
    for injection in battery.injections.iter().filter(|injection| injection.probability > 0.0) {
        let (requirement, id) = (injection.requirement, injection.requirement.id());
        let least = planning::least_turns(requirement, injection.max_wait);
        if battery.length < least {
            let message = format!("{id} never has room: it needs a conversation of at least {least} turns");
            findings.warning(spot, message);
        }
        let available = battery.sets.iter().filter(|set| Some(set.kind) == requirement.data()).count();
        let kind = requirement.data().map_or("", |kind| kind.name());
        if available == 0 {
            findings.error(spot, format!("{id} needs a data set of kind {kind}"));
        } else if injection.max_sets as usize > available {
            let message =
                format!("`max_sets` of {id} is {}, and there are {available} {kind} sets", injection.max_sets);
            findings.warning(spot, message);
        }
    }
}

fn help_for(name: &str) -> String {
    if name.len() > 1 && Requirement::of_name(&format!("ML-{name}")).is_some() {
        return format!("the two schemes number requirements differently: write `ML-{name}` or `REQ_{name}`");
    }
    suggest::known_names(name, Requirement::ALL.iter().map(|requirement| requirement.id()))
}
