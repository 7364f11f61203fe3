//! Which trials that did not fail are exported: `OTEL_TRACES_SAMPLER` and its argument.

use super::{Error, variables::Variables};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampler {
    Always,
    Never,
    /// This share of traces, 0 to 1.
    Share(f64),
    /// All traces up to a rate limit, which only fast runs reach.
    Paced,
}

pub(super) fn read(variables: &Variables<'_>) -> Result<Sampler, Error> {
    const EXPECTED: &str = "always_on, always_off, traceidratio, or one of them with parentbased_ before it";
    let share = variables.share("OTEL_TRACES_SAMPLER_ARG")?;
    let sampler = variables.word("OTEL_TRACES_SAMPLER", EXPECTED, |word| match word {
        // Our traces have no parent in another process, so parent-based samplers equal the plain ones.
        "always_on" | "parentbased_always_on" => Some(Sampler::Always),
        "always_off" | "parentbased_always_off" => Some(Sampler::Never),
        "traceidratio" | "parentbased_traceidratio" => Some(Sampler::Share(share.unwrap_or(1.0))),
        _ => None,
    })?;
    Ok(sampler.unwrap_or(Sampler::Paced))
}
