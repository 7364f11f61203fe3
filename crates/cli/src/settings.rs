//! `gabfest.yaml`: endpoints, agents, roles, and other decisions of this machine's operator.

pub(crate) mod decide;
pub(crate) mod history;
mod rates;
pub(crate) mod vetting;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use scenario::{placeholder, plan::Transcripts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::path::Segment;

use crate::{
    addresses,
    args::Config,
    diagnostics,
    exit::usage,
    exporting,
    load::settings::{Pace, explain_keys_of_k6},
    objectives::WrittenObjective,
    retention, scores,
};

/// Read if `--config` is not given and it exists.
const USUAL: &str = "gabfest.yaml";

/// The name of the built-in endpoint and agent.
pub(crate) const MOCK: &str = "mock";

/// The settings file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "gabfest.yaml")]
pub(crate) struct Settings {
    /// Servers of language models, by name. `mock` is built in.
    pub(crate) endpoints: BTreeMap<String, llm::endpoint::Settings>,
    /// The agents under test, by name. `mock` is built in.
    pub(crate) agents: BTreeMap<String, agent::Settings>,
    pub(crate) roles: Roles,
    /// The endpoints of the model types that scenarios name. Simulators without a type use TEXT_LARGE.
    pub(crate) models: BTreeMap<String, String>,
    /// Which models measure texts, for checks that compare with a threshold.
    pub(crate) scores: scores::Settings,
    /// Databases that scenarios may seed, by name.
    pub(crate) databases: BTreeMap<String, Database>,
    /// Custom checks, by name: programs and HTTP services that judge transcripts.
    pub(crate) checks: BTreeMap<String, worker::custom_check::Settings>,
    /// Services whose state `http_state` reads, by name.
    pub(crate) state_hosts: BTreeMap<String, worker::state_host::Settings>,
    /// HTTP hooks that decide whether a conversation is over, by name.
    pub(crate) hooks: BTreeMap<String, worker::termination::hook::Settings>,
    pub(crate) gates: Gates,
    /// Stops a run as soon as `gates.pass_rate` is decided, as `--decide` does. Without it every repeat is played.
    pub(crate) decide: Option<decide::Settings>,
    /// Cases that are played and shown, and that no gate depends on. An entry applies until its day is over.
    pub(crate) quarantine: Vec<scenario::Quarantine>,
    /// Labels of runs in the history, such as `commit: ${env:GIT_COMMIT}`; `--label` adds to them.
    pub(crate) labels: BTreeMap<String, String>,
    /// What is concluded from the history of runs.
    pub(crate) history: history::Settings,
    /// Writes each run as Parquet files when it ends; `--export` takes precedence. docs/export.md has the tables.
    pub(crate) export: Option<exporting::Settings>,
    /// Which folders of earlier runs `gabfest run` deletes at its end, beside its own; by default none. The history keeps its
    /// rows.
    pub(crate) retention: Option<retention::Settings>,
    /// The file with the measurements of `gabfest judge --save`, for `gates.judges`; relative to this file
    /// (`gabfest.judges.json`).
    pub(crate) calibration: Option<PathBuf>,
    /// A file of labelled conversations, as `gabfest judge` reads them, that the judge of `roles.judge` judges in every run: a change of
    /// its verdicts is a change of the judge. Relative to this file.
    pub(crate) sentinels: Option<PathBuf>,
    /// Limits on times: the report says how many turns, and how many conversations, meet all of them.
    pub(crate) goodput: Goodput,
    /// What figures of a run must be, such as `p99(ttft) < 2s for 60s, abort`, in addition to `gates`. docs/load.md has the
    /// language.
    pub(crate) objectives: Vec<WrittenObjective>,
    /// Of which conversations the words are kept: `all`, `failures`, or `sample`, which are the failures and one in a hundred
    /// of the others (`all`). Every figure comes from the records of trials, which are always kept.
    pub(crate) transcripts: Transcripts,
    /// How often a trial is played again within a run when it ended as ERROR or INCONCLUSIVE and that was not the agent's
    /// fault: a simulator, judge, tool or environment that failed (2).
    pub(crate) replays: Option<u32>,
    /// The k of pass^k, the chance that k trials in a row all pass: the smallest number of repeats of a case, at most 8,
    /// unless written.
    #[schemars(range(min = 1, max = 10))]
    pub(crate) pass_k: Option<u32>,
    /// Files and folders with personas, in addition to those of the played scenarios; relative to this file.
    pub(crate) personas: Vec<PathBuf>,
    /// Plays the smallest set of combinations in which any two axes, rows or personas have every pair of their values (2), as `--cover`
    /// does. 1 covers every value, 3 every triple. Without it all combinations are played.
    #[schemars(range(min = 1, max = 3))]
    pub(crate) cover: Option<u32>,
    /// Trials played at the same time by this machine (32).
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) slots: Option<u32>,
    pub(crate) tool_server: ToolServer,
    /// The price table that `price: auto` reads, as `gabfest prices update` writes it; relative to this file (the table that
    /// gabfest ships).
    pub(crate) prices: Option<PathBuf>,
    /// The most that a run may cost, in US dollars. gabfest reserves the most that a call can cost before it makes the call,
    /// so a run never costs more. `--max-cost` takes precedence.
    #[schemars(range(min = 0.0))]
    pub(crate) max_cost: Option<f64>,
    /// Paces for `--pace`, by name: at which rate, or in how many slots, conversations start.
    pub(crate) load: BTreeMap<String, Pace>,
}

/// Where agents that call their tools themselves reach the mocks of scenarios.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ToolServer {
    /// An address and a port; port 0 takes a free one (`127.0.0.1:0`).
    #[schemars(with = "Option<String>")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// The address for agents on other machines, such as `http://worker-7:7500`; by default the listen address.
    pub(crate) url: Option<String>,
}

/// The endpoint of each role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Roles {
    /// The agent under test, unless the command line names one (`mock`).
    pub(crate) agent: Option<String>,
    /// The endpoint of the simulated user (`mock`), for model types that `models` does not map.
    pub(crate) user_sim: Option<String>,
    /// The endpoint of the judge (`mock`), for checks without a model type or with one that `models` does not map.
    pub(crate) judge: Option<String>,
    /// The most tokens of one answer of a judge, including its reasoning. Large forms may use more.
    pub(crate) judge_max_tokens: u32,
}

impl Default for Roles {
    fn default() -> Self {
        Self { agent: None, user_sim: None, judge: None, judge_max_tokens: evaluate::JUDGE_MAX_TOKENS }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Database {
    /// `sqlite://PATH`, `postgres://…`, or `env:NAME` for a variable that holds the address.
    pub(crate) url: String,
}

/// The limits on times that make a turn one of use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Goodput {
    /// The longest response time, from the moment a turn is due to the whole reply, in milliseconds.
    pub(crate) response_ms: Option<f64>,
    /// The longest time to the first token, in milliseconds. The first token of a reply that was not streamed comes with its
    /// last byte.
    pub(crate) ttft_ms: Option<f64>,
    /// The longest mean time of each output token after the first one, in milliseconds. Replies that were not streamed, or have
    /// one token, meet it.
    pub(crate) per_output_token_ms: Option<f64>,
}

impl Goodput {
    pub(crate) fn limits(self) -> scenario::Goodput {
        let micros = |millis: Option<f64>| millis.map(|millis| (millis * 1_000.0).round() as u64);
        scenario::Goodput {
            response_micros: micros(self.response_ms),
            ttft_micros: micros(self.ttft_ms),
            per_token_micros: micros(self.per_output_token_ms),
        }
    }
}

/// The conditions for a run to pass.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Gates {
    /// The least success rate of the whole run: pass / (pass + fail + errors of the agent), such as `0.95` for 95 %. Without it
    /// and `success_rate` every trial of every case must pass.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) pass_rate: Option<f64>,
    /// Least success rates, of the run or of each of its parts, by the rate itself or by its lower bound: `95%`,
    /// `{min: 95%, by: bound, confidence: 95%, per: scenario}`, or a list of them. `pass_rate: 0.95` is a short form of `95%`.
    pub(crate) success_rate: rates::SuccessRates,
    /// The largest share of cases that may be flaky, such as 0.05. A case with fewer than two trials cannot show it, and counts as
    /// undecided. Without it the share does not matter.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) max_flaky_cases: Option<f64>,
    /// The minimum for every case, in addition to `pass_rate` (half of it by default; 0 for none). A case fails when
    /// the 95 % upper bound of its success rate is below the minimum, so 0 of 5 trials fails a minimum of 0.475 and 0
    /// of 4 does not. `required_pass_rate` of a scenario replaces it.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) case_pass_rate: Option<f64>,
    /// The largest share of planned trials that may say nothing about the agent (0 by default).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) max_unjudged: f64,
    /// How many cases may have no trial that says something about the agent (0 by default). Their trials count for
    /// `max_unjudged` too.
    pub(crate) max_unjudged_cases: u64,
    /// The largest share of trials in which the simulated user may be at fault, such as 0.05. Above it the run is
    /// INCONCLUSIVE. Without it the share does not matter.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) max_simulator_faults: Option<f64>,
    /// How well a judge must agree with people to decide. The findings of other judges only inform. Without it every judge
    /// decides.
    pub(crate) judges: Option<Judges>,
    /// Compares the run with an earlier one, as `gabfest compare` does: a run that is worse fails (exit code 1), such as
    /// `{baseline: last-green}`. Without it nothing is compared.
    pub(crate) regression: Option<Regression>,
}

/// The earlier run, and by how much a run may be worse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Regression {
    /// `last-green` (the default): the latest finished run of the same name in `gabfest-runs/` whose gates held. `last`: whether
    /// they held or not. Otherwise a run's folder or id.
    pub(crate) baseline: String,
    /// By how many percentage points the success rate may fall, such as `3pp` (the default).
    pub(crate) margin: String,
}

impl Default for Regression {
    fn default() -> Self {
        Self { baseline: "last-green".to_owned(), margin: "3pp".to_owned() }
    }
}

/// How well a judge must agree with people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Judges {
    /// The least kappa, as `gabfest judge LABELS --save` measures it. 0.6 is usual.
    #[schemars(range(min = -1.0, max = 1.0))]
    pub(crate) min_kappa: f64,
}

/// The settings, and the folder that paths in them are relative to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Read {
    pub(crate) settings: Settings,
    /// The settings file.
    pub(crate) file: Option<PathBuf>,
    pub(crate) folder: PathBuf,
    /// The variables of `--env-file`, for the programs of scenarios.
    pub(crate) variables: Vec<(String, String)>,
    /// Keys from the command line, by the agent's name.
    pub(crate) keys: BTreeMap<String, secrecy::SecretString>,
}

/// The settings file; `None`: there is none.
pub(crate) fn file(config: &Config) -> Option<PathBuf> {
    config.config.clone().or_else(|| Path::new(USUAL).is_file().then(|| PathBuf::from(USUAL)))
}

/// Reads the environment file, then the settings.
pub(crate) fn read(config: &Config, strict: bool) -> anyhow::Result<Read> {
    let variables = config.env_file.as_deref().map(environment).transpose()?.unwrap_or_default();
    let Some(path) = file(config) else { return Ok(Read { variables, ..Read::default() }) };
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display())).map_err(usage)?;
    let (settings, mut found) = understand(&text, &path.display().to_string());
    if strict {
        yaml::diagnostic::strict(&mut found);
    }
    diagnostics::print(&found);
    let settings = settings.filter(|_| !found.iter().any(scenario::Diagnostic::is_error));
    let settings =
        settings.ok_or_else(|| usage(anyhow!("{} cannot be used: {}", path.display(), diagnostics::count(&found))))?;
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    settings.hide_keys();
    Ok(Read { settings, file: Some(path), folder, variables, ..Read::default() })
}

/// The settings of a text, with findings line by line.
fn understand(text: &str, path: &str) -> (Option<Settings>, Vec<scenario::Diagnostic>) {
    let mut document = match open(text, path) {
        Ok(document) => document,
        Err(diagnostic) => return (None, vec![diagnostic]),
    };
    let mut findings = yaml::Findings::new(path);
    let faults = formats::environment::put_in(&mut document.value, &mut |name| std::env::var(name).map_err(unset));
    if !faults.is_empty() {
        placeholder::report(faults, &document, &mut findings);
        return (None, findings.into_sorted());
    }
    let mut settings: Option<Settings> = document.root().decode_guarded(is_protection, &mut findings);
    if let Some(settings) = &mut settings {
        take_prices(settings, &document, path, &mut findings);
    }
    if let Some(settings) = &settings {
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        vetting::vet(settings, folder, &document, &mut findings);
    }
    let mut found = findings.into_sorted();
    explain_keys_of_k6(&mut found);
    (settings, found)
}

/// Parses the text of a settings file. If everything is commented out, it sets nothing. A file without a comment may have lost its
/// content, and is refused as empty.
pub(crate) fn open(text: &str, path: &str) -> Result<yaml::Document, scenario::Diagnostic> {
    yaml::open(if sets_nothing(text) { "{}" } else { text }, path)
}

fn sets_nothing(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    text.lines().any(is_comment) && text.lines().all(|line| line.trim().is_empty() || is_comment(line))
}

fn unset(error: std::env::VarError) -> String {
    match error {
        std::env::VarError::NotPresent => "is not set".to_owned(),
        std::env::VarError::NotUnicode(_) => "is not text".to_owned(),
    }
}

fn digest(endpoint: &llm::endpoint::Settings) -> String {
    let mut parts = endpoint.asked_with();
    parts.push(serde_json::json!(endpoint.price()));
    // Plans of endpoints without it keep their digest from before the key.
    parts.extend(endpoint.context_tokens.map(serde_json::Value::from));
    scenario::Digest::of_json(&parts.into()).short().to_owned()
}

/// Replaces `price: auto` with the prices of the settings' own table.
fn take_prices(settings: &mut Settings, document: &yaml::Document, path: &str, findings: &mut yaml::Findings) {
    let Some(written) = &settings.prices else { return };
    let file = Path::new(path).parent().unwrap_or(Path::new("")).join(written);
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string());
    let table = match text.and_then(|text| llm::prices::Table::read(&text).map_err(|error| error.to_string())) {
        Ok(table) => table,
        Err(error) => {
            let message = format!("prices: {} cannot be read: {error}", file.display());
            return findings.error(document.root().key_spot("prices"), message);
        }
    };
    for (name, endpoint) in &mut settings.endpoints {
        if let Err(reason) = endpoint.take_price(&table)
            && let Some(written) = document.root().get("endpoints").and_then(|endpoints| endpoints.get(name))
        {
            findings.error(written.key_spot("price"), format!("endpoints.{name}.price {reason}"));
            // Reported here, and not again for the built-in table.
            endpoint.price = None;
        }
    }
}

/// Whether an unknown key at this place is an error: a misspelt gate, limit, price or role would silently not apply,
/// and so would a section of the file, of an endpoint or of an agent. Keys that start with `x-` belong to the user.
fn is_protection(parents: &[Segment], key: &str) -> bool {
    let names: Vec<&str> = parents
        .iter()
        .filter_map(|segment| match segment {
            Segment::Key(name) => Some(name.as_str()),
            Segment::Index(_) => None,
        })
        .collect();
    match names.as_slice() {
        [] | ["endpoints" | "agents" | "checks" | "state_hosts", _] => !key.starts_with("x-"),
        ["endpoints" | "agents", _, section, ..] | [section, ..] => {
            matches!(
                *section,
                "decide"
                    | "gates"
                    | "goodput"
                    | "history"
                    | "limits"
                    | "load"
                    | "oauth"
                    | "objectives"
                    | "price"
                    | "quarantine"
                    | "retries"
                    | "roles"
            )
        }
    }
}

/// Reads the file and sets its unset variables in this process, because keys name variables.
fn environment(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    // Read before anything is set, so that a broken line leaves no half of the file behind.
    let failed = |error| usage(unreadable(path, &error));
    let variables: Vec<(String, String)> =
        dotenvy::from_path_iter(path).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    dotenvy::from_path(path).map_err(failed)?;
    for (_, value) in &variables {
        redact::register(value);
    }
    Ok(variables)
}

/// The library's own message quotes the line, which may hold a key.
fn unreadable(path: &Path, error: &dotenvy::Error) -> anyhow::Error {
    let place = path.display();
    let dotenvy::Error::LineParse(text, _) = error else {
        return anyhow!("failed to read the environment file {place}: {error}");
    };
    let beginning = text.lines().next().unwrap_or_default();
    let file = std::fs::read_to_string(path).unwrap_or_default();
    let number = file.lines().position(|line| line.contains(beginning)).map_or(0, |index| index + 1);
    anyhow!(
        "failed to read the environment file {place}: line {number} is not NAME=VALUE\n\
         hint: put a value with spaces in quotes; a line that begins with # is a comment"
    )
}

impl Settings {
    /// Registers all available keys with every sink, before telemetry starts and before a key is used. Whatever needs a
    /// missing key reports it.
    fn hide_keys(&self) {
        for place in self.keys() {
            if let Ok(key) = place.resolve() {
                redact::register(secrecy::ExposeSecret::expose_secret(&key));
            }
        }
        // Every address, of any kind, is a text with a scheme.
        if let Ok(all) = serde_json::to_value(self) {
            addresses::hide_all(&all);
        }
    }

    /// The places of the keys of all endpoints, agents, hooks, checks and state hosts.
    pub(crate) fn keys(&self) -> Vec<llm::key::KeyRef> {
        let of_endpoints = self.endpoints.values().flat_map(llm::endpoint::Settings::keys);
        let of_agents = self.agents.values().flat_map(agent::Settings::keys);
        let of_hooks = self.hooks.values().filter_map(|hook| hook.key.clone());
        let of_checks = self.checks.values().filter_map(|check| check.key.clone());
        let of_hosts = self.state_hosts.values().filter_map(|host| host.key.clone());
        of_endpoints.chain(of_agents).chain(of_hooks).chain(of_checks).chain(of_hosts).collect()
    }

    /// The settings of each endpoint that influence replies and costs, for the plan, without addresses and keys.
    pub(crate) fn digests(&self) -> BTreeMap<String, String> {
        let asked = self.endpoints.iter().filter(|(_, endpoint)| endpoint.kind != llm::endpoint::Kind::Mock);
        asked.map(|(name, endpoint)| (name.clone(), digest(endpoint))).collect()
    }

    /// The agent of plans that name none.
    pub(crate) fn default_agent(&self) -> String {
        self.roles.agent.clone().unwrap_or_else(|| MOCK.to_owned())
    }

    /// Whether an endpoint plays the user or the judge.
    pub(crate) fn names_model(&self, endpoint: &str) -> bool {
        let roles = [&self.roles.user_sim, &self.roles.judge].into_iter().flatten();
        roles.chain(self.models.values()).any(|name| name == endpoint)
    }
}
