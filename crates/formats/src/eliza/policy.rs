//! `policy` of an evaluation: the name of the file becomes its text.

use scenario::{check::MOST_POLICY_BYTES, format::Files};
use serde_json::{Value, json};
use yaml::{
    Document, Findings, Part,
    path::{Path, Segment},
};

use crate::simulated_user::key;

pub(super) fn put_in(document: &mut Document, files: &mut dyn Files, findings: &mut Findings) {
    let mut texts = Vec::new();
    for (path, written) in named(&document.root()) {
        let Value::String(name) = written.value() else { continue };
        match files.text(&document.path, name) {
            Ok(text) if text.len() <= MOST_POLICY_BYTES => texts.push((path, json!({ "path": name, "text": text }))),
            Ok(text) => {
                let bytes = text.len();
                let message = format!("the policy `{name}` has {bytes} bytes, at most {MOST_POLICY_BYTES} are allowed");
                findings.error(written.spot(), message);
            }
            Err(fault) => findings.error(written.spot(), format!("the policy file `{name}` {fault}")),
        }
    }
    for (path, text) in texts {
        path.set(&mut document.value, text).expect("the path was just walked");
    }
}

/// The policies of all evaluations, and their paths.
fn named<'a>(root: &Part<'a>) -> Vec<(Path, Part<'a>)> {
    let mut found = Vec::new();
    for (index, step) in root.items_of("run").into_iter().enumerate() {
        let of_step = Path(vec![key("run"), Segment::Index(index)]);
        let of_talk = of_step.join(key("conversation"));
        for list in ["turn_evaluations", "final_evaluations"] {
            let talk = step.get("conversation");
            talk.iter().for_each(|talk| add(talk, &of_talk, list, &mut found));
        }
        add(&step, &of_step, "evaluations", &mut found);
    }
    found
}

fn add<'a>(part: &Part<'a>, path: &Path, list: &str, found: &mut Vec<(Path, Part<'a>)>) {
    for (index, evaluation) in part.items_of(list).into_iter().enumerate() {
        if let Some(written) = evaluation.get("policy") {
            found.push((path.join(key(list)).join(Segment::Index(index)).join(key("policy")), written));
        }
    }
}
