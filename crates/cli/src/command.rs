//! The command line: one variant and one file a subcommand.

mod cancel;
mod check;
mod compare;
mod completions;
mod convert;
mod coordinator;
mod export;
mod history;
mod init;
mod judge;
mod mock;
mod models;
mod noise;
mod pause;
mod ping;
mod pki;
mod plan;
mod preset;
mod prices;
mod qnamaker;
mod rate;
mod rejudge;
mod report;
mod resume;
mod run;
mod runs;
mod schema;
mod selftest;
mod slots;
mod store;
mod store_files;
mod submit;
mod trends;
mod validate;
mod watch;
mod worker;
mod workers;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::exit::Exit;

/// Plays simulated multi-turn conversations against a chat agent, and reports how often it succeeds, how flaky and how
/// fast it is, and what it cost.
#[derive(Debug, Parser)]
#[command(name = "gabfest", version, propagate_version = true, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) logs: Logs,
}

impl Args {
    /// The arguments of this process; ends it if they are wrong.
    pub(crate) fn of_process() -> Self {
        let matches = with_negative_numbers(Self::command()).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// `--slots -1` gives a value, so that the error says which values the option takes.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let options = |arg: clap::Arg| {
        let is_option = arg.get_action().takes_values() && !arg.is_positional();
        if is_option { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(options).mut_subcommands(with_negative_numbers)
}

const EXAMPLES: &str = "\
Examples:
  gabfest run scenarios/                      play everything with the built-in mock model: no key, no server
  gabfest run refund.scenario.yaml --agent http://127.0.0.1:8080/v1 --repeats 20
  gabfest check scenarios/                    read the files and say what is wrong with them
  gabfest init my-tests && cd my-tests        a small project to start from

Exit codes:
  0 every gate held   1 a gate failed   2 usage, or a file with errors   3 not enough evidence
  4 stopped: the run's budget or a provider's quota is used up
  130 interrupted, after a drain, with a partial report";

#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// Log more to stderr (repeat for more); GABFEST_LOG takes a filter such as `worker=debug`
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = "Logs")]
    pub(crate) verbose: u8,
    /// Write log lines as JSON
    #[arg(long, global = true, help_heading = "Logs")]
    pub(crate) log_json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play scenarios and report
    Run(Box<run::Args>),
    /// Read files and print what is wrong with them, like a compiler
    Check(check::Args),
    /// Ask each agent and model once, and print what comes back
    Ping(ping::Args),
    /// Measure how well a judge agrees with labels from people
    Judge(judge::Args),
    /// List or print the settings of agents behind well-known servers
    Preset(preset::Args),
    /// Measure how well a threshold of scores agrees with labels from people
    Validate(validate::Args),
    /// Write scenarios of any format as `*.scenario.yaml`
    Convert(convert::Args),
    /// Print or write the report of a run again
    Report(report::Args),
    /// Write a run as Parquet files, for DuckDB and others
    Export(export::Args),
    /// Compare two runs: what is worse, better, slower, dearer, new or gone
    Compare(compare::Args),
    /// Ask the judged checks of a run again, with another judge, and say which verdicts change
    Rejudge(Box<rejudge::Args>),
    /// Show which cases are stable, flaky or broken over the nights, and the nights of a case
    History(history::Args),
    /// Show success rate, flakiness, times and cost over the nights
    Trends(trends::Args),
    /// Say how many repeats find a fall of the success rate, how long they take and what they cost; play nothing
    Plan(Box<plan::Args>),
    /// Split the noise of a run between the judge, the agent and the simulated user
    Noise(Box<noise::Args>),
    /// Continue a run that was interrupted, killed or paused
    Resume(resume::Args),
    /// Write a small working project
    Init(init::Args),
    /// Print a JSON Schema that editors can use
    Schema(schema::Args),
    /// Serve the mock model over the APIs of OpenAI, Anthropic, Gemini and Bedrock
    Mock(mock::Args),
    /// Measure what this machine can do: turns a second, how late starts are, and the error of latencies
    Selftest(selftest::Args),
    /// Test a QnA Maker knowledge base, as `bf qnamaker:test` does
    #[command(subcommand)]
    Qnamaker(qnamaker::Command),
    /// Lease the trials of runs to workers, and store the results
    Coordinator(coordinator::Args),
    /// Migrate and check the store of a coordinator
    #[command(subcommand)]
    Store(store::Command),
    /// Play trials for a coordinator
    Worker(worker::Args),
    /// Make and use the certificates of a fleet: a CA, join tokens, identities
    #[command(subcommand)]
    Pki(pki::Command),
    /// Send a run to a coordinator
    Submit(Box<submit::Args>),
    /// Follow a run on a coordinator, then report
    Watch(watch::Args),
    /// Stop a run on a coordinator
    Cancel(cancel::Args),
    /// Pause a run on a coordinator: nothing more starts until `gabfest resume`
    Pause(pause::Args),
    /// Set how many conversations of a load on a coordinator start each second
    Rate(rate::Args),
    /// Set how many conversations of a load on a coordinator run at once
    Slots(slots::Args),
    /// List the runs in a folder and of the history, or on a coordinator
    Runs(runs::Args),
    /// List the workers of a coordinator and the trials that are leased to them
    Workers(workers::Args),
    /// Manage small models that run inside gabfest, and probe the parameters of endpoints
    Models(models::Args),
    /// Write the price table of `price: auto`
    Prices(prices::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
}

impl Command {
    /// Whether only errors are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Self::Run(run) => run.output.quiet,
            Self::Submit(submit) => submit.output.quiet,
            Self::Watch(watch) => watch.output.quiet,
            Self::Resume(resume) => resume.quiet,
            Self::Rejudge(rejudge) => rejudge.output.quiet,
            _ => false,
        }
    }

    /// Runs the subcommand.
    pub(crate) async fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Run(args) => run::run(*args).await,
            Self::Check(args) => check::check(&args),
            Self::Ping(args) => ping::ping(&args).await,
            Self::Judge(args) => judge::judge(args).await,
            Self::Preset(args) => preset::print(&args),
            Self::Validate(args) => validate::validate(args).await,
            Self::Convert(args) => convert::convert(&args),
            Self::Report(args) => report::report(args).await,
            Self::Export(args) => export::export(args).await,
            Self::Compare(args) => compare::compare(&args).await,
            Self::Rejudge(args) => rejudge::rejudge(*args).await,
            Self::History(args) => history::history(args).await,
            Self::Trends(args) => trends::trends(args).await,
            Self::Plan(args) => plan::plan(*args).await,
            Self::Noise(args) => noise::noise(*args).await,
            Self::Resume(args) => resume::resume(args).await,
            Self::Init(args) => init::init(&args),
            Self::Schema(args) => schema::print(&args),
            Self::Mock(args) => mock::serve(args).await,
            Self::Selftest(args) => selftest::selftest(args).await,
            Self::Qnamaker(qnamaker::Command::Test(args)) => qnamaker::test(*args).await,
            Self::Coordinator(args) => coordinator::coordinator(args).await,
            Self::Store(command) => store::store(command).await,
            Self::Worker(args) => worker::worker(args).await,
            Self::Pki(command) => pki::run(command).await,
            Self::Submit(args) => submit::submit(*args).await,
            Self::Watch(args) => watch::watch(args).await,
            Self::Cancel(args) => cancel::cancel(args).await,
            Self::Pause(args) => pause::pause(args).await,
            Self::Rate(args) => rate::rate(args).await,
            Self::Slots(args) => slots::slots(args).await,
            Self::Runs(args) => runs::list(args).await,
            Self::Workers(args) => workers::list(args).await,
            Self::Models(args) => models::models(args).await,
            Self::Prices(args) => prices::prices(&args),
            Self::Completions(args) => Ok(completions::print(&args, Args::command())),
        }
    }
}
