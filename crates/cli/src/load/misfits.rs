//! Paces of `gabfest.yaml` that name tags, scenarios or columns that the scenarios do not have.

use scenario::{
    Diagnostic, Plan,
    load::Choice,
    plan::{Misfit, unknown_in_group},
};
use yaml::{Part, Spot};

use super::resolve;
use crate::settings::Read;

/// An error for each fault of a pace, at its place in the settings; empty without a file. `plan` has no load.
pub(crate) fn of_pace(name: &str, read: &Read, plan: &Plan) -> Vec<Diagnostic> {
    placed(name, read, |choice| scenario::plan::misfits(plan, choice))
}

/// The same for names alone.
pub(crate) fn unknown_names(name: &str, read: &Read, plan: &Plan) -> Vec<Diagnostic> {
    placed(name, read, |choice| choice.groups.iter().flat_map(|group| unknown_in_group(plan, group)).collect())
}

fn placed(name: &str, read: &Read, misfits: impl Fn(&Choice) -> Vec<Misfit>) -> Vec<Diagnostic> {
    let Some((pace, file)) = read.settings.load.get(name).zip(read.file.as_ref()) else { return Vec::new() };
    let Ok(choice) = resolve::choice(name, pace, &read.folder) else { return Vec::new() };
    let misfits = misfits(&choice);
    if misfits.is_empty() {
        return Vec::new();
    }
    let path = file.display().to_string();
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let document = yaml::open(&text, &path).ok();
    let placed = |misfit: Misfit| {
        let spot = document.as_ref().map_or(Spot::default(), |document| spot(&document.root(), name, &misfit));
        Diagnostic { path: path.clone(), line: spot.line, column: spot.column, ..misfit.finding }
    };
    misfits.into_iter().map(placed).collect()
}

/// The place of a misfit's key. A key that its group does not have is written beside `groups`.
fn spot(root: &Part<'_>, pace: &str, misfit: &Misfit) -> Spot {
    let keys = misfit.keys.iter().map(String::as_str);
    let of_group: Vec<&str> = ["load", pace, "groups", &misfit.group].into_iter().chain(keys.clone()).collect();
    let of_all: Vec<&str> = ["load", pace].into_iter().chain(keys).collect();
    let (in_group, depth) = deepest(root, &of_group);
    if depth == of_group.len() { in_group } else { deepest(root, &of_all).0 }
}

/// The place of the last key of a path that is written, and how many are.
fn deepest(root: &Part<'_>, path: &[&str]) -> (Spot, usize) {
    let (mut part, mut spot) = (root.clone(), root.spot());
    for (depth, key) in path.iter().enumerate() {
        let at = part.key_spot(key);
        let Some(next) = part.get(key) else { return (spot, depth) };
        (part, spot) = (next, at);
    }
    (spot, path.len())
}
