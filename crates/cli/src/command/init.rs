//! `gabfest init`: a small working project.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use crate::{
    exit::{Exit, usage},
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write to; must be empty or not exist
    #[arg(default_value = "gabfest-tests", value_name = "DIR")]
    dir: PathBuf,
}

/// Path in the new folder, and content.
const FILES: [(&str, &str); 5] = [
    ("gabfest.yaml", include_str!("init/gabfest.yaml")),
    ("scenarios/refund.scenario.yaml", include_str!("init/refund.scenario.yaml")),
    ("scenarios/refund.matrix.yaml", include_str!("init/refund.matrix.yaml")),
    ("scenarios/personas/impatient.persona.yaml", include_str!("init/impatient.persona.yaml")),
    (".gitignore", "gabfest-runs/\n.env\n"),
];

pub(crate) fn init(args: &Args) -> anyhow::Result<Exit> {
    let dir = &args.dir;
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(usage(anyhow!("{} is not empty\nhint: name a folder that does not exist yet", dir.display())));
    }
    for (path, text) in FILES {
        write(&dir.join(path), text)?;
    }
    stdout::write(&next_steps(dir))?;
    Ok(Exit::Held)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("failed to write {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(failed)?;
    }
    std::fs::write(path, text).with_context(failed)
}

fn next_steps(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "wrote a small project to {dir}; now:\n\n  cd {dir}\n  \
         gabfest run scenarios/                                     with the built-in mock model\n  \
         gabfest run scenarios/ --agent http://127.0.0.1:8080/v1    with your own agent\n"
    )
}
