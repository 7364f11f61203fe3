//! What an exporter of traces needs: where spans and log records go, the sampler, and how texts are cut.

use std::{collections::BTreeMap, fmt, sync::Arc};

use opentelemetry::InstrumentationScope;

use super::{sampling::Sampling, texts::Texts};
use crate::{
    asked::Endpoint,
    otel::{Spans, clean::CleanLogger},
};

pub(super) struct Exported {
    pub(super) spans: Option<Arc<Spans>>,
    pub(super) logger: Option<CleanLogger>,
    pub(super) sampling: Sampling,
    pub(super) content: bool,
    pub(super) texts: Texts,
    pub(super) endpoints: BTreeMap<String, Endpoint>,
    pub(super) scope: InstrumentationScope,
}

#[cfg(test)]
impl Exported {
    /// Without an exporter.
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
