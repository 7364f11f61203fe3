//! Narrowing a plan by tags and cells, and refusing one that is too large.

mod cells;
mod cover;
mod fault;
mod load;

use std::collections::BTreeSet;

use yaml::{Diagnostic, suggest};

use self::fault::fault;
pub use self::load::{Misfit, misfits, unknown_in_group};
use super::{
    Group, Plan,
    choices::{Choices, MAX_CASES, MAX_TRIALS, MOST_LISTED},
};
use crate::reading::Reading;

/// Applies the choices. Sizes are multiplied before anything is listed, so a plan of 10^12 trials is refused at once.
pub(super) fn narrow(plan: &mut Plan, choices: &Choices) -> Result<(), Diagnostic> {
    by_tags(plan, &choices.tags)?;
    by_excluded_tags(plan, &choices.exclude_tags)?;
    match choices.cover {
        Some(strength) => cover::narrow(plan, choices, strength)?,
        None => {
            // Cells are listed to count those that a choice excludes, but only up to a limit.
            check_cells(plan, if cells::chooses(plan, choices) { MOST_LISTED } else { MAX_CASES })?;
            cells::narrow(plan, choices)?;
        }
    }
    check_cases(plan)?;
    match &choices.load {
        Some(load) => load::choose(plan, load, choices.max_trials),
        None => check_trials(plan, choices.max_trials),
    }
}

/// Findings about tags that no scenario has, if some scenario has another chosen tag.
#[must_use]
pub fn unknown_tags(reading: &Reading, tags: &[String]) -> Vec<Diagnostic> {
    let scenarios = reading.scenarios.iter().flat_map(|file| &file.script.scenario.tags);
    let matrices = reading.matrices.iter().flat_map(|file| &file.matrix.tags);
    let known: BTreeSet<&str> = scenarios.chain(matrices).map(String::as_str).collect();
    let unknown = tags.iter().filter(|tag| !known.contains(tag.as_str()));
    unknown
        .map(|tag| {
            Diagnostic::warning(String::new(), 0, 0, format!("no scenario has the tag `{tag}`"))
                .with_help(suggest::known_names(tag, known.iter().copied()))
        })
        .collect()
}

fn by_tags(plan: &mut Plan, tags: &[String]) -> Result<(), Diagnostic> {
    if tags.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<String> = plan.groups.iter().flat_map(|group| group.tags.iter().cloned()).collect();
    plan.groups.retain(|group| group.tags.iter().any(|tag| tags.contains(tag)));
    if !plan.groups.is_empty() {
        return Ok(());
    }
    let fault = fault(format!("no scenario has the tag `{}`", tags.join("` or `")));
    Err(match tags.first() {
        Some(_) if known.is_empty() => fault.with_help("write tags in a scenario as `gabfest: {tags: [...]}`"),
        Some(first) => fault.with_help(suggest::known_names(first, known.iter().map(String::as_str))),
        None => fault,
    })
}

fn by_excluded_tags(plan: &mut Plan, tags: &[String]) -> Result<(), Diagnostic> {
    plan.groups.retain(|group| !group.tags.iter().any(|tag| tags.contains(tag)));
    if plan.groups.is_empty() {
        return Err(fault(format!("every scenario has the tag `{}`, which is excluded", tags.join("` or `"))));
    }
    Ok(())
}

fn check_cells(plan: &Plan, limit: u64) -> Result<(), Diagnostic> {
    let total = plan.groups.iter().fold(0_u128, |sum, group| sum.saturating_add(cells(plan, group)));
    if total <= u128::from(limit) {
        return Ok(());
    }
    Err(too_large(plan, |group| cells(plan, group), false, format!("{total} cases"), limit))
}

fn check_cases(plan: &Plan) -> Result<(), Diagnostic> {
    let total = plan.case_count();
    if total <= MAX_CASES {
        return Ok(());
    }
    Err(too_large(plan, |group| u128::from(plan.cases_of(group)), false, format!("{total} cases"), MAX_CASES))
}

fn check_trials(plan: &Plan, limit: u64) -> Result<(), Diagnostic> {
    let trials = |group: &Group| {
        let cases = group.selection.as_ref().map_or_else(|| cells(plan, group), |cells| cells.len() as u128);
        cases.saturating_mul(u128::from(group.repeats))
    };
    let total = plan.groups.iter().fold(0_u128, |sum, group| sum.saturating_add(trials(group)));
    if total <= u128::from(limit) {
        return Ok(());
    }
    Err(too_large(plan, trials, true, format!("{total} trials"), limit))
}

/// Shows how the largest group multiplies out, and what makes it smaller.
fn too_large(plan: &Plan, size: impl Fn(&Group) -> u128, with_repeats: bool, total: String, limit: u64) -> Diagnostic {
    let Some(group) = plan.groups.iter().max_by_key(|group| size(group)) else { return fault(total) };
    let repeats = if with_repeats { group.repeats as usize } else { 1 };
    let mut factors: Vec<String> =
        group.axes.iter().take(16).map(|axis| format!("{} values", axis.values.len())).collect();
    if group.axes.len() > 16 {
        factors.push(format!("{} more axes", group.axes.len() - 16));
    }
    if !group.extra.is_empty() {
        factors.push(format!("{} added combinations", group.extra.len()));
    }
    let rows = group.rows.as_ref().map_or(1, |rows| rows.len());
    let others =
        [(rows, "rows"), (group.personas.len(), "personas"), (plan.agents.len(), "agents"), (repeats, "repeats")];
    factors.extend(others.iter().filter(|(number, _)| *number > 1).map(|(number, what)| format!("{number} {what}")));
    let sum = match factors[..] {
        [] => String::new(),
        _ => format!("; `{}` alone has {} = {}", group.key, factors.join(" x "), size(group)),
    };
    let mut ways = Vec::new();
    if group.rows.is_some() {
        ways.push("take fewer rows with `sample` or `where` in the scenario, or with `--where`");
    } else if !group.axes.is_empty() || !group.extra.is_empty() {
        ways.push("shorten an axis, or split the matrix into several files");
    }
    if repeats > 1 {
        ways.push("lower `--repeats`");
    }
    if with_repeats && limit < MAX_TRIALS {
        ways.push("raise `--max-trials`");
    }
    if ways.is_empty() {
        ways.push("choose fewer scenarios with `--filter` or `--tag`");
    }
    fault(format!("the plan has {total}, at most {limit} are allowed{sum}")).with_help(ways.join(", or "))
}

fn cells(plan: &Plan, group: &Group) -> u128 {
    let crossed = group.axes.iter().fold(1_u128, |product, axis| product.saturating_mul(axis.values.len() as u128));
    let combinations = crossed.saturating_add(group.extra.len() as u128).saturating_mul(u128::from(group.row_count()));
    combinations.saturating_mul(group.personas.len() as u128).saturating_mul(plan.agents.len() as u128)
}
