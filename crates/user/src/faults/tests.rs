//! What the labelled lines do not show: severities, limits and the words for the model.

use record::user_fault::{FaultKind, Severity};

use super::{Exchange, Fact, Found, Line, Scene, Tell, examine, reached};

fn turns<'a>(said: &[(&'a str, &'a str)]) -> Vec<Exchange<'a>> {
    said.iter().map(|(user, agent)| Exchange { user: (*user).into(), agent: (*agent).into() }).collect()
}

fn found(say: &str, scene: &Scene<'_>) -> Vec<(FaultKind, Severity)> {
    examine(&Line { say, done: false }, scene).into_iter().map(|fault| (fault.kind, fault.severity)).collect()
}

#[test]
fn the_third_repetition_in_a_row_is_critical() {
    let same = "Could you please send the parcel again?";
    let said = [(same, "It is sent."), (same, "It was sent."), (same, "We did that."), (same, "Yes, we did.")];
    for (turns_before, severity) in [(1, Severity::Minor), (2, Severity::Minor), (3, Severity::Critical)] {
        let earlier = turns(&said[..turns_before]);
        let scene = Scene { earlier: &earlier, ..Scene::default() };
        assert_eq!(found(same, &scene), [(FaultKind::Repetition, severity)], "{turns_before}");
    }
    // An agent that asks the same thing gets the same answer, and short answers are no repetitions.
    let stuck = turns(&[("Hi", "What is your order number?"), (same, "What is your order number?")]);
    assert_eq!(found(same, &Scene { earlier: &stuck, ..Scene::default() }), []);
    let said = turns(&[("Hi", "I see."), (same, "I see."), (same, "I see.")]);
    assert_eq!(found(same, &Scene { earlier: &said[..2], ..Scene::default() }), []);
    assert_eq!(found(same, &Scene { earlier: &said, ..Scene::default() }), [(FaultKind::Repetition, Severity::Minor)]);
    let short = turns(&[("Yes, please do.", "Done."), ("Yes, please do.", "Done.")]);
    assert_eq!(found("Yes, please do.", &Scene { earlier: &short, ..Scene::default() }), []);
}

#[test]
fn an_invented_fact_is_minor_and_found_again_in_the_arguments_of_a_tool() {
    let scene = Scene { wishes: &["get 30 EUR back for order W-4711"], ..Scene::default() };
    assert_eq!(found("It was order B-99123.", &scene), [(FaultKind::InventedFact, Severity::Minor)]);
    for (invented, arguments, is_in) in [
        ("B-99123", r#"{"order":"b99123"}"#, true),
        ("B-99123", r#"{"order":"W-4711"}"#, false),
        ("$149.99", r#"{"amount":149.99}"#, true),
        ("$149.99", r#"{"amount":149}"#, false),
        ("21 March", r#"{"day":"2026-03-21"}"#, true),
        ("21 March", r#"{"day":"2026-03-22"}"#, false),
        ("+49 170 5550199", r#"{"phone":"+491705550199"}"#, true),
    ] {
        assert_eq!(reached(invented, arguments), is_in, "{invented} {arguments}");
    }
}

#[test]
fn what_can_be_computed_of_two_amounts_is_not_invented() {
    let earlier = turns(&[("I paid 50 EUR.", "We can pay 20 EUR back.")]);
    let scene = Scene { earlier: &earlier, ..Scene::default() };
    for (say, expected) in [
        ("And the other 30 EUR?", true),
        ("So 70 EUR in all?", true),
        ("That is 40 EUR for both.", true),
        ("I want 33 EUR.", false),
        ("I paid 1.234,50 EUR.", false),
    ] {
        assert_eq!(found(say, &scene).is_empty(), expected, "{say}");
    }
}

#[test]
fn everyday_numbers_are_not_invented_facts() {
    for say in [
        "I was there from 2019-2023, in room 12.",
        "1500 g, 1080p, 10km, 4G and an iPhone14.",
        "It runs 24/7 at 230V since the 1990s.",
        "Meet me at 10:30, in 45 minutes.",
        "3/6 + 2/6 = 5/6",
    ] {
        assert_eq!(found(say, &Scene::default()), [], "{say}");
    }
}

#[test]
fn words_of_the_instructions_leak_unless_they_are_the_users_own() {
    let instructions = "You are a retired teacher who writes slowly and is careful with money. You want: two tickets \
                        for the night train from Hamburg to Vienna.";
    let wishes = ["two tickets for the night train from Hamburg to Vienna"];
    let instructions = [instructions];
    let scene = Scene { instructions: &instructions, wishes: &wishes, ..Scene::default() };
    let leak = [(FaultKind::Leak, Severity::Critical)];
    assert_eq!(found("I am a retired teacher who writes slowly and is careful with money.", &scene), leak);
    assert_eq!(found("I am a retired teacher who writes a lot.", &scene), []);
    assert_eq!(found("I want two tickets for the night train from Hamburg to Vienna.", &scene), []);
}

#[test]
fn a_secret_that_the_agent_has_said_is_none() {
    let facts = [Fact { name: "animal", value: "penguin", tell: Tell::Never }];
    let (before, after) = (turns(&[("", "Is it a bird?")]), turns(&[("", "Is it a penguin?")]));
    let scene = |earlier| Scene { facts: &facts, earlier, ..Scene::default() };
    assert_eq!(found("It is a penguin!", &scene(&before)), [(FaultKind::Leak, Severity::Critical)]);
    assert_eq!(found("It is a penguin!", &scene(&after)), []);
}

#[test]
fn a_fact_is_asked_for_by_its_words_or_its_name() {
    let asked = ["order number".to_owned()];
    for (words, heard, faults) in [
        (&asked[..], "What is your order number?", 0),
        (&asked[..], "What is the order?", 1),
        (&[], "What is the order?", 0),
        (&[], "Hello!", 1),
    ] {
        let facts = [Fact { name: "order", value: "W-4711", tell: Tell::Asked(words) }];
        let earlier = turns(&[("Hi.", heard)]);
        let scene = Scene { facts: &facts, earlier: &earlier, ..Scene::default() };
        assert_eq!(found("It is W-4711.", &scene).len(), faults, "{words:?} {heard}");
    }
}

#[test]
fn a_language_without_a_code_is_not_examined() {
    let say = "Ich weiß nicht, wie ich das machen soll, bitte helfen Sie mir.";
    for (language, faults) in
        [(None, 0), (Some("de-AT"), 0), (Some("nonsense"), 0), (Some("German"), 0), (Some("fr"), 1), (Some("en"), 1)]
    {
        assert_eq!(found(say, &Scene { language, ..Scene::default() }).len(), faults, "{language:?}");
    }
}

#[test]
fn the_worst_fault_comes_first_and_each_has_a_reason() {
    let scene = Scene { most_words: Some(4), ..Scene::default() };
    let line = Line { say: "How can I help you today, my dear friend?", done: false };
    let faults = examine(&line, &scene);
    let kinds: Vec<_> = faults.iter().map(|fault| (fault.kind, fault.severity)).collect();
    assert_eq!(kinds, [(FaultKind::RoleFlip, Severity::Critical), (FaultKind::TooLong, Severity::Minor)]);
    for kind in FaultKind::ALL {
        let fault = Found { kind, severity: Severity::Minor, evidence: "x".to_owned() };
        assert!(fault.reason().ends_with('.'), "{}", fault.reason());
    }
}

#[test]
fn a_user_that_speaks_in_the_agents_words_is_found() {
    use FaultKind::{Repetition, RoleFlip};
    use Severity::{Critical, Minor};
    let refund = "Thank you. I will refund 30 EUR.";
    let returned = "You can return the item to the store.";
    let lesson = "To add fractions, you need to have a common denominator. Which one?";
    let seat = "The voucher covers it. Which seat number would you like?";
    let sitz = "Das passt. Welchen Platz möchten Sie?";
    let trains = "Good morning! Trains leave at 6:25, at 8:25 and at 12:03. Which one?";
    for (heard, say, expected) in [
        (refund, "I will refund 30 EUR.", &[(RoleFlip, Critical)][..]),
        (refund, "OK, I will refund 30 EUR. Thanks.", &[(RoleFlip, Critical)]),
        (refund, "You will refund 30 EUR? Great.", &[]),
        (refund, "Thank you.", &[]),
        ("Which train?", "Which train?", &[(RoleFlip, Critical)]),
        ("Which train?", "Okay, which train?", &[(RoleFlip, Critical)]),
        ("Which train?", "Which train is faster?", &[]),
        ("Thank you!", "Thank you!", &[]),
        (refund, "You said \"I will refund 30 EUR.\" and nothing came.", &[]),
        ("Ich schaue das gleich nach.", "Ich schaue das gleich nach.", &[(RoleFlip, Critical)]),
        (returned, "You can return the item to the store.", &[(RoleFlip, Critical), (Repetition, Minor)]),
        (returned, "I can return the item to the store.", &[(Repetition, Minor)]),
        (returned, "So I can return the item to the store?", &[]),
        (returned, "The store is too far for me to return the item.", &[]),
        ("There is a train on 12 June at 8:25.", "The one on 12 June at 8:25, please.", &[]),
        (lesson, "To add fractions, you need a common denominator.", &[(RoleFlip, Critical)]),
        (lesson, "Then you need to have a common denominator.", &[(RoleFlip, Critical), (Repetition, Minor)]),
        (seat, "Which seat number do you want?", &[(RoleFlip, Critical)]),
        (seat, "Which seat number would you like me to take?", &[]),
        (seat, "Which seat numbers do you have?", &[]),
        (seat, "Would you like an extra coin for that?", &[]),
        (sitz, "Welchen Platz wollen Sie?", &[(RoleFlip, Critical)]),
        (sitz, "Welchen Platz haben Sie denn noch?", &[]),
        ("Is it a penguin?", "Is it a bird?", &[(RoleFlip, Critical)]),
        ("Is it a penguin?", "Yes! Is it your turn now?", &[]),
        ("Is it plugged in?", "Is it about the plug that came in the box?", &[]),
        ("Is it plugged in?", "Why?", &[]),
        (lesson, "I see. You need to have a common denominator to add fractions?", &[]),
        (lesson, "So I need to have a common denominator.", &[]),
        (
            "I can offer you a voucher of 10 EUR for the delay.",
            "You offered me a voucher of 10 EUR for the delay.",
            &[],
        ),
        (
            "Du kannst den Artikel im Laden abgeben.",
            "Du kannst den Artikel im Laden abgeben.",
            &[(RoleFlip, Critical), (Repetition, Minor)],
        ),
        ("Du kannst den Artikel im Laden abgeben.", "Ich gebe den Artikel dann im Laden ab.", &[]),
        (trains, "Trains leave at 6:25, at 8:25 and at 12:03.", &[(RoleFlip, Critical), (Repetition, Minor)]),
        (trains, "Trains leave at 6:25, at 8:25 and at 12:03. Which one do you want?", &[(RoleFlip, Critical)]),
        (trains, "Trains leave at 6:25, at 8:25 and at 12:03. I'll take the last one, the one at noon.", &[]),
        (trains, "leave at 6:25, at 8:25 and at 12:03", &[(Repetition, Minor)]),
        (trains, "Then at 8:25, not at 6:25 and not at 12:03.", &[]),
    ] {
        let earlier = turns(&[("Hi, my order of 30 EUR arrived broken.", heard)]);
        assert_eq!(found(say, &Scene { earlier: &earlier, ..Scene::default() }), expected, "{say}");
    }
}

#[test]
fn asking_what_the_other_side_wants_is_the_assistants_part() {
    let earlier = turns(&[("What can I cook?", "You can cook spaghetti.")]);
    let scene = Scene { earlier: &earlier, ..Scene::default() };
    assert_eq!(found("How many servings do you want?", &scene), [(FaultKind::RoleFlip, Severity::Critical)]);
    assert_eq!(found("How many photos do you need?", &scene), []);
    let lecture = "To add them you need a common denominator. So you can rewrite 1/2 as 3/6, and now you can add.";
    assert_eq!(found(lecture, &scene), [(FaultKind::RoleFlip, Severity::Critical)]);
    assert_eq!(found("So you can do that today?", &scene), []);
    let scene = Scene { wishes: &["to understand how to add 1/2 and 1/3", "to know the sum"], ..scene };
    for (say, is_flip) in [
        ("To add fractions, find a common denominator, then add the numerators.", true),
        ("To add fractions I have to find something common?", false),
        ("To add them do you need a common number?", false),
        ("To Bergen on the next day, for one person.", false),
        ("To add.", false),
        ("To know the sum, you need to look at both numbers.", true),
        ("To know the sum is what everybody here wants.", false),
    ] {
        assert_eq!(!found(say, &scene).is_empty(), is_flip, "{say}");
    }
}
