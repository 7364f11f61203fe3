//! The comparison of two runs as a page.

use minijinja::value::{Serde, Value};
use serde::Serialize;
use statistics::compare::{found::Comparison, played::RunName};

use super::{SCRIPT, STYLE, environment, policy, section::SectionView};
use crate::{Error, document::Document, figures, marks::Mark};

pub(crate) fn render(document: &Document, comparison: &Comparison) -> Result<String, Error> {
    let facts = document.headline.facts.iter().map(|fact| FactView { name: fact.name, text: fact.text() });
    let page = Page {
        policy: policy(),
        style: Value::from_safe_string(STYLE.to_owned()),
        script: Value::from_safe_string(SCRIPT.to_owned()),
        mark: document.headline.mark,
        name: document.headline.name.clone(),
        facts: facts.collect(),
        sections: document.sections.iter().map(SectionView::of).collect(),
        runs: [("BASE", &comparison.base), ("NEW", &comparison.new)].map(|(side, run)| RunView::of(side, run)),
    };
    Ok(environment()?.get_template("compare.html")?.render(Serde(&page))?)
}

#[derive(Serialize)]
struct Page {
    policy: String,
    style: Value,
    script: Value,
    mark: Mark,
    name: String,
    facts: Vec<FactView>,
    sections: Vec<SectionView>,
    runs: [RunView; 2],
}

#[derive(Serialize)]
struct FactView {
    name: &'static str,
    text: String,
}

#[derive(Serialize)]
struct RunView {
    side: &'static str,
    id: String,
    when: String,
    seed: u64,
    version: String,
}

impl RunView {
    fn of(side: &'static str, run: &RunName) -> Self {
        Self {
            side,
            id: run.id.clone(),
            when: figures::span(&run.started_at, None),
            seed: run.seed,
            version: run.gabfest_version.clone(),
        }
    }
}
