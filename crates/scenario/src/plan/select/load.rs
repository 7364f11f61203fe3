//! From the load that the user chose to the load of the plan: which cases each group plays, and how often.

use std::collections::{BTreeMap, BTreeSet};

use yaml::{Diagnostic, suggest};

use super::{cells, fault::fault};
use crate::{
    Load, Objective,
    load::{self, Choice, GroupChoice, LoadGroup, Search, Share},
    objective::Figure,
    plan::{Choices, Gates, Group, Plan},
};

/// Gives the plan its load, and takes out of it what no group of the load plays.
pub(super) fn choose(plan: &mut Plan, choice: &Choice, max_trials: u64) -> Result<(), Diagnostic> {
    let groups = choice.groups.iter().map(|group| of_group(plan, group)).collect::<Result<_, _>>()?;
    let Choice { warm_up_micros, drop_after_micros, search, .. } = *choice;
    let mut load = Load { groups, warm_up_micros, drop_after_micros, search };
    if let Some(search) = &search {
        refuse_unjudged(&plan.gates, search)?;
    }
    keep_played(plan, &mut load);
    load.consistent(|group| plan.groups.get(group).map(|group| plan.cases_of(group)))
        .map_err(|reason| fault(format!("the load cannot be played: {reason}")))?;
    plan.load = Some(load);
    match plan.planned() {
        Some(trials) if trials > max_trials => {
            Err(fault(format!("the load starts {trials} conversations, at most {max_trials} are allowed"))
                .with_help("lower its rate or shorten its duration"))
        }
        _ => Ok(()),
    }
}

/// A search needs something that each of its steps can meet or break.
fn refuse_unjudged(gates: &Gates, search: &Search) -> Result<(), Diagnostic> {
    let objectives: Vec<Objective> = gates.of_steps().collect();
    let help =
        "write an objective for each step, such as `p95(response) < 2s`, `error_rate < 1%` or `pass_rate >= 90%`";
    if objectives.is_empty() {
        let message = "a search needs an objective without a filter about `pass_rate`, `error_rate`, or a percentile of \
                       `response`, `service` or `ttft`";
        return Err(fault(message.to_owned()).with_help(help));
    }
    let all = |objective: &&Objective| objective.share_of_step().is_some_and(|share| share >= 1.0);
    if let Some(objective) = objectives.iter().find(all) {
        let message = format!("a search cannot show that `{objective}` holds: no number of conversations proves 100 %");
        return Err(fault(message).with_help("require less than all, such as `pass_rate >= 95%`"));
    }
    let played = search.conversations_of(search.from);
    let needs = |objective: &Objective| match objective.figure {
        Figure::Share(_) => objective.share_of_step().map_or(0, load::least_to_hold),
        // How many turns a conversation has is not known.
        _ => 0,
    };
    match objectives.iter().find(|objective| needs(objective) > played) {
        Some(objective) => {
            let least = needs(objective);
            let message = format!(
                "the first step of the search has about {played} conversations, and fewer than {least} cannot show that `{objective}` holds"
            );
            Err(fault(message).with_help(format!("write at least `conversations: {least}` below `search`")))
        }
        None => Ok(()),
    }
}

/// A choice of a load group that does not fit the scenarios of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub group: String,
    /// Where it is written below the pace, from the outside in, such as `weights` and `refund`; empty: in no single key.
    pub keys: Vec<String>,
    pub finding: Diagnostic,
}

/// What a load names that no scenario of the plan has, and its groups that play nothing. The plan has no load yet.
#[must_use]
pub fn misfits(plan: &Plan, choice: &Choice) -> Vec<Misfit> {
    let of_choice = |group: &GroupChoice| {
        let unknown = unknown(plan, group);
        if !unknown.is_empty() {
            return unknown;
        }
        let nothing = of_group(plan, group).err();
        nothing.map(|finding| misfit(group, &[], finding)).into_iter().collect()
    };
    let unjudged = choice.search.as_ref().and_then(|search| refuse_unjudged(&plan.gates, search).err());
    let of_search = unjudged.zip(choice.groups.first()).map(|(finding, group)| misfit(group, &["search"], finding));
    choice.groups.iter().flat_map(of_choice).chain(of_search).collect()
}

fn misfit(group: &GroupChoice, keys: &[&str], finding: Diagnostic) -> Misfit {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    Misfit { group: group.name.clone(), keys, finding }
}

fn in_group(group: &GroupChoice, message: &str) -> Diagnostic {
    fault(format!("load group `{}`: {message}", group.name))
}

fn of_where(group: &GroupChoice, name: &str, unknown: Diagnostic) -> Misfit {
    let finding = Diagnostic { help: unknown.help, ..in_group(group, &unknown.message) };
    misfit(group, &["where", name], finding)
}

/// What a group of a load names that no case of the plan has: names and, if they are known, values of `where`.
fn unknown(plan: &Plan, choice: &GroupChoice) -> Vec<Misfit> {
    let found = unknown_in_group(plan, choice);
    if !found.is_empty() {
        return found;
    }
    let values = cells::by_name(&choice.conditions).into_iter().filter_map(|(name, values)| {
        let unknown = cells::refuse_unknown_values(plan, name, &values).err()?;
        Some(of_where(choice, name, unknown))
    });
    values.collect()
}

/// What a group of a load names that no scenario of the plan has. The values of `where` are not looked at: agents and personas
/// are chosen for each run.
#[must_use]
pub fn unknown_in_group(plan: &Plan, choice: &GroupChoice) -> Vec<Misfit> {
    let mut found = Vec::new();
    for (name, value) in &choice.conditions {
        let conditions = Choices { conditions: vec![(name.clone(), value.clone())], ..Choices::default() };
        if let Err(unknown) = cells::refuse_unknown_names(plan, &conditions) {
            found.push(of_where(choice, name, unknown));
        }
    }
    found.dedup();
    let tags: BTreeSet<&str> = plan.groups.iter().flat_map(|group| &group.tags).map(String::as_str).collect();
    for (key, list) in [("tags", &choice.tags), ("exclude_tags", &choice.exclude_tags)] {
        for tag in list.iter().filter(|tag| !tags.contains(tag.as_str())) {
            let help = if tags.is_empty() {
                "write tags in a scenario as `gabfest: {tags: [...]}`".to_owned()
            } else {
                suggest::known_names(tag, tags.iter().copied())
            };
            let finding = in_group(choice, &format!("no scenario has the tag `{tag}`")).with_help(help);
            found.push(misfit(choice, &[key], finding));
        }
    }
    for (name, _) in &choice.weights {
        if !plan.groups.iter().any(|group| is_called(group, name)) {
            let titles = plan.groups.iter().map(|group| group.name.as_str());
            let known: BTreeSet<&str> = titles.chain(tags.iter().copied()).collect();
            let finding = in_group(choice, &format!("`weights` names `{name}`, and no scenario has this name or tag"));
            let finding = finding.with_help(suggest::known_names(name, known));
            found.push(misfit(choice, &["weights", name], finding));
        }
    }
    found
}

fn of_group(plan: &Plan, choice: &GroupChoice) -> Result<LoadGroup, Diagnostic> {
    if let Some(unknown) = unknown(plan, choice).into_iter().next() {
        return Err(unknown.finding);
    }
    let choices =
        Choices { filter: choice.filter.clone(), conditions: choice.conditions.clone(), ..Choices::default() };
    let narrows = choices.filter.is_some() || !choices.conditions.is_empty();
    let mut found = Vec::new();
    for (index, group) in plan.groups.iter().enumerate() {
        let is_tagged = |tags: &[String]| group.tags.iter().any(|tag| tags.contains(tag));
        if (!choice.tags.is_empty() && !is_tagged(&choice.tags)) || is_tagged(&choice.exclude_tags) {
            continue;
        }
        let cases = if narrows { Some(cells::places(plan, index, group, &choices)?) } else { None };
        let weight = weight_of(group, &choice.weights);
        if weight > 0.0 && !cases.as_ref().is_some_and(Vec::is_empty) {
            found.push((index, weight, cases));
        }
    }
    if found.is_empty() {
        let help = "its tags, `where`, `filter` and weights together leave no case";
        return Err(in_group(choice, "it plays no scenario").with_help(help));
    }
    let weights = whole(&found.iter().map(|(_, weight, _)| *weight).collect::<Vec<_>>());
    let mix = found.into_iter().zip(weights).map(|((group, _, cases), weight)| Share { group, weight, cases });
    Ok(LoadGroup { name: choice.name.clone(), pace: choice.pace.clone(), mix: mix.collect() })
}

fn is_called(group: &Group, name: &str) -> bool {
    group.name == name || group.key == name || group.tags.iter().any(|tag| tag == name)
}

/// The name is stronger than a tag, and both than the scenario's own weight.
fn weight_of(group: &Group, weights: &[(String, f64)]) -> f64 {
    let by_name = weights.iter().find(|(name, _)| group.name == *name || group.key == *name);
    let by_tag = || weights.iter().find(|(name, _)| is_called(group, name));
    by_name.or_else(by_tag).map_or(group.weight, |(_, weight)| *weight)
}

/// The smallest whole numbers with the same proportions; to a thousandth of the smallest unit if there are none.
fn whole(weights: &[f64]) -> Vec<u32> {
    let is_whole = |times: f64| weights.iter().all(|weight| ((weight * times).round() - weight * times).abs() < 1e-6);
    let times = (1..=1000).map(f64::from).find(|times| is_whole(*times)).unwrap_or(1000.0);
    let all: Vec<u32> = weights.iter().map(|weight| ((weight * times).round() as u32).max(1)).collect();
    let divisor = all.iter().copied().fold(0, common_divisor).max(1);
    all.into_iter().map(|weight| weight / divisor).collect()
}

fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

/// Takes the scenarios and cases out of the plan that no group plays: a report would list them as cases without a trial.
fn keep_played(plan: &mut Plan, load: &mut Load) {
    let mut places = BTreeMap::new();
    let mut groups = Vec::new();
    for (index, mut group) in std::mem::take(&mut plan.groups).into_iter().enumerate() {
        let shares = || load.groups.iter().flat_map(|lane| &lane.mix).filter(|share| share.group == index);
        if shares().next().is_none() {
            continue;
        }
        let lists: Option<Vec<&Vec<u64>>> = shares().map(|share| share.cases.as_ref()).collect();
        if let Some(lists) = lists {
            let played: BTreeSet<u64> = lists.into_iter().flatten().copied().collect();
            let cell = |case: &u64| match &group.selection {
                Some(selection) => usize::try_from(*case).ok().and_then(|case| selection.get(case)).copied(),
                None => Some(*case),
            };
            group.selection = Some(played.iter().filter_map(cell).collect());
            let new: BTreeMap<u64, u64> = played.into_iter().zip(0..).collect();
            let all = load.groups.iter_mut().flat_map(|lane| &mut lane.mix).filter(|share| share.group == index);
            for case in all.filter_map(|share| share.cases.as_mut()).flatten() {
                *case = new[case];
            }
        }
        places.insert(index, groups.len());
        groups.push(group);
    }
    plan.groups = groups;
    for share in load.groups.iter_mut().flat_map(|lane| &mut lane.mix) {
        share.group = places[&share.group];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_become_the_smallest_whole_numbers() {
        assert_eq!(whole(&[1.0, 1.0]), [1, 1]);
        assert_eq!(whole(&[0.7, 0.3]), [7, 3]);
        assert_eq!(whole(&[30.0, 20.0, 10.0]), [3, 2, 1]);
        assert_eq!(whole(&[0.125, 1.0]), [1, 8]);
        assert_eq!(whole(&[1.0, std::f64::consts::PI]), [500, 1571]);
    }
}
