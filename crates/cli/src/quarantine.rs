//! The quarantine of `gabfest.yaml`: the entries that apply, and entries that name no case.

use std::path::PathBuf;

use scenario::{Diagnostic, Plan, Quarantine, Reading};
use yaml::{Findings, suggest};

use crate::{args::Selection, clock, settings::Read};

/// The entries that apply today.
pub(crate) fn today(read: &Read) -> Vec<Quarantine> {
    let today = clock::today();
    read.settings.quarantine.iter().filter(|entry| !entry.is_expired(&today)).cloned().collect()
}

/// Whether a plan has all cases, so that an entry without a case is a mistake: it plays whole folders.
pub(crate) fn plays_all(selection: &Selection) -> bool {
    let Selection { filter, tags, exclude_tags, conditions, exclude, personas, .. } = selection;
    let narrowed = [tags, exclude_tags, conditions, exclude, personas].into_iter().any(|list| !list.is_empty());
    filter.is_none() && !narrowed && are_folders(&selection.paths)
}

pub(crate) fn are_folders(paths: &[PathBuf]) -> bool {
    paths.iter().all(|path| path.is_dir())
}

/// An error for each entry that means no case of the plan. Personas that were read may be played another time.
pub(crate) fn unknown(read: &Read, plan: &Plan, reading: &Reading) -> Vec<Diagnostic> {
    let entries = &read.settings.quarantine;
    let personas: Vec<&str> = reading.personas.names().collect();
    let of_any_persona: Vec<Quarantine> = entries
        .iter()
        .map(|entry| {
            let parts = entry.case.split(" / ").filter(|part| !personas.contains(part));
            Quarantine { case: parts.collect::<Vec<_>>().join(" / "), ..entry.clone() }
        })
        .collect();
    let unknown = plan.unknown_in(&of_any_persona);
    let Some(path) = read.file.as_ref().filter(|_| !unknown.is_empty()) else { return Vec::new() };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Ok(document) = yaml::open(&text, &shown) else { return Vec::new() };
    let items = document.root().items_of("quarantine");
    let titles = plan.titles();
    let mut findings = Findings::new(&shown);
    for index in unknown {
        let name = &entries[index].case;
        let spot = items.get(index).map_or_else(|| document.root().spot(), |item| item.spot_of("case"));
        findings.error(spot, format!("quarantine[{index}].case names {name:?}, and there is no such case"));
        let scenario = name.split(" / ").next().unwrap_or_default();
        let mut help = suggest::known_names(scenario, titles.iter().map(String::as_str));
        if titles.iter().any(|title| title == scenario) {
            help = format!("the scenario {scenario:?} has no such case; `gabfest run … --dry-run` lists the cases");
        }
        findings.help(help);
    }
    findings.into_sorted()
}
