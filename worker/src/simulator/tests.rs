//! The request for the user's next line, and what its answers and failures lead to.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use async_trait::async_trait;
use record::{Blame, FailureKind, stop::Signal};
use scenario::conversation::{KnowledgeLevel, Simulator};
use user::{Situation, User};

use super::{Drafted, draft};

/// Marks an answer that was cut at the model's token limit.
const CUT: &str = "[cut]";
/// Marks an answer that a filter stopped.
const FILTERED: &str = "[filtered]";

#[derive(Debug, Default)]
struct Script {
    answers: Mutex<VecDeque<Result<&'static str, llm::Error>>>,
    asked: Mutex<Vec<llm::chat::Request>>,
}

impl llm::Named for Script {
    fn endpoint(&self) -> &str {
        "script"
    }
}

#[async_trait]
impl llm::Call<llm::chat::Request> for Script {
    async fn ask(&self, request: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        self.asked.lock().unwrap().push(request.clone());
        let answer = self.answers.lock().unwrap().pop_front().expect("the script has an answer");
        answer.map(|text| {
            let (text, is_cut) = text.strip_suffix(CUT).map_or((text, false), |text| (text, true));
            let (text, is_filtered) = text.strip_suffix(FILTERED).map_or((text, false), |text| (text, true));
            let finish = match (is_cut, is_filtered) {
                (true, _) => llm::chat::Finish::Length,
                (_, true) => llm::chat::Finish::Refused,
                _ => llm::chat::Finish::Stop,
            };
            llm::chat::Reply { text: text.to_owned(), finish, ..llm::chat::Reply::default() }
        })
    }
}

fn simulator(temperature: f64) -> Simulator {
    Simulator {
        model_type: "TEXT_LARGE".to_owned(),
        temperature,
        max_tokens: 120,
        persona: "a customer".to_owned(),
        objective: "a refund".to_owned(),
        style: None,
        constraints: Vec::new(),
        emotional_state: None,
        knowledge_level: KnowledgeLevel::Beginner,
        extras: scenario::user::Extras::default(),
    }
}

async fn ask(
    temperature: f64,
    answers: impl IntoIterator<Item = Result<&'static str, llm::Error>>,
) -> (Result<Drafted, record::Failure>, Vec<llm::chat::Request>) {
    let script = Script { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() };
    let context = llm::Context {
        role: "user_sim".to_owned(),
        turn: 2,
        idempotency_key: "r/t/2".to_owned(),
        ..llm::Context::default()
    };
    let simulator = simulator(temperature);
    let user = User::new(&simulator, true).unwrap();
    let situation =
        Situation { opening: &[], turns: &[], steps: &[], calls: &[], exchanges: 3, line: 4, lines_left: 5, seed: 42 };
    let line = draft(&user, &situation, &script, context, true, None, &mut Vec::new()).await;
    (line, script.asked.into_inner().unwrap())
}

#[tokio::test]
async fn the_line_is_clean_and_its_draft_is_kept() {
    let (line, asked) = ask(0.0, [Ok("User: \"I want a refund.\"")]).await;
    let line = line.unwrap();
    assert_eq!(line.draft.say, "I want a refund.");
    assert_eq!(line.draft.raw, "User: \"I want a refund.\"");
    assert!(
        line.prompt_for_debug.starts_with("[system]\nYou write the next message of a person"),
        "{}",
        line.prompt_for_debug
    );
    assert!(line.prompt_for_debug.ends_with("\n\nYou begin the chat:"), "{}", line.prompt_for_debug);
    assert_eq!((line.sent_back, line.summed_up), (0, 0));
    // Zero is a temperature, not a missing one.
    assert_eq!((asked[0].temperature, asked[0].max_tokens, asked[0].seed), (Some(0.0), Some(120), Some(42)));
    assert_eq!((asked[0].context.call, asked[0].context.idempotency_key.as_str()), (0, "r/t/2"));
}

#[tokio::test]
async fn silence_is_asked_about_once_more_with_another_call() {
    let (line, asked) = ask(0.7, [Ok(" \n"), Ok("Hello?")]).await;
    assert_eq!(line.unwrap().draft.say, "Hello?");
    assert_eq!((asked[1].context.call, asked[1].context.idempotency_key.as_str()), (1, "r/t/2/again"));
    assert_ne!(asked[0].seed, asked[1].seed);
    assert_eq!(asked[0].messages, asked[1].messages);
}

#[tokio::test]
async fn a_simulator_that_fails_is_our_fault_and_gets_no_words_of_ours() {
    let endpoint = || "script".to_owned();
    let timed_out = llm::Error::TimedOut { endpoint: endpoint(), place: String::new(), limit: Duration::from_secs(1) };
    let exhausted = llm::Error::Exhausted { endpoint: endpoint(), message: "pay".to_owned() };
    for (answers, kind, blame, message, calls) in [
        (
            vec![Ok(""), Ok("  ")],
            FailureKind::SimulatorFailed,
            Blame::UserSim,
            "the simulated user said nothing, asked 2 times",
            2,
        ),
        (
            vec![Ok(""), Ok("Assistant: Hi!")],
            FailureKind::SimulatorFailed,
            Blame::UserSim,
            "the simulated user said nothing, asked 2 times: it answered \"Assistant: Hi!\"",
            2,
        ),
        (
            vec![Ok("I want my[filtered]")],
            FailureKind::SimulatorFailed,
            Blame::UserSim,
            "the simulated user's model refused, or a filter stopped its line: it answered \"I want my\"",
            1,
        ),
        (
            vec![Err(timed_out)],
            FailureKind::SimulatorFailed,
            Blame::UserSim,
            "the simulated user's model failed: script did not answer within 1000 ms",
            1,
        ),
        (
            vec![Err(exhausted)],
            FailureKind::ProviderExhausted,
            Blame::Budget,
            "the simulated user's model failed: the quota of script is used up: pay",
            1,
        ),
    ] {
        let (line, asked) = ask(0.7, answers).await;
        let failure = line.unwrap_err();
        assert_eq!((failure.kind, failure.blame, failure.message.as_str()), (kind, blame, message));
        assert_eq!(asked.len(), calls);
    }
}

#[tokio::test]
async fn a_line_that_is_cut_is_asked_for_once_more_with_twice_the_room() {
    let (line, asked) = ask(0.7, [Ok("I want my[cut]"), Ok("I want my money back.")]).await;
    assert_eq!(line.unwrap().draft.say, "I want my money back.");
    assert_eq!(asked.iter().map(|request| request.max_tokens).collect::<Vec<_>>(), [Some(120), Some(240)]);
    // Words of the other side are refused instead, but not in a thought that was cut.
    for (cut, sent_back, room) in [
        ("How can I help you? I[cut]", 1, [Some(120), Some(120)]),
        ("<think>How can I help you?[cut]", 0, [Some(120), Some(240)]),
    ] {
        let (line, asked) = ask(0.7, [Ok(cut), Ok("I want my money back.")]).await;
        assert_eq!(line.unwrap().sent_back, sent_back);
        assert_eq!(asked.iter().map(|request| request.max_tokens).collect::<Vec<_>>(), room);
    }
    let (line, asked) = ask(0.7, [Ok("I want my[cut]"), Ok("I want[cut]")]).await;
    let failure = line.unwrap_err();
    assert_eq!((failure.kind, failure.blame), (FailureKind::SimulatorFailed, Blame::UserSim));
    assert_eq!(
        (failure.message.as_str(), asked.len()),
        ("the simulated user's line was cut twice, at 240 tokens at last", 2)
    );
}

#[tokio::test]
async fn an_end_that_comes_too_early_goes_back_once_with_the_reason() {
    let (line, asked) = ask(0.7, [Ok("Is it done?\n###DONE###"), Ok("Is it done? Please tell me.")]).await;
    let line = line.unwrap();
    assert_eq!((line.draft.say.as_str(), line.draft.signal, line.sent_back), ("Is it done? Please tell me.", None, 1));
    assert_eq!(asked[1].messages.len(), asked[0].messages.len());
    let card = &asked[1].messages.last().unwrap().content;
    assert!(card.contains("\nYour last draft was refused. You end the talk and ask a question."), "{card}");
    assert_eq!((asked[0].temperature, asked[1].temperature), (Some(0.7), Some(1.0)));
    // The second time it is accepted.
    let (line, asked) = ask(0.7, [Ok("Is it done?\n###DONE###"), Ok("Done?\n###DONE###")]).await;
    assert_eq!((line.unwrap().draft.signal, asked.len()), (Some(Signal::Done), 2));
}

#[tokio::test]
async fn the_temperature_rises_with_each_refused_draft_and_never_falls() {
    const FLIP: &str = "How can I help you today?";
    let temperatures = |asked: &[llm::chat::Request]| -> Vec<String> {
        asked.iter().map(|request| format!("{:.1}", request.temperature.unwrap_or_default())).collect()
    };
    for (temperature, expected) in
        [(0.0, ["0.0", "0.3", "0.6"]), (0.3, ["0.3", "0.6", "0.9"]), (1.5, ["1.5", "1.5", "1.5"])]
    {
        let (line, asked) = ask(temperature, [Ok(FLIP), Ok(FLIP), Ok("I want my money back.")]).await;
        assert_eq!(line.unwrap().sent_back, 2);
        assert_eq!(temperatures(&asked), expected);
        assert!(
            asked.iter().all(|request| request.messages.iter().all(|message| message.content != FLIP)),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn a_draft_in_doubt_goes_back_and_is_sent_if_there_is_no_better_one() {
    const DOUBTED: &str = "I can send you a refund.";
    const LONG: &str = "I want my refund and I want it now and I want it all and I want it today and I want it from you and I want it \
        here and I want it soon and I want it fast and I want it all back and then I want to be left alone for the rest of my days, \
        and I want to hear from you by mail, by phone and by post that it was paid, and when it was paid, and by whom it was paid.";
    for (answers, sent, sent_back) in [
        (vec![DOUBTED, "I want my money."], "I want my money.", 1),
        (vec![DOUBTED, DOUBTED, DOUBTED], DOUBTED, 2),
        // Only doubted before it: the last draft, which has a critical fault, gives way.
        (vec![DOUBTED, DOUBTED, "How can I help you today?"], DOUBTED, 2),
        // A minor fault is better than a doubt.
        (vec![DOUBTED, LONG, DOUBTED], LONG, 2),
    ] {
        let (line, asked) = ask(0.3, answers.into_iter().map(Ok)).await;
        let line = line.unwrap();
        assert_eq!((line.draft.say.as_str(), line.sent_back), (sent, sent_back));
        let card = &asked[1].messages.last().unwrap().content;
        assert!(card.contains("\nYour last draft was refused. It reads like a message of the other side."), "{card}");
        assert!(card.contains("- I still want this: a refund."), "{card}");
    }
}
