//! The one binary: every role of gabfest is a subcommand.

mod addresses;
mod args;
mod assemble;
mod check;
mod clock;
mod compiled;
mod convert;
mod descriptors;
mod diagnostics;
mod embedded;
mod estimate;
mod exit;
mod export;
mod follow;
mod incoming;
mod init;
mod judges;
mod knowledge_base;
mod listening;
mod log;
mod measured;
mod mock;
mod models;
mod observed;
mod ping;
mod plan;
mod printer;
mod progress;
mod qnamaker;
mod remote;
mod report_again;
mod report_files;
mod resume;
mod run;
mod run_folder;
mod runs;
mod schema;
mod scores;
mod serve;
mod settings;
mod signals;
mod stderr;
mod stdout;
mod submit;
mod validate;
mod work;
mod workers;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::{
    args::{Args, Command},
    exit::{Exit, UsageError},
};

/// Messages are made on one thread and dropped on another, which the system's allocator answers with locks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The first line, since building an HTTP client panics without a provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    listen::descriptors::raise();
    let args = Args::parse();
    if args.command.is_quiet() {
        stderr::be_quiet();
    }
    let logs = telemetry::logs::Config {
        verbosity: args.logs.verbose,
        json: args.logs.log_json,
        quiet: args.command.is_quiet(),
        ..Default::default()
    };
    if let Err(error) = telemetry::logs::init(logs) {
        diagnostics::print_error(&anyhow::Error::new(error).context("failed to set up logs"));
        return ExitCode::from(Exit::Usage.code());
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            diagnostics::print_error(&anyhow::Error::new(error).context("failed to start the runtime"));
            return ExitCode::from(Exit::NotEnoughEvidence.code());
        }
    };
    let result = runtime.block_on(dispatch(args.command));
    // Trials that were given up may still hold threads; nothing of them is wanted any more.
    runtime.shutdown_background();
    match result {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            diagnostics::print_error(&error);
            let exit = if error.is::<UsageError>() { Exit::Usage } else { Exit::NotEnoughEvidence };
            ExitCode::from(exit.code())
        }
    }
}

async fn dispatch(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Run(args) => run::run(*args).await,
        Command::Check(args) => check::check(&args),
        Command::Ping(args) => ping::ping(&args).await,
        Command::Validate(args) => validate::validate(args).await,
        Command::Convert(args) => convert::convert(&args),
        Command::Report(args) => report_again::report(args).await,
        Command::Resume(args) => resume::resume(args).await,
        Command::Init(args) => init::init(&args),
        Command::Schema(args) => schema::print(args.what),
        Command::Mock(args) => mock::serve(args).await,
        Command::Qnamaker(args::Qnamaker::Test(args)) => qnamaker::test(*args).await,
        Command::Coordinator(args) => serve::serve(args).await,
        Command::Worker(args) => work::work(args).await,
        Command::Submit(args) => submit::submit(*args).await,
        Command::Watch(args) => submit::watch(args).await,
        Command::Cancel(args) => submit::cancel(args).await,
        Command::Runs(args) => runs::list(args).await,
        Command::Workers(args) => workers::list(args).await,
        Command::Models(args) => models::models(args).await,
        Command::Completions(args) => {
            clap_complete::generate(args.shell, &mut Args::command(), "gabfest", &mut std::io::stdout());
            Ok(Exit::Held)
        }
    }
}
