//! `gabfest completions`: a completion script for a shell.

use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// `command` is the whole command line of gabfest.
pub(crate) fn print(args: &Args, mut command: clap::Command) -> Exit {
    clap_complete::generate(args.shell, &mut command, "gabfest", &mut std::io::stdout());
    Exit::Held
}
