//! Which trials that did not fail are exported: `OTEL_TRACES_SAMPLER` and its argument.

use super::{Error, variables::Variables};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampler {
    Always,
    Never,
    /// This share of them, 0 to 1.
    Share(f64),
    /// As many as a collector and people can take: all of them, unless a process plays very many very fast.
    Paced,
}

pub(super) fn read(variables: &Variables<'_>) -> Result<Sampler, Error> {
    const NAME: &str = "OTEL_TRACES_SAMPLER";
    let Some(text) = variables.text(NAME)? else { return Ok(Sampler::Paced) };
    match text.to_ascii_lowercase().as_str() {
        // Our traces have no parent in another process, so those samplers that ask one are the plain ones.
        "always_on" | "parentbased_always_on" => Ok(Sampler::Always),
        "always_off" | "parentbased_always_off" => Ok(Sampler::Never),
        "traceidratio" | "parentbased_traceidratio" => share(variables),
        _ => Err(Error::value(
            NAME,
            &text,
            "always_on, always_off, traceidratio, or one of them with parentbased_ before it",
        )),
    }
}

fn share(variables: &Variables<'_>) -> Result<Sampler, Error> {
    const NAME: &str = "OTEL_TRACES_SAMPLER_ARG";
    let Some(text) = variables.text(NAME)? else { return Ok(Sampler::Share(1.0)) };
    let number: Option<f64> = text.parse().ok();
    let share = number.filter(|share| (0.0..=1.0).contains(share));
    share.map(Sampler::Share).ok_or_else(|| Error::value(NAME, &text, "a share from 0 to 1"))
}
