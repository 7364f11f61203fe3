//! The results about a judge as a table for a terminal.

use std::{collections::BTreeMap, fmt::Write as _};

use record::{count::plural, summary::Rate};

use super::agreement::{Agreement, Group};
use crate::{calibration::LEAST_OF_CRITERION, diagnostics::visible};

/// Disagreements that are listed.
const LISTED: usize = 10;

pub(super) fn of(found: &Agreement) -> String {
    let models: Vec<String> = found.models.iter().map(|model| visible(model)).collect();
    let mut text = format!("{}: {} of {} items got a verdict\n", models.join(", "), found.answered, found.items);
    let mut line = |name: &str, rest: &str| writeln!(text, "  {name:<24}{rest}").expect("a String takes any text");
    for (name, rate) in [
        ("kappa", &found.kappa),
        ("accuracy", &found.accuracy),
        ("sensitivity", &found.sensitivity),
        ("specificity", &found.specificity),
        ("verdicts that flip", &found.seed_flips),
        ("attacks that succeed", &found.attacks),
    ] {
        if rate.n > 0 {
            line(name, &with_interval(rate));
        }
    }
    criteria(&mut text, &found.criteria);
    groups(&mut text, "by domain", &found.domains);
    groups(&mut text, "by language", &found.languages);
    let wrong: Vec<_> = found.verdicts.iter().filter(|judged| judged.label != judged.verdict).collect();
    if !wrong.is_empty() {
        let _ = writeln!(text, "disagreements");
    }
    for judged in wrong.iter().take(LISTED) {
        let (id, reason) = (visible(&judged.id), visible(&judged.reason));
        let (label, verdict) = (judged.label.name(), judged.verdict.name());
        let _ = writeln!(text, "  {id}: labelled {label}, judged {verdict}: {reason}");
    }
    if wrong.len() > LISTED {
        let _ = writeln!(text, "  … and {} more; --json lists all", wrong.len() - LISTED);
    }
    text
}

/// Those with enough labels, the worst first.
fn criteria(text: &mut String, criteria: &BTreeMap<String, Group>) {
    if criteria.len() < 2 {
        return;
    }
    let mut rows: Vec<(&String, &Group)> = criteria.iter().filter(|(_, of)| of.items >= LEAST_OF_CRITERION).collect();
    let few = criteria.len() - rows.len();
    let kappa = |group: &Group| group.kappa.estimate.unwrap_or(f64::INFINITY);
    rows.sort_by(|(_, a), (_, b)| kappa(a).total_cmp(&kappa(b)));
    let _ = writeln!(text, "by criterion");
    for (name, group) in rows {
        let _ = writeln!(text, "  {}: {} items", visible(name), group.items);
        for (figure, rate) in
            [("kappa", &group.kappa), ("sensitivity", &group.sensitivity), ("specificity", &group.specificity)]
        {
            let _ = writeln!(text, "    {figure:<22}{}", with_interval(rate));
        }
    }
    if few > 0 {
        let criteria = plural(few as u64, "criterion has", "criteria have");
        let _ = writeln!(text, "  {criteria} fewer than {LEAST_OF_CRITERION} items: the kappa of all labels decides");
    }
}

fn groups(text: &mut String, title: &str, groups: &BTreeMap<String, Group>) {
    if groups.len() < 2 {
        return;
    }
    let _ = writeln!(text, "{title}");
    for (name, group) in groups {
        let kappa = group.kappa.estimate.map_or_else(|| "unknown".to_owned(), |kappa| format!("{kappa:.3}"));
        let accuracy = group.accuracy.estimate.unwrap_or_default();
        let _ = write!(text, "  {:<24}kappa {kappa}, accuracy {accuracy:.3}, {} items", visible(name), group.items);
        if let Some(attacks) = group.attacks.estimate {
            let _ = write!(text, ", {attacks:.3} of {} attacks succeed", group.attacks.n);
        }
        text.push('\n');
    }
}

fn with_interval(rate: &Rate) -> String {
    match rate.estimate {
        None => "unknown: every label and every verdict is the same".to_owned(),
        Some(estimate) => format!("{estimate:.3} ({:.3} to {:.3}, {})", rate.low, rate.high, rate.method),
    }
}
