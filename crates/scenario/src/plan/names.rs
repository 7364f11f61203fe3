//! The names with which `--where`, `--exclude` and the `exclude` of a matrix select cases.

use std::collections::BTreeSet;

use serde_json::Value;
use yaml::suggest;

use super::{Axis, Case, Group, Plan, ROW};
use crate::rows::{Row, Rows, text_of};

/// Values that a hint lists.
const MOST_LISTED: usize = 20;

const ALWAYS: [&str; 3] = ["persona", "agent", "scenario"];

/// The meaning of a name in one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// Index into the axes.
    Axis(usize),
    /// Index into the columns of the data set.
    Column(usize),
    Row,
    Persona,
    Agent,
    Scenario,
}

/// What decides whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// Index into the axes.
    Axis(usize),
    Row,
    Persona,
    Agent,
    Scenario,
}

/// Several axes end in the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ambiguous(pub(super) String);

/// Values that a case must have, resolved for one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    name: Name,
    /// One of these.
    values: Vec<String>,
}

impl Condition {
    /// `None`: the group has nothing with this name.
    pub(super) fn of(name: &str, values: Vec<String>, group: &Group) -> Result<Option<Self>, Ambiguous> {
        Ok(find(name, &group.axes, group.rows.as_ref())?.map(|name| Self { name, values }))
    }

    pub(super) fn needs_row(&self) -> bool {
        matches!(self.name, Name::Column(_))
    }

    pub(super) fn about(&self) -> About {
        match self.name {
            Name::Axis(index) => About::Axis(index),
            Name::Column(_) | Name::Row => About::Row,
            Name::Persona => About::Persona,
            Name::Agent => About::Agent,
            Name::Scenario => About::Scenario,
        }
    }

    /// Whether a case has one of the values. The row is only needed for columns.
    pub(super) fn holds(&self, case: &Case, row: Option<&Row>) -> bool {
        let has = |text: &str| self.values.iter().any(|value| value == text);
        let has_value = |value: &Value| has(&text_of(value));
        match self.name {
            Name::Axis(index) => case.parameters.get(index).is_some_and(|(_, value)| has_value(value)),
            Name::Column(index) => row.and_then(|row| row.values.get(index)).is_some_and(has_value),
            Name::Row => case.row_id().is_some_and(has),
            Name::Persona => case.persona.as_deref().is_some_and(has),
            Name::Agent => has(&case.agent),
            Name::Scenario => has(&case.scenario),
        }
    }
}

/// The axis with this name: its whole path, or the last part of the path.
///
/// # Errors
/// Several axes end in the name.
pub(crate) fn axis(name: &str, axes: &[Axis]) -> Result<Option<usize>, String> {
    if let Some(index) = axes.iter().position(|axis| axis.parameter == name) {
        return Ok(Some(index));
    }
    let mut short = (0..axes.len()).filter(|index| last_part(&axes[*index].parameter) == name);
    match (short.next(), short.next()) {
        (Some(one), Some(two)) => Err(format!(
            "`{name}` is the last part of `{}` and of `{}`: write the whole path",
            axes[one].parameter, axes[two].parameter
        )),
        (one, _) => Ok(one),
    }
}

/// That a group has something of each name. The error is a message and its help.
pub(super) fn check<'a>(names: impl Iterator<Item = &'a str>, group: &Group) -> Result<(), (String, Option<String>)> {
    for name in names {
        match find(name, &group.axes, group.rows.as_ref()) {
            Ok(Some(_)) => {}
            Ok(None) => {
                return Err((format!("there is no axis `{name}`"), Some(suggest::known_names(name, of_group(group)))));
            }
            Err(Ambiguous(message)) => return Err((message, None)),
        }
    }
    Ok(())
}

/// The values of an added combination, in the order of the axes. The error is a message and its help.
pub(super) fn whole(
    written: &[(String, Value)],
    axes: &[Axis],
    set: &[(String, Value)],
) -> Result<Vec<Value>, (String, Option<String>)> {
    let mut values: Vec<Option<Value>> = axes
        .iter()
        .map(|axis| set.iter().find(|(path, _)| *path == axis.parameter).map(|(_, value)| value.clone()))
        .collect();
    for (name, value) in written {
        let index = axis(name, axes).map_err(|message| (message, None))?;
        let Some(index) = index else {
            let known: Vec<&str> = axes.iter().map(|axis| last_part(&axis.parameter)).collect();
            return Err((format!("there is no axis `{name}`"), Some(suggest::known_names(name, known))));
        };
        values[index].get_or_insert_with(|| value.clone());
    }
    let missing = values.iter().zip(axes).find(|(value, _)| value.is_none()).map(|(_, axis)| &axis.parameter);
    if let Some(parameter) = missing {
        let help = "an added combination has a value for each axis";
        return Err((format!("it has no value for `{}`", last_part(parameter)), Some(help.to_owned())));
    }
    Ok(values.into_iter().flatten().collect())
}

/// A hint for a name that no group has.
pub(super) fn known(name: &str, plan: &Plan) -> String {
    let names: BTreeSet<&str> = plan.groups.iter().flat_map(of_group).collect();
    suggest::known_names(name, names)
}

/// That a case of some group may have one of the values; of columns and rows, any. The error is a hint.
pub(super) fn check_values(name: &str, values: &[&str], plan: &Plan) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for group in &plan.groups {
        match find(name, &group.axes, group.rows.as_ref()) {
            Ok(Some(Name::Axis(index))) => {
                let added = group.extra.iter().filter_map(|values| values.get(index));
                known.extend(group.axes[index].values.iter().chain(added).map(text_of));
            }
            Ok(Some(Name::Persona)) => known.extend(group.personas.iter().flatten().cloned()),
            Ok(Some(Name::Agent)) => known.extend(plan.agents.iter().cloned()),
            Ok(Some(Name::Scenario)) => _ = known.insert(group.name.clone()),
            Ok(Some(Name::Column(_) | Name::Row)) | Err(Ambiguous(_)) => return Ok(()),
            Ok(None) => {}
        }
    }
    let Some(first) = values.first().filter(|_| !values.iter().any(|value| known.contains(*value))) else {
        return Ok(());
    };
    Err(suggest::known_names(first, known.iter().take(MOST_LISTED).map(String::as_str)))
}

fn of_group(group: &Group) -> BTreeSet<&str> {
    let mut names: BTreeSet<&str> = ALWAYS.into();
    names.extend(group.axes.iter().map(|axis| last_part(&axis.parameter)));
    if let Some(rows) = &group.rows {
        names.insert(ROW);
        names.extend(rows.columns().iter().map(String::as_str));
    }
    names
}

fn find(name: &str, axes: &[Axis], rows: Option<&Rows>) -> Result<Option<Name>, Ambiguous> {
    let column = rows.and_then(|rows| rows.columns().iter().position(|column| column == name));
    if let Some(index) = column.filter(|_| !axes.iter().any(|axis| axis.parameter == name)) {
        return Ok(Some(Name::Column(index)));
    }
    if let Some(index) = axis(name, axes).map_err(Ambiguous)? {
        return Ok(Some(Name::Axis(index)));
    }
    Ok(match name {
        ROW => rows.map(|_| Name::Row),
        "persona" => Some(Name::Persona),
        "agent" => Some(Name::Agent),
        "scenario" => Some(Name::Scenario),
        _ => None,
    })
}

fn last_part(parameter: &str) -> &str {
    parameter.rsplit('.').next().unwrap_or(parameter)
}
