//! What judges of a trial see besides the turns.

use super::*;

/// An agent with a system prompt in its settings, and a state of its mocks that nobody changes.
#[derive(Debug)]
struct Prompted(Arc<FakeAgent>);

#[async_trait::async_trait]
impl agent::Agent for Prompted {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn system(&self) -> Option<&str> {
        Some("Refund at most 30 EUR. Tr0ub4dor-of-the-prompt")
    }

    fn understands_plugins(&self) -> bool {
        false
    }

    fn uses_tools(&self) -> bool {
        true
    }

    async fn open(&self, start: agent::Start) -> Result<Box<dyn agent::Session>, agent::Error> {
        self.0.open(start).await
    }
}

fn judge(prompt: &str, more: Value) -> Value {
    let mut written = judged(prompt);
    written.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    written
}

/// The prompts of the judge in the order in which it was asked, by their questions.
fn prompts(cast: &Cast) -> Vec<(String, llm::Message)> {
    let asked = cast.judge.asked.lock().unwrap();
    let message = |request: &llm::chat::Request| {
        let message = request.messages[1].clone();
        (message.content.lines().next().unwrap_or_default().replace("Question: ", ""), message)
    };
    asked.iter().map(message).collect()
}

#[tokio::test(start_paused = true)]
async fn judges_see_the_end_state_that_later_checks_read() {
    redact::register("Tr0ub4dor-of-the-prompt");
    let cast = Cast::plain();
    let mut resources = Arc::into_inner(cast.resources()).unwrap();
    let agent: Arc<dyn agent::Agent> = Arc::new(Prompted(Arc::clone(&cast.agent)));
    resources.agents.insert("mock".to_owned(), agent);
    let user = json!({ "persona": "p", "objective": "a refund", "gabfest": { "goal": [{ "id": "r", "text": "30 EUR back" }] } });
    let step = talk(json!({
        "max_turns": 2, "user_simulator": user,
        "final_evaluations": [
            judge("first", json!({ "sees": ["end_state", "system", "goal", "opening"] })),
            contains("sunny"),
            judge("second", json!({})),
            json!({ "type": "mock_state", "path": "order", "equals": "paid" }),
        ],
    }));
    let more = json!({
        "setup": { "mocks": [{ "service": "shop", "method": "refund", "response": "ok" }] },
        "gabfest": { "state": { "order": "paid" }, "opening": [{ "speaker": "system", "text": "Be exact." }] },
    });
    let played = play_one(&plan(&scenario(json!([step]), more), 1), 0, 1, Arc::new(resources)).await;
    assert_eq!(played.trial.verdict, Verdict::Pass, "{:?}", played.trial.judgments);
    let checks: Vec<&str> = played.trial.judgments.iter().map(|judgment| judgment.check.as_str()).collect();
    assert_eq!(checks, ["llm_judge", "string_contains", "llm_judge", "mock_state"], "in the order of the scenario");
    let prompts = prompts(&cast);
    assert_eq!(prompts.iter().map(|(question, _)| question.as_str()).collect::<Vec<_>>(), ["second", "first"]);
    let prompt = &prompts[1].1.content;
    for part in [
        r#""agent_instructions":"Refund at most 30 EUR. [redacted]\n\nBe exact.""#,
        r#""user_goal":["a refund","30 EUR back"]"#,
        r#""before_the_first_turn":[{"system":"Be exact."}]"#,
        r#""end_state":[{"of":"mocks","state":{"order":"paid"}}]"#,
    ] {
        assert!(prompt.contains(part), "{part} in {prompt}");
    }
    assert!(!prompts[0].1.content.contains("agent_instructions"), "a judge sees no more than its check names");
    assert_eq!(played.notes("end_state").len(), 1, "it is kept once");
}

#[tokio::test(start_paused = true)]
async fn judges_get_the_images_of_scripted_turns() {
    let cast = Cast::plain();
    let message =
        json!([{ "speaker": "user", "parts": [{ "text": "What is it?" }, { "image": "https://h/cat.png" }] }]);
    let steps = json!([
        { "gabfest": { "messages": message }, "evaluations": [judge("first", json!({}))] },
        { "input": "And now?", "evaluations": [judge("second", json!({}))] },
    ]);
    let played = first(&scenario(steps, json!({})), &cast).await;
    assert_eq!(played.trial.verdict, Verdict::Pass, "{:?}", played.trial.judgments);
    let images: Vec<Vec<String>> = prompts(&cast).into_iter().map(|(_, message)| message.images).collect();
    assert_eq!(images, [vec!["https://h/cat.png".to_owned()], Vec::new()]);
}

/// The error of an endpoint without `images: true`.
#[tokio::test(start_paused = true)]
async fn a_judge_that_cannot_see_images_is_a_mistake_of_the_settings() {
    let blind = FakeModel::new("judge", |_| {
        Err(llm::Error::Unwritable { endpoint: "judge".to_owned(), message: "it sees no images".to_owned() })
    });
    let cast = Cast::new(FakeAgent::saying("A cat."), FakeModel::saying("user_sim", "Ok"), blind);
    let steps = json!([{ "input": "Look", "evaluations": [judged("q")] }]);
    let trial = first(&scenario(steps, json!({})), &cast).await.trial;
    let failure = trial.failure.as_ref().map(|failure| (failure.kind, failure.blame));
    assert_eq!((trial.verdict, failure), (Verdict::Error, Some((FailureKind::Misconfigured, Blame::Config))));
}

/// A state that was read in an earlier step is shown too, and the latest reading of each counts.
#[tokio::test(start_paused = true)]
async fn the_end_state_has_the_latest_reading_of_each_state() {
    let cast = Cast::plain();
    let mut resources = Arc::into_inner(cast.resources()).unwrap();
    let agent: Arc<dyn agent::Agent> = Arc::new(Prompted(Arc::clone(&cast.agent)));
    resources.agents.insert("mock".to_owned(), agent);
    let state = json!({ "type": "mock_state", "path": "order", "equals": "paid" });
    let steps = json!([
        { "input": "Hi", "evaluations": [state] },
        { "input": "Bye", "evaluations": [judge("q", json!({ "sees": ["end_state"] }))] },
    ]);
    let more = json!({
        "setup": { "mocks": [{ "service": "shop", "method": "refund", "response": "ok" }] },
        "gabfest": { "state": { "order": "paid" } },
    });
    let played = play_one(&plan(&scenario(steps, more), 1), 0, 1, Arc::new(resources)).await;
    assert_eq!(played.trial.verdict, Verdict::Pass, "{:?}", played.trial.judgments);
    let prompt = &prompts(&cast)[0].1.content;
    assert_eq!(prompt.matches(r#""of":"mocks""#).count(), 1, "{prompt}");
}
