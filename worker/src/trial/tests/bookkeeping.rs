//! The cost of a trial, and that playing it again gives the same result.

use std::collections::{BTreeMap, BTreeSet};

use record::{Call, Tokens, Usd, call::SpendLine, view::verdict_view};
use telemetry::trace::ids;

use super::*;
use crate::{Models, environment::Execution};

/// Simulated lines, termination questions, and checks of turns, steps and conversations.
fn everything() -> Value {
    let talk = talk(json!({
        "max_turns": 4,
        "termination_conditions": [
            { "type": "goal_achieved", "llm_judge": { "prompt": "Is it done?", "threshold": 0.9 } },
        ],
        "turn_evaluations": [contains("sunny"), judged("Was it polite?")],
        "final_evaluations": [judged("Was it right?"), { "type": "user_satisfaction", "satisfaction_threshold": 0.1 }],
    }));
    let steps = json!([
        { "name": "say", "input": "Hello?", "evaluations": [judged("Was it kind?")] },
        talk,
        { "name": "bye", "input": "Bye.", "evaluations": [contains("sunny")] },
    ]);
    scenario(steps, json!({}))
}

fn calls(turns: &[Turn]) -> impl Iterator<Item = &Call> {
    turns.iter().flat_map(|turn| &turn.calls)
}

fn sum(turns: &[Turn]) -> Spend {
    let mut sum = Spend::default();
    calls(turns).for_each(|call| sum.add_call(call));
    sum
}

/// The goal is never reached; a question for a number gets one.
fn judge(request: &llm::chat::Request) -> Result<String, llm::Error> {
    let wants_number = request.schema.as_ref().is_some_and(|schema| schema.to_string().contains("\"anyOf\""));
    let asks_for_goal = request.messages.iter().any(|message| message.content.contains("Is it done?"));
    Ok(if wants_number {
        r#"{"verdict":0.9,"confidence":1.0,"reasoning":"it is"}"#
    } else if asks_for_goal {
        NO
    } else {
        YES
    }
    .to_owned())
}

#[tokio::test(start_paused = true)]
async fn no_call_is_lost_and_none_is_counted_twice() {
    let cast = Cast::new(
        FakeAgent::saying("It is sunny."),
        FakeModel::saying("user_sim", "And tomorrow?"),
        FakeModel::new("judge", judge),
    );
    let played = first(&everything(), &cast).await;
    assert_eq!(played.end(), (Verdict::Pass, None), "{:?}", played.trial.failure);
    let line = |calls: u64, tokens: (u64, u64), nanos: i64| SpendLine {
        calls,
        tokens: Tokens { input: calls * tokens.0, output: calls * tokens.1, ..Tokens::default() },
        cost: Usd(calls as i64 * nanos),
        tries: calls,
        ..SpendLine::default()
    };
    // The first step; four turns with a check and a termination question each; two at the end.
    let asked = 1 + 4 * 2 + 2;
    assert_eq!(cast.judge.times_asked() as u64, asked);
    let expected = BTreeMap::from([
        ((Role::Agent, "fake-agent".to_owned()), line(6, (7, 11), 1_000)),
        ((Role::UserSim, "user_sim-model".to_owned()), line(3, (3, 2), 10)),
        ((Role::Judge, "judge-model".to_owned()), line(asked, (3, 2), 10)),
    ]);
    assert_eq!(played.trial.spend.lines, expected);
    assert_eq!((sum(&played.turns), &played.sent), (played.trial.spend.clone(), &played.trial.spend));
    assert_eq!(played.trial.latencies.len(), 6);
    // A line's call is recorded with the turn that it led to, a judge's with the turn that it followed.
    use Role::{Agent, Judge, UserSim};
    let roles: Vec<Vec<Role>> =
        played.turns.iter().map(|turn| turn.calls.iter().map(|call| call.role).collect()).collect();
    let middle = vec![UserSim, Agent, Judge, Judge];
    let last = vec![UserSim, Agent, Judge, Judge, Judge, Judge];
    assert_eq!(roles, [vec![Agent, Judge], vec![Agent, Judge, Judge], middle.clone(), middle, last, vec![Agent]]);
    // Judges of a step and of a conversation are asked about more than the turn.
    let of_trial = |turn: &Turn| turn.calls.iter().filter(|call| call.of_trial).count();
    assert_eq!(played.turns.iter().map(of_trial).collect::<Vec<_>>(), [1, 0, 0, 0, 2, 0]);
}

#[tokio::test(start_paused = true)]
async fn every_question_has_a_key_and_a_seed_of_its_own() {
    let cast = Cast::new(
        FakeAgent::saying("It is sunny."),
        FakeModel::saying("user_sim", "And tomorrow?"),
        FakeModel::saying("judge", "hard to say"),
    );
    let written = scenario(json!([talk(json!({ "turn_evaluations": [judged("Was it polite?")] }))]), json!({}));
    let played = first(&written, &cast).await;
    assert_eq!(played.trial.verdict, Verdict::Inconclusive);
    let judge = cast.judge.asked.lock().unwrap();
    let user_sim = cast.user_sim.asked.lock().unwrap();
    let all: Vec<&llm::chat::Request> = judge.iter().chain(user_sim.iter()).collect();
    assert_eq!(all.len(), 3 * 3 + 2);
    let keys: BTreeSet<&str> = all.iter().map(|one| one.context.idempotency_key.as_str()).collect();
    let seeds: BTreeSet<Option<u64>> = all.iter().map(|one| one.seed).collect();
    assert_eq!((keys.len(), seeds.len()), (all.len(), all.len()));
    let session = format!("run-{}-1/", played.trial.trial_id);
    assert!(keys.iter().all(|key| key.starts_with(&session)), "{keys:?}");
    assert_eq!(judge.iter().map(|one| one.context.turn).collect::<Vec<_>>(), [1, 1, 1, 2, 2, 2, 3, 3, 3]);
    // A judge's call names the turn, which exists; the turn of a simulator's call may never exist.
    let trace = ids::trace(&RunId::new("run"), 0, 1);
    let told = |one: &llm::chat::Request| one.context.trace.map(|told| (told.id, told.span));
    assert!(judge.iter().all(|one| told(one) == Some((trace, ids::turn_span(trace, one.context.turn)))));
    assert!(user_sim.iter().all(|one| told(one) == Some((trace, ids::trial_span(trace)))));
}

/// The mock as agent, user and judge: seeded, and wrong now and then.
fn mock() -> Arc<Resources> {
    use llm::{endpoint::Endpoint, mock, retry::Policy};
    let settings = llm::endpoint::Settings {
        kind: llm::endpoint::Kind::Mock,
        mock: mock::Behaviour {
            pass: vec![mock::PassRule { scenario: None, persona: None, turn: None, probability: 0.9 }],
            latency: mock::Delay { kind: mock::DelayKind::Lognormal, ms: 300.0, sigma: 1.0, ..mock::Delay::default() },
            judge: mock::JudgeSkill {
                sensitivity: 0.9,
                specificity: 0.95,
                malformed_rate: 0.2,
                ..mock::JudgeSkill::default()
            },
            error_rate: 0.02,
            ..mock::Behaviour::default()
        },
        price: Some(llm::prices::Pricing::Written(llm::price::Price {
            input_per_million: 1.0,
            output_per_million: 2.0,
            ..llm::price::Price::FREE
        })),
        ..llm::endpoint::Settings::default()
    };
    let endpoint = Endpoint::open("mock", &settings).unwrap();
    let agent = agent::build("mock", &agent::Settings::default(), endpoint.chat(Policy::agent()));
    let model = || endpoint.chat(Policy::model());
    let models = Models {
        user_sim: model(),
        judge: model(),
        by_type: BTreeMap::new(),
        scores: Default::default(),
        judge_max_tokens: evaluate::JUDGE_MAX_TOKENS,
    };
    Arc::new(crate::fakes::resources(agent, models, Execution::Off))
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_is_played_again_is_the_same() {
    let talk = talk(json!({
        "max_turns": 6,
        "termination_conditions": [{ "type": "user_expresses_satisfaction" }],
        "turn_evaluations": [judged("Was it polite?")],
        "final_evaluations": [judged("Was it right?")],
    }));
    let plan = plan(&scenario(json!([talk]), json!({})), 30);
    let mut verdicts = BTreeMap::new();
    for number in 0..30 {
        let words = |played: &Played| -> Vec<(String, Option<String>)> {
            played.turns.iter().map(|turn| (turn.user.clone(), turn.agent.clone())).collect()
        };
        let once = play_one(&plan, number, 1, mock()).await;
        for epoch in [1, 3] {
            let again = play_one(&plan, number, epoch, mock()).await;
            assert_eq!(verdict_view(&once.trial), verdict_view(&again.trial));
            assert_eq!(words(&once), words(&again));
            assert_eq!(again.trial.epoch, epoch);
        }
        assert_eq!((sum(&once.turns), &once.sent), (once.trial.spend.clone(), &once.trial.spend));
        *verdicts.entry(once.trial.verdict).or_insert(0) += 1;
    }
    assert!(verdicts.len() >= 3, "the trials differ: {verdicts:?}");
}
