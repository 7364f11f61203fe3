//! Reads `*.matrix.yaml`: a base scenario, and the axes that it is multiplied by.

use std::collections::BTreeMap;

use scenario::{
    Format,
    matrix::{AxisPlace, Cell, Matrix},
    placeholder,
    plan::Axis,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use yaml::{
    Diagnostic, Document, Findings, Part, Spot,
    path::{self, Path},
    schema,
};

use yaml::bounded::{Repeats, Words};

/// The JSON Schema of a matrix file.
#[must_use]
pub fn schema() -> Value {
    schema::of::<MatrixDocument>()
}

/// A scenario and the values that multiply it.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "Matrix")]
pub(crate) struct MatrixDocument {
    /// The matrix's name.
    name: Words,
    /// A description for people.
    description: Option<String>,
    /// The scenario file, relative to this file.
    base_scenario: Words,
    /// The number of repeats of each combination. The default is 1.
    runs_per_combination: Option<Repeats>,
    /// The axes. The first is outermost, the last changes fastest.
    #[serde(rename = "matrix")]
    #[schemars(with = "Vec<AxisDocument>", length(min = 1))]
    _matrix: Vec<Value>,
    /// Combinations to leave out: a value for some of the axes. An axis is named by its path, or by the last part of it.
    #[serde(default)]
    exclude: Vec<serde_json::Map<String, Value>>,
    /// Combinations to play as well: a value for each axis.
    #[serde(default)]
    include: Vec<serde_json::Map<String, Value>>,
    /// Keys that only gabfest knows.
    #[serde(default)]
    gabfest: MatrixOurs,
}

/// One parameter and its values.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Axis")]
pub(crate) struct AxisDocument {
    /// A path into the scenario, such as `run[0].conversation.user_simulator.persona`.
    parameter: Words,
    /// The values, of any type.
    #[schemars(length(min = 1))]
    values: Vec<Value>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "MatrixExtras")]
pub(crate) struct MatrixOurs {
    /// Names of library personas. gabfest plays every combination with each of them.
    personas: Vec<String>,
    /// Tags for `--tag`, in addition to the scenario's.
    tags: Vec<String>,
    /// The number of repeats of each case. Overrides `runs_per_combination`.
    repeats: Option<Repeats>,
}

/// Reads a matrix. With an error among the findings, the result is `None`.
#[must_use]
pub fn read(document: &Document) -> (Option<Matrix>, Vec<Diagnostic>) {
    let mut findings = Findings::new(&document.path);
    let matrix = matrix(document, &mut findings);
    let matrix = if findings.has_errors() { None } else { matrix };
    (matrix, findings.into_sorted())
}

fn matrix(document: &Document, findings: &mut Findings) -> Option<Matrix> {
    let root = document.root();
    let written = root.decode::<MatrixDocument>(findings);
    let (mut axes, mut places): (Vec<Axis>, Vec<AxisPlace>) = (Vec::new(), Vec::new());
    for part in root.items_of("matrix") {
        let Some((axis, place)) = read_axis(&part, findings) else { continue };
        if axes.iter().any(|other| other.parameter == axis.parameter) {
            findings.error(place.parameter, format!("duplicate axis for the parameter `{}`", axis.parameter));
        }
        axes.push(axis);
        places.push(place);
    }
    if root.get("matrix").is_some_and(|part| part.value().as_array().is_some_and(Vec::is_empty)) {
        findings.error(root.key_spot("matrix"), "`matrix` is empty: name at least one parameter and its values");
    }
    let written = written?;
    let repeats = written.gabfest.repeats.or(written.runs_per_combination);
    Some(Matrix {
        path: document.path.clone(),
        name: written.name.0,
        description: written.description,
        base_scenario: written.base_scenario.0,
        base_spot: root.spot_of("base_scenario"),
        exclude: cells(written.exclude, &root.items_of("exclude")),
        include: cells(written.include, &root.items_of("include")),
        axes,
        places,
        personas: written.gabfest.personas,
        personas_spot: root.get("gabfest").map_or(root.spot(), |ours| ours.spot_of("personas")),
        tags: written.gabfest.tags,
        repeats: repeats.map(|repeats| repeats.0),
    })
}

fn cells(written: Vec<serde_json::Map<String, Value>>, parts: &[Part<'_>]) -> Vec<Cell> {
    let spots = parts.iter().map(Part::spot).chain(std::iter::repeat(Spot::default()));
    written.into_iter().zip(spots).map(|(values, spot)| Cell { values: values.into_iter().collect(), spot }).collect()
}

fn read_axis(part: &Part<'_>, findings: &mut Findings) -> Option<(Axis, AxisPlace)> {
    let written = part.decode::<AxisDocument>(findings)?;
    let parameter = part.spot_of("parameter");
    if let Err(error) = Path::parse(&written.parameter.0) {
        findings.error(parameter, format!("`{}` is not a path: {error}", written.parameter.0));
        findings.help(match path::meant(&written.parameter.0) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "a path looks like `run[0].conversation.user_simulator.persona`".to_owned(),
        });
        return None;
    }
    if written.values.is_empty() {
        findings.error(part.spot_of("values"), "`values` is empty: an axis needs at least one value");
    }
    let values = part.items_of("values").iter().map(Part::spot).collect();
    Some((Axis { parameter: written.parameter.0, values: written.values }, AxisPlace { parameter, values }))
}

/// Puts every value of every axis alone into the base scenario and reads the result, so that a bad value is reported at
/// its own line before anything runs.
///
/// The base itself must be free of errors. Values that only conflict with each other are found when their case is
/// expanded: there may be too many combinations to try.
#[must_use]
pub fn check(
    matrix: &Matrix,
    environment: &BTreeMap<String, String>,
    base: &Document,
    format: &dyn Format,
) -> Vec<Diagnostic> {
    let mut findings = Findings::new(&matrix.path);
    let (_, known) = format.read(base);
    let schema = format.schema();
    for (axis, place) in matrix.axes.iter().zip(&matrix.places) {
        let Ok(path) = Path::parse(&axis.parameter) else { continue };
        if let Err(miss) = path.fits(&base.value, &schema) {
            findings.error(place.parameter, format!("{} in {}", miss.message, base.path));
            if let Some(help) = miss.help {
                findings.help(help);
            }
            continue;
        }
        let added = matrix.include.iter().filter_map(|cell| {
            let (_, value) = cell.values.iter().find(|(name, _)| is_named(&axis.parameter, name))?;
            Some((value, &cell.spot))
        });
        for (value, spot) in axis.values.iter().zip(&place.values).chain(added) {
            let mut document = base.clone();
            if path.set(&mut document.value, value.clone()).is_err() {
                continue;
            }
            placeholder::replace_environment(&mut document.value, environment);
            let new = format.read(&document).1.into_iter().filter(|found| {
                !known.iter().any(|old| old.message == found.message && old.severity == found.severity)
            });
            for found in new {
                let message = format!("with this value for `{}`: {}", axis.parameter, found.message);
                match found.is_error() {
                    true => findings.error(*spot, message),
                    false => findings.warning(*spot, message),
                }
                if let Some(help) = found.help {
                    findings.help(help);
                }
            }
        }
    }
    warn_of_values(matrix, &mut findings);
    findings.into_sorted()
}

/// Excluding a value that no axis has excludes nothing.
fn warn_of_values(matrix: &Matrix, findings: &mut Findings) {
    for cell in &matrix.exclude {
        for (name, value) in &cell.values {
            let mut axes = matrix.axes.iter().filter(|axis| is_named(&axis.parameter, name)).peekable();
            if axes.peek().is_some() && !axes.any(|axis| axis.values.contains(value)) {
                findings
                    .warning(cell.spot, format!("`{name}` never has the value {value}, so this leaves nothing out"));
            }
        }
    }
}

fn is_named(parameter: &str, name: &str) -> bool {
    parameter == name || parameter.rsplit('.').next() == Some(name)
}
