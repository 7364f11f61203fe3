//! The batch tester's table: one question per line, with the columns knowledge base, question, metadata, top and the
//! expected answer's id. The last three may be left out.

use super::{
    base::{default_source, normal},
    question_cases::{Asked, document},
};
use scenario::question::Filter;
use yaml::{Diagnostic, Document, Findings, Spot};

/// Reads the table. Questions with the same expectation are one document.
pub(super) fn open(text: &str, path: &str) -> (Vec<Document>, Vec<Diagnostic>) {
    let mut findings = Findings::new(path);
    let mut all: Vec<(Asked, u32)> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for (number, line) in (1_u32..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let Some(row) = row(line, number, &mut findings) else { continue };
        let key = (row.knowledge_base.clone(), row.filters.clone(), row.top, row.id);
        match places.get(&key).and_then(|place: &usize| all.get_mut(*place)) {
            Some((asked, _)) => asked.questions.extend(row.questions),
            None => {
                places.insert(key, all.len());
                all.push((row, number));
            }
        }
    }
    let documents = all.into_iter().map(|(mut asked, line)| {
        let mut seen = std::collections::BTreeSet::new();
        asked.questions.retain(|question| seen.insert(question.clone()));
        document(&asked, path.to_owned(), line)
    });
    (documents.collect(), findings.into_sorted())
}

fn row(line: &str, number: u32, findings: &mut Findings) -> Option<Asked> {
    let spot = Spot::at(number, 1);
    let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
    let column = |index: usize| columns.get(index).copied().filter(|text| !text.is_empty());
    let Some(question) = column(1) else {
        findings.error(spot, "this line has no question");
        findings.help("a line is: knowledge base, tab, question, and optionally metadata, top and the expected id");
        return None;
    };
    let mut sound = true;
    let mut filters = Vec::new();
    for entry in column(2).into_iter().flat_map(|metadata| metadata.split('|')) {
        match entry.split_once(':') {
            Some((name, value)) => {
                filters.push(Filter { name: name.trim().to_owned(), value: value.trim().to_owned() });
            }
            None => {
                findings.error(spot, format!("the metadata `{entry}` has no value"));
                findings.help("write `name:value|name:value`");
                sound = false;
            }
        }
    }
    let mut whole = |index: usize, what: &str| {
        let text = column(index)?;
        let parsed = text.parse::<u32>().ok();
        if parsed.is_none() {
            findings.error(spot, format!("{what} is `{text}`; expected a whole number"));
            sound = false;
        }
        parsed
    };
    let top = whole(3, "the number of answers");
    let id = whole(4, "the expected id");
    let question = normal(question);
    sound.then(|| Asked {
        question: question.clone(),
        questions: vec![question],
        answer: None,
        id,
        source: default_source(),
        filters,
        prompts: Vec::new(),
        top,
        knowledge_base: column(0).map(str::to_owned),
        beside: None,
    })
}
