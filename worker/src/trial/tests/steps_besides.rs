//! Steps other than conversations: messages, programs, files, plugins, and how a failing step affects the others.

use super::*;
use crate::environment::{Execution, Limits};

fn say(input: &str, checks: &[Value]) -> Value {
    json!({ "name": input, "input": input, "evaluations": checks })
}

#[tokio::test(start_paused = true)]
async fn messages_are_sent_in_one_conversation() {
    let cast = Cast::with(FakeAgent::new(|turn, said| Does::Says(format!("{turn}: {said}"))));
    let steps = json!([say("one", &[contains("1: one")]), say("two", &[contains("2: two"), contains("1:")])]);
    let played = first(&scenario(steps, json!({})), &cast).await;
    assert_eq!(played.findings(), [Finding::Pass, Finding::Pass, Finding::Fail]);
    assert_eq!((cast.agent.heard(), played.trial.conversations), (vec!["one".to_owned(), "two".to_owned()], 1));
    assert_eq!(cast.agent.starts.lock().unwrap().len(), 1);
    assert_eq!(played.turns.iter().map(|turn| (turn.number, turn.step)).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
    assert_eq!(played.trial.termination_reason, None);
}

#[tokio::test(start_paused = true)]
async fn a_failing_step_ends_the_trial_if_the_scenario_says_so() {
    for (on_failure, word, heard) in [("stop", "sunny", 3), ("continue", "rain", 3), ("stop", "rain", 2)] {
        let steps = json!([say("one", &[]), say("two", &[contains(word)]), say("three", &[contains("sunny")])]);
        let cast = Cast::plain();
        let played = first(&scenario(steps, json!({ "gabfest": { "on_failure": on_failure } })), &cast).await;
        assert_eq!(cast.agent.heard().len(), heard, "{on_failure} {word}");
        assert_eq!(played.trial.verdict, if word == "rain" { Verdict::Fail } else { Verdict::Pass });
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_names_its_step_and_its_turn() {
    let bad = say("bad", &[contains("rain")]);
    let held = |more| talk(json!({ "turn_evaluations": [], "final_evaluations": more }));
    let silent = || {
        Cast::with(FakeAgent::new(|turn, _| {
            if turn == 2 { Does::Fails(FailureKind::AgentRefused) } else { Does::Says("sunny".into()) }
        }))
    };
    for (steps, cast, place) in [
        (json!([say("one", &[]), say("two", &[]), bad]), Cast::plain(), (Some(3), Some(3))),
        (json!([held(json!([])), bad]), Cast::plain(), (Some(2), Some(4))),
        (json!([say("one", &[]), held(json!([contains("rain")]))]), Cast::plain(), (Some(2), None)),
        (json!([say("one", &[]), say("two", &[])]), silent(), (Some(2), Some(2))),
    ] {
        let played = first(&scenario(steps.clone(), json!({})), &cast).await;
        let failure = played.trial.failure.unwrap_or_else(|| panic!("{steps} passed"));
        assert_eq!((failure.step, failure.turn), place, "{steps}: {failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_turn_ends_no_conversation_but_the_steps_after_it() {
    let steps = json!([talk(json!({ "turn_evaluations": [contains("rain")] })), say("bye", &[contains("sunny")])]);
    let cast = Cast::plain();
    let played = first(&scenario(steps, json!({ "gabfest": { "on_failure": "stop" } })), &cast).await;
    assert_eq!((cast.agent.heard().len(), played.findings().len()), (3, 3));
    assert_eq!(played.end(), (Verdict::Fail, Some((FailureKind::CheckFailed, Blame::Agent, Some(1)))));
}

#[tokio::test(start_paused = true)]
async fn programs_that_are_not_allowed_skip_the_trial_before_anything_is_asked() {
    let command = json!({ "type": "command_exit_code_is", "command": "true", "expected_code": 0 });
    let rows = [
        json!([say("hi", &[]), { "name": "code", "code": "echo hi", "evaluations": [contains("hi")] }]),
        json!([say("hi", std::slice::from_ref(&command))]),
        json!([talk(json!({ "turn_evaluations": [command] }))]),
        json!([talk(json!({ "final_evaluations": [command] }))]),
    ];
    for steps in rows {
        let cast = Cast::plain();
        let played = first(&scenario(steps, json!({})), &cast).await;
        let failure = (FailureKind::ExecutionNotAllowed, Blame::Config, None);
        assert_eq!(played.end(), (Verdict::Skipped, Some(failure)));
        assert!(cast.agent.heard().is_empty() && cast.agent.starts.lock().unwrap().is_empty());
        assert!(played.turns.is_empty() && played.sent.is_empty());
    }
}

/// On the real clock: a paused one would be over before a real program is.
#[tokio::test]
async fn programs_that_are_allowed_are_turns() {
    let mut cast = Cast::plain();
    cast.execution = Execution::host(Vec::new(), Limits::default());
    let code = "cat notes.txt; echo oops >&2; exit 3";
    let command = json!({ "type": "command_exit_code_is", "command": "test -f notes.txt", "expected_code": 0 });
    let steps = json!([
        { "name": "code", "code": code, "evaluations": [contains("umbrella")] },
        say("hi", &[command]),
    ]);
    let written = scenario(steps, json!({ "setup": { "virtual_fs": { "notes.txt": "umbrella" } } }));
    let played = first(&written, &cast).await;
    assert_eq!(played.end(), (Verdict::Pass, None), "{played:?}");
    let program = &played.turns[0];
    assert_eq!((program.speaker, program.user.as_str(), program.exit_code), (Origin::Program, code, Some(3)));
    assert_eq!(program.agent.as_deref(), Some("umbrella"));
    assert_eq!(played.notes("stderr"), ["oops\n"]);
    assert_eq!((played.turns[1].number, played.trial.latencies.len()), (2, 1), "a program is not a reply of the agent");
}

#[tokio::test(start_paused = true)]
async fn files_of_the_scenario_can_be_checked() {
    let exists = |path: &str| json!({ "type": "file_exists", "path": path });
    let holds = |path: &str, value: &str| json!({ "type": "file_contains", "path": path, "value": value });
    let rows = [
        (exists("notes/day.txt"), Verdict::Pass),
        (exists("notes/night.txt"), Verdict::Fail),
        (holds("notes/day.txt", "umbrella"), Verdict::Pass),
        (holds("notes/day.txt", "parasol"), Verdict::Fail),
        (holds("notes/night.txt", "umbrella"), Verdict::Fail),
    ];
    for (check, verdict) in rows {
        let setup = json!({ "setup": { "virtual_fs": { "notes/day.txt": "take an umbrella" } } });
        let steps = json!([say("hi", std::slice::from_ref(&check))]);
        let played = first(&scenario(steps, setup), &Cast::plain()).await;
        assert_eq!(played.trial.verdict, verdict, "{check}");
    }
}

#[tokio::test(start_paused = true)]
async fn plugins_go_to_agents_that_understand_them_or_else_are_noted() {
    let plugins = json!({ "plugins": [
        "@elizaos/plugin-github",
        { "name": "@elizaos/plugin-slow", "version": "2.0.0", "config": { "depth": 2 }, "enabled": false },
    ]});
    let written = scenario(json!([say("hi", &[contains("sunny")]), say("ho", &[])]), plugins);
    for understands in [false, true] {
        let mut agent = Arc::into_inner(FakeAgent::saying("sunny")).unwrap();
        agent.plugins = understands;
        let cast = Cast::with(Arc::new(agent));
        let played = first(&written, &cast).await;
        let starts = cast.agent.starts.lock().unwrap();
        let names: Vec<&str> = starts[0].plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        assert_eq!(names, ["@elizaos/plugin-github"], "one that is not enabled is not handed over");
        let noted = played.notes("plugins");
        assert_eq!(noted.len(), usize::from(!understands), "said once a trial");
        assert!(noted.iter().all(|note| note.contains("plugin-github") && !note.contains("plugin-slow")));
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_opened_with_the_history() {
    let opening = json!([{ "speaker": "system", "text": "Be brief." }, { "speaker": "agent", "text": "Welcome!" }]);
    let cast = Cast::plain();
    let written = scenario(json!([say("hi", &[contains("sunny")])]), json!({ "gabfest": { "opening": opening } }));
    let played = first(&written, &cast).await;
    let starts = cast.agent.starts.lock().unwrap();
    let start = &starts[0];
    assert_eq!(start.opening.iter().map(::scenario::Message::text).collect::<Vec<_>>(), ["Be brief.", "Welcome!"]);
    let trial = played.trial.trial_id.as_str();
    assert_eq!((start.conversation.clone(), start.context.trial.as_str()), (format!("run-{trial}-1-1"), trial));
    assert_eq!(start.context.case, played.trial.case_id.as_str());
    assert_eq!((start.seed, start.context.role.as_str()), (played.trial.seed, "agent"));
    assert_eq!((start.context.run.as_str(), start.context.scenario.as_str()), ("run", "weather"));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_the_worker_does_not_know_is_the_settings_fault() {
    let written = scenario(json!([say("hi", &[contains("sunny")])]), json!({}));
    let mut resources = Arc::into_inner(Cast::plain().resources()).unwrap();
    resources.agents.clear();
    let played = play_one(&plan(&written, 1), 0, 1, Arc::new(resources)).await;
    assert_eq!(played.end(), (Verdict::Error, Some((FailureKind::Misconfigured, Blame::Config, None))));
}

/// No format can express an expected answer yet, so the test edits the plan's scenario.
#[tokio::test(start_paused = true)]
async fn an_expected_answer_takes_the_place_of_the_real_one() {
    use ::scenario::{Action, History, Message, message::Speaker};
    for (history, replaced) in [(History::Expected, vec!["It rains."]), (History::Actual, vec![])] {
        let plan = plan(&scenario(json!([say("hi", &[]), say("ho", &[])]), json!({})), 1);
        let script = CompiledScenarios::new(Arc::clone(&plan)).of_case(0).unwrap();
        let mut script = Arc::into_inner(script).expect("the scripts are gone");
        script.scenario.history = history;
        if let Action::Say { expected, .. } = &mut script.scenario.steps[0].action {
            *expected = Some(Message::text_of(Speaker::Agent, "It rains."));
        }
        let cast = Cast::plain();
        let (ticket, outbox) = (ticket(&plan, 0, 1), Outbox::new(Admission::new()));
        let mut stage = Stage::new(ticket, Arc::new(script), cast.resources(), outbox, Admission::new());
        steps::play(&mut stage).await.unwrap();
        assert_eq!(*cast.agent.replaced.lock().unwrap(), replaced);
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_valid_if_expected() {
    let silent = || {
        Cast::with(FakeAgent::new(|turn, _| match turn {
            1 => Does::Fails(FailureKind::AgentEmpty),
            _ => Does::Says("sunny".to_owned()),
        }))
    };
    let cast = silent();
    let steps = json!([say("hush", &[json!({ "type": "empty" })]), say("two", &[contains("sunny")])]);
    let played = first(&scenario(steps, json!({})), &cast).await;
    assert_eq!((played.trial.verdict, cast.agent.heard().len()), (Verdict::Pass, 2));
    let steps = json!([say("hush", &[json!({ "type": "empty", "negate": true })]), say("two", &[contains("sunny")])]);
    let played = first(&scenario(steps, json!({})), &silent()).await;
    assert_eq!(played.end(), (Verdict::Error, Some((FailureKind::AgentEmpty, Blame::Agent, Some(1)))));
}
