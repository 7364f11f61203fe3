//! Edge cases of the evaluators that ask nobody: empty, huge and odd replies, files, commands, names, words.

use evaluate::{Error, subject::CommandOutput};
use record::{FailureKind, Finding, turn::Origin, turn::ToolCall};
use scenario::check::{
    self, Expected, Rule, SatisfactionMethod,
    bounded::{Count, ExitCode, Millis, Share},
};
use tokio::time::{Duration, Instant};

use crate::fakes::{Folder, Judges, Scene, asks, check, compiled, contains, matches, turn};

#[tokio::test]
async fn a_judgment_says_what_was_checked() {
    let judgment = Scene::replied("hello").judge(contains("hello"), &Judges::default()).await;
    assert_eq!(judgment.check, "string_contains");
    assert_eq!(judgment.description.as_deref(), Some("as written"));
    assert_eq!((judgment.line, judgment.scope), (7, crate::fakes::SCOPE));
}

#[tokio::test]
async fn texts() {
    let cased =
        |value: &str| Rule::StringContains(check::StringContains { value: value.to_owned(), case_sensitive: true });
    let rows = [
        ("", contains("a"), false),
        ("", contains(""), true),
        ("", matches("^$"), true),
        ("Straße nach KÖLN", contains("köln"), true),
        ("Straße nach KÖLN", cased("köln"), false),
        ("Straße nach KÖLN", cased("KÖLN"), true),
        ("ПРИВЕТ", contains("привет"), true),
        ("你好，世界", contains("世界"), true),
        ("a 😀 b", contains("😀"), true),
        ("cost is $5 (five)", contains("$5 (FIVE)"), true),
        ("cost is 95", contains("$5"), false),
        ("line one\nline two", matches("one.line"), false),
        ("line one\nline two", matches("^line two"), false),
        ("line one\nline two", matches("(?m)^LINE TWO$"), true),
        ("order #1234", matches(r"#\d{4}\b"), true),
        ("a\0b", contains("\0"), true),
    ];
    for (reply, rule, passes) in rows {
        let expected = if passes { Finding::Pass } else { Finding::Fail };
        assert_eq!(Scene::replied(reply).finding(rule.clone()).await, expected, "{reply:?} {rule:?}");
    }
}

#[test]
fn what_does_not_compile() {
    let schema = |schema: serde_json::Value| {
        let mut rule = asks("Is it?", Expected::Yes);
        rule.json_schema = Some(schema);
        Rule::LlmJudge(rule)
    };
    let rows = [
        (matches("("), "compile the pattern"),
        (matches(r"(a)\1"), "compile the pattern"),
        (matches("(?=a)"), "compile the pattern"),
        (matches("a{1000}{1000}{1000}"), "compile the pattern"),
        (contains(&"ä".repeat(2 << 20)), "too long"),
        (schema(serde_json::json!({ "type": 5 })), "json_schema"),
        (schema(serde_json::json!({ "$ref": "https://example.com/s.json" })), "json_schema"),
        (schema(serde_json::json!({ "$ref": "file:///etc/passwd" })), "json_schema"),
        (schema(serde_json::json!({ "pattern": "(?<!a)b" })), "json_schema"),
        (
            Rule::ConversationFlow(check::ConversationFlow {
                required_patterns: vec![],
                flow_quality_threshold: Share(0.7),
            }),
            "required_patterns",
        ),
        (
            Rule::ContextRetention(check::ContextRetention {
                test_memory_of: vec![" ".to_owned()],
                retention_turns: Count(3),
                memory_accuracy_threshold: Share(0.8),
            }),
            "test_memory_of",
        ),
    ];
    let longest = ["é", "k", "ǆ", "{"].map(|letter| contains(&letter.repeat((32 << 10) / letter.len())));
    for rule in longest {
        assert!(evaluate::compile(&check(rule)).is_ok(), "the longest text that is allowed compiles");
    }
    for (rule, part) in rows {
        let error: Error = evaluate::compile(&check(rule.clone())).unwrap_err();
        assert!(error.to_string().contains(part), "{error} for {}", rule.kind());
    }
}

/// Patterns that take exponential or quadratic time in other engines, on texts that a hostile agent may send.
#[tokio::test]
async fn a_huge_reply_stays_fast() {
    let scene = Scene::replied(&"a".repeat(5 << 20));
    let rows = [
        (contains("needle"), Finding::Fail),
        (contains("ab"), Finding::Fail),
        (matches("(a+)+$x"), Finding::Fail),
        (matches("(a|aa)+b"), Finding::Fail),
        (matches("a$"), Finding::Pass),
    ];
    for (rule, expected) in rows {
        let evaluator = compiled(rule.clone());
        let begun = Instant::now();
        let judgment = scene.judge_by(&evaluator, &Judges::default()).await;
        assert_eq!(judgment.finding, expected, "{rule:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{rule:?} took {:?} unoptimised", begun.elapsed());
        assert!(judgment.reason.len() < 1_000);
    }
    let everything = scene.judge(matches("a+"), &Judges::default()).await;
    assert!(everything.evidence.unwrap().len() < 5_000, "evidence is an excerpt");
}

#[tokio::test]
async fn files() {
    let exists = |path: &str| Rule::FileExists(check::FileExists { path: path.to_owned() });
    let holds = |path: &str, value: &str| {
        Rule::FileContains(check::FileContains { path: path.to_owned(), value: value.to_owned() })
    };
    let escapes = (Finding::Error, Some(FailureKind::Misconfigured));
    let rows = [
        (exists("a.txt"), (Finding::Pass, None)),
        (exists("./a.txt"), (Finding::Pass, None)),
        (exists("b.txt"), (Finding::Fail, None)),
        (exists("dir/c.txt"), (Finding::Pass, None)),
        (exists("../a.txt"), escapes),
        (exists("/etc/passwd"), escapes),
        (exists(""), (Finding::Fail, None)),
        (holds("a.txt", "Total: 5"), (Finding::Pass, None)),
        (holds("./a.txt", "Total: 5"), (Finding::Pass, None)),
        (holds("a.txt", "total: 5"), (Finding::Fail, None)),
        (holds("b.txt", "Total"), (Finding::Fail, None)),
        (holds("../a.txt", "Total"), escapes),
    ];
    let mut scene = Scene::replied("done");
    scene.folder.files.insert("a.txt".to_owned(), "Total: 5\n".to_owned());
    scene.folder.files.insert("./dir/c.txt".to_owned(), String::new());
    for (rule, expected) in rows {
        let judgment = scene.judge(rule.clone(), &Judges::default()).await;
        assert_eq!((judgment.finding, judgment.failure), expected, "{rule:?}: {}", judgment.reason);
    }
}

#[tokio::test]
async fn commands() {
    let ended = |exit_code, stderr: &str| {
        Some(Ok(CommandOutput { exit_code, stdout: "out".to_owned(), stderr: stderr.to_owned() }))
    };
    let rows = [
        (ended(0, ""), 0, (Finding::Pass, None), Some("out")),
        (ended(1, "bad"), 0, (Finding::Fail, None), Some("bad")),
        (ended(3, ""), 3, (Finding::Pass, None), Some("out")),
        (None, 0, (Finding::Error, Some(FailureKind::ExecutionNotAllowed)), None),
        (Some(Err("no such program".to_owned())), 0, (Finding::Error, Some(FailureKind::EnvironmentFailed)), None),
    ];
    for (command, expected_code, expected, evidence) in rows {
        let folder = Folder { command: command.clone(), ..Folder::default() };
        let scene = Scene { folder, ..Scene::replied("done") };
        let rule = Rule::CommandExitCodeIs(check::CommandExitCodeIs {
            command: "make test".to_owned(),
            expected_code: ExitCode(expected_code),
        });
        let judgment = scene.judge(rule, &Judges::default()).await;
        assert_eq!((judgment.finding, judgment.failure), expected, "{command:?}");
        assert_eq!(judgment.evidence.as_deref(), evidence, "{command:?}");
    }
}

#[tokio::test]
async fn actions() {
    let mut first = turn("list the issues", "one moment");
    first.tool_calls.push(ToolCall {
        id: "1".to_owned(),
        name: "LIST_GITHUB_ISSUES".to_owned(),
        arguments: "{}".to_owned(),
        result: None,
    });
    let mut second = turn("and now?", "done");
    second.actions.push("reply".to_owned());
    let scene = Scene::talked(vec![first, second]);
    let rows = [
        ("LIST_GITHUB_ISSUES", true),
        ("list_github_issues", true),
        ("listGithubIssues", true),
        ("list-github issues", true),
        ("REPLY", true),
        ("LIST_GITHUB", false),
        ("GITHUB_ISSUES", false),
        ("IGNORE", false),
    ];
    for (action, passes) in rows {
        let rule = Rule::TrajectoryContainsAction(check::TrajectoryContainsAction { action: action.to_owned() });
        let expected = if passes { Finding::Pass } else { Finding::Fail };
        assert_eq!(scene.finding(rule).await, expected, "{action}");
    }
    let rule = Rule::TrajectoryContainsAction(check::TrajectoryContainsAction { action: "SEND".to_owned() });
    let judgment = scene.judge(rule.clone(), &Judges::default()).await;
    assert!(judgment.reason.contains("LIST_GITHUB_ISSUES, reply"), "{}", judgment.reason);
    let judgment = Scene::replied("hello").judge(rule, &Judges::default()).await;
    assert!(judgment.reason.contains("no tool calls"), "{}", judgment.reason);
}

#[tokio::test]
async fn times() {
    let rule = |max, min: Option<u64>, target: Option<u64>| {
        Rule::ExecutionTime(check::ExecutionTime {
            max_duration_ms: Millis(max),
            min_duration_ms: min.map(Millis),
            target_duration_ms: target.map(Millis),
        })
    };
    let rows = [
        (1_000, rule(1_000, Some(1_000), None), Finding::Pass, "took 1000 ms"),
        (1_001, rule(1_000, None, None), Finding::Fail, "above"),
        (99, rule(1_000, Some(100), None), Finding::Fail, "below the minimum of 100 ms"),
        (750, rule(1_000, None, Some(500)), Finding::Pass, "rating 0.50"),
        (5, rule(10, None, Some(0)), Finding::Pass, "rating 5.00"),
    ];
    for (duration_ms, rule, finding, part) in rows {
        let scene = Scene { duration_ms: Some(duration_ms), ..Scene::replied("done") };
        let judgment = scene.judge(rule, &Judges::default()).await;
        assert_eq!((judgment.finding, judgment.score), (finding, None), "{}", judgment.reason);
        assert!(judgment.reason.contains(part), "{}", judgment.reason);
    }
}

#[tokio::test]
async fn lengths_at_the_bounds() {
    let rows = [(2, Finding::Fail), (3, Finding::Pass), (7, Finding::Pass), (8, Finding::Fail)];
    for (count, finding) in rows {
        let scene = Scene::talked((0..count).map(|_| turn("a", "b")).collect());
        let bounds = Rule::ConversationLength(check::ConversationLength {
            min_turns: Some(Count(3)),
            max_turns: Some(Count(7)),
            optimal_turns: None,
            target_range: None,
        });
        let range = Rule::ConversationLength(check::ConversationLength {
            min_turns: None,
            max_turns: None,
            optimal_turns: Some(Count(5)),
            target_range: Some((Count(3), Count(7))),
        });
        assert_eq!(scene.finding(bounds).await, finding, "{count} turns");
        assert_eq!(scene.finding(range).await, finding, "{count} turns");
    }
}

#[tokio::test]
async fn words_of_the_user() {
    let list = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let rows = [
        // The agent's messages never count, and neither does a program's output.
        (vec![turn("hm", "Great! Perfect! Thank you!")], None, None, 0.5),
        // Whole words, in any case.
        (vec![turn("the greater good", "-")], list(&["great"]), list(&["bad"]), 0.5),
        (vec![turn("GREAT", "-")], list(&["great"]), list(&["bad"]), 1.0),
        // A negated phrase counts once, with its negated meaning.
        (vec![turn("this is not helpful", "-")], None, None, 0.0),
        (vec![turn("It didn’t help at all", "-")], None, None, 0.0),
        (vec![turn("thank\n you", "-")], list(&["thank you"]), list(&[]), 1.0),
        (vec![turn("all good :) :)", "-")], list(&[":)"]), list(&["good"]), 2.0 / 3.0),
        (vec![turn("good, good, bad", "-")], list(&["good"]), list(&["bad"]), 2.0 / 3.0),
        (vec![turn("good", "-")], list(&[]), list(&["", " "]), 0.5),
        (vec![turn("schön", "-")], list(&["schö"]), list(&[]), 0.5),
        (vec![turn("", "-")], None, None, 0.5),
    ];
    for (turns, positive, negative, score) in rows {
        let said = turns[0].user.clone();
        let rule = |method| {
            Rule::UserSatisfaction(check::UserSatisfaction {
                satisfaction_threshold: 0.5,
                positive: positive.clone(),
                negative: negative.clone(),
                method,
            })
        };
        let scene = Scene::talked(turns);
        let judgment = scene.judge(rule(SatisfactionMethod::KeywordAnalysis), &Judges::default()).await;
        assert_eq!(judgment.score, Some(score), "{said:?}: {}", judgment.reason);
        assert_eq!(judgment.finding == Finding::Pass, score >= 0.5, "{said:?}");
    }
    let mut program = turn("perfect", "0");
    program.speaker = Origin::Program;
    let rule = Rule::UserSatisfaction(check::UserSatisfaction {
        satisfaction_threshold: 0.6,
        positive: None,
        negative: None,
        method: SatisfactionMethod::KeywordAnalysis,
    });
    let judgment = Scene::talked(vec![program]).judge(rule.clone(), &Judges::default()).await;
    assert_eq!(judgment.score, Some(0.5));
    let nothing = Scene::talked(Vec::new()).judge(rule, &Judges::default()).await;
    assert_eq!((nothing.finding, nothing.failure), (Finding::Error, Some(FailureKind::Misconfigured)));
}

/// They run after every turn. The goal is 2 µs in a release build; this debug build only catches differences of an
/// order of magnitude, such as compiling a pattern for every reply.
#[tokio::test]
async fn cheap_checks_are_cheap() {
    let scene = Scene::replied(&"I can certainly look into that for you, one moment please. ".repeat(8));
    for rule in [contains("moment"), contains("refund"), matches(r"look\s+into"), matches(r"ref[a-z]+d")] {
        let evaluator = compiled(rule.clone());
        let judges = Judges::default();
        let mut best = Duration::MAX;
        for _ in 0..20 {
            let begun = Instant::now();
            for _ in 0..50 {
                scene.judge_by(&evaluator, &judges).await;
            }
            best = best.min(begun.elapsed() / 50);
        }
        assert!(best < Duration::from_micros(200), "{rule:?}: {best:?}");
        println!("{best:?} a judgment: {rule:?}");
    }
}
