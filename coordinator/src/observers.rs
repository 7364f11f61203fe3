//! Who looks on while runs are played: they are told what the store has, and change nothing.

/// All are off unless somebody wants to see what they show.
#[derive(Debug, Clone, Default)]
pub struct Observers {
    pub metrics: telemetry::metrics::Coordinator,
    pub traces: telemetry::Traces,
}

impl Observers {
    /// Whether anybody wants the numbers of a run that has ended, which take a moment to find out.
    pub(crate) fn want_summaries(&self) -> bool {
        self.metrics.is_on() || self.traces.is_on()
    }
}
