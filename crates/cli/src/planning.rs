//! A comparison before it is played: the plan, the history and the settings in, repeats, time and money out.

mod text;

use anyhow::anyhow;
use history::History;
use record::visible;
use scenario::{Plan, estimate::estimate};
use statistics::{
    compare::{self, power::Design},
    nights::Night,
    planning::{
        self, Affordable, Basis, Chosen, Cost, CostSource, Costs, Facts, PastTime, Planning, Question, SCHEMA_VERSION,
        Spread, Wall, Wanted,
    },
};

pub(crate) use self::text::text;
use crate::{compared, estimate as size, exit::usage, history_file::Place, settings::Settings};

/// Older nights weigh less than a thousandth with the default half-life.
const LAST: usize = 90;

/// Where success rates come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assumed<'a> {
    pub(crate) place: &'a Place,
    /// Of cases without a history.
    pub(crate) rate: f64,
}

/// The plan, and what its pages need besides.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) planning: Planning,
    /// What the fewest repeats that suffice cost at most.
    pub(crate) needed_usd: Option<f64>,
    /// Where the times of calls come from.
    pub(crate) times: String,
    /// Cases in quarantine, which a comparison leaves out.
    pub(crate) quarantined: u64,
}

/// The margin of comparisons with these settings.
pub(crate) fn usual_margin(settings: &Settings) -> f64 {
    let written = settings.gates.regression.as_ref().and_then(|gate| compared::margin(&gate.margin).ok());
    written.unwrap_or(compare::MARGIN)
}

/// `plan` plays each case once.
pub(crate) async fn plan(
    plan: &Plan,
    settings: &Settings,
    slots: u32,
    margin: f64,
    question: Question,
    assumed: Assumed<'_>,
) -> anyhow::Result<Planned> {
    let wanted = Wanted::of(plan, &coordinator::aggregate::contents::of(plan));
    let nights = nights(assumed.place).await?;
    let facts = Facts::of(&wanted, &nights, settings.history.half_life, assumed.rate);
    let design = Design::new(facts.cells.clone(), facts.variance, margin);
    let design = design.ok_or_else(|| {
        usage(anyhow!("no case counts in a comparison: all are in quarantine, or none ever passes\nhint: `gabfest history` shows them"))
    })?;
    if question.detect >= design.mean() {
        let (mean, fall) = (report::percent(design.mean()), report::percent(question.detect));
        return Err(usage(anyhow!(
            "the success rate is expected to be {mean}, so it cannot fall by {fall}\nhint: look for a smaller fall with --detect"
        )));
    }
    let costs = Costs::of(&wanted, &nights);
    let one = cost(plan, settings, &costs, 1);
    if question.budget.is_some() && one.high.is_none() {
        return Err(usage(anyhow!(
            "a budget needs prices, and there is none of {}\nhint: write `price` in the settings of its endpoint or agent",
            one.unpriced.join(", ")
        )));
    }
    let answer = planning::answer(&design, question, one.high);
    let chosen = answer.chosen.map(|repeats| {
        let (wall, times) = wall(plan, settings, slots, &costs, repeats);
        let chosen = Chosen {
            repeats,
            conversations: plan.case_count() * u64::from(repeats),
            power: design.power(repeats, question.detect),
            smallest: design.least_fall(repeats, question.power),
            cost: cost(plan, settings, &costs, repeats),
            wall,
        };
        (chosen, times)
    });
    let (chosen, times) = chosen.unzip();
    let budget = question.budget.zip(answer.affordable).map(|(usd, repeats)| Affordable {
        usd,
        repeats,
        is_enough: answer.needed.is_some_and(|needed| needed <= repeats),
    });
    let counted = wanted.len() as u64;
    let planning = Planning {
        schema_version: SCHEMA_VERSION,
        detect: question.detect,
        power: question.power,
        margin,
        cases: counted,
        scenarios: design.scenarios() as u64,
        clustered: design.clustered(),
        success_rate: design.mean(),
        basis: Basis {
            nights: facts.nights,
            known_cases: facts.known,
            assumed_rate: facts.assumed,
            night_correlation: facts.variance.correlation,
            common_deviation: facts.usual.map(|_| facts.variance.common.sqrt()),
            usual_difference: facts.usual,
        },
        repeats: answer.needed,
        smallest_with_any_repeats: answer.limit,
        budget,
        chosen,
    };
    Ok(Planned {
        planning,
        needed_usd: answer.needed.zip(one.high).map(|(needed, usd)| f64::from(needed) * usd),
        times: times.unwrap_or_default(),
        quarantined: plan.case_count().saturating_sub(counted),
    })
}

/// The latest nights, the earliest first; none without a history.
async fn nights(place: &Place) -> anyhow::Result<Vec<Night>> {
    let is_written = place.history.is_some() && place.path().is_some();
    if !is_written && place.path().is_none_or(|path| !path.is_file()) {
        return Ok(Vec::new());
    }
    let mut history: History = place.read().await?;
    let mut runs = history.runs().await?;
    runs.retain(statistics::nights::NightRun::is_whole_night);
    runs.drain(..runs.len().saturating_sub(LAST));
    let nights = history.nights(runs).await?;
    history.close().await?;
    Ok(nights)
}

/// What a run of so many repeats costs.
fn cost(plan: &Plan, settings: &Settings, costs: &Costs, repeats: u32) -> Cost {
    let times = f64::from(repeats);
    if let Some(Spread { mean, low, high, .. }) = costs.usd {
        let [usd, low, high] = [mean, low, high].map(|usd| Some(usd * times));
        return Cost { source: CostSource::History, usd, low, high, unpriced: Vec::new() };
    }
    let size::Money { low, high, unpriced } = size::price(&estimate(plan, formats::ALL), plan, settings);
    let known = |usd: f64| unpriced.is_empty().then_some(usd * times);
    let (usd, low, high) = (known(f64::midpoint(low, high)), known(low), known(high));
    Cost { source: CostSource::Estimate, usd, low, high, unpriced }
}

fn wall(plan: &Plan, settings: &Settings, slots: u32, costs: &Costs, repeats: u32) -> (Wall, String) {
    let mut plan = plan.clone();
    plan.groups.iter_mut().for_each(|group| group.repeats = repeats);
    let size::duration::Span { low, high, source } =
        size::duration::span(&estimate(&plan, formats::ALL), &plan, settings, slots);
    let trials = plan.planned().unwrap_or_default() as f64;
    let history = costs.seconds.map(|Spread { mean, low, high, nights }| PastTime {
        seconds: mean * trials,
        low: low * trials,
        high: high * trials,
        nights,
    });
    let wall =
        Wall { low_seconds: low.seconds, high_seconds: high.seconds, low_limit: low.by, high_limit: high.by, history };
    (wall, source)
}

/// Indented, with a final line end.
pub(crate) fn json(planning: &Planning) -> String {
    let mut text = serde_json::to_string_pretty(planning).unwrap_or_default();
    text.push('\n');
    visible::json_owned(text)
}
