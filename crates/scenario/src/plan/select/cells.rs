//! The cells that remain after `exclude`, `--filter`, `--where` and `--exclude`.

use std::collections::{BTreeMap, BTreeSet};

use yaml::Diagnostic;

use super::fault::fault;
use crate::{
    plan::{
        Case, Choices, Group, Plan,
        names::{self, Ambiguous, Condition},
    },
    rows::{Row, text_of},
};

/// Whether something chooses among the cells.
pub(super) fn chooses(plan: &Plan, choices: &Choices) -> bool {
    let by_user = filter_of(choices).is_some() || !choices.conditions.is_empty() || !choices.exclude.is_empty();
    by_user || plan.groups.iter().any(|group| !group.exclude.is_empty())
}

pub(super) fn narrow(plan: &mut Plan, choices: &Choices) -> Result<(), Diagnostic> {
    if !chooses(plan, choices) {
        return Ok(());
    }
    refuse_unknown(plan, choices)?;
    let mut chosen = Vec::with_capacity(plan.groups.len());
    for (index, group) in plan.groups.iter().enumerate() {
        chosen.push(Chooser::of(group, choices)?.cells(plan, index, group, 0));
    }
    let agents = plan.agents.len() as u64;
    for (group, Cells { kept, excluded }) in plan.groups.iter_mut().zip(chosen) {
        group.excluded = excluded;
        group.selection = Some(kept);
        keep_used_rows(group, agents);
    }
    plan.groups.retain(|group| group.selection.as_ref().is_none_or(|cells| !cells.is_empty()));
    if plan.groups.is_empty() { Err(nothing_left(choices)) } else { Ok(()) }
}

pub(super) fn filter_of(choices: &Choices) -> Option<&str> {
    choices.filter.as_deref().filter(|text| !text.is_empty())
}

pub(super) fn nothing_left(choices: &Choices) -> Diagnostic {
    let only_filter = choices.conditions.is_empty() && choices.exclude.is_empty();
    match filter_of(choices).filter(|_| only_filter) {
        Some(filter) => fault(format!("no case has `{filter}` in its scenario, combination, parameters or persona"))
            .with_help("`--dry-run` without the filter lists the cases"),
        None if only_filter => fault("`exclude` leaves out all combinations".to_owned()),
        None => fault("no case is left by `--where`, `--exclude` and `--filter` together".to_owned())
            .with_help("`--dry-run` without them lists the cases"),
    }
}

/// A name that no case has is a slip of the pen, and so are chosen values of which no case has any.
pub(super) fn refuse_unknown(plan: &Plan, choices: &Choices) -> Result<(), Diagnostic> {
    refuse_unknown_names(plan, choices)?;
    by_name(&choices.conditions).into_iter().try_for_each(|(name, values)| refuse_unknown_values(plan, name, &values))
}

pub(super) fn refuse_unknown_names(plan: &Plan, choices: &Choices) -> Result<(), Diagnostic> {
    let of_excluded = choices.exclude.iter().flatten();
    for (name, _) in choices.conditions.iter().chain(of_excluded) {
        let is_known = |group: &Group| !matches!(Condition::of(name, Vec::new(), group), Ok(None));
        if !plan.groups.iter().any(is_known) {
            return Err(fault(format!("no case has a `{name}`")).with_help(names::known(name, plan)));
        }
    }
    Ok(())
}

pub(super) fn refuse_unknown_values(plan: &Plan, name: &str, values: &[&str]) -> Result<(), Diagnostic> {
    let no_case = |hint| fault(format!("no case has the {name} `{}`", values.join("` or `"))).with_help(hint);
    names::check_values(name, values, plan).map_err(no_case)
}

/// The values of each name: a case needs one of them.
pub(super) fn by_name(conditions: &[(String, String)]) -> BTreeMap<&str, Vec<&str>> {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in conditions {
        by_name.entry(name).or_default().push(value);
    }
    by_name
}

/// Which cases of a group the choices leave, counted from its first.
pub(super) fn places(plan: &Plan, index: usize, group: &Group, choices: &Choices) -> Result<Vec<u64>, Diagnostic> {
    let kept = Chooser::of(group, choices)?.cells(plan, index, group, 0).kept;
    Ok(match &group.selection {
        Some(selection) => {
            kept.iter().filter_map(|cell| selection.binary_search(cell).ok()).map(|place| place as u64).collect()
        }
        None => kept,
    })
}

/// Decides about the cells of one group.
pub(super) struct Chooser {
    /// In small letters.
    filter: Option<String>,
    /// All must hold; `None`: the group lacks a name, so no case matches.
    conditions: Option<Vec<Condition>>,
    /// A case for which all of one list hold is excluded.
    exclude: Vec<Vec<Condition>>,
    /// The same for the matrix's `exclude`, which does not apply to added combinations.
    of_matrix: Vec<Vec<Condition>>,
}

pub(super) struct Cells {
    pub(super) kept: Vec<u64>,
    excluded: u64,
}

impl Chooser {
    pub(super) fn of(group: &Group, choices: &Choices) -> Result<Self, Diagnostic> {
        let condition = |name: &str, values: Vec<String>| {
            Condition::of(name, values, group).map_err(|Ambiguous(message)| fault(message))
        };
        let owned = |values: Vec<&str>| values.into_iter().map(str::to_owned).collect();
        let by_name = by_name(&choices.conditions).into_iter();
        let conditions: Option<Vec<Condition>> =
            by_name.map(|(name, values)| condition(name, owned(values))).collect::<Result<_, _>>()?;
        let (mut exclude, mut of_matrix) = (Vec::new(), Vec::new());
        for cell in &choices.exclude {
            let all: Result<Option<Vec<Condition>>, Diagnostic> =
                cell.iter().map(|(name, value)| condition(name, vec![value.clone()])).collect();
            exclude.extend(all?);
        }
        for cell in &group.exclude {
            let all: Result<Option<Vec<Condition>>, Diagnostic> =
                cell.iter().map(|(name, value)| condition(name, vec![text_of(value)])).collect();
            of_matrix.extend(all?);
        }
        Ok(Self { filter: filter_of(choices).map(str::to_lowercase), conditions, exclude, of_matrix })
    }

    /// Those of the cells from `first` on.
    pub(super) fn cells(&self, plan: &Plan, index: usize, group: &Group, first: u64) -> Cells {
        let mut cells = Cells { kept: Vec::new(), excluded: 0 };
        let Some(conditions) = &self.conditions else { return cells };
        let of_lists = self.exclude.iter().chain(&self.of_matrix).flatten();
        let needs_row = conditions.iter().chain(of_lists).any(Condition::needs_row);
        let per_combination = group.row_count() * group.personas.len() as u64 * plan.agents.len() as u64;
        let crossed = group.crossed().saturating_mul(per_combination);
        for cell in first..plan.cells_of(group) {
            let Some(case) = plan.cell(0, index, cell) else { continue };
            let row = if needs_row { row_of(group, &case) } else { None };
            let all_hold = |list: &Vec<Condition>| list.iter().all(|one| one.holds(&case, row.as_ref()));
            if cell < crossed && self.of_matrix.iter().any(all_hold) {
                cells.excluded += 1;
                continue;
            }
            let kept = all_hold(conditions)
                && !self.exclude.iter().any(all_hold)
                && self.filter.as_ref().is_none_or(|wanted| has_text(&case, group, wanted));
            if kept {
                cells.kept.push(cell);
            }
        }
        cells
    }

    /// Lists of conditions of which none may hold whole, and conditions that must all hold; `None`: no case matches.
    pub(super) fn lists(&self) -> Option<(impl Iterator<Item = &Vec<Condition>>, &[Condition])> {
        Some((self.exclude.iter().chain(&self.of_matrix), self.conditions.as_deref()?))
    }
}

pub(super) fn row_of(group: &Group, case: &Case) -> Option<Row> {
    group.rows.as_ref()?.get(usize::try_from(case.row?).ok()?)
}

fn has_text(case: &Case, group: &Group, wanted: &str) -> bool {
    let parameters: serde_json::Map<String, serde_json::Value> = case.parameters.iter().cloned().collect();
    let parameters = serde_json::Value::Object(parameters).to_string();
    let texts = [group.key.as_str(), &case.scenario, &parameters];
    let named = [case.combination.as_deref(), case.persona.as_deref()];
    texts.into_iter().chain(named.into_iter().flatten()).any(|text| text.to_lowercase().contains(wanted))
}

/// Drops rows that no selected cell plays, and renumbers the cells.
pub(super) fn keep_used_rows(group: &mut Group, agents: u64) {
    let (Some(rows), Some(selection)) = (&group.rows, &mut group.selection) else { return };
    let (all, per_row) = (rows.len() as u64, group.personas.len() as u64 * agents);
    let used: BTreeSet<u64> = selection.iter().map(|cell| cell / per_row % all).collect();
    if used.len() as u64 == all {
        return;
    }
    let new: BTreeMap<u64, u64> = used.iter().copied().zip(0..).collect();
    for cell in selection.iter_mut() {
        let (row, combination) = (*cell / per_row % all, *cell / per_row / all);
        *cell = (combination * used.len() as u64 + new[&row]) * per_row + *cell % per_row;
    }
    let indexes: Vec<usize> = used.iter().filter_map(|row| usize::try_from(*row).ok()).collect();
    group.rows = Some(rows.only(&indexes));
}
