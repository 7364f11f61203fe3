//! The questions to judges, how their replies are read, and the results of bad replies and failing models.

use evaluate::question::{Material, Open, Question, TRIES, how_sure, number, yes_or_no};
use record::{FailureKind, Finding, Turn, turn::ToolCall};
use scenario::{
    Check,
    check::{
        self, Evidence, Expected, FlowPattern, JudgeForm, JudgeRule, Judging, Rule, SatisfactionMethod,
        bounded::{Count, Share},
    },
};
use serde_json::{Value, json};

use crate::{
    fakes::{Judges, SCOPE, Scene, asks, ballot, check, contains, judged, score, seed_of_call, turn, unreachable},
    rows::read,
};

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
        r#"{"quotes":[],"judgment":"yes","confidence":0.9,"reasoning":" "}"#,
        r#"{"quotes":[],"judgment":"no","judgment":"yes","confidence":0.9,"reasoning":"r"}"#,
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

/// Each try is a separate call with another number, another seed, and a note about the form.
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
    // Capabilities are a checklist: the score reports them, the finding is the judgment's.
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
        let reply = match judging.evidence {
            Evidence::None => json!({ "reasoning": "r", "judgment": "yes", "confidence": 0.9 }).to_string(),
            _ => judged("yes", 0.9),
        };
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

/// A digest covers everything besides the material that an answer depends on; the name of a judge does not depend on
/// the question.
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

/// Material that exceeds the context is shortened: the first and the last turn and those with tool calls stay whole.
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

/// The quotes that a verdict needs, and the treatment of invented quotes.
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

/// After a cut answer it asks once more with twice the limit.
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

/// A cut `Yes` can be the beginning of "Yes, but", and words before a filter stopped the answer are no answer.
#[tokio::test]
async fn a_beginning_of_an_answer_is_no_answer() {
    let material = Material::of_turns(&[turn("Refund, please", "Here is your refund")], &[]);
    let question = Question::new("Is it solved?", &material, SCOPE);
    for (second, expected) in [(judged("yes", 0.9), Ok(true)), (judged("no", 0.1), Ok(false))] {
        let judges = Judges::finishing([("Yes".to_owned(), true), (second, false)]);
        assert_eq!(yes_or_no(&question, &judges).await.unwrap().said, expected);
    }
    let judges = Judges::finishing([("Yes".to_owned(), true), ("Yes.".to_owned(), true)]);
    assert_eq!(yes_or_no(&question, &judges).await.unwrap_err().kind(), FailureKind::JudgeTruncated);
    let judges = Judges::finishing([("0.8".to_owned(), true), ("0.85".to_owned(), true)]);
    assert_eq!(number(&question, &judges).await.unwrap_err().kind(), FailureKind::JudgeTruncated);
    // `call` takes the result alone, too, if it is whole.
    let (plugin, function) = ("plugin".to_owned(), "day".to_owned());
    let arguments = vec![("options".to_owned(), "Monday,Tuesday".to_owned())];
    let checks = vec![check(contains("Tuesday"))];
    let day = Rule::Call(check::CallRule { plugin, function, arguments, checks });
    let judges = Judges::finishing([("Monday".to_owned(), true), ("Tuesday".to_owned(), false)]);
    assert_eq!(Scene::replied("hi").judge(day, &judges).await.finding, Finding::Pass);
    let filtered =
        llm::chat::Reply { text: judged("yes", 0.9), finish: llm::chat::Finish::Refused, ..Default::default() };
    let judges = Judges::replying([Ok(filtered)]);
    assert_eq!(yes_or_no(&question, &judges).await.unwrap_err().kind(), FailureKind::JudgeFailed);
    assert_eq!(judges.requests().len(), 1, "asking again would not help");
}

/// An incomplete reply never passes: each subset of fields, and each prefix of the text.
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
    let judges = Judges::saying([judged("no", 0.1), judged("yes", 0.9), judged("no", 0.1)]);
    let evaluator = evaluate::compile(&Check { judging, ..check(rule) }).unwrap();
    assert_eq!(Scene::replied("hi").judge_by(&evaluator, &judges).await.finding, Finding::Fail);
    assert_eq!(judges.model_types(), ["A", "B", "C"].map(|judge| Some(judge.to_owned())));
}

#[tokio::test]
async fn capabilities_must_all_be_judged() {
    let entry = |judgment: &str| json!({ "reasoning": "r", "quotes": [], "judgment": judgment, "confidence": 0.9 });
    let without = |key: &str| {
        let mut fields = entry("yes");
        fields.as_object_mut().unwrap().remove(key);
        fields
    };
    let rows = [
        (json!([entry("yes"), entry("no")]), PASS),
        (json!([entry("yes"), entry("cannot_tell")]), PASS),
        (json!([entry("yes")]), MALFORMED),
        (json!([entry("yes"), entry("yes"), entry("yes")]), MALFORMED),
        (json!([entry("yes"), entry("perhaps")]), MALFORMED),
        (json!([entry("yes"), without("reasoning")]), MALFORMED),
        (json!([entry("yes"), without("quotes")]), MALFORMED),
        (json!([entry("yes"), without("confidence")]), MALFORMED),
        (json!([]), MALFORMED),
        (json!("all"), MALFORMED),
        (Value::Null, MALFORMED),
    ];
    for (capabilities, outcome) in rows {
        let reply =
            json!({ "judgment": "yes", "confidence": 0.9, "capabilities": capabilities, "quotes": [], "reasoning": "r" })
                .to_string();
        let rule = JudgeRule {
            capabilities: vec!["one".to_owned(), "two".to_owned()],
            batch: true,
            ..asks("?", Expected::Yes)
        };
        assert_eq!(found(rule, &three(&reply)).await, outcome, "{reply}");
    }
}

/// The reply must satisfy a check's own schema, which must have the fields that `expected` needs.
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
        (&loose, Expected::Yes, r#"{"judgment":"yes","reasoning":""}"#, MALFORMED),
        (&loose, Expected::Yes, r#"{"judgment":"no","judgment":"yes"}"#, MALFORMED),
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
    let material = Material::of_turns(&[turn("hello", "hi")], &[]);
    let question = Question::new("Is it?", &material, SCOPE);
    let words = [
        (judged("yes", 0.6), Some((Ok(true), 0.6))),
        (judged("no", 0.4), Some((Ok(false), 0.4))),
        (judged("not_applicable", 0.9), Some((Err(Open::NotApplicable), 0.0))),
        (judged("cannot_tell", 0.9), Some((Err(Open::CannotTell), 0.0))),
        (judged("no", 0.9), None),
        (judged("yes", 0.05), None),
        ("yes".to_owned(), None),
        ("No.".to_owned(), None),
        ("0.85".to_owned(), None),
        (r#"{"judgment":"yes"}"#.to_owned(), None),
        (r#"{"reasoning":"r","judgment":"yes","confidence":0.9}"#.to_owned(), None),
        (r#"{"reasoning":" ","quotes":[],"judgment":"yes","confidence":0.9}"#.to_owned(), None),
        (r#"{"reasoning":"r","quotes":[],"judgment":"no","judgment":"yes","confidence":0.9}"#.to_owned(), None),
    ];
    for (reply, expected) in words {
        let answer = yes_or_no(&question, &three(&reply)).await;
        let read = answer.as_ref().ok().map(|answer| (answer.said, answer.confidence));
        assert_eq!(read, expected, "{reply}");
        if let Err(error) = answer {
            assert_eq!(error.kind(), FailureKind::JudgeMalformed);
        }
    }
    let unsure = how_sure(&question, &Judges::saying([judged("yes", 0.05)])).await.unwrap();
    assert_eq!((unsure.said, unsure.confidence), (Ok(true), 0.05), "the caller has a threshold");
    let numbers = [
        (score(0.25), Some(Ok(0.25))),
        (score(1.0), Some(Ok(1.0))),
        (ballot("verdict", "not_applicable", 0.9), Some(Err(Open::NotApplicable))),
        (ballot("verdict", "cannot_tell", 0.9), Some(Err(Open::CannotTell))),
        ("0.85".to_owned(), None),
        ("85%".to_owned(), None),
        (score(1.5), None),
        (ballot("verdict", "0.5", 0.9), None),
        (r#"{"reasoning":"r","verdict":0.5,"confidence":0.9}"#.to_owned(), None),
    ];
    for (reply, expected) in numbers {
        let rating = number(&question, &three(&reply)).await;
        assert_eq!(rating.ok().map(|rating| rating.said), expected, "{reply}");
    }
}

/// Every kind that asks a judge for a verdict has the same form: reasoning and quotes, and answers that decide nothing.
#[tokio::test]
async fn every_judged_kind_verifies_quotes_and_can_leave_its_question_open() {
    const KINDS: [&str; 9] = [
        "type: llm_judge\nprompt: Is it kind?\nexpected: 'yes'",
        "type: llm_judge\nprompt: Is it kind?\nexpected: kind",
        "type: llm_judge\nprompt: Is it kind?\nexpected: 'yes'\nbatch: true\ncapabilities: [greets]",
        "type: rubric\ncriteria: [{name: kind}]",
        "type: refusal",
        "type: semantic_condition\ncondition: It is kind",
        "type: semantic_similar\nexpected: [Hello]",
        "type: conversation_flow\nrequired_patterns: [question_then_answer]",
        "type: context_retention\ntest_memory_of: ['4711']\nretention_turns: 1",
    ];
    let measured = "type: user_satisfaction";
    let reached = "type: goal_reached\nparts: [sorry]";
    let scene = || Scene::talked(vec![turn("My order is 4711", "Thank you."), turn("And?", "It comes today.")]);
    let undecided = (Finding::Inconclusive, Some(FailureKind::Undecided));
    for kind in KINDS.into_iter().chain([measured, reached]) {
        let field = if kind.contains("rubric") || kind == measured { "verdict" } else { "judgment" };
        let word = match kind {
            _ if kind == measured => json!(0.9),
            _ if kind.contains("rubric") => json!("met"),
            _ => json!("yes"),
        };
        let reply = |verdict: &Value, quote: Option<&str>| {
            let quotes: Vec<Value> =
                quote.iter().map(|text| json!({ "turn": 2, "who": "agent", "text": text })).collect();
            let entry = json!({ "reasoning": "r", "quotes": [], "judgment": "yes", "confidence": 0.9 });
            let capabilities = kind.contains("batch").then(|| json!([entry]));
            let mut fields = json!({ "reasoning": "r", "quotes": quotes, field: verdict, "confidence": 0.9 });
            capabilities.into_iter().for_each(|entries| fields["capabilities"] = entries);
            fields.to_string()
        };
        let lie = reply(&word, Some("It comes tomorrow."));
        let not_found = (Finding::Inconclusive, Some(FailureKind::EvidenceNotFound));
        let bare = word.as_str().map_or_else(|| word.to_string(), str::to_owned);
        for (replies, expected) in [
            (vec![reply(&json!("cannot_tell"), None)], undecided),
            (vec![reply(&json!("not_applicable"), None)], (Finding::NotApplicable, None)),
            (vec![lie.clone(), lie], not_found),
            (vec![bare; TRIES as usize], MALFORMED),
        ] {
            let judges = Judges::saying(replies.clone());
            let judgment = scene().judge_by(&evaluate::compile(&read(kind)).unwrap(), &judges).await;
            assert_eq!((judgment.finding, judgment.failure), expected, "{kind}\n{replies:?}: {}", judgment.reason);
            let counts = matches!(judgment.failure, Some(FailureKind::Undecided) | None);
            let asked = if kind.contains("batch") { 2 } else { 1 };
            assert_eq!(judgment.ballots.len(), if counts { asked } else { 0 }, "{kind}");
        }
        let shows = reply(&word, Some("it comes today"));
        let judgment = scene().judge_by(&evaluate::compile(&read(kind)).unwrap(), &Judges::saying([shows])).await;
        let told = &judgment.ballots[0].reason;
        assert!(told.contains("agent: \"it comes today\"]"), "{kind}: {told}");
    }
}

/// Each pattern is a question with its own wording, and the share of patterns seen is the score.
#[tokio::test]
async fn flow_patterns() {
    let patterns = vec![
        FlowPattern::QuestionThenAnswer,
        FlowPattern::ProblemThenSolution,
        FlowPattern::ClarificationCycle,
        FlowPattern::EmpathyThenSolution,
        FlowPattern::EscalationPattern,
    ];
    let judges = Judges::saying(["yes", "no", "yes", "no", "yes"].map(|word| judged(word, 0.5)));
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
        let judges = Judges::saying(replies.iter().map(|word| judged(word, 0.5)));
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
