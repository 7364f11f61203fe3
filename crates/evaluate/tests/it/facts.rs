//! The outcomes of upstream's own tests (elizaOS @ 7da13423, MIT), restated: upstream's `success: false` is a fail if
//! the agent did badly, and an error or inconclusive if gabfest or a judge could not decide.

use evaluate::question::{Material, Question, yes_or_no};
use record::{FailureKind, Finding, Judgment, Turn};
use scenario::check::{
    self, FlowPattern, Rule, SatisfactionMethod,
    bounded::{Count, Millis, Share},
};

use crate::fakes::{Judges, SCOPE, Scene, contains, judged, matches, score, turn, unreachable};

const MISSING_DATA: (Finding, Option<FailureKind>) = (Finding::Error, Some(FailureKind::Misconfigured));
const JUDGE_DOWN: (Finding, Option<FailureKind>) = (Finding::Error, Some(FailureKind::JudgeFailed));

const LENGTHS: usize = 5;
const KEYWORDS: usize = 3;
const RATINGS: usize = 3;
const FLOWS: usize = 4;
const RETENTIONS: usize = 1;
const ENHANCED: usize = 10;

fn assert_reason(judgment: &Judgment, parts: &[&str]) {
    for part in parts {
        assert!(judgment.reason.contains(part), "{part:?} in {:?}", judgment.reason);
    }
}

fn some_turns(count: usize) -> Vec<Turn> {
    (0..count).map(|_| turn("I have a question", "I have an answer")).collect()
}

#[tokio::test]
async fn conversation_length() {
    let rule = |min: Option<u32>, max: Option<u32>, optimal: Option<u32>, range: Option<(u32, u32)>| {
        Rule::ConversationLength(check::ConversationLength {
            min_turns: min.map(Count),
            max_turns: max.map(Count),
            optimal_turns: optimal.map(Count),
            target_range: range.map(|(low, high)| (Count(low), Count(high))),
        })
    };
    type Row = (Option<usize>, Rule, (Finding, Option<FailureKind>), &'static [&'static str]);
    let rows: [Row; LENGTHS] = [
        (Some(4), rule(Some(2), Some(6), Some(4), None), (Finding::Pass, None), &["4 turns", "optimal"]),
        (Some(1), rule(Some(3), Some(8), None, None), (Finding::Fail, None), &["1 turns", "below minimum of 3"]),
        (
            Some(12),
            rule(Some(2), Some(8), Some(5), None),
            (Finding::Fail, None),
            &["12 turns", "above maximum of 8", "7 turns from optimal 5"],
        ),
        (Some(10), rule(None, None, None, Some((3, 7))), (Finding::Fail, None), &["outside target range 3-7"]),
        (None, rule(Some(2), Some(6), None, None), MISSING_DATA, &["No conversation metadata found"]),
    ];
    for (turns, rule, expected, parts) in rows {
        let scene = match turns {
            Some(count) => Scene::talked(some_turns(count)),
            None => Scene::replied("hello"),
        };
        let judgment = scene.judge(rule, &Judges::default()).await;
        assert_eq!((judgment.finding, judgment.failure), expected, "{turns:?} turns");
        assert_reason(&judgment, parts);
    }
}

#[tokio::test]
async fn user_satisfaction_by_keywords() {
    let words = |list: &[&str]| Some(list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let rows: [(Vec<Turn>, f64, _, _, f64, Finding); KEYWORDS] = [
        (
            vec![
                turn("I need help with billing", "I can help with that"),
                turn("Thank you so much! That was perfect and very helpful", "You're welcome!"),
            ],
            0.7,
            words(&["thank you", "perfect", "helpful"]),
            words(&["frustrated", "unhelpful"]),
            1.0,
            Finding::Pass,
        ),
        (
            vec![
                turn("This is frustrating and unhelpful", "I apologize"),
                turn("Still confused and angry", "Let me try again"),
            ],
            0.8,
            words(&["great", "helpful"]),
            words(&["frustrating", "unhelpful", "confused", "angry"]),
            0.0,
            Finding::Fail,
        ),
        (
            vec![turn("I need information", "Here is the information"), turn("Okay", "Anything else?")],
            0.6,
            None,
            None,
            0.5,
            Finding::Fail,
        ),
    ];
    for (turns, threshold, positive, negative, score, finding) in rows {
        let rule = Rule::UserSatisfaction(check::UserSatisfaction {
            satisfaction_threshold: threshold,
            positive,
            negative,
            method: SatisfactionMethod::KeywordAnalysis,
        });
        let judgment = Scene::talked(turns).judge(rule, &Judges::default()).await;
        assert_eq!((judgment.score, judgment.finding), (Some(score), finding), "{}", judgment.reason);
    }
}

/// Upstream gives a judge that fails the score 0.5; gabfest invents no score, and it is no fail of the agent.
#[tokio::test]
async fn user_satisfaction_by_a_judge() {
    use SatisfactionMethod::{LlmJudge, SentimentAnalysis};
    type Row = (Result<String, llm::Error>, SatisfactionMethod, f64, (Finding, Option<FailureKind>), &'static str);
    let rows: [Row; RATINGS] = [
        (Ok(score(0.85)), LlmJudge, 0.8, (Finding::Pass, None), "85.0%"),
        (Ok(score(0.75)), SentimentAnalysis, 0.7, (Finding::Pass, None), "75.0%"),
        (Err(unreachable()), LlmJudge, 0.7, JUDGE_DOWN, "connection refused"),
    ];
    for (reply, method, threshold, expected, part) in rows {
        let rule = Rule::UserSatisfaction(check::UserSatisfaction {
            satisfaction_threshold: threshold,
            positive: None,
            negative: None,
            method,
        });
        let judgment = Scene::talked(some_turns(2)).judge(rule, &Judges::answering([reply])).await;
        assert_eq!((judgment.finding, judgment.failure), expected);
        assert_reason(&judgment, &[part]);
    }
}

#[tokio::test]
async fn conversation_flow() {
    let (yes, no) = (Ok(judged("yes", 1.0)), Ok(judged("no", 0.0)));
    type Row = (Vec<Result<String, llm::Error>>, f64, (Finding, Option<FailureKind>));
    let rows: [Row; FLOWS] = [
        (vec![yes.clone(), Ok(judged("yes", 0.9))], 0.8, (Finding::Pass, None)),
        (vec![no.clone(), Ok(judged("no", 0.1))], 0.7, (Finding::Fail, None)),
        (vec![yes, no], 0.5, (Finding::Pass, None)),
        (vec![Err(unreachable())], 0.7, JUDGE_DOWN),
    ];
    for (replies, threshold, expected) in rows {
        let patterns = [FlowPattern::QuestionThenAnswer, FlowPattern::ProblemThenSolution];
        let rule = Rule::ConversationFlow(check::ConversationFlow {
            required_patterns: patterns[..replies.len()].to_vec(),
            flow_quality_threshold: Share(threshold),
        });
        let judgment = Scene::talked(some_turns(3)).judge(rule, &Judges::answering(replies)).await;
        assert_eq!((judgment.finding, judgment.failure), expected, "{}", judgment.reason);
    }
}

#[tokio::test]
async fn context_retention_of_items_never_mentioned() {
    let rows: [(&[&str], Finding, f64); RETENTIONS] = [(&["order 1234", "Lisbon"], Finding::Fail, 0.0)];
    for (items, finding, score) in rows {
        let rule = Rule::ContextRetention(check::ContextRetention {
            test_memory_of: items.iter().map(|item| (*item).to_owned()).collect(),
            retention_turns: Count(3),
            memory_accuracy_threshold: Share(0.8),
        });
        let judgment = Scene::talked(some_turns(4)).judge(rule, &Judges::default()).await;
        assert_eq!((judgment.finding, judgment.score), (finding, Some(score)));
        assert_reason(&judgment, &["0.0%"]);
        assert!(judgment.evidence.unwrap().contains("never mentioned"));
    }
}

#[tokio::test]
async fn single_exchanges() {
    let file = || Rule::FileExists(check::FileExists { path: "output.txt".to_owned() });
    let time = |max, min: Option<u64>, target: Option<u64>| {
        Rule::ExecutionTime(check::ExecutionTime {
            max_duration_ms: Millis(max),
            min_duration_ms: min.map(Millis),
            target_duration_ms: target.map(Millis),
        })
    };
    let cased = Rule::StringContains(check::StringContains { value: "HELP".to_owned(), case_sensitive: true });
    type Row = (Rule, &'static str, Option<u64>, (Finding, Option<FailureKind>), &'static str);
    let rows: [Row; ENHANCED] = [
        (contains("help"), "output.txt", Some(500), (Finding::Pass, None), ""),
        (contains("nonexistent"), "output.txt", Some(500), (Finding::Fail, None), ""),
        (cased, "output.txt", Some(500), (Finding::Fail, None), ""),
        (matches("h[ae]lp"), "output.txt", Some(500), (Finding::Pass, None), "/h[ae]lp/i"),
        (matches("xyz123"), "output.txt", Some(500), (Finding::Fail, None), ""),
        (file(), "output.txt", Some(500), (Finding::Pass, None), ""),
        (file(), "./output.txt", Some(500), (Finding::Pass, None), ""),
        (time(1_000, Some(100), Some(500)), "output.txt", Some(500), (Finding::Pass, None), "rating 0.00"),
        (time(300, None, None), "output.txt", Some(500), (Finding::Fail, None), "above the maximum of 300 ms"),
        (time(1_000, None, None), "output.txt", None, MISSING_DATA, "no timing data"),
    ];
    for (rule, path, duration_ms, expected, part) in rows {
        let kind = rule.kind();
        let mut scene = Scene { duration_ms, ..Scene::replied("I can help you with that") };
        scene.folder.files.insert(path.to_owned(), "text".to_owned());
        let judgment = scene.judge(rule, &Judges::default()).await;
        assert_eq!((judgment.finding, judgment.failure), expected, "{kind}: {}", judgment.reason);
        assert_reason(&judgment, &[part]);
        if kind == "regex_match" && judgment.finding == Finding::Pass {
            assert_eq!(judgment.evidence.as_deref(), Some("help"));
        }
    }
}

/// The termination row that asks a judge: it says yes, the threshold is 0.8, the conversation ends.
#[tokio::test]
async fn a_sure_yes_ends_a_conversation() {
    let material = Material::of_turns(&[turn("Excellent, everything is working now", "It has been resolved")], &[]);
    let text = "Has the user's issue been completely resolved?";
    let question = Question::new(text, &material, SCOPE);
    for (reply, holds) in [
        (judged("yes", 1.0), true),
        (judged("no", 0.0), false),
        (judged("yes", 0.8), true),
        (judged("yes", 0.79), false),
        (judged("not_applicable", 0.9), false),
        (judged("cannot_tell", 0.9), false),
    ] {
        let answer = yes_or_no(&question, &Judges::saying([reply.clone()])).await.unwrap();
        assert_eq!(answer.holds(0.8), holds, "{reply}");
    }
}

/// If the facts themselves are present: no row is missing above.
#[test]
fn no_row_is_left_out() {
    let Some(path) = cases::folder("eliza/facts/evaluators.json", "6 tables of facts about evaluators") else { return };
    let facts: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let rows = |pointer: &str| facts.pointer(pointer).and_then(serde_json::Value::as_array).unwrap().len();
    let restated = [
        ("/conversation_length", LENGTHS),
        ("/user_satisfaction_keyword", KEYWORDS),
        ("/user_satisfaction_llm", RATINGS),
        ("/conversation_flow", FLOWS),
        ("/context_retention", RETENTIONS),
        ("/enhanced/cases", ENHANCED),
    ];
    for (pointer, count) in restated {
        assert_eq!(rows(pointer), count, "{pointer}");
    }
}
