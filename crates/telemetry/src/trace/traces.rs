//! Where finished trials and runs are given to be exported; does nothing where nobody asked for traces.

use std::{collections::BTreeMap, fmt, sync::Arc};

use opentelemetry::{InstrumentationScope, logs::LoggerProvider as _};
use scenario::RunId;

use super::{
    evaluation,
    ids::{self, Head},
    run::{self, EndedRun},
    sampling::Sampling,
    texts::Texts,
    tree::{self, Played},
};
use crate::otel::{
    Config, Spans,
    clean::{CleanLogger, CleanProvider},
};

/// A model's or agent's address, as its operator wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Endpoint {
    /// `openai`, or what else the conventions call whoever answers.
    pub provider: String,
    /// The model that is asked for, where one is named.
    pub model: Option<String>,
    pub address: Option<String>,
    pub port: Option<u16>,
}

/// A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct Traces {
    exported: Option<Arc<Exported>>,
}

pub(super) struct Exported {
    spans: Option<Arc<Spans>>,
    logger: Option<CleanLogger>,
    sampling: Sampling,
    pub(super) content: bool,
    pub(super) texts: Texts,
    pub(super) endpoints: BTreeMap<String, Endpoint>,
    pub(super) scope: InstrumentationScope,
}

impl Traces {
    /// Exports nothing, and still says which trace an attempt would be.
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

    /// Tells where the endpoints and agents of the settings are. Before the handle is shared.
    #[must_use]
    pub fn with_endpoints(self, endpoints: BTreeMap<String, Endpoint>) -> Self {
        let exported = self.exported.map(|exported| match Arc::try_unwrap(exported) {
            Ok(exported) => Arc::new(Exported { endpoints, ..exported }),
            Err(shared) => shared,
        });
        Self { exported }
    }

    /// Which trace an attempt is, and whether it is surely exported. Agents are told so even where nothing is.
    #[must_use]
    pub fn head(&self, run: &RunId, trial: u64, epoch: u32) -> Head {
        let trace = ids::trace(run, trial, epoch);
        let sampled = self.exported.as_ref().is_none_or(|exported| exported.sampling.takes(trace));
        Head { trace, sampled }
    }

    /// A trial is over. Never waits.
    pub fn trial(&self, head: Head, played: &Played<'_>) {
        let Some(exported) = &self.exported else { return };
        if !head.sampled && !played.has_failed() {
            return;
        }
        if let Some(spans) = &exported.spans {
            let trace = tree::spans(exported, head.trace, played).map(|span| span.data(&exported.scope));
            spans.export(tree::size(played), trace);
        }
        if let Some(logger) = &exported.logger {
            for judgment in &played.trial.judgments {
                let at_micros = tree::judged_at(played, judgment);
                evaluation::record(judgment, head.trace, at_micros, logger, &exported.texts);
            }
        }
    }

    /// A run is over.
    pub fn run(&self, ended: &EndedRun<'_>) {
        let Some(exported) = &self.exported else { return };
        if let Some(spans) = &exported.spans {
            spans.export(1, std::iter::once_with(|| run::span(ended, &exported.texts).data(&exported.scope)));
        }
    }
}

#[cfg(test)]
impl Exported {
    /// Without any way out.
    pub(super) fn for_tests(content: bool, texts: Texts, endpoints: BTreeMap<String, Endpoint>) -> Self {
        let scope = InstrumentationScope::builder("gabfest").build();
        Self {
            spans: None,
            logger: None,
            sampling: Sampling::new(crate::otel::config::Sampler::Always),
            content,
            texts,
            endpoints,
            scope,
        }
    }
}

impl fmt::Debug for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exported")
            .field("sampling", &self.sampling)
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}
