//! What a judge sees besides the turns: instructions, goal, opening, end state, a reference, a policy, images.

use record::Finding;
use scenario::{
    Action, Check, Message, Step,
    check::{Expected, GoalReached, JudgeSees, Judging, Policy, Rule},
    message::{Part, Speaker},
};
use serde_json::json;

use crate::fakes::{Folder, Judges, Scene, asks, check, judged, turn};

fn judging(sees: &[JudgeSees]) -> Judging {
    Judging { sees: sees.to_vec(), ..Judging::USUAL }
}

fn image(address: &str) -> Message {
    Message { speaker: Speaker::User, parts: vec![Part::Text("Look.".to_owned()), Part::Image(address.to_owned())] }
}

fn say(messages: Vec<Message>) -> Step {
    Step { name: None, action: Action::Say { messages, expected: None, timeout_ms: 1 }, checks: Vec::new(), line: 1 }
}

fn scene() -> Scene {
    let folder = Folder {
        state: json!({ "mocks": { "order": "refu\u{200b}nded" } }),
        system: Some("Refund at most 30 EUR."),
        goal: Some("get 30 EUR back"),
        opening: vec![Message::text_of(Speaker::System, "Be kind."), Message::user("It is about order 7.")],
        ..Folder::default()
    };
    Scene { folder, ..Scene::replied("You get 30 EUR back.") }
}

/// The whole prompt, its material, and the digests of the answer and of the judge.
async fn asked(scene: &Scene, judging: Judging) -> (llm::Message, String, [String; 2]) {
    let judges = Judges::saying([judged("yes", 0.9)]);
    let check = Check { judging, ..check(Rule::LlmJudge(asks("Is it right?", Expected::Yes))) };
    let judgment = scene.judge_by(&evaluate::compile(&check).unwrap(), &judges).await;
    assert_eq!(judgment.finding, Finding::Pass, "{}", judgment.reason);
    let message = judges.requests().remove(0).messages.remove(1);
    let (_, material) = message.content.split_once("<<<material ").unwrap();
    let (material, _) = material.split_once("\nmaterial ").unwrap();
    let ballot = &judgment.ballots[0];
    let digests = [ballot.digest.clone(), ballot.judge.clone()];
    (message.clone(), material.split_once('\n').unwrap().1.to_owned(), digests)
}

#[tokio::test]
async fn a_judge_sees_what_the_check_names_and_nothing_else() {
    use JudgeSees::{EndState, Goal, Opening, System};
    let rows: [(&[JudgeSees], serde_json::Value, &str); 5] = [
        (&[], json!({}), ""),
        (&[System], json!({ "agent_instructions": "Refund at most 30 EUR." }), "the agent's system prompt"),
        (&[Goal], json!({ "user_goal": ["get 30 EUR back"] }), "what the user wants"),
        (
            &[Opening],
            json!({ "before_the_first_turn": [{ "system": "Be kind." }, { "user": "It is about order 7." }] }),
            "was said before the turns",
        ),
        (
            &[EndState],
            json!({ "end_state": [{ "of": "mocks", "state": { "order": "refunded" } }] }),
            "it shows what happened, whatever was said",
        ),
    ];
    let mut digests = Vec::new();
    for (sees, expected, legend) in rows {
        let (message, material, [answer, judge]) = asked(&scene(), judging(sees)).await;
        let mut material: serde_json::Value = serde_json::from_str(&material).unwrap();
        assert_eq!(material["turns"][0]["agent"], "You get 30 EUR back.");
        material.as_object_mut().unwrap().remove("turns");
        assert_eq!(material, expected, "{sees:?}");
        let before = message.content.split_once("<<<material ").unwrap().0;
        assert!(before.contains(legend) && before.contains("In the material") != sees.is_empty(), "{before}");
        digests.push((answer, judge));
    }
    let judge = &digests[0].1;
    assert!(digests.iter().all(|(_, other)| other == judge), "a calibration holds whatever the judge sees");
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 5, "answers about other material are not comparable");
}

#[tokio::test]
async fn what_is_not_known_is_null_and_not_left_out() {
    let (_, material, _) = asked(&Scene::replied("Hi there."), judging(&[JudgeSees::System, JudgeSees::Goal])).await;
    assert!(material.starts_with(r#"{"agent_instructions":null,"user_goal":null,"turns":"#), "{material}");
}

#[tokio::test]
async fn a_policy_and_a_reference_are_of_the_author_and_stand_before_the_material() {
    let usual = asked(&scene(), Judging::USUAL).await.2;
    let policy = Policy { path: "refunds.md".to_owned(), text: "Never more than 30 EUR.\n".to_owned() };
    let given = Judging { policy: Some(policy), reference: Some("It names the amount.".to_owned()), ..Judging::USUAL };
    let (message, material, digests) = asked(&scene(), given).await;
    let text = &message.content;
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    let order = [
        at("Question: "),
        at("Rules that the agent must follow:\nNever more than 30 EUR.\n\n"),
        at("What a good answer says, maybe in other words:\nIt names the amount.\n\n"),
        at("<<<material"),
    ];
    assert!(order.is_sorted(), "{text}");
    assert!(!material.contains("Never more") && !material.contains("names the amount"), "{material}");
    assert!(digests[0] != usual[0] && digests[1] == usual[1], "{digests:?} {usual:?}");
}

#[tokio::test]
async fn images_of_the_user_are_attached_and_named_in_their_turn() {
    let steps = vec![say(vec![Message::user("Hello")]), say(vec![image("https://h/a.png"), image("https://h/b.png")])];
    let turns = [("Hello", "Hi."), ("Look.\nLook.", "Two cats.")];
    let turns = (1_u32..).zip(turns).map(|(number, (user, agent))| record::Turn {
        number,
        step: number,
        speaker: record::turn::Origin::Scripted,
        ..turn(user, agent)
    });
    let opening = vec![image("https://h/0.png")];
    let folder = Folder { opening, ..Folder::default() };
    let scene = Scene { steps, folder, ..Scene::talked(turns.collect()) };
    let (message, material, _) = asked(&scene, Judging::USUAL).await;
    assert_eq!(message.images, ["https://h/a.png", "https://h/b.png"]);
    let material: serde_json::Value = serde_json::from_str(&material).unwrap();
    assert_eq!((&material["turns"][0]["images"], &material["turns"][1]["images"]), (&json!(null), &json!([1, 2])));
    assert!(message.content.contains("attached in this order"), "{}", message.content);
    let (message, material, _) = asked(&scene, judging(&[JudgeSees::Opening])).await;
    assert_eq!(message.images, ["https://h/0.png", "https://h/a.png", "https://h/b.png"]);
    assert!(
        material.contains(r#"{"user":"Look.","images":[1]}"#) && material.contains(r#""images":[2,3]"#),
        "{material}"
    );
}

/// An image takes its share of the context, however long its address is.
#[tokio::test]
async fn images_count_as_images_where_turns_are_shortened() {
    let address = format!("data:image/png;base64,{}", "A".repeat(200_000));
    let words = "word ".repeat(400);
    let turns = (1_u32..=3).map(|number| record::Turn {
        number,
        step: number,
        speaker: record::turn::Origin::Scripted,
        ..turn("Look.", &words)
    });
    let steps = vec![say(vec![image(&address)]), say(vec![Message::user("Look.")]), say(Vec::new())];
    let scene = Scene { steps, ..Scene::talked(turns.collect()) };
    for (room, shortened) in [(20_000, 0), (11_000, 1)] {
        let judges = Judges::saying([judged("yes", 0.9)]).with_room(room);
        let judgment = scene.judge(Rule::LlmJudge(asks("Is it right?", Expected::Yes)), &judges).await;
        assert_eq!(judgment.ballots[0].shortened_turns, shortened, "{room}");
        assert_eq!(judges.requests()[0].messages[1].images.len(), 1);
    }
}

#[tokio::test]
async fn the_end_state_and_the_opening_can_be_quoted() {
    let quoting = |turn: u64, who: &str, text: &str| {
        json!({
            "reasoning": "because", "quotes": [{ "turn": turn, "who": who, "text": text }],
            "judgment": "yes", "confidence": 0.9,
        })
        .to_string()
    };
    let rows = [
        (quoting(1, "tool", "refunded"), true),
        (quoting(0, "user", "It is about order 7"), true),
        (quoting(1, "agent", "refunded"), false),
        (quoting(1, "agent", "Refund at most 30 EUR."), false),
    ];
    for (reply, found) in rows {
        let judges = Judges::saying([reply.clone(), reply.clone()]);
        let judging = judging(&[JudgeSees::EndState, JudgeSees::Opening, JudgeSees::System]);
        let check = Check { judging, ..check(Rule::LlmJudge(asks("Is it right?", Expected::Yes))) };
        let judgment = scene().judge_by(&evaluate::compile(&check).unwrap(), &judges).await;
        assert_eq!(judgment.finding == Finding::Pass, found, "{reply}: {}", judgment.reason);
    }
}

#[tokio::test]
async fn a_goal_can_be_judged_by_the_end_state() {
    let part = scenario::user::Part {
        id: "refund".to_owned(),
        text: "30 EUR back".to_owned(),
        after: Vec::new(),
        done_when: None,
    };
    let rule = Rule::GoalReached(GoalReached { goal: vec![part], parts: Default::default(), model_type: None });
    let judges = Judges::saying([judged("yes", 0.9)]);
    let check = Check { judging: judging(&[JudgeSees::EndState]), ..check(rule) };
    let judgment = scene().judge_by(&evaluate::compile(&check).unwrap(), &judges).await;
    assert_eq!(judgment.finding, Finding::Pass, "{}", judgment.reason);
    assert!(judges.requests()[0].messages[1].content.contains(r#""end_state":[{"of":"mocks""#));
}

/// A tool that refuses has done nothing for the user, and neither has a tool that does not exist.
#[tokio::test]
async fn a_call_that_failed_reaches_no_goal() {
    let done_when = serde_json::from_value(json!({ "tool": "refund" })).unwrap();
    let part = scenario::user::Part {
        id: "a".to_owned(),
        text: "b".to_owned(),
        after: Vec::new(),
        done_when: Some(done_when),
    };
    let rule = Rule::GoalReached(GoalReached { goal: vec![part], parts: Default::default(), model_type: None });
    let evaluator = evaluate::compile(&check(rule)).unwrap();
    for (results, expected) in [
        (&[r#"{"error":"DENIED: no","status":403}"#][..], Finding::Fail),
        (&[r#"{"error":"there is no tool","tools":[]}"#, r#"{"error":true}"#], Finding::Fail),
        (&[r#"{"error":"DENIED: no"}"#, r#"{"ok":true,"error":null}"#], Finding::Pass),
        (&["error: none"], Finding::Pass),
    ] {
        let call = |result: &&str| record::turn::ToolCall {
            id: String::new(),
            name: "refund".to_owned(),
            arguments: "{}".to_owned(),
            result: Some((*result).to_owned()),
        };
        let mut played = turn("Refund, please", "Done.");
        played.tool_calls = results.iter().map(call).collect();
        let scene = Scene { turns: vec![played], ..scene() };
        let judgment = scene.judge_by(&evaluator, &Judges::default()).await;
        assert_eq!(judgment.finding, expected, "{results:?}: {}", judgment.reason);
    }
}
