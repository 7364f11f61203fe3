//! Rows of the evaluations that measure meaning, and of those that look at a whole conversation.

use record::Finding::{Error, Fail, Inconclusive, NotApplicable, Pass};

use super::{Row, Says, Seen, asked, row, seen};

const RED: Seen = Seen::Reply("This automobile is red");
const TALK: Seen =
    Seen::Talk(&[("My order 4711 is late", "I am sorry. It arrives today."), ("Thanks, perfect!", "Welcome.")]);
const REFUNDED: Seen = Seen::Calls(&[("refund_create", "{\"eur\": 30.0, \"order\": 7}", None)]);
const MAILED: Seen = Seen::Talk(&[("Where is it?", "I have SENT  a mail.")]);
const RUBRIC: &str = "type: rubric\ncriteria:\n  - {name: polite, text: The agent is polite throughout.}\n  - {name: solves, text: The problem is solved., weight: 3}";

pub(super) const ROWS: &[Row] = &[
    asked("type: semantic_condition\ncondition: It names a colour", RED, &[Says::Yes], Pass, "meets the condition"),
    asked("type: semantic_condition\ncondition: It names a price", RED, &[Says::No], Fail, "does not meet"),
    asked(
        "type: semantic_condition\ncondition: It names a price",
        RED,
        &[Says::Prose, Says::Prose, Says::Prose],
        Inconclusive,
        "failed to understand the judge in 3 tries",
    ),
    asked(
        "type: semantic_condition\ncondition: It names a price",
        RED,
        &[Says::Word("cannot_tell")],
        Inconclusive,
        "cannot tell",
    ),
    asked("type: semantic_similar\nexpected: [The car is red]", RED, &[Says::Yes], Pass, "means the same"),
    asked("type: semantic_similar\nexpected: [The car is blue]", RED, &[Says::No], Fail, "does not mean the same"),
    asked(
        "type: semantic_similar\nexpected: [The car is red]\nthreshold: 0.95",
        RED,
        &[Says::Yes],
        Fail,
        "required 0.95",
    ),
    row("type: semantic_similar\nexpected: [this automobile is RED]", "This automobile is red", Pass, "word for word"),
    asked("type: similarity\nexpected: [The car is red]\nthreshold: 0.8", RED, &[Says::Alike(0.85)], Pass, "0.850"),
    asked(
        "type: similarity\nexpected: [A dog, The car is blue]",
        RED,
        &[Says::Alike(0.1), Says::Alike(0.6)],
        Fail,
        "0.600 like \"The car is blue\"",
    ),
    asked("type: llm_judge\nprompt: Is the reply friendly?\nexpected: 'yes'", RED, &[Says::Yes], Pass, "expected yes"),
    asked("type: llm_judge\nprompt: Is the reply friendly?\nexpected: 0.8+", RED, &[Says::No], Fail, "at least 0.8"),
    asked(
        RUBRIC,
        TALK,
        &[Says::Mark("not_met"), Says::Mark("met")],
        Pass,
        "rubric 75.0%, required 70.0%: \"polite\" is not met",
    ),
    asked(RUBRIC, TALK, &[Says::Mark("met"), Says::Mark("partly")], Fail, "rubric 62.5%"),
    asked(
        "type: rubric\nvotes: 3\ncriteria: [{name: polite}]",
        TALK,
        &[Says::Mark("met"), Says::Mark("not_met"), Says::Mark("met")],
        Pass,
        "rubric 100.0%, required 70.0%, by 3 of 3 votes",
    ),
    asked(
        "type: rubric\npanel: [TEXT_SMALL, TEXT_MEDIUM, TEXT_LARGE]\ncriteria: [{name: polite}]",
        TALK,
        &[Says::Mark("met"), Says::Mark("not_met"), Says::Mark("not_met")],
        Fail,
        "rubric 0.0%",
    ),
    asked(
        "type: rubric\nvotes: 3\ncriteria: [{name: polite}]",
        TALK,
        &[Says::Mark("met"), Says::Mark("partly"), Says::Mark("not_met")],
        Inconclusive,
        "\"polite\": the votes tie",
    ),
    asked(RUBRIC, TALK, &[Says::Mark("not_applicable"), Says::Mark("met")], Pass, "rubric 100.0%"),
    asked(
        RUBRIC,
        TALK,
        &[Says::Mark("not_applicable"), Says::Mark("not_applicable")],
        NotApplicable,
        "no criterion of the rubric applies",
    ),
    asked(RUBRIC, TALK, &[Says::Mark("cannot_tell"), Says::Mark("met")], Pass, "rubric 75.0% to 100.0%"),
    asked(RUBRIC, TALK, &[Says::Mark("met"), Says::Mark("cannot_tell")], Inconclusive, "rubric 25.0% to 100.0%"),
    asked(
        "type: rubric\nbatch: true\ncriteria: [{name: polite}, {name: solves}]",
        TALK,
        &[Says::Sheet(&["not_met", "met"])],
        Fail,
        "rubric 50.0%",
    ),
    asked(
        "type: rubric\ncriteria: [{name: warmth, anchors: {1: cold, 2: neutral, 3: warm}}]",
        TALK,
        &[Says::Point(3)],
        Pass,
        "rubric 100.0%",
    ),
    asked(
        "type: rubric\npanel: [A, B, C]\ncriteria:\n  - {name: solves, weight: 9}\n  - {name: safe, blocking: true}",
        TALK,
        &[
            Says::Mark("met"),
            Says::Mark("met"),
            Says::Mark("met"),
            Says::Mark("not_met"),
            Says::Mark("not_met"),
            Says::Mark("met"),
        ],
        Fail,
        "blocked by \"safe\"",
    ),
    asked(
        "type: rubric\ncriteria: [{name: polite}]",
        TALK,
        &[Says::Mark("great"), Says::Prose, Says::Sheet(&["met"])],
        Inconclusive,
        "failed to understand the judge",
    ),
    seen("type: conversation_length\nmin_turns: 1\nmax_turns: 3", TALK, Pass, "2 turns"),
    seen("type: conversation_length\nmax_turns: 1", TALK, Fail, "above maximum of 1"),
    asked("type: conversation_flow\nrequired_patterns: [question_then_answer]", TALK, &[Says::Yes], Pass, ""),
    asked("type: conversation_flow\nrequired_patterns: [question_then_answer]", TALK, &[Says::No], Fail, ""),
    asked(
        "type: conversation_flow\nrequired_patterns: [question_then_answer, empathy_then_solution]",
        TALK,
        &[Says::Yes, Says::Word("cannot_tell")],
        Inconclusive,
        "1 of 2 patterns seen (50.0% to 100.0%), required 70.0%",
    ),
    asked(
        "type: conversation_flow\nrequired_patterns: [question_then_answer, escalation_pattern]",
        TALK,
        &[Says::Yes, Says::Word("not_applicable")],
        Pass,
        "1 of 1 patterns seen (100.0%)",
    ),
    asked("type: user_satisfaction\nsatisfaction_threshold: 0.8", TALK, &[Says::Score(0.9)], Pass, "90.0%"),
    seen("type: user_satisfaction\nmeasurement_method: keyword_analysis", TALK, Pass, "positive"),
    asked("type: context_retention\ntest_memory_of: ['4711']\nretention_turns: 1", TALK, &[Says::Yes], Pass, "100.0%"),
    seen("type: context_retention\ntest_memory_of: [Lisbon]", TALK, Fail, "0.0%"),
    seen("type: goal_reached\nparts: [refund]", REFUNDED, Pass, "refund is done (refund.create was called in turn 1)"),
    seen("type: goal_reached\nparts: [refund]", MAILED, Fail, "refund.create was not called with these arguments"),
    seen("type: goal_reached\nparts: [mail]", MAILED, Pass, "the agent said \"sent a mail\" in turn 1"),
    asked(
        "type: goal_reached\nparts: [mail, sorry]",
        MAILED,
        &[Says::No],
        Fail,
        "sorry is not done (by a judge: because)",
    ),
    asked("type: goal_reached\nparts: [sorry]", MAILED, &[Says::Yes], Pass, "sorry is done"),
    asked(
        "type: goal_reached\nparts: [mail, sorry]",
        MAILED,
        &[Says::Word("cannot_tell")],
        Inconclusive,
        "sorry is undecided (by a judge: because)",
    ),
    asked(
        "type: goal_reached\nparts: [sorry]",
        MAILED,
        &[Says::Prose, Says::Prose, Says::Prose],
        Inconclusive,
        "failed to understand",
    ),
    asked("type: goal_reached", MAILED, &[Says::Prose, Says::Prose, Says::Prose], Fail, "refund is not done"),
    seen("type: goal_reached\nparts: [voucher]", MAILED, Error, "the user's goal has no part \"voucher\""),
];
