//! Rows of expected conversations.

use scenario::Format;

use super::row::{Group, Row, fine, refused, warned};

const HIDES: &[&str] = &["scenario: x", "on_failure: stop"];

const fn group(name: &'static str, rows: &'static [Row]) -> Group {
    Group { name, format: Format::Line, file: "x.conversation.yaml", fence: "yaml", frame: "ROW", hides: HIDES, rows }
}

pub(super) const GROUPS: &[Group] =
    &[group("line files", FILES), group("line differences", DIFFERENCES), group("line faults", FAULTS)];

const FILES: &[Row] = &[
    fine(
        "The smallest one is a list of turns, as YAML or JSON.",
        "- {role: user, text: Hello}\n- {role: assistant, text: Hello! How can I help you?}\n",
    ),
    fine(
        "A mapping says more.",
        "name: Weather\ntags: [weather]\ntest_note: the tool is called once\nrepeats: 8\nconversation:\n  - {role: user, text: Is it warm in Oslo?}\n  - {role: assistant, text: 'No, it is cold.'}\n",
    ),
    fine(
        "`*` is any answer, `<…>` must be true of it, a list are alternatives. Words are compared as they are first, without capitals; only what differs is asked of a judge.",
        "- {role: user, text: Is it warm?}\n- {role: assistant, text: [It is 20 degrees, '<names a temperature>']}\n- {role: user, text: Thanks}\n- {role: assistant, text: '*'}\n",
    ),
    fine(
        "Exactly these tools are called, in any order. In arguments and results `null` is not looked at, and texts are compared as answers are.",
        "- {role: user, text: Is it warm in Oslo?}\n- role: assistant\n  text: '*'\n  tool_calls:\n    - name: get_weather\n      arguments: {city: Oslo, unit: null}\n      result: {degrees: '*'}\n",
    ),
    fine(
        "`partial: true`: there may be other keys.",
        "- {role: user, text: Is it warm in Oslo?}\n- role: assistant\n  text: '*'\n  partial: true\n  tool_calls: [{name: get_weather, arguments: {city: Oslo}}]\n",
    ),
    fine(
        "Exactly these things are done on the telephone, in this order.",
        "- {role: user, text: Put me through.}\n- role: assistant\n  telephony_events:\n    - {type: dtmf, button: '1'}\n    - {type: transfer_call, target_phone_number: '+4712345678'}\n    - {type: end_call}\n",
    ),
    fine(
        "The agent may begin. Its first words are not asked for but put into the history.",
        "initial_agent_message: Good morning!\nconversation:\n  - {role: assistant, text: Good morning!}\n  - {role: user, text: Hello}\n  - {role: assistant, text: '*'}\n",
    ),
];

const DIFFERENCES: &[Row] = &[
    fine("A result is compared as arguments are; without `result` it is not looked at.", "- {role: user, text: Hello}\n- {role: assistant, text: '*', tool_calls: [{name: f, result: {a: null, b: '*'}}]}\n")
        .unlike("letter by letter, and a missing one must be missing", "its own examples could never pass"),
    fine("`null` leaves a key unlooked at, and the key may be missing.", "- {role: user, text: Hello}\n- {role: assistant, text: '*', tool_calls: [{name: f, arguments: {a: null}}]}\n")
        .unlike("so for what the agent did, by a mix-up of the two sides", "its documentation says so"),
    fine("Two calls of one tool are two calls.", "- {role: user, text: Hello}\n- {role: assistant, text: '*', tool_calls: [{name: f, arguments: {a: 1}}, {name: f, arguments: {a: 2}}]}\n")
        .unlike("the last one replaces the others", "agents do call twice"),
    refused("An empty conversation is an error.", "[]").unlike("it passes", "nothing would be judged"),
    fine("A list for the agent's first words takes the first that is no pattern.", "- {role: assistant, text: ['*', Hello!]}\n- {role: user, text: Hi}\n- {role: assistant, text: '*'}\n").unlike("an exception", "all other texts may be lists"),
];

const FAULTS: &[Row] = &[
    refused(
        "User and assistant alternate, and the assistant is last.",
        "- {role: user, text: a}\n- {role: user, text: b}\n",
    ),
    refused("A user says one thing.", "- {role: user, text: [a, b]}\n- {role: assistant}\n"),
    refused(
        "The agent's first words are words.",
        "- {role: assistant, text: '*'}\n- {role: user, text: a}\n- {role: assistant}\n",
    ),
    warned("An unknown key is a warning.", "- {role: user, text: a}\n- {role: assistant, txt: b}\n"),
    refused(
        "So are other things to do on the telephone an error.",
        "- {role: user, text: a}\n- {role: assistant, telephony_events: [{type: hang_up}]}\n",
    ),
];
