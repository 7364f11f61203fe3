//! Tasks for people who work on gabfest: `cargo xtask TASK`.

#[cfg(test)]
mod architecture;
mod proto;

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
}

fn main() -> anyhow::Result<()> {
    match Args::parse().task {
        Task::Proto => proto::generate(&proto::checked_in()),
    }
}
