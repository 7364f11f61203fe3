//! `cargo xtask mutants`: breaks the real code in one place after the other, and lets the simulation of the fleet find it.
//!
//! [`table`] has the faults. [`copy`] keeps a copy of the tracked files beside a target folder of its own, so that only
//! what a fault touches is built again. [`hunt`] plays seeds until one is violated, and [`page`] shows what was found.

mod copy;
mod hunt;
mod page;
mod table;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

use self::{
    copy::Copy,
    hunt::Caught,
    page::Row,
    table::{MUTANTS, Mutant},
};
use crate::chaos::clock::now;

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Mutants {
    /// A mutant to hunt; by default, all. Can be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Seeds within which each mutant must be caught
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Write the page to this file [default: bench/results/DATE-mutants.md if all mutants are hunted]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the page also if a mutant is not caught, and then fails.
#[expect(clippy::print_stdout, reason = "the table is what the task is for")]
pub(crate) fn run(mutants: &Mutants) -> anyhow::Result<()> {
    let chosen = chosen(&mutants.only)?;
    let today = chrono::Utc::now().format("%Y-%m-%d").to_string();
    let default = mutants.only.is_empty().then(|| top().join(format!("bench/results/{today}-mutants.md")));
    let out = mutants.out.clone().or(default);
    let copy = Copy::of(&top())?;
    let mut rows = Vec::new();
    if mutants.only.is_empty() {
        // A check that finds faults where there are none would catch everything.
        let row = hunted(&copy, None, mutants.seeds)?;
        ensure!(row.caught.is_none(), "the code without a fault does not pass: {row:?}");
        print!("{}", page::line(&row));
        rows.push(row);
    }
    for mutant in chosen {
        let row = hunted(&copy, Some(mutant), mutants.seeds)?;
        print!("{}", page::line(&row));
        rows.push(row);
        if let Some(out) = &out {
            let page = page::page(&today, mutants.seeds, &rows);
            fs::write(out, page).with_context(|| format!("failed to write {}", out.display()))?;
        }
    }
    let missed: Vec<&str> =
        rows.iter().filter(|row| row.caught.is_none()).filter_map(|row| Some(row.mutant?.name)).collect();
    ensure!(missed.is_empty(), "not caught within {} seeds: {}", mutants.seeds, missed.join(", "));
    Ok(())
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Mutant>> {
    if let Some(unknown) = names.iter().find(|name| MUTANTS.iter().all(|mutant| mutant.name != **name)) {
        bail!("there is no mutant {unknown:?}");
    }
    Ok(MUTANTS.iter().filter(|mutant| names.is_empty() || names.iter().any(|name| name == mutant.name)).collect())
}

/// Builds the mutant and hunts it; `None`: the code as it is.
fn hunted(copy: &Copy, mutant: Option<&'static Mutant>, seeds: u64) -> anyhow::Result<Row> {
    copy.make(mutant)?;
    let test = copy.build().with_context(|| format!("failed to build {:?}", mutant.map(|mutant| mutant.name)))?;
    let began = now();
    let caught: Option<Caught> = hunt::hunt(&test, seeds)?;
    Ok(Row { mutant, caught, took: began.elapsed() })
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::{Args, Task};

    #[test]
    fn arguments_are_read() {
        let parsed = Args::try_parse_from(["xtask", "mutants", "--only", "away", "--seeds", "7"]);
        let Ok(Args { task: Task::Mutants(mutants) }) = parsed else { panic!("another task") };
        assert_eq!(mutants, Mutants { only: vec!["away".to_owned()], seeds: 7, out: None });
    }

    #[test]
    fn a_mutant_is_chosen_by_its_name() {
        assert_eq!(chosen(&[]).expect("all").len(), MUTANTS.len());
        assert_eq!(chosen(&[MUTANTS[1].name.to_owned()]).expect("one"), [&MUTANTS[1]]);
        assert!(chosen(&["nothing".to_owned()]).is_err());
    }
}
