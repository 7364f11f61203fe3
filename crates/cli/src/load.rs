//! Which load a run plays: `--pace` with a pace of the settings, or `--rate` and `--duration`.

mod fault;
pub(crate) mod flags;
pub(crate) mod misfits;
pub(crate) mod resolve;
mod search;
pub(crate) mod settings;
mod trace;
pub(crate) mod units;

use std::collections::BTreeMap;

use anyhow::anyhow;
use scenario::load::Choice;

use self::{flags::LoadFlags, settings::Pace};
use crate::{exit::usage, settings::Read};

/// The load that the flags choose; `None`: each case is played as often as it repeats.
pub(crate) fn chosen(flags: &LoadFlags, read: &Read, slots: u32) -> anyhow::Result<Option<Choice>> {
    if let Some(name) = &flags.pace {
        let Some(pace) = read.settings.load.get(name) else {
            let defined: Vec<&str> = read.settings.load.keys().map(String::as_str).collect();
            let hint = if defined.is_empty() {
                format!("write it in the settings: `load: {{ {name}: {{ rate: 5/s, duration: 15m }} }}`")
            } else {
                format!("the settings define {}", defined.join(", "))
            };
            return Err(usage(anyhow!("there is no pace {name:?}\nhint: {hint}")));
        };
        let choice = resolve::choice(name, pace, &read.folder)
            .map_err(|fault| usage(anyhow!("load.{name}.{} {}", fault.key.join("."), fault.reason)))?;
        return Ok(Some(choice));
    }
    if flags.rate.is_none() && flags.duration.is_none() && flags.iterations.is_none() {
        return match flags.warm_up {
            Some(_) => Err(usage(anyhow!(
                "--warm-up is a part of a load\nhint: add --duration 15m, and --rate 5/s for starts at a rate"
            ))),
            None => Ok(None),
        };
    }
    let pace = Pace {
        slots: flags.rate.is_none().then_some(slots),
        rate: flags.rate,
        arrivals: flags.arrivals,
        duration: flags.duration.filter(|_| flags.iterations.is_none()),
        max_duration: flags.duration.filter(|_| flags.iterations.is_some()),
        iterations: flags.iterations,
        warm_up: flags.warm_up,
        groups: BTreeMap::new(),
        ..Pace::default()
    };
    let name = if flags.rate.is_some() { "rate" } else { "slots" };
    let choice = resolve::choice(name, &pace, &read.folder)
        .map_err(|fault| usage(anyhow!("--{} {}", fault.key.join(".").replace('_', "-"), fault.reason)))?;
    Ok(Some(choice))
}
