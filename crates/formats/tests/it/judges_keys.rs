//! Keys of judges that have no effect, or that ask for a worse judgment than the author thinks.

use formats::read;

/// The findings of a step with this evaluation.
fn found(evaluation: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.scenario.yaml");
    let text = format!(
        "name: a\ndescription: b\njudgment: {{strategy: all_pass}}\nrun:\n  - input: hi\n    evaluations:\n      - {{{evaluation}}}\n"
    );
    std::fs::write(&path, text).unwrap();
    let reading = read::read(&[path]);
    reading
        .diagnostics
        .iter()
        .map(|found| format!("{}: {}", if found.is_error() { "error" } else { "warning" }, found.message))
        .collect()
}

#[test]
fn keys_that_mislead_are_reported() {
    const BLOCKING: &str = "error: the blocking criterion `a` needs three votes of two or more judges";
    let rows = [
        ("type: semantic_condition, condition: c, form: verdict_first", ""),
        ("type: refusal, evidence: both", ""),
        (
            "type: llm_judge, prompt: q, expected: 'yes', json_schema: {type: object}, evidence: both",
            "warning: `evidence` has no effect: `json_schema` is the form of the answer",
        ),
        ("type: llm_judge, prompt: q, expected: 'yes', form: verdict_first, evidence: both", ""),
        ("type: rubric, criteria: [{name: a}], form: verdict_first, evidence: met", ""),
        ("type: rubric, criteria: [{name: a}], votes: 2", "warning: 2 votes can tie, and a tie is inconclusive"),
        ("type: rubric, criteria: [{name: a}], panel: [A, B]", "warning: 2 votes can tie, and a tie is inconclusive"),
        ("type: rubric, criteria: [{name: a}], panel: [A, B, C], votes: 3", ""),
        (
            "type: rubric, criteria: [{name: a, text: It never lies.}]",
            "warning: the criterion `a` is worded with `never`",
        ),
        ("type: rubric, criteria: [{name: a, text: It tells the truth.}]", ""),
        ("type: semantic_condition, condition: It doesn’t lie.", "warning: `condition` is worded with `doesn't`"),
        (
            "type: semantic_condition, condition: Sie lügt nicht., negate: true",
            "warning: `condition` is worded with `nicht`",
        ),
        ("type: semantic_condition, condition: It names Oslo and no other city.", ""),
        ("type: semantic_condition, condition: The agent didn't lie.", "warning: `condition` is worded with `didn't`"),
        (
            "type: semantic_condition, condition: El agente nunca miente., negate: true",
            "warning: `condition` is worded with `nunca`",
        ),
        ("type: llm_judge, prompt: '¿Es amable, sí o no?', expected: 'yes'", ""),
        ("type: llm_judge, prompt: Does it never lie?, expected: 'yes'", "warning: `prompt` is worded with `never`"),
        ("type: llm_judge, prompt: Is it true? Do not count typos., expected: 'yes'", ""),
        ("type: llm_judge, prompt: 'Is it true, yes or no?', expected: 'yes'", ""),
        (
            "type: llm_judge, prompt: Say whether it does not lie., expected: 'yes'",
            "warning: `prompt` is worded with `not`",
        ),
        (
            "type: llm_judge, prompt: q, expected: 'yes', capabilities: [greets, never shouts]",
            "warning: the capability `never shouts` is worded with `never`",
        ),
        ("type: rubric, criteria: [{name: a, blocking: true}], votes: 3", BLOCKING),
        ("type: rubric, criteria: [{name: a, blocking: true}], panel: [A, A, A]", BLOCKING),
        ("type: rubric, criteria: [{name: a, blocking: true}], panel: [A, B, A]", ""),
        (
            "type: rubric, criteria: [{name: a, anchors: {1: bad, 3: good}}]",
            "error: the anchors of `a` leave out a point of the scale",
        ),
    ];
    for (evaluation, expected) in rows {
        let expected: Vec<&str> = Some(expected).filter(|text| !text.is_empty()).into_iter().collect();
        assert_eq!(found(evaluation), expected, "{evaluation}");
    }
}
