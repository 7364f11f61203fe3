//! What was found, as Markdown.

use std::time::Duration;

use super::{hunt::Caught, table::Mutant};

/// A mutant that was hunted; without one, the code as it is.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) mutant: Option<&'static Mutant>,
    /// `None`: all seeds passed.
    pub(super) caught: Option<Caught>,
    /// Without the build.
    pub(super) took: Duration,
}

pub(super) fn line(row: &Row) -> String {
    let (seed, check) = match &row.caught {
        Some(caught) => (caught.seed.to_string(), caught.check.as_str()),
        None => ("–".to_owned(), if row.mutant.is_some() { "**not caught**" } else { "nothing to catch" }),
    };
    let (name, guarantee) = row.mutant.map_or(("no fault", "all"), |mutant| (mutant.name, mutant.guarantee));
    let place = row.mutant.map_or_else(String::new, |mutant| {
        let files: Vec<String> = mutant.edits.iter().map(|edit| format!("`{}`", edit.file)).collect();
        files.join(", ")
    });
    format!("| {name} | {guarantee} | {place} | {seed} | {check} | {:.0} |\n", row.took.as_secs_f64())
}

pub(super) fn page(today: &str, seeds: u64, rows: &[Row]) -> String {
    let hunted: Vec<&Row> = rows.iter().filter(|row| row.mutant.is_some()).collect();
    let caught = hunted.iter().filter(|row| row.caught.is_some()).count();
    let lines: String = rows.iter().map(line).collect();
    format!(
        "# Faults in the protocol, {today}\n\n`cargo xtask mutants`: {caught} of {} faults in the real code are caught within \
         {seeds} seeds of the simulation of the fleet.\nThe seconds are without the build. The faults are in \
         `xtask/src/mutants/table.rs`; the checks, by their names, in `crates/invariants` and `crates/cli/tests/simulation/checks.rs`.\n\n\
         | fault | guarantee | where | caught at seed | by the check | seconds |\n|---|---|---|---|---|---|\n{lines}",
        hunted.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::table::MUTANTS;

    #[test]
    fn the_page_says_what_was_caught() {
        let caught = Some(Caught { seed: 7, check: "sums".to_owned() });
        let row = |mutant, caught| Row { mutant, caught, took: Duration::from_secs(3) };
        let rows = [row(None, None), row(Some(&MUTANTS[0]), caught), row(Some(&MUTANTS[1]), None)];
        let page = page("2026-01-02", 200, &rows);
        assert!(page.contains("1 of 2 faults"), "{page}");
        assert!(page.contains("| 7 | sums | 3 |") && page.contains("| – | **not caught** | 3 |"), "{page}");
        assert!(page.contains("| no fault | all |  | – | nothing to catch | 3 |"), "{page}");
    }
}
