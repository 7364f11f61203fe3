//! `gabfest convert FROM TO`: scenarios of any format as `*.scenario.yaml`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use formats::eliza;
use record::count::plural;
use scenario::{Diagnostic, ScenarioFile, plan::Axis};

use crate::{
    diagnostics,
    exit::{Exit, usage},
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A scenario file of any format, or a folder of them
    from: PathBuf,
    /// The file to write (*.yaml), or the folder to write several to
    to: PathBuf,
    /// Overwrite files
    #[arg(short, long)]
    force: bool,
}

/// A file to be written.
struct Written {
    path: PathBuf,
    text: String,
}

pub(crate) fn convert(args: &Args) -> anyhow::Result<Exit> {
    let reading = formats::read(std::slice::from_ref(&args.from));
    diagnostics::print(&reading.diagnostics);
    if reading.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(usage(anyhow!("nothing was written: {}", diagnostics::count(&reading.diagnostics))));
    }
    let written = files(args, &reading.scenarios)?;
    if written.is_empty() {
        return Err(usage(anyhow!("{} holds no scenario", args.from.display())));
    }
    if let Some(there) = written.iter().find(|file| !args.force && file.path.exists()) {
        return Err(usage(anyhow!("{} is there already\nhint: --force overwrites it", there.path.display())));
    }
    for file in &written {
        let failed = || format!("failed to write {}", file.path.display());
        if let Some(folder) = file.path.parent() {
            std::fs::create_dir_all(folder).with_context(failed)?;
        }
        std::fs::write(&file.path, &file.text).with_context(failed)?;
    }
    stdout::line(&format!("wrote {} to {}", plural(written.len() as u64, "file", "files"), args.to.display()))?;
    let left = reading.matrices.len();
    if left > 0 {
        let left = plural(left as u64, "matrix was", "matrices were");
        stdout::line(&format!("{left} left as written: its paths refer to its base scenario"))?;
    }
    Ok(Exit::Held)
}

fn files(args: &Args, scenarios: &[ScenarioFile]) -> anyhow::Result<Vec<Written>> {
    let from = args.from.to_string_lossy().replace('\\', "/");
    let mut written = Vec::new();
    for (index, file) in scenarios.iter().enumerate() {
        let path = &file.document.path;
        let text = eliza::write(&file.script).map_err(|error| {
            usage(anyhow!("{path} cannot be converted: {error}\nhint: convert the other files alone"))
        })?;
        // Scenarios of one file are adjacent.
        let of_file = scenarios.iter().filter(|other| other.document.path == *path).count();
        let before = scenarios[..index].iter().filter(|other| other.document.path == *path).count();
        let stem = stem(path, &from);
        let stem = if of_file == 1 { stem } else { format!("{stem}-{}", before + 1) };
        let name = format!("{stem}.scenario.yaml");
        if let Some(matrix) = matrix(file, &name)? {
            written.push(Written { path: args.to.join(format!("{stem}.matrix.yaml")), text: matrix });
        }
        written.push(Written { path: args.to.join(name), text });
    }
    let is_file = args.to.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") && !args.to.is_dir();
    match written.as_mut_slice() {
        [one] if is_file => one.path.clone_from(&args.to),
        more if is_file => {
            let count = plural(more.len() as u64, "file", "files");
            return Err(usage(anyhow!("{from} becomes {count}, not one\nhint: name a folder to write to")));
        }
        _ => {}
    }
    Ok(written)
}

/// The path of a file below the converted folder, without the extension of its format.
fn stem(path: &str, from: &str) -> String {
    let beneath = match path.strip_prefix(from).map(|rest| rest.trim_start_matches('/')) {
        Some(rest) if !rest.is_empty() => rest,
        _ => Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or("scenario"),
    };
    formats::without_ending(beneath).to_owned()
}

/// The other questions of a pair, which differ in what the user says.
fn matrix(file: &ScenarioFile, base: &str) -> anyhow::Result<Option<String>> {
    let axes = file.format.axes(&file.document);
    let Some(axis) = axes.first().filter(|axis| axis.values.len() > 1) else { return Ok(None) };
    let base = base.rsplit('/').next().unwrap_or(base);
    let axis = Axis { parameter: "run[0].input".to_owned(), values: axis.values.clone() };
    Ok(Some(eliza::write_matrix(&file.script.scenario.name, base, &[axis])?))
}
