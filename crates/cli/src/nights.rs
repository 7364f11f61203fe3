//! Which runs of the history a page shows.

use std::collections::BTreeSet;

use anyhow::anyhow;
use history::History;
use statistics::{
    compare::{
        found::Comparison,
        nights::{NightsFound, differences},
        played::Played,
    },
    nights::{Night, NightCell, NightRun, agent},
    trends::Trends,
};

use crate::{
    args::{Config, whole},
    diagnostics,
    exit::usage,
    history_file::Place,
    settings::{self, history as history_settings},
};

/// Older nights weigh less than a thousandth with the default half-life.
const USUAL_LAST: u32 = 90;

/// Shared by `history` and `trends`.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Only runs of this name
    #[arg(long)]
    name: Option<String>,
    /// Only this agent; `(address)` for agents that are named by their address
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Only the latest N runs
    #[arg(long, value_name = "N", default_value_t = USUAL_LAST, value_parser = whole::<u32>(1..=1_000_000))]
    last: u32,
    /// After this many nights, the evidence of a night counts half [default: `history.half_life` in the settings, else 7]
    #[arg(long, value_name = "NIGHTS", value_parser = half_life)]
    half_life: Option<f64>,
    #[command(flatten)]
    config: Config,
}

fn half_life(text: &str) -> Result<f64, String> {
    let nights = text.parse::<f64>().ok().filter(|nights| history_settings::is_half_life(*nights));
    nights.ok_or_else(|| "expected a number of nights from 0.1 to 10000".to_owned())
}

/// The chosen runs of the history and what follows from them.
pub(crate) async fn read(which: &Which) -> anyhow::Result<Trends> {
    let half_life = match which.half_life {
        Some(nights) => nights,
        None => history_settings::half_life(settings::file(&which.config).as_deref())?,
    };
    let mut history = which.place.read().await?;
    let mut runs = history.runs().await?;
    runs.retain(|run| which.has(run));
    runs.drain(..runs.len().saturating_sub(which.last as usize));
    if runs.is_empty() {
        return Err(usage(anyhow!("the history has no such run\nhint: `gabfest runs` lists the runs")));
    }
    let mut nights = history.nights(runs).await?;
    history.close().await?;
    which.keep_agent(&mut nights);
    Ok(Trends::of(&nights, half_life))
}

/// What the history says about the difference of two runs; `None` with too few nights of BASE's agents before NEW. A history
/// that cannot be read is a warning.
pub(crate) async fn between(place: &Place, base: &Played, new: &Played, found: &Comparison) -> Option<NightsFound> {
    match before(place, base, new).await {
        Ok(nights) => {
            let nights: Vec<&Night> = nights.iter().collect();
            NightsFound::of(&differences(&nights), &found.rate)
        }
        Err(error) => {
            diagnostics::warn(&format!("the history is not used: {}", diagnostics::error_text(&error)));
            None
        }
    }
}

/// The nights of BASE's agents before NEW.
async fn before(place: &Place, base: &Played, new: &Played) -> anyhow::Result<Vec<Night>> {
    let Some(path) = place.path().filter(|path| path.is_file()) else { return Ok(Vec::new()) };
    let mut history = History::read(&path).await?;
    let mut runs = history.runs().await?;
    let agents: BTreeSet<String> = base.agents.iter().map(|name| agent(name)).collect();
    runs.retain(|run| {
        run.is_whole_night()
            && run.id != new.run.id
            && run.started_at < new.run.started_at
            && run.agents.iter().eq(agents.iter())
    });
    runs.drain(..runs.len().saturating_sub(USUAL_LAST as usize));
    let nights = history.nights(runs).await?;
    history.close().await?;
    Ok(nights)
}

impl Which {
    fn has(&self, run: &NightRun) -> bool {
        self.name.as_ref().is_none_or(|name| *name == run.name)
            && self.agent.as_ref().is_none_or(|agent| run.agents.contains(agent))
    }

    /// Leaves the cells of other agents out, and the figures of the run with them.
    fn keep_agent(&self, nights: &mut [Night]) {
        let Some(agent) = &self.agent else { return };
        for night in nights.iter_mut().filter(|night| night.run.agents.len() > 1) {
            night.keep_agent(agent);
            let sum = |of: fn(&NightCell) -> u64| night.cells.iter().map(of).sum::<u64>();
            night.run.success_rate = statistics::interval(sum(|cell| cell.passed), sum(NightCell::trials));
            night.run.trials.planned = sum(|cell| cell.planned);
            night.run.faulty = sum(|cell| cell.faulty);
            let costs: Option<Vec<f64>> = night.cells.iter().map(|cell| cell.cost_usd).collect();
            night.run.cost_complete = costs.is_some();
            night.run.cost_usd = costs.unwrap_or_default().iter().sum();
        }
    }
}
