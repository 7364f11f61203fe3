//! Rows of (evaluation as written, what happened, judgment): the table that docs/evaluators.md is written from.

mod judged;
mod limits;
mod structured;
mod texts;

use std::collections::BTreeMap;

use evaluate::question::TRIES;
use record::{
    Call, Finding, Role, Tokens, Turn, Usd,
    turn::{Origin, ToolCall},
};
use scenario::{Check, check::Rule};

use crate::fakes::{Judges, Scene, ballot, judged, score, turn};

/// One example of one evaluation.
pub(crate) struct Row {
    /// YAML, as in `evaluations`.
    pub(crate) check: &'static str,
    pub(crate) seen: Seen,
    /// The judges' answers, in order.
    pub(crate) judges: &'static [Says],
    pub(crate) finding: Finding,
    /// Part of the reason.
    pub(crate) reason: &'static str,
}

/// What happened before the evaluation.
pub(crate) enum Seen {
    Reply(&'static str),
    /// (tool, arguments, result)
    Calls(&'static [(&'static str, &'static str, Option<&'static str>)]),
    /// The same calls, made by the simulated user.
    UserCalls(&'static [(&'static str, &'static str, Option<&'static str>)]),
    /// (user, agent)
    Talk(&'static [(&'static str, &'static str)]),
    /// A reply with these times, in milliseconds: to its first token, and to its end.
    Took(Option<u64>, u64),
    /// A reply that used this many tokens and billionths of a dollar.
    Used(u64, Option<i64>),
    /// The state of the mocks.
    State(&'static str),
}

/// A judge's answer.
pub(crate) enum Says {
    Yes,
    No,
    /// Another answer to a question.
    Word(&'static str),
    Score(f64),
    Alike(f64),
    /// The verdict on one criterion.
    Mark(&'static str),
    /// A point of a scale.
    Point(i64),
    /// The verdicts on all criteria, in one call.
    Sheet(&'static [&'static str]),
    /// The result of a function.
    Result(&'static str),
    Prose,
}

pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    [texts::ROWS, structured::ROWS, judged::ROWS, limits::ROWS].into_iter().flatten()
}

const fn row(check: &'static str, reply: &'static str, finding: Finding, reason: &'static str) -> Row {
    Row { check, seen: Seen::Reply(reply), judges: &[], finding, reason }
}

const fn seen(check: &'static str, seen: Seen, finding: Finding, reason: &'static str) -> Row {
    Row { check, seen, judges: &[], finding, reason }
}

const fn asked(
    check: &'static str,
    seen: Seen,
    judges: &'static [Says],
    finding: Finding,
    reason: &'static str,
) -> Row {
    Row { check, seen, judges, finding, reason }
}

/// The evaluation as the reader of scenario files reads it.
pub(crate) fn read(written: &str) -> Check {
    let indented = written.trim().replace('\n', "\n          ");
    let more = match written.contains("mock_state") {
        true => "gabfest: {state: {a: 1}}\nsetup: {mocks: [{method: m, response: {}, set: {a: 2}}]}\n",
        false => "",
    };
    let text = format!(
        "name: a\ndescription: b\njudgment: {{strategy: all_pass}}\n{more}run:\n  - input: hi\n    evaluations:\n        - {indented}\n"
    );
    let (documents, faults) = formats::eliza::FORMAT.open(&text, "row");
    assert!(faults.is_empty(), "{written}: {faults:?}");
    let (script, findings) = formats::eliza::FORMAT.read(&documents[0]);
    assert!(findings.is_empty(), "{written}: {findings:?}");
    let mut check = script.unwrap().scenario.steps[0].checks[0].clone();
    if let Rule::GoalReached(rule) = &mut check.rule {
        // A value that the plan fills in: the goal of a user.
        rule.goal = serde_json::from_value(serde_json::json!([
            { "id": "refund", "text": "30 EUR back", "done_when": { "tool": "refund.create", "arguments": { "eur": 30 } } },
            { "id": "mail", "text": "a confirmation", "done_when": { "said": "sent a mail" } },
            { "id": "sorry", "text": "an apology" },
        ]))
        .unwrap();
    }
    check
}

impl Seen {
    fn scene(&self) -> Scene {
        let mut scene = match self {
            Self::Reply(reply) => Scene::replied(reply),
            Self::Calls(calls) | Self::UserCalls(calls) => {
                let mut turn = turn("Hello", "Done.");
                let calls = calls.iter().enumerate().map(|(index, (name, arguments, result))| ToolCall {
                    id: format!("call_{index}"),
                    name: (*name).to_owned(),
                    arguments: (*arguments).to_owned(),
                    result: result.map(str::to_owned),
                });
                if matches!(self, Self::UserCalls(_)) {
                    turn.simulated.get_or_insert_default().calls = calls.collect();
                } else {
                    turn.tool_calls = calls.collect();
                }
                Scene { turns: vec![turn], ..Scene::replied("Done.") }
            }
            Self::Talk(turns) => Scene::talked(turns.iter().map(|(user, agent)| turn(user, agent)).collect()),
            Self::State(json) => {
                let mut scene = Scene::replied("Done.");
                scene.folder.state = serde_json::from_str(json).unwrap();
                scene
            }
            Self::Took(first, total) => Scene { turns: vec![timed(*first, *total)], ..Scene::replied("Hello") },
            Self::Used(tokens, nanos) => {
                let mut turn = timed(None, 500);
                turn.calls[0].tokens = Tokens { input: *tokens, ..Tokens::default() };
                turn.calls[0].cost = nanos.map(Usd);
                Scene { turns: vec![turn], ..Scene::replied("Hello") }
            }
        };
        scene.duration_ms = scene.turns.last().map(|turn| turn.duration_micros / 1_000);
        scene.folder.files.insert("notes.txt".to_owned(), "Refund issued on Monday".to_owned());
        scene.folder.custom = BTreeMap::from(limits::CUSTOM);
        scene
    }
}

fn timed(first_ms: Option<u64>, total_ms: u64) -> Turn {
    let call = Call {
        role: Role::Agent,
        endpoint: "agent".to_owned(),
        model: "model".to_owned(),
        started_micros: 0,
        wait_micros: 0,
        connect_micros: None,
        ttft_micros: first_ms.map(|ms| ms * 1_000),
        inter_token_micros: None,
        total_micros: total_ms * 1_000,
        retried_micros: 0,
        tokens: Tokens { input: 40, output: 10, ..Tokens::default() },
        texts: None,
        estimated: false,
        cost: Some(Usd(1_000)),
        plain_priced: false,
        limits: record::named_limits::NamedLimits::default(),
        reported_cost: None,
        finish: None,
        tries: 1,
        throttled_tries: 0,
        lost_tries: 0,
        error: None,
        error_kind: None,
        of_trial: false,
    };
    Turn { speaker: Origin::Scripted, duration_micros: total_ms * 1_000, calls: vec![call], ..turn("Hi", "Hello") }
}

impl Says {
    fn text(&self) -> String {
        match self {
            Self::Yes => judged("yes", 0.9),
            Self::No => judged("no", 0.1),
            Self::Word(word) => judged(word, 0.9),
            Self::Score(value) => score(*value),
            Self::Alike(value) => serde_json::json!({ "similarity": value }).to_string(),
            Self::Mark(mark) => ballot("verdict", *mark, 0.9),
            Self::Point(point) => ballot("verdict", *point, 0.9),
            Self::Sheet(marks) => {
                let entries: Vec<String> = marks.iter().map(|mark| ballot("verdict", *mark, 0.9)).collect();
                format!(r#"{{"criteria":[{}]}}"#, entries.join(","))
            }
            Self::Result(text) => serde_json::json!({ "result": text }).to_string(),
            Self::Prose => "I would rather not say.".to_owned(),
        }
    }
}

#[tokio::test]
async fn every_row_holds() {
    for row in all() {
        let check = read(row.check);
        let evaluator = evaluate::compile(&check).unwrap_or_else(|error| panic!("{}: {error}", row.check));
        let judges = Judges::saying(row.judges.iter().map(|says| says.text()));
        let judgment = row.seen.scene().judge_by(&evaluator, &judges).await;
        let shown = format!("{}\n=> {:?}: {}", row.check, judgment.finding, judgment.reason);
        assert_eq!(judgment.finding, row.finding, "{shown}");
        assert!(judgment.reason.contains(row.reason), "{:?} in {shown}", row.reason);
        assert_eq!(judges.requests().len(), row.judges.len(), "as many questions as answers: {shown}");
        let times: u64 = check.questions().iter().map(|question| question.times).sum();
        assert!(row.judges.len() as u64 <= times * u64::from(TRIES), "the rule says that it asks less: {shown}");
    }
}
