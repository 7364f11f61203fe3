//! Builds the plan from the read files and the user's choices.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use yaml::{
    Diagnostic,
    path::{self, Miss, Path},
};

use super::{Axis, Gates, Group, Plan, VERSION, bounds, choices::Choices, names, number::ANY_AGENT, personas, select};
use crate::{
    Digest,
    format::Script,
    matrix::Matrix,
    reading::{MatrixFile, Reading, ScenarioFile},
};

/// Builds the plan of everything that was read without errors.
///
/// # Errors
/// A choice names what does not exist, nothing is left to play, or the plan would be too large.
pub fn build(reading: &Reading, choices: &Choices) -> Result<Plan, Vec<Diagnostic>> {
    let mut builder = Builder { reading, choices, faults: Vec::new(), used: BTreeSet::new(), misses: BTreeMap::new() };
    let personas = builder.chosen_personas();
    let set = builder.chosen_set();
    let alone = reading.scenarios.iter().filter(|file| file.plays_alone()).map(|file| (file, None));
    let multiplied = reading
        .matrices
        .iter()
        .flat_map(|file| file.bases.iter().filter_map(move |base| Some((reading.scenarios.get(*base)?, Some(file)))));
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
        endpoints: BTreeMap::new(),
        goodput: choices.goodput.filter(|limits| !limits.is_empty()),
        transcripts: choices.transcripts,
        think_time: choices.think_time,
        load: None,
        decide: choices.decide,
        origin: None,
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
    builder
        .faults
        .extend(plan.objection_to_decide().map(|objection| Diagnostic::error(String::new(), 0, 0, objection)));
    if !builder.faults.is_empty() {
        return Err(builder.faults);
    }
    let names: BTreeSet<&String> = plan.groups.iter().flat_map(|group| group.personas.iter().flatten()).collect();
    plan.personas =
        names.into_iter().filter_map(|name| Some((name.clone(), reading.personas.get(name)?.clone()))).collect();
    plan.version = least_version(&plan);
    match bounds::fault(&plan) {
        Some(fault) => Err(vec![fault]),
        None => Ok(plan),
    }
}

/// The oldest version that means the same to builds that read it.
fn least_version(plan: &Plan) -> u32 {
    let Gates { success_rates, max_flaky_cases, objectives, judges, .. } = &plan.gates;
    let has_other_seeds = plan.agents.iter().any(|agent| agent != ANY_AGENT);
    if has_other_seeds || plan.decide.is_some() || !success_rates.is_empty() || max_flaky_cases.is_some() {
        return VERSION;
    }
    if plan.load.is_some() || plan.think_time || !objectives.is_empty() {
        return 3;
    }
    let has_data = plan.groups.iter().any(|group| group.rows.is_some() || !group.extra.is_empty());
    if has_data || judges.is_some() { 2 } else { 1 }
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
        matrix: Option<&MatrixFile>,
        personas: &[String],
        set: &[(Path, Value)],
    ) -> Option<Group> {
        let script = &file.script;
        let environment = matrix.map(|matrix| &matrix.environment).into_iter().flatten();
        let matrix = matrix.map(|matrix| &matrix.matrix);
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
        let extra = self.added(matrix, &axes);
        let most = self.choices.decide.map(|decide| decide.most_repeats);
        let repeats = most.or(self.choices.repeats).or(matrix.and_then(|matrix| matrix.repeats)).or(script.repeats);
        let group = Group {
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
            extra,
            exclude: matrix
                .map_or_else(Vec::new, |matrix| matrix.exclude.iter().map(|cell| cell.values.clone()).collect()),
            excluded: 0,
            environment: file
                .environment
                .clone()
                .into_iter()
                .chain(environment.map(|(name, value)| (name.clone(), value.clone())))
                .collect(),
            rows: file.rows.clone(),
            personas: self.personas_of(file, matrix, personas)?,
            repeats: repeats.unwrap_or(1).max(1),
            selection: None,
            cover: None,
        };
        for cell in matrix.into_iter().flat_map(|matrix| &matrix.exclude) {
            if let Err((message, help)) = names::check(cell.values.iter().map(|(name, _)| name.as_str()), &group) {
                let fault = Diagnostic::error(matrix_path(matrix), cell.spot.line, cell.spot.column, message);
                self.faults.push(Diagnostic { help, ..fault });
            }
        }
        Some(group)
    }

    /// The values of the combinations that a matrix adds, one for each axis. A value of `--set` is stronger.
    fn added(&mut self, matrix: Option<&Matrix>, axes: &[Axis]) -> Vec<Vec<Value>> {
        let mut added: Vec<Vec<Value>> = Vec::new();
        for cell in matrix.into_iter().flat_map(|matrix| &matrix.include) {
            match names::whole(&cell.values, axes, &self.choices.set) {
                Ok(values) => {
                    let is_crossed = values.iter().zip(axes).all(|(value, axis)| axis.values.contains(value));
                    if !is_crossed && !added.contains(&values) {
                        added.push(values);
                    }
                }
                Err((message, help)) => {
                    let fault = Diagnostic::error(matrix_path(matrix), cell.spot.line, cell.spot.column, message);
                    self.faults.push(Diagnostic { help, ..fault });
                }
            }
        }
        added
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

    /// A chosen value replaces an axis over the same parameter, or else becomes the outermost axis. Returns the file's
    /// content with all chosen values, which may change repeats or tags.
    fn put_set(&mut self, file: &ScenarioFile, set: &[(Path, Value)], axes: &mut Vec<Axis>) -> Option<Script> {
        let mut document = if set.is_empty() { file.document.clone() } else { file.first() };
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

    /// Refuses a value that fits no document, because it was meant to have an effect.
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

fn matrix_path(matrix: Option<&Matrix>) -> &str {
    matrix.map_or("", |matrix| &matrix.path)
}

/// Groups with equal keys get the digest of their content appended, independent of their order; equal contents get a
/// number too.
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
