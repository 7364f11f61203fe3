//! Custom checks in a trial: their requests, and what their answers lead to.

use std::path::Path;

use super::*;
use crate::{
    custom_check::CustomCheck,
    environment::{Execution, Limits},
};

/// A trial of one scripted message, judged by a program.
async fn played(script: &str, folder: &Path, more: Value, said: &str) -> Played {
    let cast = Cast::with(FakeAgent::saying(said));
    let mut resources = Arc::into_inner(cast.resources()).unwrap();
    let settings = json!({ "command": ["sh", "-c", script], "timeout_ms": 1_000, "deterministic": true });
    let execution = Execution::host(Vec::new(), Limits::default());
    let check = CustomCheck::new(&serde_json::from_value(settings).unwrap(), folder, &execution).unwrap();
    resources.checks.insert("totals".to_owned(), check);
    let mut evaluation = json!({ "type": "custom", "check": "totals" });
    evaluation.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let script = scenario(
        json!([{ "input": "How much?", "evaluations": [evaluation] }]),
        json!({ "gabfest": { "tags": ["money"], "opening": [{ "speaker": "system", "text": "Be exact." }] } }),
    );
    play_one(&plan(&script, 1), 0, 1, Arc::new(resources)).await
}

fn answering(reply: &str) -> String {
    format!(
        r#"echo '{{"gabfest":"check/1"}}'; while read -r line; do printf '%s' "$line" > got; id=${{line#*'"id":"'}}; id=${{id%%'"'*}}; {reply}; done"#
    )
}

fn result(result: &str) -> String {
    answering(&format!(r#"printf '{{"id":"%s","result":%s}}\n' "$id" '{result}'"#))
}

#[tokio::test]
async fn only_an_answer_in_the_right_form_passes_or_fails() {
    let folder = tempfile::tempdir().unwrap();
    let infra = |kind| Some((kind, Blame::Infra));
    let rows = [
        (result(r#"{"pass":true}"#), Verdict::Pass, None),
        (result(r#"{"pass":false,"reason":"31 > 30"}"#), Verdict::Fail, Some((FailureKind::CheckFailed, Blame::Agent))),
        (result(r#"{"pass":null}"#), Verdict::Inconclusive, infra(FailureKind::Undecided)),
        (
            result(r#"{"not_applicable":true}"#),
            Verdict::Inconclusive,
            Some((FailureKind::NothingJudged, Blame::Config)),
        ),
        (result(r#"{"score":0.2}"#), Verdict::Inconclusive, infra(FailureKind::CheckMalformed)),
        (result("[]"), Verdict::Inconclusive, infra(FailureKind::CheckMalformed)),
        (answering("echo no"), Verdict::Inconclusive, infra(FailureKind::CheckMalformed)),
        (
            answering("head -c 300000 /dev/zero | tr '\\0' x; echo"),
            Verdict::Inconclusive,
            infra(FailureKind::CheckMalformed),
        ),
        (answering("exit 1"), Verdict::Error, infra(FailureKind::CheckFailedToRun)),
        (answering("sleep 98762"), Verdict::Error, infra(FailureKind::CheckFailedToRun)),
        ("exit 127".to_owned(), Verdict::Error, infra(FailureKind::CheckFailedToRun)),
    ];
    for (script, verdict, failure) in rows {
        let trial = played(&script, folder.path(), json!({}), "31 EUR").await.trial;
        let found = trial.failure.as_ref().map(|failure| (failure.kind, failure.blame));
        assert_eq!((trial.verdict, found), (verdict, failure), "{script}: {:?}", trial.failure);
    }
}

#[tokio::test]
async fn a_check_gets_the_transcript_without_keys() {
    redact::register("Tr0ub4dor-custom-check");
    let folder = tempfile::tempdir().unwrap();
    let more = json!({ "config": { "max": 30 } });
    played(&result(r#"{"pass":true}"#), folder.path(), more, "It is Tr0ub4dor-custom-check, 30 EUR").await;
    let got = std::fs::read(folder.path().join("got")).unwrap();
    let mut got: Value = serde_json::from_slice(&got).unwrap();
    let transcript = got["transcript"].take();
    let transcript: record::published::Transcript = serde_json::from_value(transcript).unwrap();
    assert_eq!(transcript.schema, "gabfest.transcript/1");
    assert_eq!((transcript.check.as_str(), &transcript.config), ("totals", &json!({ "max": 30 })));
    assert_eq!((transcript.scenario.name.as_str(), transcript.scenario.tags), ("weather", vec!["money".to_owned()]));
    assert!(transcript.scenario.id.ends_with("/weather"), "{}", transcript.scenario.id);
    assert_eq!((transcript.repeat, transcript.step, transcript.turn), (0, 1, None));
    assert_eq!(transcript.opening[0].text, "Be exact.");
    assert_eq!(transcript.turns.len(), 1);
    assert_eq!(transcript.turns[0].agent.as_deref(), Some("It is [redacted], 30 EUR"));
    assert_eq!(transcript.turns[0].times, None);
}

#[tokio::test]
async fn a_check_that_cannot_be_asked_is_found_before_the_agent_is_asked() {
    let evaluation = |required: bool| json!({ "type": "custom", "check": "nobody", "required": required });
    let steps = |required| json!([{ "input": "Hi", "evaluations": [evaluation(required), contains("sunny")] }]);
    let cast = Cast::plain();
    let trial = first(&scenario(steps(true), json!({})), &cast).await.trial;
    assert_eq!((trial.verdict, trial.turns), (Verdict::Error, 0));
    assert_eq!(trial.failure.map(|failure| failure.kind), Some(FailureKind::Misconfigured));
    let trial = first(&scenario(steps(false), json!({})), &cast).await.trial;
    assert_eq!((trial.verdict, trial.turns), (Verdict::Pass, 1), "a check that only informs stops nothing");
}

/// A check whose answer depends on how often it was asked says that it is deterministic.
#[tokio::test]
async fn a_check_that_gives_two_answers_is_unstable() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("check.sh"), counting("n % 2 == 1")).unwrap();
    let trials = many(folder.path(), 400).await;
    let runs: Vec<_> = trials.iter().map(|trial| trial.judgments[0].custom.as_ref().unwrap()).collect();
    assert!(runs.iter().all(|run| run.check == "totals" && run.program == runs[0].program && run.program.len() == 16));
    let transcripts: std::collections::BTreeSet<_> = runs.iter().map(|run| run.transcript.as_str()).collect();
    assert_eq!(transcripts.len(), runs.len(), "each has the number and the seed of its trial");
    let twice: Vec<_> =
        trials.iter().filter(|trial| trial.judgments[0].custom.as_ref().unwrap().differs.is_some()).collect();
    assert!((1..20).contains(&twice.len()), "about 1 % is asked twice: {}", twice.len());
    for trial in &twice {
        let judgment = &trial.judgments[0];
        assert_eq!(judgment.custom.as_ref().unwrap().differs, Some(true));
        assert_eq!(judgment.failure, Some(FailureKind::CheckMalformed));
        assert!(judgment.reason.contains("\"totals\" is unstable"), "{}", judgment.reason);
        assert_eq!(trial.verdict, Verdict::Inconclusive);
    }
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap().lines().count();
    assert_eq!(asked, 400 + twice.len());
    std::fs::write(folder.path().join("check.sh"), counting("n > 0")).unwrap();
    let again = many(folder.path(), 400).await;
    let of = |trial: &Trial| trial.judgments[0].custom.clone().unwrap();
    assert!(again.iter().zip(&trials).all(|(new, old)| of(new).transcript == of(old).transcript), "I5");
    assert!(again.iter().zip(&trials).all(|(new, old)| of(new).program != of(old).program), "the file is another one");
    assert!(again.iter().zip(&trials).all(|(new, old)| of(new).differs.is_some() == of(old).differs.is_some()));
    assert!(again.iter().all(|trial| of(trial).differs != Some(true) && trial.verdict == Verdict::Pass));
}

/// A program that counts the transcripts that it gets, and passes one if this holds for their number `n`.
fn counting(passes: &str) -> String {
    let reply = format!(
        r#"echo x >> asked; n=$((n + 1)); if [ $(({passes})) = 1 ]; then pass=true; else pass=false; fi; printf '{{"id":"%s","result":{{"pass":%s}}}}\n' "$id" "$pass""#
    );
    answering(&reply)
}

/// Trials that a program in `check.sh` judges.
async fn many(folder: &Path, repeats: u32) -> Vec<Trial> {
    let cast = Cast::plain();
    let mut resources = Arc::into_inner(cast.resources()).unwrap();
    let settings = json!({ "command": ["sh", "check.sh"], "timeout_ms": 20_000, "deterministic": true });
    let execution = Execution::host(Vec::new(), Limits::default());
    let check = CustomCheck::new(&serde_json::from_value(settings).unwrap(), folder, &execution).unwrap();
    resources.checks.insert("totals".to_owned(), check);
    let evaluation = json!({ "type": "custom", "check": "totals" });
    let plan = plan(&scenario(json!([{ "input": "How much?", "evaluations": [evaluation] }]), json!({})), repeats);
    let resources = Arc::new(resources);
    let mut trials = Vec::new();
    for number in 0..u64::from(repeats) {
        trials.push(play_one(&plan, number, 1, Arc::clone(&resources)).await.trial);
    }
    trials
}
