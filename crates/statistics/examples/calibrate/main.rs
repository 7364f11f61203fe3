//! Plays thousands of made-up experiments through every procedure that gives a verdict, and compares how often it is wrong
//! with the chance that it states. `cargo xtask calibrate` runs it; arguments: the number of experiments, and the seed.
//!
//! Each experiment draws from the seed, its procedure and its number, so threads change nothing. Exit code 1: a procedure is
//! wrong more often than it says.

mod chance;
mod corrected;
mod early;
mod figures;
mod intervals;
mod lists;
mod nights;
mod noise;
mod sheet;
mod slots;
mod suites;
mod two_runs;

use std::process::ExitCode;

use sheet::Sheet;

#[expect(clippy::print_stdout, reason = "the tables are what the example is for")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().ok());
    let (experiments, seed) = (arguments.next().flatten().unwrap_or(10_000), arguments.next().flatten().unwrap_or(1));
    let mut sheet = Sheet::new(experiments, seed);
    intervals::calibrate(&mut sheet);
    two_runs::calibrate(&mut sheet);
    nights::calibrate(&mut sheet);
    lists::calibrate(&mut sheet);
    figures::calibrate(&mut sheet);
    early::calibrate(&mut sheet);
    suites::calibrate(&mut sheet);
    noise::calibrate(&mut sheet);
    corrected::calibrate(&mut sheet);
    print!("{}", sheet.markdown());
    if sheet.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
