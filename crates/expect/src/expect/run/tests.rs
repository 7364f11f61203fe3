//! Missing, found and broken judges; and what is decided without them.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use super::*;
use crate::expect::{
    self, Conversation,
    around::{KEY, SKIP},
};

/// An agent that says one thing, and how often it was asked.
fn saying(text: &'static str) -> (Agent, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let agent = Agent::from_fn(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move { Ok(text) }
    });
    (agent, asked)
}

/// In a folder without settings, and with only these variables.
async fn tried(conversation: Conversation, says: &'static str, variables: &[(&str, &str)]) -> (String, u32) {
    let folder = tempfile::tempdir().unwrap();
    let (agent, asked) = saying(says);
    let mut run = conversation.against(agent);
    run.around = Around::with(folder.path(), variables);
    let came = match run.try_run().await {
        Ok(Outcome::Passed(report)) => report.to_string(),
        Ok(Outcome::Skipped { why }) => format!("skipped: {why}"),
        Err(Error::Unplayable { why, .. }) => format!("unplayable: {why}"),
        Err(Error::NoJudge { why, .. }) => format!("no judge: {why}"),
        Err(Error::Failed(report)) => format!("failed: {report}"),
        Err(Error::Undecided(report)) => format!("undecided: {report}"),
    };
    (came, asked.load(Ordering::Relaxed))
}

fn hours(answer: &str) -> Conversation {
    expect::conversation("hours").user("When do you close?").agent(answer)
}

#[tokio::test]
async fn statements_never_pass_without_a_judge() {
    let said = "We close at six.";
    let nobody = "OPENAI_API_KEY is not set; the settings: no gabfest.yaml was found";
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], String, u32);
    let rows: [Row<'_>; 8] = [
        // Nothing is asked if it could not be judged anyway.
        ("<names an hour>", &[], format!("no judge: {nobody}"), 0),
        ("<names an hour>", &[(SKIP, "1")], format!("skipped: {nobody}"), 0),
        ("<names an hour>", &[(SKIP, "0")], format!("no judge: {nobody}"), 0),
        ("<names an hour>", &[(KEY, "sk-1")], "no judge: OPENAI_API_KEY is set, but OPENAI_MODEL".to_owned(), 0),
        // A text needs a judge only if it differs.
        ("we close at SIX. ", &[], "conversation \"hours\" passed".to_owned(), 1),
        ("*", &[], "conversation \"hours\" passed".to_owned(), 1),
        ("At six.", &[], format!("no judge: {nobody}"), 1),
        ("At six.", &[(SKIP, "1")], format!("skipped: {nobody}"), 1),
    ];
    for (answer, variables, expected, asked) in rows {
        let (came, times) = tried(hours(answer), said, variables).await;
        assert!(came.starts_with(&expected), "{answer} {variables:?}: {came}");
        assert_eq!(times, asked, "{answer} {variables:?}");
    }
}

#[tokio::test]
async fn a_failure_without_a_judge_is_a_failure() {
    let conversation =
        || expect::conversation("calls").user("Hi").agent(expect::reply("Hi").calls(expect::ExpectedCall::new("look")));
    for variables in [&[][..], &[(SKIP, "1")]] {
        let (came, _) = tried(conversation(), "Hello", variables).await;
        assert!(came.starts_with("failed: conversation \"calls\" failed"), "{came}");
    }
}

#[tokio::test]
#[should_panic(expected = "needs a judge, and there is none")]
async fn a_missing_judge_panics_and_says_what_to_do() {
    let mut run = hours("<names an hour>").against(saying("At six.").0);
    run.around = Around::with("/", &[]);
    run.run().await;
}

#[tokio::test]
async fn the_hints_say_what_to_write() {
    let mut run = hours("<names an hour>").against(saying("At six.").0);
    run.around = Around::with("/", &[]);
    let text = run.try_run().await.expect_err("there is no judge").to_string();
    for hint in ["roles: { judge: NAME }", "OPENAI_MODEL", "Judge::behind", "GABFEST_EXPECT_SKIP=1", "run/tests.rs:"] {
        assert!(text.contains(hint), "{hint}: {text}");
    }
}

/// With this text as `gabfest.yaml` above the folder in which the test runs.
async fn with_settings(settings: &str, agent: Option<&str>) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gabfest.yaml"), settings).unwrap();
    let package = folder.path().join("crates/bot");
    fs::create_dir_all(&package).unwrap();
    let agent = agent.map_or_else(|| saying("At six.").0, Agent::from);
    let mut run = hours("<names an hour>").against(agent);
    run.around = Around::with(package, &[]);
    match run.try_run().await {
        Ok(outcome) => outcome.report().map(ToString::to_string).unwrap_or_default(),
        Err(error) => error.to_string().replace(&folder.path().display().to_string(), "…"),
    }
}

#[tokio::test]
async fn judges_and_agents_come_from_the_nearest_settings() {
    let mock = "endpoints: { local: { kind: mock } }\nroles: { judge: local }\n";
    let broken = "endpoints: { local: { kind: telepathy } }\n";
    let keyless = "endpoints: { far: { url: 'http://h', key: 'env:GABFEST_NO_SUCH_KEY' } }\nroles: { judge: far }\n";
    let agents = "agents: { bot: { kind: mock }, web: { http: { url: 'ftp://h' } } }\nroles: { judge: mock }\n";
    let rows = [
        (mock, None, "conversation \"hours\" passed"),
        ("roles: { judge: mock }", None, "conversation \"hours\" passed"),
        ("slots: 3", None, "…/gabfest.yaml has no `roles.judge`"),
        ("roles: { judge: far }", None, "there is no endpoint \"far\" in …/gabfest.yaml"),
        (
            keyless,
            None,
            "needs a judge, and there is none: the endpoint \"far\" has no key: the variable GABFEST_NO_SUCH",
        ),
        (broken, None, "…/gabfest.yaml:1:"),
        (agents, Some("bot"), "conversation \"hours\" passed"),
        (agents, Some("bob"), "there is no agent \"bob\" in …/gabfest.yaml"),
        (agents, Some("web"), "failed to set up the agent \"web\": "),
    ];
    for (settings, agent, expected) in rows {
        let came = with_settings(settings, agent).await;
        assert!(came.contains(expected), "{settings} {agent:?}: {came}");
    }
}

#[tokio::test]
async fn a_judge_that_breaks_is_not_the_agent_s_fault() {
    let nowhere = r#"{"url": "http://127.0.0.1:9", "retries": {"tries": 1}}"#;
    let error = hours("<names an hour>").against(saying("At six.").0).judge(Judge::behind(nowhere)).try_run().await;
    let Err(Error::Undecided(report)) = error else { panic!("{error:?}") };
    assert!(report.to_string().contains("could not be judged (semantic_condition)"), "{report}");
}

#[tokio::test]
async fn invalid_conversations_are_refused_before_anything_is_played() {
    let asking = || expect::conversation("c").user("Hi");
    let rows: [(Run, &str); 8] = [
        (asking().agent("*").against(Agent::described("interactive: {}")), "agent is a person at the terminal: "),
        (asking().against(saying("x").0), "the conversation ends with the user"),
        (asking().user("Ho").agent("*").against(saying("x").0), "two turns of the user follow each other"),
        (asking().agent(Vec::<String>::new()).against(saying("x").0), "at least one alternative text"),
        (asking().agent("*").against(saying("x").0).times(0), "played 0 times"),
        (asking().agent("*").against(saying("x").0).times(2).required(3), "3 repeats are required to pass, and 2 are"),
        (asking().agent("*").against(Agent::described("http: { uri: x }")), "agent:1:"),
        (asking().agent("*").against(saying("x").0).settings("no/such.yaml"), "no/such.yaml: error: cannot be read"),
    ];
    for (run, expected) in rows {
        let error = run.try_run().await.expect_err(expected);
        assert!(matches!(error, Error::Unplayable { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
