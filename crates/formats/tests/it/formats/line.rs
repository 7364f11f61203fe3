//! Rows of expected conversations.

use super::row::{Group, Row, fine, refused, warned};

const HIDES: &[&str] = &["scenario: x", "on_failure: stop"];

const fn group(name: &'static str, rows: &'static [Row]) -> Group {
    Group {
        name,
        format: formats::line::FORMAT,
        file: "x.conversation.yaml",
        fence: "yaml",
        frame: "ROW",
        hides: HIDES,
        rows,
    }
}

pub(super) const GROUPS: &[Group] =
    &[group("line files", FILES), group("line differences", DIFFERENCES), group("line faults", FAULTS)];

const FILES: &[Row] = &[
    fine(
        "The smallest file is a list of turns, as YAML or JSON.",
        "- {role: user, text: Hello}\n- {role: assistant, text: Hello! How can I help you?}\n",
    ),
    fine(
        "A mapping can have more keys.",
        "name: Weather\ntags: [weather]\ntest_note: the tool is called once\nrepeats: 8\nconversation:\n  - {role: user, text: Is it warm in Oslo?}\n  - {role: assistant, text: 'No, it is cold.'}\n",
    ),
    fine(
        "`*` accepts any answer, `<…>` is a condition, and a list contains alternatives. gabfest compares texts directly first, ignoring case, and asks a judge only if they differ.",
        "- {role: user, text: Is it warm?}\n- {role: assistant, text: [It is 20 degrees, '<names a temperature>']}\n- {role: user, text: Thanks}\n- {role: assistant, text: '*'}\n",
    ),
    fine(
        "`tool_calls` lists exactly the expected calls, in any order. In arguments and results, `null` accepts anything, and texts compare like answers.",
        "- {role: user, text: Is it warm in Oslo?}\n- role: assistant\n  text: '*'\n  tool_calls:\n    - name: get_weather\n      arguments: {city: Oslo, unit: null}\n      result: {degrees: '*'}\n",
    ),
    fine(
        "`partial: true` allows additional keys.",
        "- {role: user, text: Is it warm in Oslo?}\n- role: assistant\n  text: '*'\n  partial: true\n  tool_calls: [{name: get_weather, arguments: {city: Oslo}}]\n",
    ),
    fine(
        "`telephony_events` lists exactly the expected telephony events, in this order.",
        "- {role: user, text: Put me through.}\n- role: assistant\n  telephony_events:\n    - {type: dtmf, button: '1'}\n    - {type: transfer_call, target_phone_number: '+4712345678'}\n    - {type: end_call}\n",
    ),
    fine(
        "The agent can speak first. gabfest puts its first words into the history without asking the agent.",
        "initial_agent_message: Good morning!\nconversation:\n  - {role: assistant, text: Good morning!}\n  - {role: user, text: Hello}\n  - {role: assistant, text: '*'}\n",
    ),
];

const DIFFERENCES: &[Row] = &[
    fine("A result compares like arguments. Without `result`, any result is accepted.", "- {role: user, text: Hello}\n- {role: assistant, text: '*', tool_calls: [{name: f, result: {a: null, b: '*'}}]}\n")
        .unlike("results compare as exact text, and a missing result must be missing", "its own examples cannot pass otherwise"),
    fine("`null` accepts any value, and the key can be missing.", "- {role: user, text: Hello}\n- {role: assistant, text: '*', tool_calls: [{name: f, arguments: {a: null}}]}\n")
        .unlike("it applies this to the agent's calls, because it confuses the two sides", "gabfest follows its documentation"),
    fine("Two calls of the same tool are two calls.", "- {role: user, text: Hello}\n- {role: assistant, text: '*', tool_calls: [{name: f, arguments: {a: 1}}, {name: f, arguments: {a: 2}}]}\n")
        .unlike("the last call replaces the others", "agents do call a tool twice"),
    refused("An empty conversation is an error.", "[]").unlike("it passes", "nothing would be judged"),
    fine("If the agent's first words are a list, gabfest uses the first text that is not a pattern.", "- {role: assistant, text: ['*', Hello!]}\n- {role: user, text: Hi}\n- {role: assistant, text: '*'}\n").unlike("it throws an exception", "all other texts can be lists"),
];

const FAULTS: &[Row] = &[
    refused(
        "User and assistant alternate, and the last turn is the assistant's.",
        "- {role: user, text: a}\n- {role: user, text: b}\n",
    ),
    refused("A user turn has exactly one text.", "- {role: user, text: [a, b]}\n- {role: assistant}\n"),
    refused(
        "The agent's first words cannot be a pattern.",
        "- {role: assistant, text: '*'}\n- {role: user, text: a}\n- {role: assistant}\n",
    ),
    warned("An unknown key is a warning.", "- {role: user, text: a}\n- {role: assistant, txt: b}\n"),
    refused(
        "An unknown telephony event is an error.",
        "- {role: user, text: a}\n- {role: assistant, telephony_events: [{type: hang_up}]}\n",
    ),
];
