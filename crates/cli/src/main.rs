//! The one binary: every role of gabfest is a subcommand.

mod addresses;
mod args;
mod assemble;
mod budget;
mod calibration;
mod changed_verdicts;
mod client;
mod clock;
mod command;
mod compared;
mod compiled;
#[cfg(feature = "crash-points")]
mod crash_point;
mod decide;
mod descriptors;
mod diagnostics;
mod dollars;
mod embedded;
mod estimate;
mod exit;
mod export;
mod exporting;
mod finish;
mod follow;
mod history_file;
mod incoming;
mod judges;
mod knowledge_base;
mod labelled_judges;
mod labels;
mod listening;
mod load;
mod log;
mod measured;
mod model_shelf;
mod nights;
mod noise_rounds;
mod objectives;
mod observed;
mod panels;
mod past;
mod patience;
mod plan;
mod planning;
mod play;
mod preflight;
mod printer;
mod probe;
mod probe_params;
mod progress;
mod quarantine;
mod recorded_run;
mod references;
mod refusal;
mod regression;
mod rejudged;
mod remote;
mod replay;
mod report_files;
mod retention;
mod run_folder;
mod run_folders;
mod run_labels;
mod scores;
mod screen;
mod sentinels;
mod settings;
mod signals;
mod stderr;
mod stdout;
mod store_threads;
mod tls_words;
mod variables;

use std::process::ExitCode;

use crate::{
    command::Args,
    exit::{Exit, UsageError},
};

/// Messages are made on one thread and dropped on another, which the system's allocator answers with locks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// After so many polls the runtime looks for new events, such as the due time of a start.
const EVENT_INTERVAL: u32 = 8;

/// On one core, or in a container that may use less than two, a second thread would only take turns with the first.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = match std::thread::available_parallelism() {
        Ok(cores) if cores.get() == 1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.enable_all().event_interval(EVENT_INTERVAL).build()
}

fn main() -> ExitCode {
    // The first line, since building an HTTP client panics without a provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    listen::descriptors::raise();
    let args = Args::of_process();
    #[cfg(feature = "crash-points")]
    crash_point::set();
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
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            diagnostics::print_error(&anyhow::Error::new(error).context("failed to start the runtime"));
            return ExitCode::from(Exit::NotEnoughEvidence.code());
        }
    };
    let result = runtime.block_on(async {
        signals::outlive_file_limits()?;
        args.command.run().await
    });
    // Abandoned trials may still block threads, and their results are not needed.
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
