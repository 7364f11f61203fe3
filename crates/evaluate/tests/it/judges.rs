//! What judges are asked, how their replies are read, and what a bad reply or a failing model comes to.

use evaluate::question::{Material, Question, TRIES, number, yes_or_no};
use record::{FailureKind, Finding, Turn, turn::ToolCall};
use scenario::{
    Check,
    check::{
        self, Evidence, Expected, FlowPattern, JudgeForm, JudgeRule, Judging, Rule, SatisfactionMethod,
        bounded::{Count, Share},
    },
    plan::{JudgeGate, MeasuredJudges},
};
use serde_json::{Value, json};

use crate::fakes::{Judges, SCOPE, Scene, asks, check, judged, seed_of_call, turn, unreachable, yes_no};

const PASS: (Finding, Option<FailureKind>) = (Finding::Pass, None);
const FAIL: (Finding, Option<FailureKind>) = (Finding::Fail, None);
const MALFORMED: (Finding, Option<FailureKind>) = (Finding::Inconclusive, Some(FailureKind::JudgeMalformed));

fn three(reply: &str) -> Judges {
    Judges::saying([reply; TRIES as usize])
}

async fn found(rule: JudgeRule, judges: &Judges) -> (Finding, Option<FailureKind>) {
    let judgment = Scene::replied("Here is your refund").judge(Rule::LlmJudge(rule), judges).await;
    (judgment.finding, judgment.failure)
}

#[tokio::test]
async fn expected_grammar() {
    use Expected::{AtLeast, AtMost, Between, No, Yes};
    let rows = [
        (Yes, judged("yes", 0.9), PASS),
        (Yes, judged("no", 0.1), FAIL),
        // The judgment decides a yes or no, unless the judge calls its own answer improbable.
        (Yes, judged("yes", 0.5), PASS),
        (Yes, judged("yes", 0.1), MALFORMED),
        (No, judged("no", 0.95), MALFORMED),
        (No, judged("no", 0.1), PASS),
        (No, judged("yes", 0.9), FAIL),
        (AtLeast(0.8), judged("yes", 0.8), PASS),
        (AtLeast(0.8), judged("yes", 0.79), FAIL),
        (AtMost(0.3), judged("no", 0.3), PASS),
        (AtMost(0.3), judged("no", 0.31), FAIL),
        (Between(0.4, 0.6), judged("no", 0.4), PASS),
        (Between(0.4, 0.6), judged("yes", 0.6), PASS),
        (Between(0.4, 0.6), judged("yes", 0.61), FAIL),
        // "No, and I am sure of it" must not pass as a high score, nor a sure yes as a low one.
        (AtLeast(0.8), judged("no", 0.95), MALFORMED),
        (AtMost(0.3), judged("yes", 0.05), MALFORMED),
        (Expected::Says("positive".to_owned()), judged("Clearly Positive.", 0.9), PASS),
        (Expected::Says("positive".to_owned()), judged("negative", 0.9), FAIL),
        (Expected::Says("positive".to_owned()), judged("", 0.9), MALFORMED),
    ];
    for (expected, reply, outcome) in rows {
        let rule = asks("Is the reply helpful?", expected.clone());
        assert_eq!(found(rule, &three(&reply)).await, outcome, "{expected:?} {reply}");
    }
}

/// Each of these is asked again, and never becomes a pass or a fail.
#[tokio::test]
async fn malformed_replies_are_inconclusive() {
    let twice = format!("{}{}", judged("yes", 0.9), judged("yes", 0.9));
    let array = format!("[{}]", judged("yes", 0.9));
    let prose = format!("Sure, here it is: {}", judged("yes", 0.9));
    let tail = format!("{} I hope this helps.", judged("yes", 0.9));
    let rows = [
        "",
        "   ",
        "yes",
        "I think the answer is yes.",
        prose.as_str(),
        tail.as_str(),
        twice.as_str(),
        array.as_str(),
        "<html><body>502 Bad Gateway</body></html>",
        r#"{"quotes":[],"judgment":"yes","confidence":0.9,"reasoning":"cut of"#,
        r#"{"quotes":[],"judgment":"yes","confidence":1.5,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"yes","confidence":-0.1,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"yes","confidence":1e999,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"yes","confidence":NaN,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"yes","confidence":"0.9","reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"yes","confidence":0.9junk,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"Yes!","confidence":0.9,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"maybe","confidence":0.9,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"yes","reasoning":"r"}"#,
        r#"{"quotes":[],"confidence":0.9,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"yes","confidence":0.9}"#,
        r#"{"quotes":[],"judgment":"yes","confidence":0.9,"reasoning":"r","verdict":"pass"}"#,
        r#"{"judgment":"yes","confidence":0.9,"reasoning":"r"}"#,
        r#"{"quotes":"none","judgment":"yes","confidence":0.9,"reasoning":"r"}"#,
        r#"{"quotes":[],"judgment":"yes","confidence":0.4,"reasoning":"r"}"#,
        "null",
        "0.9",
    ];
    for reply in rows {
        for expected in [Expected::Yes, Expected::No, Expected::AtLeast(0.0)] {
            let judges = three(reply);
            let rule = asks("Is the reply helpful?", expected);
            let judgment = Scene::replied("hello").judge(Rule::LlmJudge(rule), &judges).await;
            assert_eq!((judgment.finding, judgment.failure), MALFORMED, "{reply:?}");
            assert_eq!(judgment.evidence.as_deref(), Some(reply), "the last reply is kept");
            assert_eq!(judges.requests().len(), TRIES as usize, "{reply:?}");
        }
    }
}

#[tokio::test]
async fn a_fence_is_no_fault() {
    for fence in ["```json\n", "```\n", "  ```json "] {
        let judges = Judges::saying([format!("{fence}{}\n```\n", judged("yes", 0.9))]);
        assert_eq!(found(asks("Is it?", Expected::Yes), &judges).await, PASS, "{fence:?}");
    }
}

/// Each try is a call of its own: another number, another seed, and a word about the form.
#[tokio::test]
async fn a_second_try_can_be_understood() {
    let judges = Judges::saying(["I would say yes".to_owned(), judged("no", 0.2)]);
    assert_eq!(found(asks("Is it?", Expected::Yes), &judges).await, FAIL);
    let requests = judges.requests();
    let calls: Vec<_> = requests.iter().map(|request| (request.context.call, request.seed)).collect();
    assert_eq!(calls, [(0, Some(seed_of_call(0))), (1, Some(seed_of_call(1)))]);
    assert!(!requests[0].messages[1].content.contains("earlier reply"));
    assert!(requests[1].messages[1].content.contains("earlier reply"));
}

/// Our faults are not the agent's failures.
#[tokio::test]
async fn a_model_that_fails_is_an_error_of_ours() {
    let endpoint = || "script".to_owned();
    let message = || "no".to_owned();
    let failed = (Finding::Error, Some(FailureKind::JudgeFailed));
    let exhausted = (Finding::Error, Some(FailureKind::ProviderExhausted));
    let rows = [
        (unreachable(), failed),
        (llm::Error::Refused { endpoint: endpoint(), status: 400, message: message() }, failed),
        (llm::Error::Throttled { endpoint: endpoint(), after: None, message: message() }, failed),
        (
            llm::Error::TimedOut {
                endpoint: endpoint(),
                place: String::new(),
                limit: std::time::Duration::from_secs(1),
            },
            failed,
        ),
        (llm::Error::Malformed { endpoint: endpoint(), message: message(), partial: "yes".to_owned() }, failed),
        (llm::Error::Exhausted { endpoint: endpoint(), message: message() }, exhausted),
    ];
    let rules = [
        Rule::LlmJudge(asks("Is it?", Expected::Yes)),
        Rule::ConversationFlow(check::ConversationFlow {
            required_patterns: vec![FlowPattern::ClarificationCycle],
            flow_quality_threshold: Share(0.0),
        }),
        Rule::UserSatisfaction(check::UserSatisfaction {
            satisfaction_threshold: 0.0,
            positive: None,
            negative: None,
            method: SatisfactionMethod::SentimentAnalysis,
        }),
        Rule::ContextRetention(check::ContextRetention {
            test_memory_of: vec!["blue".to_owned()],
            retention_turns: Count(1),
            memory_accuracy_threshold: Share(0.0),
        }),
    ];
    for (error, expected) in rows {
        for rule in &rules {
            let judges = Judges::answering([Err(error.clone())]);
            let scene = Scene::talked(vec![turn("My car is blue", "I see"), turn("Right?", "Right")]);
            let judgment = scene.judge(rule.clone(), &judges).await;
            assert_eq!((judgment.finding, judgment.failure), expected, "{} {error}", rule.kind());
            assert_eq!(judgment.score, None);
            assert_eq!(judges.requests().len(), 1, "retries are the model's own layer");
        }
    }
}

#[tokio::test]
async fn what_is_sent() {
    let rule = JudgeRule {
        model_type: Some("TEXT_SMALL".to_owned()),
        temperature: Some(0.0),
        capabilities: vec!["Greets the user".to_owned(), "Names a price".to_owned()],
        ..asks("Is the answer polite?", Expected::No)
    };
    let judges = Judges::saying([judged("no", 0.2), judged("yes", 0.9), judged("no", 0.1)]);
    let judgment = Scene::replied("Hello.").judge(Rule::LlmJudge(rule), &judges).await;
    // Capabilities are a checklist: the score tells them, the finding is the judgment's.
    assert_eq!((judgment.finding, judgment.score), (Finding::Pass, Some(0.5)));
    let reason = &judgment.reason;
    assert!(reason.contains("1 of 2 capabilities") && reason.contains("because"), "{reason}");
    let evidence = judgment.evidence.unwrap();
    assert!(evidence.contains("achieved: Greets the user (because)\nnot achieved: Names a price"), "{evidence}");
    let told: Vec<(&str, &str)> =
        judgment.ballots.iter().map(|ballot| (ballot.criterion.as_str(), ballot.verdict.as_str())).collect();
    assert_eq!(told, [("", "no"), ("Greets the user", "yes"), ("Names a price", "no")]);
    assert!(judgment.ballots.iter().all(|ballot| ballot.digest.len() == 16 && ballot.model == "script"));

    assert_eq!(judges.model_types(), vec![Some("TEXT_SMALL".to_owned()); 3]);
    let requests = judges.requests();
    let request = &requests[0];
    assert_eq!(request.temperature, Some(0.0));
    assert_eq!(request.context.role, "judge");
    assert!(request.max_tokens.is_some() && request.tools.is_empty());
    let schema = request.schema.as_ref().unwrap();
    let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["reasoning", "quotes", "judgment", "confidence"], "reasons stand before the judgment");
    for (request, asked) in requests.iter().zip(["Is the answer polite?", "Greets the user", "Names a price"]) {
        let prompt = &request.messages[1].content;
        let after = prompt.rsplit_once(">>>").unwrap().1;
        for part in [asked, "evidence, not instruction", "in English", "word for word"] {
            assert!(after.contains(part), "{part}: the end repeats the question and the form");
        }
        assert!(!prompt.to_lowercase().contains("expected"), "a judge that sees `expected: no` takes it for a request");
    }
}

/// The order of the form, its evidence and its language are settings of the check.
#[tokio::test]
async fn the_form_is_a_setting() {
    let check = |judging: Judging| Check { judging, ..check(Rule::LlmJudge(asks("Is it?", Expected::Yes))) };
    let rows: [(Judging, &[&str], &str); 3] = [
        (
            Judging { form: JudgeForm::VerdictFirst, ..Judging::USUAL },
            &["judgment", "confidence", "quotes", "reasoning"],
            "in English",
        ),
        (
            Judging { evidence: Evidence::None, ..Judging::USUAL },
            &["reasoning", "judgment", "confidence"],
            "in English",
        ),
        (
            Judging { language: Some("German".to_owned()), ..Judging::USUAL },
            &["reasoning", "quotes", "judgment", "confidence"],
            "in German",
        ),
    ];
    let mut digests = Vec::new();
    for (judging, fields, language) in rows {
        let reply = if judging.evidence == Evidence::None { yes_no("yes", 0.9) } else { judged("yes", 0.9) };
        let judges = Judges::saying([reply]);
        let evaluator = evaluate::compile(&check(judging)).unwrap();
        let judgment = Scene::replied("hello").judge_by(&evaluator, &judges).await;
        assert_eq!(judgment.finding, Finding::Pass, "{}", judgment.reason);
        let request = judges.requests().remove(0);
        let schema = request.schema.unwrap();
        assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), fields);
        assert!(request.messages[1].content.contains(language));
        digests.push(judgment.ballots[0].digest.clone());
    }
    digests.dedup();
    assert_eq!(digests.len(), 3, "answers to different forms are not comparable");
}

/// A digest names all that an answer depends on beside the material; the name of a judge does not depend on the question.
#[tokio::test]
async fn answers_have_a_digest_of_their_question_and_their_judge() {
    let answered = async |name: &str, change: &dyn Fn(&mut llm::Receipt)| {
        let mut reply = llm::chat::Reply { text: judged("yes", 0.9), ..llm::chat::Reply::default() };
        reply.receipt.model = "gpt-x".to_owned();
        reply.receipt.asked_with = Some("[1]".into());
        change(&mut reply.receipt);
        let rule = Rule::LlmJudge(asks(name, Expected::Yes));
        let judgment = Scene::replied("Hello.").judge(rule, &Judges::replying([Ok(reply)])).await;
        let ballot = judgment.ballots[0].clone();
        assert_eq!((ballot.digest.len(), ballot.judge.len()), (16, 16));
        assert_eq!(judgment.jury.map(|jury| (jury.words, jury.uncalibrated)), Some((1, None)));
        (ballot.digest, ballot.judge)
    };
    let (digest, judge) = answered("polite", &|_| {}).await;
    assert_eq!((digest.clone(), judge.clone()), answered("polite", &|_| {}).await);
    type Change = Box<dyn Fn(&mut llm::Receipt)>;
    let rows: [(&str, Change, bool); 4] = [
        ("exact", Box::new(|_| {}), true),
        ("polite", Box::new(|receipt| receipt.fingerprint = "fp_2".to_owned()), true),
        ("polite", Box::new(|receipt| receipt.model = "gpt-y".to_owned()), false),
        ("polite", Box::new(|receipt| receipt.asked_with = Some("[2]".into())), false),
    ];
    for (name, change, is_same_judge) in rows {
        let found = answered(name, &*change).await;
        assert_ne!(found.0, digest);
        assert_eq!(found.1 == judge, is_same_judge, "{name}");
    }
}

/// What exceeds the context is shortened: the first and the last turn and those with tool calls are shown whole.
#[tokio::test]
async fn a_judge_sees_as_much_as_fits_into_its_context() {
    let turns: Vec<Turn> = (1..=12)
        .map(|number| {
            let mut turn = turn(&format!("q{number}"), &format!("a{number} {}", "word ".repeat(200)));
            if number == 5 {
                let (id, name, arguments) = ("c".to_owned(), "find".to_owned(), "{}".to_owned());
                turn.tool_calls = vec![ToolCall { id, name, arguments, result: Some("found ".repeat(100)) }];
            }
            turn
        })
        .collect();
    for (room, shortened) in [(10_000_u64, 9), (100_000, 0)] {
        let judges = Judges::saying([judged("yes", 0.9)]).with_room(room);
        let rule = Rule::LlmJudge(asks("Is it polite?", Expected::Yes));
        let judgment = Scene::talked(turns.clone()).judge(rule, &judges).await;
        assert_eq!((judgment.finding, judgment.ballots[0].shortened_turns), (Finding::Pass, shortened));
        let prompt = judges.requests().remove(0).messages.remove(1).content;
        assert!((prompt.len() as u64) < room, "{}", prompt.len());
        let whole: Vec<usize> =
            (1..=12).filter(|number| prompt.contains(&format!("a{number} {}", "word ".repeat(200).trim()))).collect();
        let expected: Vec<usize> = if shortened == 0 { (1..=12).collect() } else { vec![1, 5, 12] };
        assert_eq!(whole, expected);
        assert!((1..=12).all(|number| prompt.contains(&format!("a{number} word"))), "each turn has a skeleton");
    }
}

/// A judge that is not measured, or not good enough, only informs.
#[tokio::test]
async fn only_calibrated_judges_decide() {
    let asked = async |gate: Option<JudgeGate>, required: bool| {
        let judges = Judges::saying([judged("no", 0.1)]).with_gate(gate);
        let check = Check { required, ..check(Rule::LlmJudge(asks("Is it polite?", Expected::Yes))) };
        let evaluator = evaluate::compile(&check).unwrap();
        let judgment = Scene::replied("Hello there.").judge_by(&evaluator, &judges).await;
        assert_eq!(judgment.finding, Finding::Fail);
        (judgment.required, judgment.jury.unwrap(), judgment.ballots[0].judge.clone())
    };
    let (required, jury, judge) = asked(None, true).await;
    assert_eq!((required, jury.words, jury.uncalibrated), (true, 2, None));
    let gate = |kappa: f64| {
        let measured = MeasuredJudges { judges: vec![judge.clone()], ballots: 1, kappa, date: "2026-11-23".to_owned() };
        JudgeGate { min_kappa: 0.6, measured: vec![measured] }
    };
    let (required, jury, _) = asked(Some(gate(0.6)), true).await;
    assert_eq!((required, jury.uncalibrated), (true, None));
    let (required, jury, _) = asked(Some(gate(0.59)), true).await;
    assert!(!required && jury.uncalibrated.as_ref().unwrap().contains("its kappa was 0.590 on 2026-11-23"), "{jury:?}");
    let nobody = JudgeGate { min_kappa: 0.6, measured: Vec::new() };
    let (required, jury, _) = asked(Some(nobody.clone()), true).await;
    assert!(!required && jury.uncalibrated.as_ref().unwrap().contains("is not calibrated"), "{jury:?}");
    let (required, jury, _) = asked(Some(nobody), false).await;
    assert_eq!((required, jury.uncalibrated), (false, None), "the scenario says that it only informs");
}

/// Which quotes a verdict needs, and what becomes of quotes that nobody said.
#[tokio::test]
async fn quotes_are_verified() {
    const NO_EVIDENCE: (Finding, Option<FailureKind>) = (Finding::Inconclusive, Some(FailureKind::EvidenceNotFound));
    let quoting = |judgment: &str, who: &str, text: &str| {
        let quotes = [json!({ "turn": 1, "who": who, "text": text })];
        json!({ "reasoning": "r", "quotes": quotes, "judgment": judgment, "confidence": 0.9 }).to_string()
    };
    let truly = |judgment| quoting(judgment, "agent", "here is … REFUND");
    let falsely = |judgment| quoting(judgment, "agent", "I will not refund you");
    let none = |judgment: &str| judged(judgment, if judgment == "no" { 0.1 } else { 0.9 });
    let rows = [
        (Evidence::Given, vec![truly("yes")], PASS),
        (Evidence::Given, vec![falsely("yes"), truly("yes")], PASS),
        (Evidence::Given, vec![falsely("yes"), falsely("yes")], NO_EVIDENCE),
        (Evidence::Given, vec![falsely("no"), falsely("no")], NO_EVIDENCE),
        (Evidence::Given, vec![quoting("yes", "user", "here is your refund"), none("yes")], PASS),
        (Evidence::Given, vec![none("yes")], PASS),
        (Evidence::Met, vec![none("yes"), none("yes")], NO_EVIDENCE),
        (Evidence::Met, vec![none("no")], FAIL),
        (Evidence::NotMet, vec![none("no"), truly("no")], FAIL),
        (Evidence::NotMet, vec![none("yes")], PASS),
        (Evidence::Both, vec![none("yes"), falsely("yes")], NO_EVIDENCE),
        (Evidence::Both, vec![none("cannot_tell")], (Finding::Inconclusive, Some(FailureKind::Undecided))),
        (Evidence::Given, vec![none("not_applicable")], (Finding::NotApplicable, None)),
    ];
    for (evidence, replies, expected) in rows {
        let judging = Judging { evidence, ..Judging::USUAL };
        let check = Check { judging, ..check(Rule::LlmJudge(asks("Is it?", Expected::Yes))) };
        let judges = Judges::saying(replies.clone());
        let evaluator = evaluate::compile(&check).unwrap();
        let judgment = Scene::replied("Here is your refund").judge_by(&evaluator, &judges).await;
        assert_eq!((judgment.finding, judgment.failure), expected, "{evidence:?} {replies:?}");
        assert_eq!(judges.requests().len(), replies.len(), "{evidence:?} {replies:?}");
    }
}

/// A cut answer is asked for again with twice the limit, once.
#[tokio::test]
async fn cut_replies_get_twice_the_room_once() {
    let cut = || r#"{"reasoning":"it is a long"#.to_owned();
    let rows = [
        (vec![(cut(), true), (judged("yes", 0.9), false)], PASS),
        (vec![(cut(), true), (cut(), true)], (Finding::Inconclusive, Some(FailureKind::JudgeTruncated))),
        // The whole object arrived before the limit.
        (vec![(judged("yes", 0.9), true)], PASS),
    ];
    for (replies, expected) in rows {
        let count = replies.len();
        let judges = Judges::finishing(replies);
        assert_eq!(found(asks("Is it?", Expected::Yes), &judges).await, expected);
        let limits: Vec<u32> = judges.requests().iter().map(|request| request.max_tokens.unwrap()).collect();
        let usual = limits[0];
        assert_eq!(limits, [usual, 2 * usual][..count]);
        assert!(usual >= 800 + 3 * 150);
    }
}

/// Whatever is missing of a reply, it never passes: each set of fields, and each beginning of the text.
#[tokio::test]
async fn no_incomplete_reply_passes() {
    let whole = json!({
        "reasoning": "r", "quotes": [{ "turn": 1, "who": "agent", "text": "your refund" }], "judgment": "yes",
        "confidence": 0.9,
    });
    let mut incomplete = Vec::new();
    let names: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
    for missing in 1_u32..1 << names.len() {
        let mut fields = whole.clone();
        let gone = names.iter().enumerate().filter(|(index, _)| missing & (1 << index) != 0);
        gone.for_each(|(_, name)| _ = fields.as_object_mut().unwrap().remove(name));
        incomplete.push(fields.to_string());
    }
    let text = whole.to_string();
    incomplete.extend((0..text.len()).map(|end| text[..end].to_owned()));
    for reply in incomplete {
        assert_eq!(found(asks("Is it?", Expected::Yes), &three(&reply)).await, MALFORMED, "{reply}");
    }
    assert_eq!(found(asks("Is it?", Expected::Yes), &Judges::saying([text])).await, PASS);
}

/// Several votes are asked at the same time; their calls are numbered before the first is asked.
#[tokio::test]
async fn votes_are_counted_for_every_judge() {
    const TIED: (Finding, Option<FailureKind>) = (Finding::Inconclusive, Some(FailureKind::Undecided));
    let vote = |word: &str| judged(word, if word == "no" { 0.2 } else { 0.8 });
    let rows = [
        (Expected::Yes, vec!["yes", "no", "yes"], PASS),
        (Expected::Yes, vec!["yes", "no", "no"], FAIL),
        (Expected::Yes, vec!["yes", "no"], TIED),
        (Expected::Yes, vec!["yes", "no", "cannot_tell"], TIED),
        (Expected::Yes, vec!["cannot_tell", "cannot_tell", "yes"], TIED),
        (Expected::AtLeast(0.6), vec!["yes", "no", "yes"], PASS),
        (Expected::AtLeast(0.61), vec!["yes", "no", "yes"], FAIL),
    ];
    for (expected, votes, outcome) in rows {
        let judging = Judging { votes: votes.len() as u32, ..Judging::USUAL };
        let check = Check { judging, ..check(Rule::LlmJudge(asks("Is it?", expected))) };
        let judges = Judges::saying(votes.iter().map(|word| vote(word)));
        let judgment = Scene::replied("hi").judge_by(&evaluate::compile(&check).unwrap(), &judges).await;
        assert_eq!((judgment.finding, judgment.failure), outcome, "{votes:?}: {}", judgment.reason);
        let calls: Vec<u32> = judges.requests().iter().map(|request| request.context.call).collect();
        let first_of_each: Vec<u32> = (0..votes.len() as u32).map(|index| index * TRIES).collect();
        assert_eq!(calls, first_of_each, "each vote has calls of its own for all its tries");
        if outcome != TIED {
            assert_eq!(judgment.ballots.len(), votes.len());
        }
    }
    let rule = Rule::SemanticCondition(check::SemanticCondition { condition: "It greets".to_owned() });
    let judging = Judging { panel: vec!["A".to_owned(), "B".to_owned(), "C".to_owned()], ..Judging::USUAL };
    let judges = Judges::saying([yes_no("no", 0.1), yes_no("yes", 0.9), yes_no("no", 0.1)]);
    let evaluator = evaluate::compile(&Check { judging, ..check(rule) }).unwrap();
    assert_eq!(Scene::replied("hi").judge_by(&evaluator, &judges).await.finding, Finding::Fail);
    assert_eq!(judges.model_types(), ["A", "B", "C"].map(|judge| Some(judge.to_owned())));
}

#[tokio::test]
async fn capabilities_must_all_be_judged() {
    let entry = |achieved: Value| json!({ "achieved": achieved, "reasoning": "r" });
    let rows = [
        (json!([entry(json!(true)), entry(json!(false))]), PASS),
        (json!([entry(json!(true))]), MALFORMED),
        (json!([entry(json!(true)), entry(json!(true)), entry(json!(true))]), MALFORMED),
        (json!([entry(json!(true)), entry(json!("yes"))]), MALFORMED),
        (json!([entry(json!(true)), { "achieved": true }]), MALFORMED),
        (json!([]), MALFORMED),
        (json!("all"), MALFORMED),
        (Value::Null, MALFORMED),
    ];
    for (capabilities, outcome) in rows {
        let reply =
            json!({ "judgment": "yes", "confidence": 0.9, "capabilities": capabilities, "reasoning": "r" }).to_string();
        let rule = JudgeRule {
            capabilities: vec!["one".to_owned(), "two".to_owned()],
            batch: true,
            ..asks("?", Expected::Yes)
        };
        assert_eq!(found(rule, &three(&reply)).await, outcome, "{reply}");
    }
}

/// A check's own schema is what the reply must satisfy; what `expected` needs must be in it.
#[tokio::test]
async fn own_schemas() {
    let strict = json!({
        "type": "object",
        "properties": {
            "judgment": { "type": "string", "enum": ["yes", "no"] },
            "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
            "topic": { "type": "string", "pattern": "^[a-z]+$" },
        },
        "required": ["judgment", "topic"],
    });
    let loose = json!({ "type": "object" });
    let rows = [
        (&strict, Expected::Yes, r#"{"judgment":"yes","topic":"refund"}"#, PASS),
        (&strict, Expected::No, r#"{"judgment":"yes","topic":"refund"}"#, FAIL),
        (&strict, Expected::Yes, r#"{"judgment":"yes","topic":"Refund!"}"#, MALFORMED),
        (&strict, Expected::Yes, r#"{"judgment":"yes"}"#, MALFORMED),
        (&strict, Expected::AtLeast(0.5), r#"{"judgment":"yes","topic":"refund"}"#, MALFORMED),
        (&strict, Expected::AtLeast(0.5), r#"{"judgment":"yes","topic":"refund","confidence":0.5}"#, PASS),
        (&loose, Expected::Yes, r#"{"judgment":true}"#, PASS),
        (&loose, Expected::Yes, r#"{"judgment":"yes","confidence":0.5}"#, PASS),
        (&loose, Expected::Yes, r#"{"judgment":"yes","confidence":0.05}"#, MALFORMED),
        (&loose, Expected::No, r#"{"judgment":"yes","confidence":0.05}"#, MALFORMED),
        (&loose, Expected::No, r#"{"judgment":"no","confidence":0.95}"#, PASS),
        (&loose, Expected::No, r#"{"judgment":"NO"}"#, PASS),
        (&loose, Expected::Yes, r#"{"judgment":"perhaps"}"#, MALFORMED),
        (&loose, Expected::Yes, r#"{"judgment":1}"#, MALFORMED),
        (&loose, Expected::Yes, r#"{"success":true}"#, MALFORMED),
        (&loose, Expected::AtMost(0.5), r#"{"confidence":0.2}"#, PASS),
        (&loose, Expected::AtMost(0.5), r#"{"confidence":-7}"#, MALFORMED),
        (&loose, Expected::Says("refund".to_owned()), r#"{"judgment":"about a refund"}"#, PASS),
        (&json!({ "type": "string" }), Expected::Yes, "\"yes\"", MALFORMED),
    ];
    for (schema, expected, reply, outcome) in rows {
        let rule = JudgeRule { json_schema: Some(schema.clone()), ..asks("Is it?", expected.clone()) };
        let judges = three(reply);
        assert_eq!(found(rule, &judges).await, outcome, "{expected:?} {reply}");
        assert_eq!(judges.requests()[0].schema.as_ref(), Some(schema));
    }
}

#[tokio::test]
async fn simple_questions() {
    let material = Material::of_turns(&[turn("hello", "hi")]);
    let question = Question::new("Is it?", &material, SCOPE);
    let words = [
        ("yes".to_owned(), Some((true, 1.0))),
        ("No.".to_owned(), Some((false, 0.0))),
        (yes_no("yes", 0.6), Some((true, 0.6))),
        (yes_no("no", 0.4), Some((false, 0.4))),
        (yes_no("no", 0.9), None),
        (yes_no("yes", 0.05), None),
        ("yesterday".to_owned(), None),
        ("not yes".to_owned(), None),
        ("0.85".to_owned(), None),
        (r#"{"judgment":"yes"}"#.to_owned(), None),
    ];
    for (reply, expected) in words {
        let answer = yes_or_no(&question, &three(&reply)).await;
        let read = answer.as_ref().ok().map(|answer| (answer.yes, answer.confidence));
        assert_eq!(read, expected, "{reply}");
        if let Err(error) = answer {
            assert_eq!(error.kind(), FailureKind::JudgeMalformed);
        }
    }
    let numbers = [
        ("0.85".to_owned(), Some(0.85)),
        ("1".to_owned(), Some(1.0)),
        (r#"{"score":0.25,"reasoning":"r"}"#.to_owned(), Some(0.25)),
        ("0.9junk".to_owned(), None),
        ("1.5".to_owned(), None),
        ("85%".to_owned(), None),
        ("yes".to_owned(), None),
        (r#"{"score":1.5,"reasoning":"r"}"#.to_owned(), None),
        (r#"{"score":"0.5","reasoning":"r"}"#.to_owned(), None),
    ];
    for (reply, expected) in numbers {
        let rating = number(&question, &three(&reply)).await;
        assert_eq!(rating.ok().map(|rating| rating.score), expected, "{reply}");
    }
}

/// Each pattern is a question of its own wording, and the share that is seen is the score.
#[tokio::test]
async fn flow_patterns() {
    let patterns = vec![
        FlowPattern::QuestionThenAnswer,
        FlowPattern::ProblemThenSolution,
        FlowPattern::ClarificationCycle,
        FlowPattern::EmpathyThenSolution,
        FlowPattern::EscalationPattern,
    ];
    let judges = Judges::saying(["yes", "no", "yes", "no", "yes"]);
    let rule = Rule::ConversationFlow(check::ConversationFlow {
        required_patterns: patterns,
        flow_quality_threshold: Share(0.6),
    });
    let judgment = Scene::talked(vec![turn("a", "b")]).judge(rule, &judges).await;
    assert_eq!((judgment.finding, judgment.score), (Finding::Pass, Some(0.6)));
    let mut questions: Vec<String> =
        judges.requests().iter().map(|request| request.messages[1].content.clone()).collect();
    assert!(judgment.evidence.unwrap().contains("problem_then_solution: no"));
    questions.sort();
    questions.dedup();
    assert_eq!(questions.len(), 5);
}

#[tokio::test]
async fn retention_asks_about_the_turns_after_the_first_mention() {
    let turns: Vec<Turn> = [
        ("Hi", "Hello"),
        ("My order is 1234", "Thanks"),
        ("What now?", "Looking at order 1234"),
        ("And?", "Which order do you mean?"),
        ("1234!", "Of course"),
        ("Bye", "Bye"),
    ]
    .map(|(user, agent)| turn(user, agent))
    .to_vec();
    // (items, turns asked about, replies, score)
    type Row = (&'static [&'static str], u32, &'static [&'static str], f64);
    let rows: [Row; 6] = [
        (&["ORDER is 1234"], 2, &["yes", "no"], 0.5),
        (&["order is 1234"], 10, &["yes", "no", "yes", "yes"], 0.75),
        (&["order is 1234", "Bye"], 1, &["yes"], 0.5),
        (&["order is 1234", "never said"], 1, &["yes"], 0.5),
        (&["looking at"], 1, &["yes"], 1.0),
        (&["bye"], 3, &[], 0.0),
    ];
    for (items, retention_turns, replies, score) in rows {
        let judges = Judges::saying(replies.iter().copied());
        let rule = Rule::ContextRetention(check::ContextRetention {
            test_memory_of: items.iter().map(|item| (*item).to_owned()).collect(),
            retention_turns: Count(retention_turns),
            memory_accuracy_threshold: Share(0.6),
        });
        let judgment = Scene::talked(turns.clone()).judge(rule, &judges).await;
        assert_eq!(judgment.score, Some(score), "{items:?}: {:?}", judgment.evidence);
        assert_eq!(judgment.finding, if score >= 0.6 { Finding::Pass } else { Finding::Fail });
        assert_eq!(judges.requests().len(), replies.len(), "{items:?}");
    }
}
