//! Flags that several subcommands share. A subcommand's own flags are in its file in `command/`.

use std::{net::SocketAddr, ops::RangeInclusive, path::PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use scenario::plan::{MOST_COVERED, Transcripts};

use crate::load::flags::LoadFlags;

/// Trials that one machine may play at the same time.
pub(crate) const SLOTS: RangeInclusive<u32> = 1..=100_000;

/// The longest wait of a flag in seconds: a year.
pub(crate) const LONGEST_SECONDS: u64 = 365 * 24 * 3_600;

/// A whole number of a range. The error says which numbers are allowed.
pub(crate) fn whole<T>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: TryFrom<u64>,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

/// What to play: shared by `run` and `submit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// Scenario and matrix files, or folders of them
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Play each case N times [default: the number in the files, or 1]
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u32>(1..=u64::from(u32::MAX)))]
    pub(crate) repeats: Option<u32>,
    /// Stop as soon as `gates.pass_rate` is decided, with the chances of error in `decide` of the settings (5 % each); --repeats
    /// is the most that a case is played [default: 60]
    #[arg(long)]
    pub(crate) decide: bool,
    /// Play each conversation once with each of these personas (names from the library, or `all`)
    #[arg(short, long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) personas: Vec<String>,
    /// Set a parameter in every scenario that has it, such as `run[0].conversation.max_turns=4`
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Judge batteries as this revision of Emely-testing does, bugs included; same as `--set compat=REVISION`
    #[arg(long, value_name = "REVISION", value_parser = ["emely-9043c93"])]
    pub(crate) compat: Option<String>,
    /// The agent under test: a name from the settings file, or the URL of an OpenAI-compatible server, with a key as
    /// `?api_key=env:NAME`; repeat for several
    #[arg(short, long = "agent", value_name = "NAME|URL")]
    pub(crate) agents: Vec<String>,
    /// Play only cases whose scenario, combination, parameters or persona contain this text
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Play only scenarios with one of these tags
    #[arg(short, long = "tag", value_name = "TAG,…", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Play no scenario with one of these tags
    #[arg(long = "exclude-tag", value_name = "TAG,…", value_delimiter = ',')]
    pub(crate) exclude_tags: Vec<String>,
    /// Play only cases that have this value; NAME is an axis, a column of the data set, `row`, `persona`, `agent` or
    /// `scenario`. Repeat it for several values of a name (one must match) or several names (all must match)
    #[arg(long = "where", value_name = "NAME=VALUE")]
    pub(crate) conditions: Vec<String>,
    /// Leave out cases that have all of these values; repeat to leave out more
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub(crate) exclude: Vec<String>,
    #[command(flatten)]
    pub(crate) cover: CoverFlag,
    /// What a figure of the run must be, such as `p99(ttft) < 2s for 60s, abort` or `cost < 20`; repeat for several
    #[arg(long = "objective", value_name = "OBJECTIVE")]
    pub(crate) objectives: Vec<String>,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    /// Seed of everything random; with the mock model, the same plan and seed give the same verdicts
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX))]
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
    /// Skip the preflight (before 20 trials or more, `run` asks each agent and model once), and do not stop if an agent never
    /// answers
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Print what would be played, with an estimate of calls, tokens, time and cost; play nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Of which conversations the words are kept; `sample`: failures, and one in a hundred of the others [default: all]
    #[arg(long, value_name = "WHICH", value_parser = transcripts())]
    pub(crate) transcripts: Option<Transcripts>,
    /// Refuse plans with more trials than this
    #[arg(long, default_value_t = scenario::plan::MAX_TRIALS, value_name = "N", value_parser = whole::<u64>(1..=scenario::plan::MAX_TRIALS))]
    pub(crate) max_trials: u64,
}

impl Selection {
    /// A flag that selects from the scenarios of PATH.
    pub(crate) fn narrowing(&self) -> Option<&'static str> {
        let given = [
            ("--repeats", self.repeats.is_some()),
            ("--decide", self.decide),
            ("--personas", !self.personas.is_empty()),
            ("--set", !self.set.is_empty()),
            ("--compat", self.compat.is_some()),
            ("--agent", !self.agents.is_empty()),
            ("--filter", self.filter.is_some()),
            ("--tag", !self.tags.is_empty()),
            ("--exclude-tag", !self.exclude_tags.is_empty()),
            ("--where", !self.conditions.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--cover", self.cover.cover.is_some()),
            ("--seed", self.seed != 0),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

fn transcripts() -> impl TypedValueParser<Value = Transcripts> {
    PossibleValuesParser::new(Transcripts::NAMES).map(|name| Transcripts::named(&name).unwrap_or_default())
}

/// Which combinations of axes are played: shared by everything that plans.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct CoverFlag {
    /// Play few combinations of axes, rows and personas, which contain every combination of values of any T of them: 2 covers
    /// every pair; `all` plays all [default: `cover` in the settings, else all]
    #[arg(long, value_name = "T", value_parser = covered)]
    cover: Option<Covered>,
}

/// `1` to `3`, or `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Covered {
    All,
    Any(u32),
}

fn covered(text: &str) -> Result<Covered, String> {
    if text == "all" {
        return Ok(Covered::All);
    }
    let strength = text.parse().ok().filter(|strength| (1..=MOST_COVERED).contains(strength));
    strength.map(Covered::Any).ok_or_else(|| format!("expected 1 to {MOST_COVERED}, or `all`"))
}

impl CoverFlag {
    /// The flag, or else the settings.
    pub(crate) fn strength(self, settings: Option<u32>) -> Option<u32> {
        match self.cover {
            Some(Covered::All) => None,
            Some(Covered::Any(strength)) => Some(strength),
            None => settings,
        }
    }
}

/// The source of the settings: shared by all subcommands that read them.
#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    /// The settings file [default: gabfest.yaml, if it exists]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Read environment variables from this file before anything else
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
}

/// What scenarios may do on this machine: shared by `run` and `worker`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Capacity {
    /// Trials played at the same time [default: `slots` in the settings file, else 32]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(u64::from(*SLOTS.start())..=u64::from(*SLOTS.end())))]
    pub(crate) slots: Option<u32>,
    /// Allow scenarios to run programs; agents that are programs need `host`
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "sandbox")]
    pub(crate) allow_exec: Option<AllowExec>,
    /// Serve mocked tools at this address, for agents that call their tools themselves [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    pub(crate) tools_listen: Option<SocketAddr>,
    /// The URL at which agents on other machines reach --tools-listen
    #[arg(long, value_name = "URL")]
    pub(crate) tools_url: Option<String>,
}

/// Metrics and who can read them: shared by the roles that play or lease trials.
#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    /// Serve /metrics (Prometheus), /livez and /healthz at http://ADDR; port 0 picks a free port and prints it
    #[arg(long, value_name = "ADDR", env = "GABFEST_METRICS_LISTEN")]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Allow addresses that other machines can reach, although nothing is encrypted or authenticated
    #[arg(long)]
    pub(crate) insecure_i_know: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AllowExec {
    /// In a sandbox (bubblewrap), without this machine's network and files
    Sandbox,
    /// Directly on this machine, with the rights of the user who started gabfest
    Host,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// Write the run's files to this folder [default: gabfest-runs/RUN]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print only errors and, if the exit code is not 0, the verdict
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::command::Args;

    #[test]
    fn a_flag_says_which_numbers_it_takes() {
        for (line, expected) in [
            ("run . --repeats x", "'--repeats <N>': expected a whole number from 1 to 4294967295"),
            ("run . --repeats 0", "'--repeats <N>': expected a whole number from 1 to 4294967295"),
            ("run . --seed abc", "'--seed <N>': expected a whole number from 0 to 18446744073709551615"),
            ("run . --slots 1.5", "'--slots <N>': expected a whole number from 1 to 100000"),
            ("run . --max-trials -5", "'--max-trials <N>': expected a whole number from 1 to 10000000"),
            ("run . --cover 4", "'--cover <T>': expected 1 to 3, or `all`"),
            ("run . --iterations x", "'--iterations <N>': expected a whole number from 1 to 10000000"),
            ("worker --grace x", "'--grace <S>': expected a whole number from 0 to 31536000"),
            ("worker --patience x", "'--patience <S>': expected a whole number from 0 to 31536000"),
            ("watch a --patience x", "'--patience <S>': expected a whole number from 0 to 31536000"),
            ("submit . --patience x", "'--patience <S>': expected a whole number from 0 to 31536000"),
            ("selftest --seconds x", "'--seconds <SECONDS>': expected a whole number from 1 to 60"),
            ("ping --timeout 0", "'--timeout <SECONDS>': expected a whole number from 1 to 3600"),
            ("models probe a --timeout x", "'--timeout <SECONDS>': expected a whole number from 1 to 3600"),
            ("judge x --votes 101", "'--votes <N>': expected a whole number from 1 to 100"),
            ("judge x --examples 7", "'--examples <N>': expected a whole number from 0 to 6"),
            ("judge x --seeds x", "'--seeds <N>': expected a whole number from 1 to 100"),
        ] {
            let line = line.replace(" -5", "=-5");
            let refused = Args::try_parse_from(["gabfest"].into_iter().chain(line.split(' '))).unwrap_err().to_string();
            assert!(refused.contains(expected), "{line}: {refused}");
        }
        assert!(Args::try_parse_from(["gabfest", "run", ".", "--seed", "18446744073709551615"]).is_ok());
    }

    #[test]
    fn ping_takes_no_flags_that_do_nothing() {
        for flag in ["--slots=3", "--tools-listen=127.0.0.1:1", "--tools-url=http://h"] {
            assert!(Args::try_parse_from(["gabfest", "ping", flag]).is_err(), "{flag}");
        }
        assert!(Args::try_parse_from(["gabfest", "ping", "--allow-exec=host"]).is_ok());
    }
}
