//! `load` of gabfest.yaml: paces by name.

use std::collections::BTreeMap;

use scenario::Diagnostic;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::units::{Amount, Span};

/// A pace: how many conversations start, and when. With `rate`, they start at times that are decided before the run (the open
/// model). With `slots`, each slot starts one when its last one has ended (the closed model).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "LoadPace", transform = with_other_names)]
pub(crate) struct Pace {
    /// The name that k6 has for the pace. The other keys say the same; this one is compared with them.
    pub(crate) executor: Option<Executor>,
    /// Conversations that start each second (`5/s`), minute (`300/m`) or hour.
    pub(crate) rate: Option<Amount>,
    /// The rate at which `stages` begin (0).
    #[serde(alias = "startRate")]
    pub(crate) start_rate: Option<Amount>,
    /// What a rate without a unit counts for (`1s`).
    #[serde(alias = "timeUnit")]
    pub(crate) time_unit: Option<Span>,
    /// How far apart the starts of a rate are (`even`).
    pub(crate) arrivals: Option<Arrivals>,
    /// The shape of `arrivals: gamma`: 1 is `poisson`, less comes in bursts, more is nearly even.
    pub(crate) burstiness: Option<f64>,
    /// Conversations at once.
    #[serde(alias = "vus", alias = "users")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) slots: Option<u32>,
    /// The number of slots at which `stages` begin (0).
    #[serde(alias = "startVUs")]
    pub(crate) start_slots: Option<u32>,
    /// Slots that are added each second until there are `slots`.
    pub(crate) spawn_rate: Option<Amount>,
    /// Conversations of all slots together.
    #[schemars(range(min = 1))]
    pub(crate) iterations: Option<u64>,
    /// Conversations for each slot; a slot that is free takes the next one, so all together play `slots` times as many.
    #[schemars(range(min = 1))]
    pub(crate) iterations_per_slot: Option<u64>,
    /// For how long conversations start.
    #[serde(alias = "run_time")]
    pub(crate) duration: Option<Span>,
    /// With `iterations`: for how long they start at most.
    #[serde(alias = "maxDuration")]
    pub(crate) max_duration: Option<Span>,
    /// How long after the run this pace starts (`0s`).
    #[serde(alias = "startTime")]
    pub(crate) start_time: Option<Span>,
    /// Straight lines from one rate, or number of slots, to the next.
    pub(crate) stages: Vec<Stage>,
    /// A short time at another rate or number of slots, within `duration`.
    pub(crate) spike: Option<Spike>,
    /// A rate or number of slots that grows by steps. The number of steps decides how long it lasts.
    pub(crate) steps: Option<Steps>,
    /// Starts at the times of a file.
    pub(crate) trace: Option<Trace>,
    /// Looks for the highest rate at which every objective holds, from `rate` on.
    pub(crate) search: Option<Search>,
    /// Plays only scenarios with one of these tags.
    pub(crate) tags: Vec<String>,
    /// Plays no scenario with one of these tags.
    pub(crate) exclude_tags: Vec<String>,
    /// Plays only cases that have one of these values; the names are those of `--where`.
    #[serde(rename = "where")]
    pub(crate) wanted: BTreeMap<String, Vec<Value>>,
    /// Plays only cases whose scenario, combination, parameters or persona contain this text.
    pub(crate) filter: Option<String>,
    /// How often scenarios are played, relative to each other, by name or tag. Others have the `weight` of their file (1).
    pub(crate) weights: BTreeMap<String, f64>,
    /// What starts so early is played and left out of the figures (`0s`).
    pub(crate) warm_up: Option<Span>,
    /// A start that waits longer than this for a free slot is dropped, and counted (`1s`).
    pub(crate) drop_after: Option<Span>,
    /// Several paces at once, by name, each with its own choice of cases. Keys beside `groups` hold for all groups that do not
    /// have them.
    pub(crate) groups: BTreeMap<String, Pace>,
}

/// k6's names for paces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "LoadExecutor")]
pub(crate) enum Executor {
    /// `slots` for a `duration`.
    ConstantVus,
    /// `stages` of slots.
    RampingVus,
    /// `slots` and `iterations` of all together.
    SharedIterations,
    /// `slots` and `iterations` of each: the same as `iterations_per_slot`.
    PerVuIterations,
    /// `rate` for a `duration`.
    ConstantArrivalRate,
    /// `stages` of rates.
    RampingArrivalRate,
}

/// How far apart arrivals are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LoadArrivals")]
pub(crate) enum Arrivals {
    /// Equally far apart.
    Even,
    /// At random times, as independent people would.
    Poisson,
    /// Gamma with `burstiness`, as vLLM and AIPerf name it.
    #[clap(skip)]
    Gamma,
}

/// A straight line to a rate or number of slots.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoadStage")]
pub(crate) struct Stage {
    /// Where the stage ends.
    pub(crate) target: Amount,
    /// How long it lasts; `0s` jumps.
    pub(crate) duration: Span,
}

/// A short time at another height.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoadSpike")]
pub(crate) struct Spike {
    /// The rate or number of slots during the spike.
    pub(crate) to: Amount,
    /// When the spike begins, after the start of the pace.
    pub(crate) after: Span,
    /// How long it lasts.
    pub(crate) duration: Span,
}

/// A stair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoadSteps")]
pub(crate) struct Steps {
    /// What each step adds.
    pub(crate) by: Amount,
    /// The last height.
    pub(crate) to: Amount,
    /// How long each height lasts.
    pub(crate) every: Span,
}

/// A search for the highest rate that meets the objectives: the rate grows until a step does not hold, then the search halves the
/// distance between the highest rate that held and the lowest that did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "LoadSearch")]
pub(crate) struct Search {
    /// The highest rate that it tries.
    pub(crate) to: Option<Amount>,
    /// How long each step is measured (`30s`).
    pub(crate) every: Option<Span>,
    /// The fewest conversations that a step starts; it is measured for longer if needed (100).
    pub(crate) conversations: Option<u64>,
    /// How long each rate is played before it is measured (`5s`).
    pub(crate) settle: Option<Span>,
    /// What the rate is multiplied by while steps hold (2).
    #[schemars(range(min = 1.01, max = 100.0))]
    pub(crate) factor: Option<f64>,
    /// The search ends when the lowest rate that did not hold is at most this share above the highest that held (0.05).
    #[schemars(range(min = 0.001, max = 1.0))]
    pub(crate) precision: Option<f64>,
    /// The most steps (16).
    #[schemars(range(min = 1, max = 40))]
    pub(crate) max_steps: Option<u32>,
}

/// Times of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoadTrace")]
pub(crate) struct Trace {
    /// A file that ends in `.csv`, `.tsv`, `.jsonl` or `.parquet`, relative to the settings.
    pub(crate) file: String,
    /// The column with the time of each start, as a number or as a date and time (`timestamp`).
    pub(crate) column: Option<String>,
    /// What a number counts (`s`).
    pub(crate) unit: Option<TimeUnit>,
    /// How much faster the trace is played: 2 halves all gaps (1).
    #[schemars(range(min = 0.000_001))]
    pub(crate) speed: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LoadTraceUnit")]
pub(crate) enum TimeUnit {
    S,
    Ms,
    Us,
}

/// Names of k6 and Locust, and ours. The reader takes both.
pub(super) const OTHER_NAMES: [(&str, &str); 8] = [
    ("vus", "slots"),
    ("users", "slots"),
    ("startRate", "start_rate"),
    ("startVUs", "start_slots"),
    ("timeUnit", "time_unit"),
    ("run_time", "duration"),
    ("maxDuration", "max_duration"),
    ("startTime", "start_time"),
];

/// Keys of k6 without a counterpart here.
const WITHOUT_COUNTERPART: [&str; 2] = ["preAllocatedVUs", "maxVUs"];

/// Replaces the list of known keys for a key of k6 that has no counterpart here.
pub(crate) fn explain_keys_of_k6(findings: &mut [Diagnostic]) {
    for finding in findings.iter_mut().filter(|finding| finding.unknown_key.is_some()) {
        if WITHOUT_COUNTERPART.iter().any(|key| finding.message == format!("unknown key `{key}`")) {
            let help = "leave it out: `slots` beside `load`, or --slots, limits how many conversations a machine plays at once";
            finding.help = Some(help.to_owned());
        }
    }
}

/// Adds the other names to the schema, for editors.
fn with_other_names(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (other, ours) in OTHER_NAMES {
        if let Some(mut property) = properties.get(ours).cloned() {
            if let Some(map) = property.as_object_mut() {
                map.insert("description".to_owned(), format!("The same as `{ours}`.").into());
            }
            properties.insert(other.to_owned(), property);
        }
    }
}
