//! The comparison by scenario, persona and tag.

use std::collections::BTreeMap;

use super::{
    cells::{Cells, Pair},
    found::{CaseFound, GroupFound, GroupKind, Outcome},
    rate::{self, Stratum},
};

/// Groups of one cell only repeat the case, so kinds that have nothing else are left out.
pub(super) fn of(cells: &Cells<'_>, cases: &[CaseFound]) -> Vec<GroupFound> {
    let mut groups: BTreeMap<(GroupKind, &str), Vec<(Stratum, &CaseFound)>> = BTreeMap::new();
    for (pair, case) in cells.pairs.iter().zip(cases) {
        let Some(stratum) = pair.stratum() else { continue };
        for (kind, name) in names(pair) {
            groups.entry((kind, name)).or_default().push((stratum, case));
        }
    }
    let tells_more = |kind: GroupKind| groups.iter().any(|((other, _), cells)| *other == kind && cells.len() > 1);
    let kinds: Vec<GroupKind> = [GroupKind::Scenario, GroupKind::Persona, GroupKind::Tag]
        .into_iter()
        .filter(|kind| tells_more(*kind))
        .collect();
    let shown = groups.iter().filter(|((kind, _), _)| kinds.contains(kind));
    shown.map(|((kind, name), cells)| group(*kind, name, cells)).collect()
}

fn names<'a>(pair: &'a Pair<'_>) -> Vec<(GroupKind, &'a str)> {
    let Some((_, new)) = pair.both() else { return Vec::new() };
    let persona = new.cell.persona.as_deref().map(|name| (GroupKind::Persona, name));
    let tags = new.tags.iter().map(|tag| (GroupKind::Tag, tag.as_str()));
    std::iter::once((GroupKind::Scenario, new.title.as_str())).chain(persona).chain(tags).collect()
}

fn group(kind: GroupKind, name: &str, cells: &[(Stratum, &CaseFound)]) -> GroupFound {
    let strata: Vec<Stratum> = cells.iter().map(|(stratum, _)| *stratum).collect();
    let found = rate::difference(&strata);
    let sum = |of: fn(&Stratum) -> u64| strata.iter().map(of).sum();
    let is = |case: &CaseFound, wanted: Outcome| case.outcome == wanted && !case.quarantined;
    let count = |wanted: Outcome| cells.iter().filter(|(_, case)| is(case, wanted)).count() as u64;
    GroupFound {
        kind,
        name: name.to_owned(),
        cells: cells.len() as u64,
        worse_cases: count(Outcome::Worse),
        better_cases: count(Outcome::Better),
        base_pass: sum(|stratum| stratum.base_pass),
        base_trials: sum(|stratum| stratum.base_trials),
        new_pass: sum(|stratum| stratum.new_pass),
        new_trials: sum(|stratum| stratum.new_trials),
        difference: found.map(|found| found.difference),
        low: found.map(|found| found.low),
        high: found.map(|found| found.high),
    }
}
