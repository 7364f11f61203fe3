//! Which condition ends which conversation, and what happens if a condition cannot be decided.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use record::{Blame, FailureKind, Scope, Turn, turn::Origin};
use scenario::conversation::{Condition, Stop, StopJudge};

use super::{Decisions, decide};
use crate::fakes::{YES, with_quotes};

#[derive(Debug, Default)]
struct Judge {
    replies: Arc<Replies>,
    calls: AtomicU32,
}

#[derive(Debug, Default)]
struct Replies(Mutex<VecDeque<Result<&'static str, llm::Error>>>);

impl llm::Named for Replies {
    fn endpoint(&self) -> &str {
        "judge"
    }
}

#[async_trait]
impl llm::Call<llm::chat::Request> for Replies {
    async fn ask(&self, request: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        let reply = self.0.lock().unwrap().pop_front().expect("the judge was not to be asked so often");
        reply
            .map(|text| llm::chat::Reply { text: with_quotes(text.to_owned(), request), ..llm::chat::Reply::default() })
    }
}

impl evaluate::JudgePool for Judge {
    fn judge(&self, _: Option<&str>) -> Arc<dyn llm::Chat> {
        Arc::clone(&self.replies) as Arc<dyn llm::Chat>
    }

    fn scorer(&self, scope: Scope) -> Box<dyn evaluate::Scorer + '_> {
        Box::new(evaluate::scorer::ByJudge::new(self, scope))
    }

    fn context(&self, _: Scope) -> (llm::Context, u64) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        (llm::Context { call, ..llm::Context::default() }, u64::from(call))
    }
}

fn turn(number: u32, user: &str, agent: &str) -> Turn {
    Turn {
        number,
        step: 1,
        speaker: Origin::Simulated,
        user: user.to_owned(),
        agent: Some(agent.to_owned()),
        messages: Vec::new(),
        exit_code: None,
        tool_calls: Vec::new(),
        actions: Vec::new(),
        started_micros: 0,
        duration_micros: 0,
        response_micros: None,
        calls: Vec::new(),
        notes: Vec::new(),
        simulated: None,
    }
}

fn stop(condition: Condition) -> Stop {
    Stop { condition, description: None, keywords: None, judge: None, hook: None }
}

fn keywords(condition: Condition, words: &[&str]) -> Stop {
    Stop { keywords: Some(words.iter().map(|word| (*word).to_owned()).collect()), ..stop(condition) }
}

fn judged(condition: Condition, threshold: f64) -> Stop {
    Stop { judge: Some(StopJudge { prompt: "Has it been resolved?".to_owned(), threshold }), ..stop(condition) }
}

async fn ask(
    stops: &[Stop],
    turns: &[(&str, &str)],
    replies: impl IntoIterator<Item = Result<&'static str, llm::Error>>,
) -> Result<Decisions, record::Failure> {
    let turns: Vec<Turn> = (1..).zip(turns).map(|(number, (user, agent))| turn(number, user, agent)).collect();
    let pool = Judge { replies: Arc::new(Replies(Mutex::new(replies.into_iter().collect()))), ..Judge::default() };
    let decisions = decide(stops, &turns, &BTreeMap::new(), &pool, "t1").await;
    assert!(pool.replies.0.lock().unwrap().is_empty(), "the judge was asked less often than the test says");
    decisions
}

/// Plays the conversation of a row of the ElizaOS facts, with the agent and the user saying the same each turn.
async fn played(
    agent: &str,
    user: &str,
    max_turns: usize,
    stop: Stop,
    reply: Option<&'static str>,
) -> (usize, Option<String>) {
    let mut turns = vec![("Hello, I need help", agent)];
    loop {
        let decisions = ask(std::slice::from_ref(&stop), &turns, reply.map(Ok)).await.unwrap();
        if decisions.fired.is_some() || turns.len() == max_turns {
            return (turns.len(), decisions.fired);
        }
        turns.push((user, agent));
    }
}

#[tokio::test]
async fn the_rows_of_the_facts_hold() {
    use Condition::{AgentProvidesSolution, ConversationStuck, CustomCondition, UserExpressesSatisfaction};
    let rows = [
        (
            "Here is the solution to your problem",
            "Perfect! Thank you so much, that resolved my issue!",
            5,
            keywords(UserExpressesSatisfaction, &["thank you", "perfect", "resolved"]),
            None,
            (2, Some("user_expresses_satisfaction")),
        ),
        (
            "Here is the solution: try this approach",
            "I will try that approach",
            4,
            keywords(AgentProvidesSolution, &["solution", "try this"]),
            None,
            (1, Some("agent_provides_solution")),
        ),
        (
            "I can help you with that issue",
            "Still having the same problem",
            5,
            stop(ConversationStuck),
            None,
            (3, Some("conversation_stuck")),
        ),
        (
            "The issue has been completely resolved",
            "Excellent, everything is working now",
            4,
            judged(CustomCondition, 0.8),
            Some(YES),
            (1, Some("custom_condition")),
        ),
        (
            "I am still working on your request",
            "Ok, please continue",
            3,
            keywords(UserExpressesSatisfaction, &["completely satisfied", "perfect solution"]),
            None,
            (3, None),
        ),
    ];
    for (agent, user, max_turns, stop, reply, (turns, reason)) in rows {
        let ended = played(agent, user, max_turns, stop, reply).await;
        assert_eq!(ended, (turns, reason.map(str::to_owned)), "{agent}");
    }
}

#[tokio::test]
async fn each_condition_listens_to_whom_it_is_about() {
    use Condition::{
        AgentProvidesSolution, ConversationStuck, CustomCondition, EscalationNeeded, GoalAchieved, MaxTurnsReached,
        UserExpressesSatisfaction,
    };
    let hello = ("Hello", "Hi");
    for (stop, turns, fires) in [
        (stop(UserExpressesSatisfaction), vec![hello, ("Thanks, that works.", "Bye")], true),
        (stop(UserExpressesSatisfaction), vec![hello, ("No.", "Great, perfect, thank you!")], false),
        (stop(UserExpressesSatisfaction), vec![("Thank you!", "Hi"), ("It fails again.", "Oh")], false),
        (stop(UserExpressesSatisfaction), vec![("It got greater.", "Oh")], false),
        (keywords(UserExpressesSatisfaction, &["SPLENDID"]), vec![("Splendid!", "Hi")], true),
        (keywords(UserExpressesSatisfaction, &["splendid"]), vec![("Thanks!", "Hi")], false),
        (keywords(UserExpressesSatisfaction, &[]), vec![("Thanks!", "Hi")], false),
        (stop(AgentProvidesSolution), vec![("So?", "To fix this, restart.")], true),
        (stop(AgentProvidesSolution), vec![("You can, right?", "No.")], false),
        (stop(EscalationNeeded), vec![("So?", "A supervisor will call.")], true),
        (stop(EscalationNeeded), vec![("Get me a manager!", "No.")], false),
        (stop(GoalAchieved), vec![("Done?", "No."), ("And now?", "No.")], true),
        (stop(GoalAchieved), vec![("Well?", "No.")], false),
        (
            stop(ConversationStuck),
            vec![hello, ("a", "one two three four five"), ("b", "One two three four five")],
            true,
        ),
        (stop(ConversationStuck), vec![("a", "same words"), ("b", "same words")], false),
        (stop(ConversationStuck), vec![hello, ("a", "one two three four"), ("b", "one two three four five")], false),
        (stop(ConversationStuck), vec![hello, ("a", ""), ("b", "")], false),
        (stop(ConversationStuck), vec![("a", "b")], false),
        (stop(CustomCondition), vec![("done", "done")], false),
        (keywords(CustomCondition, &["bingo"]), vec![("So?", "Bingo!")], true),
        (keywords(MaxTurnsReached, &["so"]), vec![("so", "so")], false),
    ] {
        let decisions = ask(std::slice::from_ref(&stop), &turns, []).await.unwrap();
        assert_eq!(decisions.fired.is_some(), fires, "{stop:?} {turns:?} {decisions:?}");
        assert_eq!(decisions.asked.len(), 1);
    }
    assert_eq!(ask(&[stop(CustomCondition)], &[], []).await.unwrap(), Decisions::default());
}

/// Scripted lines of the user come before the agent's first answer.
#[tokio::test]
async fn words_before_the_first_reply_end_nothing() {
    use Condition::{AgentProvidesSolution, CustomCondition, GoalAchieved, UserExpressesSatisfaction};
    let opening = |user: &str, agent: &str| Turn { speaker: Origin::Scripted, ..turn(1, user, agent) };
    let internet = || opening("My internet stopped working", "Let me see.");
    let working = |condition| keywords(condition, &["working"]);
    let rows = [
        (working(UserExpressesSatisfaction), vec![internet()], false),
        (working(UserExpressesSatisfaction), vec![internet(), turn(2, "It is working now", "Fine.")], true),
        (working(UserExpressesSatisfaction), vec![internet(), turn(2, "It is networking", "Fine.")], false),
        (working(UserExpressesSatisfaction), vec![internet(), turn(2, "No.", "Is it working?")], false),
        // No judge is needed either.
        (judged(UserExpressesSatisfaction, 0.8), vec![internet()], false),
        (working(GoalAchieved), vec![internet()], false),
        (working(GoalAchieved), vec![internet(), turn(2, "Well?", "I try.")], false),
        (working(GoalAchieved), vec![internet(), turn(2, "It is working", "Good.")], true),
        (working(GoalAchieved), vec![opening("Hello?", "It is working.")], true),
        (working(CustomCondition), vec![internet()], false),
        (working(CustomCondition), vec![opening("Hello?", "It is working.")], true),
        (working(AgentProvidesSolution), vec![opening("Hello?", "It is working.")], true),
    ];
    for (stop, turns, fires) in rows {
        // A judge that has no reply to give.
        let pool = Judge::default();
        let decisions = decide(std::slice::from_ref(&stop), &turns, &BTreeMap::new(), &pool, "t1").await.unwrap();
        assert_eq!(decisions.fired.is_some(), fires, "{stop:?} {turns:?} {decisions:?}");
    }
}

#[tokio::test]
async fn the_judge_decides_by_its_threshold_and_only_if_needed() {
    use Condition::{ConversationStuck, CustomCondition, GoalAchieved, UserExpressesSatisfaction};
    const SURE: &str = r#"{"judgment":"yes","confidence":0.9,"reasoning":"it works"}"#;
    const UNSURE: &str = r#"{"judgment":"yes","confidence":0.6,"reasoning":"maybe"}"#;
    const UNLIKELY: &str = r#"{"judgment":"yes","confidence":0.2,"reasoning":"hardly"}"#;
    const NO: &str = r#"{"judgment":"no","confidence":0.1,"reasoning":"no"}"#;
    const CANNOT_TELL: &str = r#"{"judgment":"cannot_tell","confidence":0.9,"reasoning":"too early"}"#;
    const NOT_APPLICABLE: &str = r#"{"judgment":"not_applicable","confidence":0.9,"reasoning":"no order"}"#;
    let both = |condition| Stop { keywords: Some(vec!["done".to_owned()]), ..judged(condition, 0.8) };
    for (stop, turn, reply, fires) in [
        (judged(CustomCondition, 0.8), ("a", "b"), Some(SURE), true),
        (judged(CustomCondition, 0.8), ("a", "b"), Some(UNSURE), false),
        (judged(CustomCondition, 0.5), ("a", "b"), Some(UNSURE), true),
        (judged(CustomCondition, 0.5), ("a", "b"), Some(UNLIKELY), false),
        (judged(CustomCondition, 0.0), ("a", "b"), Some(NO), false),
        (judged(CustomCondition, 0.0), ("a", "b"), Some(CANNOT_TELL), false),
        (judged(CustomCondition, 0.0), ("a", "b"), Some(NOT_APPLICABLE), false),
        // Only the judge decides, whatever the keywords say.
        (judged(GoalAchieved, 0.8), ("done", "done"), Some(NO), false),
        (both(GoalAchieved), ("done", "done"), Some(NO), false),
        // A question replaces the default keywords.
        (judged(UserExpressesSatisfaction, 0.8), ("Thanks!", "b"), Some(NO), false),
        // Keywords first; the judge if none is found.
        (both(UserExpressesSatisfaction), ("done", "b"), None, true),
        (both(UserExpressesSatisfaction), ("a", "b"), Some(SURE), true),
        (judged(ConversationStuck, 0.8), ("a", "b"), Some(SURE), true),
    ] {
        let decisions = ask(std::slice::from_ref(&stop), &[turn], reply.map(Ok)).await.unwrap();
        assert_eq!(decisions.fired.is_some(), fires, "{stop:?} {decisions:?}");
    }
}

#[tokio::test]
async fn the_first_condition_that_holds_is_remembered_and_the_rest_is_not_asked() {
    use Condition::{AgentProvidesSolution, CustomCondition, EscalationNeeded, UserExpressesSatisfaction};
    let stops = [
        stop(UserExpressesSatisfaction),
        stop(EscalationNeeded),
        stop(AgentProvidesSolution),
        judged(CustomCondition, 0.8),
    ];
    let decisions = ask(&stops, &[("So?", "I transfer you; you can wait.")], []).await.unwrap();
    assert_eq!(decisions.fired.as_deref(), Some("escalation_needed"));
    assert_eq!(
        decisions.asked,
        ["user_expresses_satisfaction: no, no keyword was found", "escalation_needed: yes, \"transfer\" was found"]
    );
}

#[tokio::test]
async fn a_judge_that_fails_is_our_fault() {
    let refused = |status| Err(llm::Error::Refused { endpoint: "judge".to_owned(), status, message: "no".to_owned() });
    let stops = [judged(Condition::CustomCondition, 0.8)];
    for (replies, kind, blame) in [
        (vec![refused(422)], FailureKind::JudgeFailed, Blame::Judge),
        (vec![refused(401)], FailureKind::Misconfigured, Blame::Config),
        (vec![Ok("not yes"), Ok("yesterday"), Ok("0.9junk")], FailureKind::JudgeMalformed, Blame::Judge),
    ] {
        let failure = ask(&stops, &[("a", "b")], replies).await.unwrap_err();
        assert_eq!((failure.kind, failure.blame), (kind, blame), "{failure:?}");
        assert!(failure.message.starts_with("a termination condition cannot be decided, failed to "), "{failure:?}");
    }
}

#[tokio::test]
async fn a_missing_hook_is_a_fault_of_the_settings() {
    let stops = [Stop { hook: Some("mine".to_owned()), ..stop(Condition::CustomCondition) }];
    let failure = ask(&stops, &[("a", "b")], []).await.unwrap_err();
    assert_eq!((failure.kind, failure.blame), (FailureKind::Misconfigured, Blame::Config));
    assert_eq!(failure.message, "the worker's settings have no hook \"mine\"");
}
