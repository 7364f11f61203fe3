//! A knowledge base of the user's as the mock serves it.

use std::path::Path;

use anyhow::anyhow;
use formats::{
    qna::{KnowledgeBase, json},
    read,
};
use llm::mock::qna::{Pair, Prompt, Service};

use crate::{diagnostics, exit::usage};

/// Reads a knowledge base and prints its findings. Errors among them end it.
pub(crate) fn serve(path: &Path) -> anyhow::Result<Service> {
    let collated = read::knowledge_base(path);
    diagnostics::print(&collated.diagnostics);
    if collated.diagnostics.iter().any(scenario::Diagnostic::is_error) {
        return Err(usage(anyhow!("nothing is served: {}", diagnostics::count(&collated.diagnostics))));
    }
    Ok(service(&collated.base))
}

/// Pairs without an id get the smallest that is free, as the service gives them one.
fn service(base: &KnowledgeBase) -> Service {
    let (ids, targets, context_only) = (json::ids(base), base.targets(), base.context_only());
    let pair = |(index, pair): (usize, &formats::qna::Pair)| Pair {
        id: ids[index],
        questions: pair.questions.clone(),
        answer: pair.answer.clone(),
        source: pair.source.clone(),
        metadata: pair.filters.iter().map(|filter| (filter.name.clone(), filter.value.clone())).collect(),
        prompts: pair
            .prompts
            .iter()
            .filter_map(|prompt| Some(Prompt { display: prompt.display.clone(), id: ids[targets.of(prompt)?] }))
            .collect(),
        is_context_only: context_only.contains(&index),
    };
    Service::new(base.pairs.iter().enumerate().map(pair).collect())
}
