//! How personas multiply a scenario: each conversation is played once with each of them.

use yaml::{
    Diagnostic,
    path::{Path, Segment},
    suggest,
};

use crate::{
    Action,
    battery::Tester,
    matrix::Matrix,
    persona::{self, Library},
    reading::ScenarioFile,
};

/// The user's choice, or else the matrix's, or else the scenario's list, or else the scenario's own persona (`None`).
pub(super) fn of(
    file: &ScenarioFile,
    matrix: Option<&Matrix>,
    chosen: &[String],
    library: &Library,
) -> Result<Vec<Option<String>>, Diagnostic> {
    let plays_a_person = |action: &Action| match action {
        Action::Converse(_) => true,
        Action::Examine(battery) => matches!(battery.tester, Tester::Model(_)),
        Action::Say { .. } | Action::Execute { .. } => false,
    };
    if !file.script.scenario.steps.iter().any(|step| plays_a_person(&step.action)) {
        return Ok(vec![None]);
    }
    if !chosen.is_empty() {
        return Ok(chosen.iter().cloned().map(Some).collect());
    }
    let (written, path, spot) = match matrix.filter(|matrix| !matrix.personas.is_empty()) {
        Some(matrix) => (&matrix.personas, &matrix.path, matrix.personas_spot),
        None => {
            let place = ["gabfest", "personas"].map(|key| Segment::Key(key.to_owned())).to_vec();
            (&file.script.personas, &file.document.path, file.document.places.find(&Path(place)))
        }
    };
    let names = resolve(written, library)
        .map_err(|(message, help)| Diagnostic::error(path, spot.line, spot.column, message).with_help(help))?;
    Ok(if names.is_empty() { vec![None] } else { names.into_iter().map(Some).collect() })
}

/// The library's names for the written names, each once; the error is a message and its help.
pub(super) fn resolve(written: &[String], library: &Library) -> Result<Vec<String>, (String, String)> {
    let mut names: Vec<String> = Vec::new();
    for name in written {
        let meant: Vec<&str> = if name == persona::ALL { library.names().collect() } else { vec![name] };
        if meant.is_empty() {
            return Err((
                "there are no personas".to_owned(),
                "name a folder that contains a persona library".to_owned(),
            ));
        }
        for name in meant {
            if library.get(name).is_none() {
                let help = if library.is_empty() {
                    "no persona library was read: name its folder too".to_owned()
                } else {
                    suggest::known_names(name, library.names())
                };
                return Err((format!("unknown persona `{name}`"), help));
            }
            if !names.iter().any(|other| other == name) {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}
