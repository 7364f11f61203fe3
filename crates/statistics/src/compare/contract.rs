//! What differs between two runs besides the agent, and which cases can be compared nevertheless.

use std::collections::BTreeMap;

use super::{
    cells::Cells,
    found::{Contract, ContractDifference},
    played::Played,
};

pub(super) fn of(base: &Played, new: &Played, cells: &Cells<'_>) -> Contract {
    let count = |of: fn(&super::cells::Pair<'_>) -> bool| cells.pairs.iter().filter(|pair| of(pair)).count() as u64;
    Contract {
        compared: count(|pair| pair.both().is_some()),
        only_base: count(|pair| pair.new.is_none()),
        only_new: count(|pair| pair.base.is_none()),
        paired: count(|pair| pair.paired),
        changed_cases: count(|pair| !pair.differs.is_empty()),
        has_digests: base.contents.is_some() && new.contents.is_some(),
        differences: differences(base, new, cells),
    }
}

fn differences(base: &Played, new: &Played, cells: &Cells<'_>) -> Vec<ContractDifference> {
    let mut all = Vec::new();
    let mut add = |what: &str, name: &str, base: Option<String>, new: Option<String>| {
        if base != new {
            all.push(ContractDifference { what: what.to_owned(), name: name.to_owned(), base, new });
        }
    };
    let both = |cell: &&super::cells::Pair<'_>| cell.both().is_some();
    if let (Some(of_base), Some(of_new)) = (&base.contents, &new.contents) {
        let mut scenarios: Vec<&str> =
            cells.pairs.iter().filter(both).filter_map(|pair| Some(pair.new?.cell.scenario.as_str())).collect();
        scenarios.sort_unstable();
        scenarios.dedup();
        let digest = |contents: &record::summary::Contents, name: &str| {
            contents.scenarios.get(name).map(|one| one.digest.clone())
        };
        for name in scenarios {
            add("scenario", name, digest(of_base, name), digest(of_new, name));
        }
        let mut personas: Vec<&str> =
            cells.pairs.iter().filter(both).filter_map(|pair| pair.new?.cell.persona.as_deref()).collect();
        personas.sort_unstable();
        personas.dedup();
        for name in personas {
            add("persona", name, of_base.personas.get(name).cloned(), of_new.personas.get(name).cloned());
        }
        for name in union(&of_base.endpoints, &of_new.endpoints) {
            add("endpoint", name, of_base.endpoints.get(name).cloned(), of_new.endpoints.get(name).cloned());
        }
    }
    // The agent's model may differ: it is what is tested.
    for role in union(&base.models, &new.models).into_iter().filter(|role| *role != "agent") {
        let models =
            |of: &Played| of.models.get(role).map(|models| models.iter().cloned().collect::<Vec<_>>().join(", "));
        add("model", role, models(base), models(new));
    }
    let version = |of: &Played| Some(of.run.gabfest_version.clone());
    add("gabfest", "version", version(base), version(new));
    all
}

fn union<'a, Value>(base: &'a BTreeMap<String, Value>, new: &'a BTreeMap<String, Value>) -> Vec<&'a str> {
    let mut names: Vec<&str> = base.keys().chain(new.keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}
