//! An agent that writes text beside a tool call and then answers: which evaluations look at which text.

use evaluate::question::Material;
use record::{
    Finding, Turn,
    turn::{Said, ToolCall},
};
use scenario::check::{self, Rule};

use crate::fakes::{Judges, Scene, check, contains, judged, matches, turn};

fn said(text: &str, tool_calls_before: u32) -> Said {
    Said { text: text.to_owned(), tool_calls_before }
}

fn two_messages() -> Turn {
    let call = ToolCall {
        id: "1".to_owned(),
        name: "lookup".to_owned(),
        arguments: r#"{"order":7}"#.to_owned(),
        result: Some("sent".to_owned()),
    };
    let messages = vec![said("Your secret is safe, one moment.", 0), said("It comes on Monday.", 1)];
    Turn { messages, tool_calls: vec![call], ..turn("Where is my order?", "It comes on Monday.") }
}

fn scene() -> Scene {
    Scene { reply: "It comes on Monday.".to_owned(), turns: vec![two_messages()], ..Scene::default() }
}

#[tokio::test]
async fn a_text_is_found_in_any_message() {
    let all = |values: &[&str]| {
        Rule::Contains(check::Contains {
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            any: false,
            ignore_case: true,
        })
    };
    let equals = |text: &str| Rule::Equals(check::Equals { values: vec![text.to_owned()], ignore_case: false });
    let starts = |text: &str| Rule::StartsWith(check::StartsWith { values: vec![text.to_owned()], ignore_case: false });
    let rows = [
        (contains("secret"), Finding::Pass),
        (contains("Monday"), Finding::Pass),
        (contains("lookup"), Finding::Fail),
        (all(&["one moment", "monday"]), Finding::Pass),
        (matches("secret.*moment"), Finding::Pass),
        // The start and end of the answer match too.
        (matches("^It comes on Monday.$"), Finding::Pass),
        (matches("(?s)^Your secret.*Monday.$"), Finding::Pass),
        // Only the answer is compared as a whole.
        (equals("It comes on Monday."), Finding::Pass),
        (starts("It"), Finding::Pass),
        (starts("Your"), Finding::Fail),
    ];
    for (rule, expected) in rows {
        assert_eq!(scene().finding(rule.clone()).await, expected, "{rule:?}");
    }
    let hidden = evaluate::compile(&check(contains("secret")).negated()).unwrap();
    let judgment = scene().judge_by(&hidden, &Judges::default()).await;
    assert_eq!(judgment.finding, Finding::Fail, "what must not be said must not be said beside a tool call either");
}

#[tokio::test]
async fn judges_see_every_message_and_call_in_order() {
    let material = format!("{:?}", Material::of_turns(&[two_messages()], &[]));
    let places: Vec<usize> = ["secret", "lookup", "sent", "on Monday"]
        .map(|part| material.find(part).unwrap_or_else(|| panic!("{part} in {material}")))
        .to_vec();
    assert!(places.is_sorted(), "{material}");
    assert_eq!(material.matches("on Monday").count(), 1, "{material}");
    let judges = Judges::saying([judged("yes", 0.9)]);
    let condition = Rule::SemanticCondition(check::SemanticCondition { condition: "keeps a secret".to_owned() });
    scene().judge(condition, &judges).await;
    assert!(judges.requests()[0].messages[1].content.contains("Your secret is safe"));
}
