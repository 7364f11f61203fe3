//! Answers of judges as a fuzzer makes them.

use std::{collections::BTreeMap, sync::LazyLock};

use scenario::check::Judging;

use crate::question::{Ballot, Form, Material, Scale, Verdict, form_of_ballot, form_of_many};

static ANCHORS: LazyLock<BTreeMap<i64, String>> =
    LazyLock::new(|| BTreeMap::from([(1, "bad".to_owned()), (5, "good".to_owned())]));
/// A form for each scale. Compiling them takes longer than reading an answer.
static FORMS: LazyLock<Vec<(Scale<'static>, Form)>> = LazyLock::new(|| {
    [Scale::YesNo, Scale::Words, Scale::Marks, Scale::Points(&ANCHORS)]
        .map(|scale| (scale, form_of_ballot(scale, &Judging::USUAL).expect("a form")))
        .into()
});
static FORM_OF_MANY: LazyLock<Form> = LazyLock::new(|| form_of_many(2, &Judging::USUAL).expect("a form"));

/// Reads an answer as a ballot of each scale, and of several criteria.
///
/// # Panics
/// A ballot says something that its form does not allow.
pub fn judge(answer: &str) {
    let material = Material::of_texts(&[("agent", "Your refund of 30 EUR is on its way.")]);
    for (scale, form) in FORMS.iter() {
        let Ok(fields) = form.read(answer) else { continue };
        let Ok(ballot) = Ballot::read(&fields, *scale, &Judging::USUAL, &material) else { continue };
        assert!((0.5..=1.0).contains(&ballot.confidence));
        assert!(ballot.verdict != Verdict::Words(String::new()));
        let _ = ballot.shown();
    }
    let _ = FORM_OF_MANY.read(answer);
}

#[cfg(test)]
#[test]
fn seeds_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/judge");
    let seeds: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert!(!seeds.is_empty());
    seeds.into_iter().for_each(|seed| judge(&std::fs::read_to_string(seed.unwrap().path()).unwrap()));
}
