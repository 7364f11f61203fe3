//! `gabfest plan`: how many repeats find a fall of the success rate, and what they take. Plays nothing.

use anyhow::anyhow;
use statistics::planning::{ASSUMED_RATE, Question};

use crate::{
    args::{Config, SLOTS, Selection, whole},
    assemble, compared,
    exit::{Exit, usage},
    history_file::Place,
    plan, planning, settings, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// The fall of the success rate that a comparison of two runs is to find, in percentage points
    #[arg(long, value_name = "POINTS", default_value = "3pp", value_parser = fall)]
    detect: f64,
    /// The chance with which it is found, such as 0.9 or 90%
    #[arg(long, value_name = "CHANCE", default_value = "0.9", value_parser = chance)]
    power: f64,
    /// By how many percentage points the success rate may fall before `gabfest compare` calls it worse [default:
    /// `gates.regression.margin` in the settings, else 3pp]
    #[arg(long, value_name = "POINTS", value_parser = compared::margin)]
    margin: Option<f64>,
    /// The most that one run may cost, in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<f64>,
    /// The success rate of cases without a history, if no case has one
    #[arg(long = "assume-rate", value_name = "RATE", default_value_t = ASSUMED_RATE, value_parser = rate)]
    assume_rate: f64,
    /// Trials played at the same time [default: `slots` in the settings file, else 32]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(u64::from(*SLOTS.start())..=u64::from(*SLOTS.end())))]
    slots: Option<u32>,
    /// Print every figure as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    config: Config,
}

fn chance(text: &str) -> Result<f64, String> {
    share(text)
        .filter(|share| (0.5..=0.999).contains(share))
        .ok_or_else(|| "expected a chance from 0.5 to 0.999".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = share(text).filter(|share| (0.01..=0.999).contains(share));
    rate.ok_or_else(|| "expected a success rate from 0.01 to 0.999".to_owned())
}

/// `0.9`, `90%`.
fn share(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    }
}

fn fall(text: &str) -> Result<f64, String> {
    compared::margin(text).map_err(|_| "a fall is in percentage points from 0pp to 100pp, such as 3pp".to_owned())
}

fn dollars(text: &str) -> Result<f64, String> {
    let usd = text.strip_prefix('$').unwrap_or(text).parse::<f64>().ok();
    usd.filter(|usd| (0.0..=1e9).contains(usd) && *usd > 0.0)
        .ok_or_else(|| "expected US dollars, such as 40".to_owned())
}

pub(crate) async fn plan(mut args: Args) -> anyhow::Result<Exit> {
    let mut read = settings::read(&args.config, args.selection.strict)?;
    if args.selection.decide {
        return Err(usage(anyhow!(
            "--decide ends a run early, and `gabfest plan` plans runs that play every repeat\nhint: `gabfest run … --decide --dry-run` says what a run that is decided early plays"
        )));
    }
    // Two runs are compared that play every repeat, whatever the settings decide early.
    read.settings.decide = None;
    let margin = args.margin.unwrap_or_else(|| planning::usual_margin(&read.settings));
    let points = |share: f64| format!("{}pp", (share * 1e4).round() / 1e2);
    if args.detect < margin {
        let (detect, margin) = (points(args.detect), points(margin));
        return Err(usage(anyhow!(
            "a fall of {detect} is within the margin of {margin}, so `gabfest compare` never calls it worse\nhint: plan and compare with `--margin {detect}` or less, or look for a larger fall with --detect"
        )));
    }
    let repeats = args.selection.repeats.replace(1);
    let slots = args.slots.unwrap_or_else(|| assemble::slots(&read, &Default::default()));
    let plan = plan::build(&args.selection, &read, plan::Player::ThisProcess, slots)?;
    if plan.load.is_some() {
        return Err(usage(anyhow!(
            "a load plays cases as often as its rate allows, so no repeats can be planned\nhint: leave out the flags of the load"
        )));
    }
    let question = Question { detect: args.detect, power: args.power, budget: args.budget, repeats };
    let history = planning::Assumed { place: &args.place, rate: args.assume_rate };
    let found = planning::plan(&plan, &read.settings, slots, margin, question, history).await?;
    if args.json {
        stdout::document(&planning::json(&found.planning))?;
    } else {
        stdout::write(&planning::text(&found))?;
    }
    Ok(Exit::Held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_rates_and_budgets_are_read_as_they_are_written() {
        assert_eq!((chance("0.9"), chance("90%"), rate("95 %")), (Ok(0.9), Ok(0.9), Ok(0.95)));
        assert_eq!((dollars("40"), dollars("$12.50")), (Ok(40.0), Ok(12.5)));
        for wrong in ["1", "0.4", "x", "", "90"] {
            assert!(chance(wrong).is_err(), "{wrong}");
        }
        assert!(dollars("0").is_err() && dollars("-1").is_err() && dollars("nan").is_err() && rate("1").is_err());
    }
}
