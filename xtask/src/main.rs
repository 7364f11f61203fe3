//! Tasks for people who work on gabfest: `cargo xtask TASK`.

#[cfg(test)]
mod architecture;
mod calibrate;
mod chaos;
#[cfg(test)]
mod circles;
mod dist;
#[cfg(test)]
mod links;
mod mutants;
mod proto;
mod release_check;
mod simulate;
#[cfg(test)]
mod test_script;

use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Generate the Rust code of proto/ (checked in; CI compares).
    Proto,
    /// Play the scheduler, or the whole fleet, against seeded scripts of faults.
    Simulate(simulate::Seeds),
    /// Break the real code in one place after the other, and let the simulation of the fleet find each fault.
    Mutants(mutants::Mutants),
    /// Play made-up experiments through every procedure that gives a verdict, and count how often it is wrong.
    Calibrate(calibrate::Calibrate),
    /// Build the program that is shipped, without symbols, and the file that backtraces need beside it.
    Dist(dist::Dist),
    /// Play runs on a fleet of processes while faults strike.
    Chaos(chaos::Chaos),
    /// Play the long suites one after another, each with a budget of minutes.
    ReleaseCheck(release_check::ReleaseCheck),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().task {
        Task::Proto => proto::generate(&proto::checked_in()),
        Task::Simulate(seeds) => simulate::run(seeds),
        Task::Mutants(mutants) => mutants::run(&mutants),
        Task::Calibrate(calibrate) => calibrate::run(&calibrate),
        Task::Dist(dist) => dist::run(&dist),
        Task::Chaos(chaos) => chaos::run(&chaos),
        Task::ReleaseCheck(check) => release_check::run(&check),
    }
}
