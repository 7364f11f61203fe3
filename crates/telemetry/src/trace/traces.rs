//! Exports finished trials and runs. Does nothing if traces are off.

use std::{collections::BTreeMap, sync::Arc};

use opentelemetry::{InstrumentationScope, logs::LoggerProvider as _};
use scenario::RunId;

use super::{
    call_texts::CallContent,
    evaluation,
    exported::Exported,
    ids::{self, Head},
    run::{self, EndedRun},
    sampling::Sampling,
    texts::Texts,
    tree::{self, Played},
};
use crate::{
    asked::Endpoint,
    otel::{Config, Spans, clean::CleanProvider},
};

/// A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct Traces {
    exported: Option<Arc<Exported>>,
}

impl Traces {
    /// Exports nothing, but still returns the trace of an attempt.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    pub(crate) fn new(config: &Config, spans: Option<Arc<Spans>>, records: Option<CleanProvider>) -> Self {
        if spans.is_none() && records.is_none() {
            return Self::off();
        }
        let scope = InstrumentationScope::builder("gabfest").with_version(env!("CARGO_PKG_VERSION")).build();
        let exported = Exported {
            spans,
            logger: records.map(|records| records.logger_with_scope(scope.clone())),
            sampling: Sampling::new(config.sampler),
            content: config.content,
            texts: Texts::new(config.most_text_bytes),
            endpoints: BTreeMap::new(),
            scope,
        };
        Self { exported: Some(Arc::new(exported)) }
    }

    #[must_use]
    pub fn is_on(&self) -> bool {
        self.exported.is_some()
    }

    /// Sets the addresses of endpoints and agents. Call it before sharing the handle.
    #[must_use]
    pub fn with_endpoints(self, endpoints: BTreeMap<String, Endpoint>) -> Self {
        let exported = self.exported.map(|exported| match Arc::try_unwrap(exported) {
            Ok(exported) => Arc::new(Exported { endpoints, ..exported }),
            Err(shared) => shared,
        });
        Self { exported }
    }

    /// For the texts of calls; `None` if no spans with content are exported.
    #[must_use]
    pub fn content(&self) -> Option<CallContent> {
        let exported = self.exported.as_ref().filter(|exported| exported.content && exported.spans.is_some())?;
        Some(CallContent::new(Arc::clone(exported)))
    }

    /// The trace of a new attempt, and whether it is certainly exported. Agents get its id even if nothing is exported.
    #[must_use]
    pub fn head(&self, run: &RunId, trial: u64, epoch: u32) -> Head {
        let trace = ids::trace(run, trial, epoch);
        let Some(exported) = &self.exported else { return Head { trace, sampled: false, taken: false } };
        let taken = exported.sampling.takes(trace);
        Head { trace, sampled: taken && exported.spans.is_some(), taken }
    }

    /// Exports a trial that ended without being played, so that no agent got its trace.
    pub fn unplayed(&self, played: &Played<'_>) {
        let Some(exported) = &self.exported else { return };
        let trace = ids::trace(played.run, played.trial.number, played.trial.epoch);
        // Failures skip the sampler: its rate limit is for attempts that it decides about.
        if played.is_always_exported() || exported.sampling.takes(trace) {
            exported.tell(trace, played);
        }
    }

    /// Exports a finished trial. Never blocks.
    pub fn trial(&self, head: Head, played: &Played<'_>) {
        let Some(exported) = &self.exported else { return };
        if head.taken || played.is_always_exported() {
            exported.tell(head.trace, played);
        }
    }

    /// Exports a finished run.
    pub fn run(&self, ended: &EndedRun<'_>) {
        let Some(exported) = &self.exported else { return };
        if let Some(spans) = &exported.spans {
            spans.export(1, true, std::iter::once_with(|| run::span(ended, &exported.texts).data(&exported.scope)));
        }
    }
}

impl Exported {
    fn tell(&self, trace: u128, played: &Played<'_>) {
        if let Some(spans) = &self.spans {
            let made = tree::spans(self, trace, played).map(|span| span.data(&self.scope));
            spans.export(tree::size(played), played.is_always_exported(), made);
        }
        if let Some(logger) = &self.logger {
            for judgment in &played.trial.judgments {
                let at_micros = tree::judged_at(played, judgment);
                evaluation::record(judgment, trace, at_micros, logger, &self.texts);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_sdk::logs::SdkLoggerProvider;

    use super::*;
    use crate::otel::config::Sampler;

    #[test]
    fn an_agent_learns_that_it_is_traced_only_if_it_is() {
        let run = RunId::new("r");
        let flags = |traces: &Traces| {
            let head = traces.head(&run, 0, 1);
            (head.sampled, head.taken)
        };
        assert_eq!(flags(&Traces::off()), (false, false));
        let records = || Some(CleanProvider(SdkLoggerProvider::builder().build()));
        for (sampler, taken) in [(Sampler::Always, true), (Sampler::Never, false)] {
            let config = Config { sampler, ..Config::default() };
            assert_eq!(flags(&Traces::new(&config, None, records())), (false, taken), "only judgments are exported");
        }
    }
}
