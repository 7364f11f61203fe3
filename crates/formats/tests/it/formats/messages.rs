//! Rows of recorded chats.

use super::row::{Group, Row, fine, refused};

const HIDES: &[&str] = &["scenario: x 1", "history: expected"];

pub(super) const GROUPS: &[Group] = &[Group {
    name: "messages files",
    format: formats::messages::FORMAT,
    file: "x.messages.jsonl",
    fence: "json",
    frame: "ROW",
    hides: HIDES,
    rows: ROWS,
}];

const ROWS: &[Row] = &[
    fine(
        "A line is one chat. Each answer of the assistant is what the agent should say; a judge compares the meaning.",
        "{\"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\"}, {\"role\": \"user\", \"content\": \"Is it warm in Oslo?\"}, {\"role\": \"assistant\", \"content\": \"No, it is cold.\"}]}\n",
    ),
    refused(
        "A chat without an answer is an error.",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}\n",
    ),
    refused("A line that is not JSON is an error.", "{\"messages\": [}\n"),
    refused(
        "Calls of tools are not read.",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}, {\"role\": \"tool\", \"content\": \"7\"}, {\"role\": \"assistant\", \"content\": \"7\"}]}\n",
    ),
];
