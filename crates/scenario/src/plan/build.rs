//! From what was read and what the user chose to the plan.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use yaml::{
    Diagnostic,
    path::{self, Miss, Path},
};

use super::{Axis, Group, Plan, VERSION, bounds, choices::Choices, personas, select};
use crate::{
    Digest,
    format::Script,
    matrix::Matrix,
    reading::{Reading, ScenarioFile},
};

/// Makes the plan of all that was read without errors.
///
/// # Errors
/// A choice names what does not exist, nothing is left to play, or the plan would be too large.
pub fn build(reading: &Reading, choices: &Choices) -> Result<Plan, Vec<Diagnostic>> {
    let mut builder = Builder { reading, choices, faults: Vec::new(), used: BTreeSet::new(), misses: BTreeMap::new() };
    let personas = builder.chosen_personas();
    let set = builder.chosen_set();
    let alone = reading.scenarios.iter().filter(|file| file.plays_alone()).map(|file| (file, None));
    let multiplied = reading.matrices.iter().flat_map(|file| {
        file.bases.iter().filter_map(|base| Some((reading.scenarios.get(*base)?, Some(&file.matrix))))
    });
    let groups =
        alone.chain(multiplied).filter_map(|(file, matrix)| builder.group(file, matrix, &personas, &set)).collect();
    builder.refuse_unused(&set);
    let mut agents = choices.agents.clone();
    let mut seen = BTreeSet::new();
    agents.retain(|agent| seen.insert(agent.clone()));
    if agents.is_empty() {
        builder.fault("no agent is named", None);
    }
    let mut plan = Plan {
        version: VERSION,
        name: choices.name.clone(),
        seed: choices.seed,
        groups,
        personas: BTreeMap::new(),
        agents,
        live: choices.live,
        plays_on: choices.plays_on,
        gates: choices.gates.clone(),
        replays: choices.replays,
        pass_k: choices.pass_k,
    };
    if plan.groups.is_empty() && builder.faults.is_empty() {
        builder.fault(
            "there is no scenario to play",
            Some("name scenario files, or folders that contain some".to_owned()),
        );
    }
    if builder.faults.is_empty() {
        make_keys_unique(&mut plan.groups);
        if let Err(fault) = select::narrow(&mut plan, choices) {
            builder.faults.push(fault);
        }
    }
    if !builder.faults.is_empty() {
        return Err(builder.faults);
    }
    let names: BTreeSet<&String> = plan.groups.iter().flat_map(|group| group.personas.iter().flatten()).collect();
    plan.personas =
        names.into_iter().filter_map(|name| Some((name.clone(), reading.personas.get(name)?.clone()))).collect();
    match bounds::fault(&plan) {
        Some(fault) => Err(vec![fault]),
        None => Ok(plan),
    }
}

struct Builder<'a> {
    reading: &'a Reading,
    choices: &'a Choices,
    faults: Vec<Diagnostic>,
    /// The paths of `set` that some document had a place for.
    used: BTreeSet<String>,
    /// Why a document had no place for a path.
    misses: BTreeMap<String, Miss>,
}

impl Builder<'_> {
    fn group(
        &mut self,
        file: &ScenarioFile,
        matrix: Option<&Matrix>,
        personas: &[String],
        set: &[(Path, Value)],
    ) -> Option<Group> {
        let script = &file.script;
        let name = matrix.map_or(&script.scenario.name, |matrix| &matrix.name).clone();
        let stem = matrix.map_or(file.stem.as_str(), Matrix::stem);
        let mut axes = matrix.map_or_else(Vec::new, |matrix| matrix.axes.clone());
        let own = file.format.axes(&file.document);
        axes.extend(
            own.into_iter().filter(|own| !axes.iter().any(|axis| axis.parameter == own.parameter)).collect::<Vec<_>>(),
        );
        let changed = self.put_set(file, set, &mut axes);
        let script = changed.as_ref().unwrap_or(script);
        let mut tags = script.scenario.tags.clone();
        tags.extend(matrix.into_iter().flat_map(|matrix| matrix.tags.iter().cloned()));
        tags.sort();
        tags.dedup();
        let repeats = self.choices.repeats.or(matrix.and_then(|matrix| matrix.repeats)).or(script.repeats);
        Some(Group {
            key: format!("{stem}/{name}"),
            name,
            format: file.format.name().to_owned(),
            source: file.script.scenario.source.clone(),
            document: file.document.value.clone(),
            lines: file.document.root().lines(),
            tags,
            weight: script.scenario.weight,
            required_pass_rate: script.scenario.required_pass_rate,
            axes,
            personas: self.personas_of(file, matrix, personas)?,
            repeats: repeats.unwrap_or(1).max(1),
            selection: None,
        })
    }

    fn personas_of(
        &mut self,
        file: &ScenarioFile,
        matrix: Option<&Matrix>,
        chosen: &[String],
    ) -> Option<Vec<Option<String>>> {
        match personas::of(file, matrix, chosen, &self.reading.personas) {
            Ok(personas) => Some(personas),
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }

    fn chosen_personas(&mut self) -> Vec<String> {
        personas::resolve(&self.choices.personas, &self.reading.personas).unwrap_or_else(|(message, help)| {
            self.fault(message, Some(help));
            Vec::new()
        })
    }

    fn chosen_set(&mut self) -> Vec<(Path, Value)> {
        let mut set = Vec::new();
        for (text, value) in &self.choices.set {
            match Path::parse(text) {
                Ok(path) => set.push((path, value.clone())),
                Err(error) => {
                    let help = match path::meant(text) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => "a path looks like `run[0].conversation.max_turns`".to_owned(),
                    };
                    self.fault(format!("`{text}` is not a path: {error}"), Some(help));
                }
            }
        }
        set
    }

    /// A chosen value takes the place of an axis over the same parameter; else it becomes one, the outermost.
    /// What the file says with all chosen values is given back: they may be repeats or tags.
    fn put_set(&mut self, file: &ScenarioFile, set: &[(Path, Value)], axes: &mut Vec<Axis>) -> Option<Script> {
        let mut document = file.document.clone();
        let mut changed = None;
        let schema = if set.is_empty() { Value::Null } else { file.format.schema() };
        for (place, (path, value)) in set.iter().enumerate() {
            let text = path.to_string();
            if let Err(miss) =
                path.fits(&document.value, &schema).and_then(|()| path.set(&mut document.value, value.clone()))
            {
                self.misses.insert(text, miss);
                continue;
            }
            self.used.insert(text.clone());
            let (script, found) = file.format.read(&document);
            changed = script.or(changed);
            let faults = found.into_iter().filter(Diagnostic::is_error);
            self.faults.extend(faults.map(|found| Diagnostic {
                message: format!("with `{text}` set to {value}: {}", found.message),
                ..found
            }));
            let axis = Axis { parameter: text, values: vec![value.clone()] };
            match axes.iter_mut().find(|other| other.parameter == axis.parameter) {
                Some(other) => *other = axis,
                None => axes.insert(place.min(axes.len()), axis),
            }
        }
        changed
    }

    /// A value that no document has a place for was meant for something.
    fn refuse_unused(&mut self, set: &[(Path, Value)]) {
        for (path, _) in set {
            let text = path.to_string();
            if self.used.contains(&text) {
                continue;
            }
            if let Some(miss) = self.misses.get(&text).cloned() {
                self.fault(format!("`{text}` cannot be set in any scenario: {}", miss.message), miss.help);
            }
        }
    }

    fn fault(&mut self, message: impl Into<String>, help: Option<String>) {
        let mut diagnostic = Diagnostic::error(String::new(), 0, 0, message);
        diagnostic.help = help;
        self.faults.push(diagnostic);
    }
}

/// Groups with one key get the digest of their content behind it, whichever comes first; a number where even the
/// contents are equal.
fn make_keys_unique(groups: &mut [Group]) {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for group in groups.iter() {
        *counts.entry(group.key.clone()).or_default() += 1;
    }
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for group in groups {
        if counts.get(&group.key).is_some_and(|count| *count > 1) {
            let digest = Digest::of_json(&group.document);
            group.key = format!("{}#{}", group.key, &digest.short()[..8]);
        }
        let number = seen.entry(group.key.clone()).or_default();
        *number += 1;
        if *number > 1 {
            group.key = format!("{}-{number}", group.key);
        }
    }
}
