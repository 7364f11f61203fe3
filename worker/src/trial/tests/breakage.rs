//! Failures of every party: whose fault each one is, and that our faults are never the agent's.

use super::*;

fn conversation(more: Value) -> Value {
    scenario(json!([talk(more)]), json!({}))
}

fn ends(played: &Played, verdict: Verdict, kind: FailureKind, blame: Blame, turn: Option<u32>) {
    assert_eq!(played.end(), (verdict, Some((kind, blame, turn))), "{:?}", played.trial.failure);
}

type Maker = fn() -> FakeModel;

fn exhausted() -> FakeModel {
    FakeModel::new("paid", |_| {
        Err(llm::Error::Exhausted { endpoint: "paid".to_owned(), message: "no credit is left".to_owned() })
    })
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_hangs_has_its_turns_time_and_no_more() {
    for wait in [Duration::ZERO, 50 * SECOND] {
        let agent = FakeAgent::new(move |turn, _| if turn == 2 { Does::Hangs(wait) } else { Does::Says("hi".into()) });
        let written = conversation(json!({ "timeout_per_turn_ms": 4_000, "total_timeout_ms": 60_000 }));
        let played = first(&written, &Cast::with(agent)).await;
        ends(&played, Verdict::Error, FailureKind::AgentTimeout, Blame::Agent, Some(2));
        assert_eq!(played.took, wait + 4 * SECOND);
        // The turn is kept without an answer, and does not include the rate-limit wait.
        let last = played.turns.last().unwrap();
        assert_eq!((played.turns.len(), last.agent.as_deref(), last.duration_micros), (2, None, 4_000_000));
        let call = last.calls.iter().find(|call| call.role == Role::Agent).unwrap();
        assert_eq!((call.wait_micros, call.total_micros), (wait.as_micros() as u64, 4_000_000));
        assert_eq!((call.cost, call.error.is_some()), (None, true), "nobody knows what it cost");
        assert_eq!(played.trial.latencies.len(), 1, "a turn without an answer has no latency");
        assert_eq!(played.trial.unanswered, 1, "and is counted beside them");
    }
}

#[tokio::test(start_paused = true)]
async fn a_real_endpoint_is_given_up_in_time() {
    use llm::{endpoint::Endpoint, mock, retry::Policy};
    let settings = llm::endpoint::Settings {
        kind: llm::endpoint::Kind::Mock,
        mock: mock::Behaviour { hang_rate: 1.0, ..mock::Behaviour::default() },
        ..llm::endpoint::Settings::default()
    };
    let endpoint = Endpoint::open("mock", &settings).unwrap();
    let agent = agent::build("mock", &agent::Settings::default(), endpoint.chat(Policy::agent()));
    let models = Cast::plain().resources().models.clone();
    let resources = crate::fakes::resources(agent, models, crate::environment::Execution::Off);
    let plan = plan(&conversation(json!({ "timeout_per_turn_ms": 4_000 })), 1);
    let played = play_one(&plan, 0, 1, Arc::new(resources)).await;
    ends(&played, Verdict::Error, FailureKind::AgentTimeout, Blame::Agent, Some(1));
    assert_eq!(played.took, 4 * SECOND);
}

/// An agent with a price that says nothing.
#[derive(Debug)]
struct Speechless;

impl llm::Named for Speechless {
    fn endpoint(&self) -> &str {
        "mock"
    }
}

#[async_trait::async_trait]
impl llm::Call<llm::chat::Request> for Speechless {
    async fn ask(&self, _: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        let receipt = Box::new(llm::Receipt {
            usage: llm::Usage { input: 40, output: 7, ..llm::Usage::default() },
            model: "m-1".to_owned(),
            timing: llm::Timing { wait: 3 * SECOND, connect: Some(SECOND), total: 2 * SECOND, ..Default::default() },
            tries: 3,
            lost_tries: 1,
            cost_nanos: Some(900),
            ..llm::Receipt::default()
        });
        Ok(llm::chat::Reply { receipt, ..llm::chat::Reply::default() })
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_words_has_its_cost() {
    let agent = agent::build("mock", &agent::Settings::default(), Arc::new(Speechless));
    let models = Cast::plain().resources().models.clone();
    let resources = crate::fakes::resources(agent, models, crate::environment::Execution::Off);
    let played = play_one(&plan(&conversation(json!({})), 1), 0, 1, Arc::new(resources)).await;
    ends(&played, Verdict::Error, FailureKind::AgentEmpty, Blame::Agent, Some(1));
    let call = &played.turns[0].calls[0];
    assert_eq!(
        (&*call.model, call.tokens.input, call.tokens.output, call.cost),
        ("m-1", 40, 7, Some(record::Usd(900)))
    );
    assert_eq!((call.wait_micros, call.connect_micros, call.total_micros), (3_000_000, Some(1_000_000), 2_000_000));
    assert_eq!((call.tries, call.lost_tries, call.error.is_some()), (3, 1, true));
    assert_eq!((played.turns[0].duration_micros, played.trial.spend.unpriced_calls()), (2_000_000, 1));
}

/// A model without a server.
#[derive(Debug)]
struct Unplugged;

impl llm::Named for Unplugged {
    fn endpoint(&self) -> &str {
        "shop"
    }

    fn name(&self) -> &str {
        "m-1"
    }
}

#[async_trait::async_trait]
impl llm::Call<llm::chat::Request> for Unplugged {
    async fn ask(&self, _: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        let (endpoint, message) = ("shop".to_owned(), "connection refused".to_owned());
        Err(llm::Error::Unreachable { endpoint, status: None, message, sent: false })
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_counted_under_the_model_that_was_asked() {
    let agent = agent::build("support", &agent::Settings::default(), Arc::new(Unplugged));
    let models = Cast::plain().resources().models.clone();
    let resources = crate::fakes::resources(agent, models, crate::environment::Execution::Off);
    let played = play_one(&plan(&conversation(json!({})), 1), 0, 1, Arc::new(resources)).await;
    let call = &played.turns[0].calls[0];
    assert_eq!((&*call.model, &*call.endpoint, call.error.is_some()), ("m-1", "support", true));
    let counted: Vec<_> = played.trial.spend.lines.keys().cloned().collect();
    assert_eq!(counted, [(Role::Agent, "m-1".to_owned())]);
    assert_eq!(played.trial.unanswered, 1);
}

/// A model that answers this many times.
#[derive(Debug)]
struct Fading(std::sync::atomic::AtomicU32);

impl llm::Named for Fading {
    fn endpoint(&self) -> &str {
        "bar"
    }

    fn name(&self) -> &str {
        "m-2"
    }
}

#[async_trait::async_trait]
impl llm::Call<llm::chat::Request> for Fading {
    async fn ask(&self, request: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        use std::sync::atomic::Ordering::Relaxed;
        if self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
            return llm::Call::ask(&Unplugged, request).await;
        }
        let (text, model) = ("How are you?".to_owned(), "m-2".to_owned());
        let receipt = Box::new(llm::Receipt { model, tries: 1, cost_nanos: Some(5), ..llm::Receipt::default() });
        Ok(llm::chat::Reply { text, receipt, ..llm::chat::Reply::default() })
    }
}

#[tokio::test(start_paused = true)]
async fn a_tester_that_fails_is_counted_under_its_model_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.battery.yaml");
    let battery = json!({
        "name": "chat", "conversation_length": 6, "tester": { "agent": "peer" }, "requirements": { "ML-I2": true },
    });
    std::fs::write(&path, battery.to_string()).unwrap();
    let reading = formats::read(&[path]);
    assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    let plan = Arc::new(::scenario::plan::build(&reading, &Default::default()).unwrap());
    let models = Cast::plain().resources().models.clone();
    for answers in [1, 0] {
        let chatter = FakeAgent::saying("Fine.");
        let mut resources = crate::fakes::resources(chatter, models.clone(), crate::environment::Execution::Off);
        let peer = agent::build("peer", &agent::Settings::default(), Arc::new(Fading(answers.into())));
        resources.agents.insert("peer".to_owned(), peer);
        let played = play_one(&plan, 0, 1, Arc::new(resources)).await;
        ends(&played, Verdict::Error, FailureKind::SimulatorFailed, Blame::UserSim, Some(answers + 1));
        assert_eq!(played.turns.len(), answers as usize);
        let line = &played.trial.spend.lines[&(Role::UserSim, "m-2".to_owned())];
        // The refused connection cost nothing, and the record says so.
        assert_eq!((line.calls, line.cost), (u64::from(answers) + 1, record::Usd(5 * i64::from(answers))));
        assert_eq!(played.trial.spend.unpriced_calls(), 0);
        // Calls that have no turn are sent nevertheless.
        assert_eq!(played.sent, played.trial.spend);
        let kept = played.turns.iter().flat_map(|turn| &turn.calls).filter(|call| call.role == Role::UserSim);
        assert_eq!(kept.map(|call| call.of_trial).collect::<Vec<_>>(), [false, true][..2 * answers as usize]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_total_time_runs_while_the_agent_works() {
    // How long the agent, the simulator and the judge take each time; the agent has 10 s for 3 turns.
    let rows = [
        // Cut off in its second turn, when all 10 s had been its own.
        ((6.0, 0.0, 0.0), Some(2)),
        ((6.0, 3.0, 20.0), Some(2)),
        ((4.0, 0.0, 7.0), Some(3)),
        ((5.0, 0.0, 5.0), Some(2)),
        // A slow simulator or judge uses none of the agent's time, however long the conversation takes.
        ((2.5, 0.0, 5.0), None),
        ((2.0, 7.0, 0.0), None),
        ((1.0, 0.0, 90.0), None),
        ((1.0, 90.0, 90.0), None),
    ];
    for ((agent, user_sim, judge), turn) in rows {
        let stop = json!([{ "type": "goal_achieved", "llm_judge": { "prompt": "Is it done?" } }]);
        let written = conversation(json!({
            "max_turns": 3, "total_timeout_ms": 10_000, "turn_evaluations": [judged("Was it polite?")],
            "termination_conditions": stop,
        }));
        let said = |request: &llm::chat::Request| {
            let asks_for_goal = request.messages.iter().any(|message| message.content.contains("Is it done?"));
            Ok(if asks_for_goal { NO } else { YES }.to_owned())
        };
        let agent = SECOND.mul_f64(agent);
        let cast = Cast::new(
            FakeAgent::new(move |_, _| Does::SaysAfter(Duration::ZERO, agent, "hi".into())),
            FakeModel::saying("user_sim", "go on").after(Duration::ZERO, SECOND.mul_f64(user_sim)),
            FakeModel::new("judge", said).after(Duration::ZERO, SECOND.mul_f64(judge)),
        );
        let played = first(&written, &cast).await;
        match turn {
            None => assert_eq!(played.end(), (Verdict::Pass, None), "{agent:?} {:?}", played.trial.failure),
            Some(_) => ends(&played, Verdict::Error, FailureKind::ConversationTimeout, Blame::Agent, turn),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_tools_of_an_agent_work_on_its_time() {
    // 2 s of the agent and 3 s of a tool in each turn, and 100 s of retries.
    let agent = FakeAgent::new(|_, _| {
        let timing = llm::Timing { total: 2 * SECOND, retried: 100 * SECOND, ..llm::Timing::default() };
        let reply = agent::Reply { text: "hi".into(), timing, tools: 3 * SECOND, tries: 2, ..Default::default() };
        Does::Replies(Box::new(reply))
    });
    let limit = |ms: u64| conversation(json!({ "total_timeout_ms": ms, "final_evaluations": [contains("hi")] }));
    assert_eq!(first(&limit(15_001), &Cast::with(agent.clone())).await.end(), (Verdict::Pass, None));
    let played = first(&limit(10_000), &Cast::with(agent)).await;
    ends(&played, Verdict::Error, FailureKind::ConversationTimeout, Blame::Agent, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_control_that_must_fail_needs_an_agent() {
    for word in ["sunny", "rain"] {
        let agent = FakeAgent::new(|turn, _| match turn {
            1 => Does::Says("sunny".into()),
            _ => Does::Fails(FailureKind::AgentUnreachable),
        });
        let talk = talk(json!({ "turn_evaluations": [contains(word)] }));
        let control = scenario(json!([talk]), json!({ "gabfest": { "expect_failure": true } }));
        let played = first(&control, &Cast::with(agent)).await;
        ends(&played, Verdict::Error, FailureKind::AgentUnreachable, Blame::Agent, Some(2));
    }
}

#[tokio::test(start_paused = true)]
async fn rate_limit_waits_do_not_count() {
    let wait = 100 * SECOND;
    let cast = Cast::new(
        FakeAgent::new(move |_, _| Does::SaysAfter(wait, SECOND, "hi".into())),
        FakeModel::saying("user_sim", "go on").after(wait, SECOND),
        FakeModel::saying("judge", YES).after(wait, SECOND),
    );
    let played = first(
        &conversation(json!({
            "total_timeout_ms": 10_000,
            "timeout_per_turn_ms": 2_000,
            "turn_evaluations": [judged("Was it polite?")],
            "final_evaluations": [{ "type": "execution_time", "max_duration_ms": 3_000, "min_duration_ms": 3_000 }],
        })),
        &cast,
    )
    .await;
    assert_eq!(played.end(), (Verdict::Pass, None), "{:?}", played.trial.judgments);
    assert_eq!(played.took, 8 * (wait + SECOND));
    assert!(played.trial.latencies.iter().all(|latency| latency.total_micros == 1_000_000));
    assert!(played.turns.iter().flat_map(|turn| &turn.calls).all(|call| call.wait_micros == 100_000_000));
}

#[tokio::test(start_paused = true)]
async fn time_without_admission_does_not_count_either() {
    let admission = Admission::new();
    let opens = tokio::spawn({
        let admission = admission.clone();
        async move {
            // The simulator's next call comes while the coordinator is away.
            tokio::time::sleep(SECOND).await;
            admission.set_away(true);
            tokio::time::sleep(100 * SECOND).await;
            admission.set_away(false);
        }
    });
    let agent = FakeAgent::new(|_, _| Does::SaysAfter(Duration::ZERO, 2 * SECOND, "hi".into()));
    let written = conversation(json!({ "total_timeout_ms": 10_000, "final_evaluations": [contains("hi")] }));
    let played = play_behind(admission, &plan(&written, 1), 0, 1, Cast::with(agent).resources()).await;
    opens.await.unwrap();
    assert_eq!(played.end(), (Verdict::Pass, None), "{:?}", played.trial.failure);
    assert_eq!(played.took, 105 * SECOND);
    let asked: Vec<_> = played.turns.iter().flat_map(|turn| &turn.calls).collect();
    let user = asked.iter().find(|call| call.role == Role::UserSim).unwrap();
    assert_eq!((user.started_micros, user.wait_micros), (2_000_000, 99_000_000), "the wait follows the start");
}

#[tokio::test(start_paused = true)]
async fn a_simulator_that_fails_is_no_failure_of_the_agent() {
    let rows: [(Maker, FailureKind, Blame, usize); 4] = [
        (|| FakeModel::down("user_sim"), FailureKind::SimulatorFailed, Blame::UserSim, 1),
        (|| FakeModel::saying("user_sim", ""), FailureKind::SimulatorFailed, Blame::UserSim, 2),
        (|| FakeModel::saying("user_sim", "Agent: hi"), FailureKind::SimulatorFailed, Blame::UserSim, 2),
        (exhausted, FailureKind::ProviderExhausted, Blame::Budget, 1),
    ];
    for (simulator, kind, blame, calls) in rows {
        // If a check has failed before, the verdict is FAIL.
        for word in ["sunny", "rain"] {
            let cast = Cast::new(FakeAgent::saying("sunny"), simulator(), FakeModel::saying("judge", YES));
            let played = first(&conversation(json!({ "turn_evaluations": [contains(word)] })), &cast).await;
            match word {
                "sunny" => ends(&played, Verdict::Error, kind, blame, Some(2)),
                _ => ends(&played, Verdict::Fail, FailureKind::CheckFailed, Blame::Agent, Some(1)),
            }
            assert_eq!((played.turns.len(), cast.user_sim.times_asked()), (1, calls));
            // Its calls are not lost with it.
            assert_eq!(played.trial.spend.of(Role::UserSim).calls as usize, calls);
            assert_eq!(played.sent, played.trial.spend);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_fails_is_no_failure_of_the_agent() {
    let prose = "Well, on the one hand it may be, on the other it may not.";
    let rows = [
        (FakeModel::saying("judge", prose), Verdict::Inconclusive, FailureKind::JudgeMalformed, Blame::Judge, 3),
        (FakeModel::saying("judge", ""), Verdict::Inconclusive, FailureKind::JudgeMalformed, Blame::Judge, 3),
        (FakeModel::down("judge"), Verdict::Error, FailureKind::JudgeFailed, Blame::Judge, 1),
        (exhausted(), Verdict::Error, FailureKind::ProviderExhausted, Blame::Budget, 1),
    ];
    for (judge, verdict, kind, blame, asks) in rows {
        let cast = Cast::new(FakeAgent::saying("sunny"), FakeModel::saying("user_sim", "go on"), judge);
        let played = first(&conversation(json!({ "final_evaluations": [judged("Was it polite?")] })), &cast).await;
        ends(&played, verdict, kind, blame, None);
        assert_eq!((played.turns.len(), cast.judge.times_asked()), (3, asks));
        assert_eq!(played.trial.exhausted, kind == FailureKind::ProviderExhausted);
        assert_eq!(played.trial.spend.of(Role::Judge).calls as usize, asks);
        assert_eq!(played.trial.termination_reason.as_deref(), Some("max_turns_reached"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_cannot_be_decided_ends_the_trial() {
    let unclear: Maker = || FakeModel::saying("judge", "who knows");
    let down: Maker = || FakeModel::down("judge");
    let rows = [
        (unclear, "sunny", FailureKind::JudgeMalformed, 3),
        (down, "sunny", FailureKind::JudgeFailed, 1),
        // A FAIL that was decided stays one.
        (unclear, "rain", FailureKind::JudgeMalformed, 3),
        (down, "rain", FailureKind::JudgeFailed, 1),
    ];
    for (judge, word, kind, asks) in rows {
        let stop = json!([{ "type": "goal_achieved", "llm_judge": { "prompt": "Is it done?" } }]);
        let cast = Cast::new(FakeAgent::saying("sunny"), FakeModel::saying("user_sim", "go on"), judge());
        let written = conversation(json!({ "termination_conditions": stop, "turn_evaluations": [contains(word)] }));
        let played = first(&written, &cast).await;
        match word {
            "sunny" => ends(&played, Verdict::Error, kind, Blame::Judge, Some(1)),
            _ => ends(&played, Verdict::Fail, FailureKind::CheckFailed, Blame::Agent, Some(1)),
        }
        assert_eq!(played.trial.spend.of(Role::Judge).calls as usize, asks);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_breaks_off_is_an_error_unless_it_had_failed() {
    let kinds = [
        FailureKind::AgentUnreachable,
        FailureKind::AgentRefused,
        FailureKind::AgentThrottled,
        FailureKind::AgentEmpty,
        FailureKind::AgentMalformed,
    ];
    for kind in kinds {
        let rows = [
            ("all_pass", "sunny", Verdict::Error, kind, 2),
            ("all_pass", "rain", Verdict::Fail, FailureKind::CheckFailed, 1),
            ("any_pass", "sunny", Verdict::Error, kind, 2),
            ("any_pass", "rain", Verdict::Error, kind, 2),
        ];
        for (strategy, word, verdict, found, turn) in rows {
            let agent =
                FakeAgent::new(move |turn, _| if turn == 2 { Does::Fails(kind) } else { Does::Says("sunny".into()) });
            let checks = json!({ "turn_evaluations": [contains(word)], "final_evaluations": [contains(word)] });
            let written = scenario(json!([talk(checks)]), json!({ "judgment": { "strategy": strategy } }));
            let played = first(&written, &Cast::with(agent)).await;
            ends(&played, verdict, found, Blame::Agent, Some(turn));
            assert_eq!((played.findings().len(), played.turns.len()), (1, 2), "what was not reached is not judged");
            assert_eq!(played.trial.termination_reason, None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_trial_without_a_check_says_nothing() {
    let played = first(&conversation(json!({})), &Cast::plain()).await;
    ends(&played, Verdict::Inconclusive, FailureKind::NothingJudged, Blame::Config, None);
}

#[tokio::test(start_paused = true)]
async fn each_charged_try_of_a_judge_that_fails_is_counted() {
    use llm::{endpoint::Endpoint, mock, retry::Policy};
    let settings = llm::endpoint::Settings {
        kind: llm::endpoint::Kind::Mock,
        timeout_ms: 1_000,
        mock: mock::Behaviour { hang_rate: 1.0, ..mock::Behaviour::default() },
        ..llm::endpoint::Settings::default()
    };
    let judge = Endpoint::open("judge", &settings).unwrap().chat(Policy::model());
    let cast = Cast::with(FakeAgent::saying("sunny"));
    let own = cast.resources();
    let models = crate::Models { judge, ..own.models.clone() };
    let resources = crate::fakes::resources(Arc::clone(&cast.agent) as _, models, crate::environment::Execution::Off);
    let written = conversation(json!({ "max_turns": 2, "final_evaluations": [judged("Was it polite?")] }));
    let played = play_one(&plan(&written, 1), 0, 1, Arc::new(resources)).await;
    ends(&played, Verdict::Error, FailureKind::JudgeFailed, Blame::Judge, None);
    let line = played.trial.spend.of(Role::Judge);
    assert_eq!((line.calls, line.tries, line.unpriced_calls), (1, 5, 5), "each timed out after it was sent");
    assert!(!played.trial.spend.is_complete());
    assert_eq!(played.sent, played.trial.spend);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_agent_has_its_tries_and_waits_in_the_record() {
    use llm::{endpoint::Endpoint, mock, retry::Policy};
    let settings = llm::endpoint::Settings {
        kind: llm::endpoint::Kind::Mock,
        mock: mock::Behaviour {
            rate_limit: mock::RateLimit { rate: 0.6, retry_after_ms: 2_000 },
            ..mock::Behaviour::default()
        },
        ..llm::endpoint::Settings::default()
    };
    let endpoint = Endpoint::open("mock", &settings).unwrap();
    let agent = agent::build("mock", &agent::Settings::default(), endpoint.chat(Policy::agent()));
    let models = Cast::plain().resources().models.clone();
    let resources = Arc::new(crate::fakes::resources(agent, models, crate::environment::Execution::Off));
    let plan = plan(&scenario(json!([{ "input": "hello" }]), json!({})), 20);
    let mut throttled = 0;
    for number in 0..20 {
        let played = play_one(&plan, number, 1, Arc::clone(&resources)).await;
        let line = played.trial.spend.of(Role::Agent);
        assert_eq!((line.calls, line.tries), (1, line.throttled_tries + 1));
        let call_times = played.trial.call_times.lines.values().next().unwrap();
        let retried = call_times.wholes[0] - call_times.services[0];
        assert!(retried >= line.throttled_tries * 2_000_000, "{call_times:?} {line:?}");
        let latency = played.trial.latencies[0];
        let waited = latency.response_micros.unwrap();
        let parts = latency.total_micros + latency.wait_micros + retried;
        assert!(
            waited.abs_diff(parts) <= 1_000,
            "the user waits for the tries and pauses too: {latency:?} {call_times:?}"
        );
        assert_eq!((latency.number, latency.ended_micros), (1, played.turns[0].started_micros + waited));
        assert_eq!(played.turns[0].response_micros, Some(waited));
        throttled += line.throttled_tries;
    }
    assert!(throttled > 5, "{throttled}");
}
