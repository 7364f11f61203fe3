//! Rows of the evaluations that look at JSON and at calls of tools.

use record::Finding::{Fail, Pass};

use super::{Row, Seen, row, seen};

const TOGGLED: Seen = Seen::UserCalls(&[("airplane_mode", "{\"on\": false}", Some("ok"))]);
const TWO: Seen = Seen::Calls(&[
    ("find_order", r#"{"id": 4711}"#, Some(r#"{"state": "sent"}"#)),
    ("refund", r#"{"id": 4711, "reason": "arrived broken"}"#, None),
]);

pub(super) const ROWS: &[Row] = &[
    row(
        "type: json_check\nfields:\n  name: [{type: equals, values: [Mehran]}]\n  address.city: [{type: contains, values: [Tehran]}]",
        "Here you are:\n```json\n{\"name\": \"Mehran\", \"address\": {\"city\": \"Tehran, Vanak\"},}\n```",
        Pass,
        "`name`: the text is \"Mehran\"",
    ),
    row(
        "type: json_check\nfields:\n  name: [{type: equals, values: [Mehran]}]",
        "{\"name\": \"Mina\"}",
        Fail,
        "`name`: the text is not \"Mehran\"",
    ),
    row("type: json_check\nfields:\n  age: [{type: number, min: 18}]", "{\"age\": 30}", Pass, "30 lies"),
    row(
        "type: json_check\nfields:\n  age: [{type: number, min: 18}]",
        "{\"name\": \"Mina\"}",
        Fail,
        "there is no `age`",
    ),
    row("type: json_check\nfields:\n  age: [{type: number, min: 18}]", "I am thirty", Fail, "no JSON in the text"),
    row("type: json_path\npath: $.items[*].id", "{\"items\": [{\"id\": 1}, {\"id\": 2}]}", Pass, "selects 2 values"),
    row("type: json_path\npath: $.items[*].id", "{\"items\": []}", Fail, "selects nothing"),
    row(
        "type: json_path\npath: $.items[?@.id > 1].name\nchecks: [{type: starts_with, values: [B]}]",
        "{\"items\": [{\"id\": 1, \"name\": \"A\"}, {\"id\": 2, \"name\": \"C\"}]}",
        Fail,
        "does not begin with \"B\"",
    ),
    row(
        "type: json_schema\nschema:\n  type: object\n  required: [id]\n  properties: {id: {type: integer}}",
        "{\"id\": 7}",
        Pass,
        "fits the schema",
    ),
    row(
        "type: json_schema\nschema:\n  type: object\n  required: [id]\n  properties: {id: {type: integer}}",
        "{\"id\": \"7\"}",
        Fail,
        "`/id`",
    ),
    seen("type: tool_calls\ncalls: [{name: refund}]", TWO, Pass, "1 of 1 expected calls"),
    seen("type: tool_calls\ncalls: [{name: refund}, {name: find_order}]", TWO, Pass, "2 of 2"),
    seen("type: tool_calls\ncalls: [{name: refund}, {name: refund}]", TWO, Fail, "answers another expected one"),
    seen("type: tool_calls\nby: user\ncalls: [{name: airplane_mode}]", TOGGLED, Pass, "1 of 1 expected calls"),
    seen("type: tool_calls\nby: user\norder: exact\ncalls: []", TWO, Pass, "the user called no tools"),
    seen("type: tool_calls\norder: exact\ncalls: []", TOGGLED, Pass, "the agent called no tools"),
    seen("type: tool_calls\ncalls: [{name: cancel}]", TWO, Fail, "there is none; it called find_order, refund"),
    seen("type: tool_calls\norder: in_order\ncalls: [{name: find_order}, {name: refund}]", TWO, Pass, "2 of 2"),
    seen("type: tool_calls\norder: in_order\ncalls: [{name: refund}, {name: find_order}]", TWO, Fail, "not after"),
    seen("type: tool_calls\norder: exact\ncalls: [{name: find_order}, {name: refund}]", TWO, Pass, "2 of 2"),
    seen(
        "type: tool_calls\norder: exact\ncalls: [{name: find_order}]",
        TWO,
        Fail,
        "expected exactly 1 calls, the agent made 2",
    ),
    seen("type: tool_calls\norder: exact\ncalls: []", Seen::Calls(&[]), Pass, "called no tools"),
    seen("type: tool_calls\norder: exact\ncalls: []", TWO, Fail, "expected exactly 0 calls"),
    seen(
        "type: tool_calls\norder: subset\ncalls: [{name: refund}, {name: find_order}, {name: cancel}]",
        TWO,
        Pass,
        "no other calls",
    ),
    seen("type: tool_calls\norder: subset\ncalls: [{name: find_order}]", TWO, Fail, "\"refund\" was not expected"),
    seen("type: tool_calls\norder: forbidden\ncalls: [{name: delete_user}]", TWO, Pass, "none of the forbidden"),
    seen("type: tool_calls\norder: forbidden\ncalls: [{name: refund}]", TWO, Fail, "\"refund\" is forbidden"),
    seen("type: tool_calls\ncalls: [{name: find_order, arguments: {id: 4711}}]", TWO, Pass, "1 of 1"),
    seen(
        "type: tool_calls\ncalls: [{name: find_order, arguments: {id: 4712}}]",
        TWO,
        Fail,
        "argument `id` is 4711, expected 4712",
    ),
    seen(
        "type: tool_calls\ncalls: [{name: refund, arguments: {id: 4711}}]",
        TWO,
        Fail,
        "argument `reason` was not expected",
    ),
    seen("type: tool_calls\ncalls: [{name: refund, arguments: {id: 4711}, partial: true}]", TWO, Pass, "1 of 1"),
    seen(
        "type: tool_calls\ncalls:\n  - name: refund\n    arguments: {id: 4711}\n    argument_checks:\n      reason: [{type: contains, values: [broken]}]",
        TWO,
        Pass,
        "1 of 1",
    ),
    seen(
        "type: tool_calls\ncalls: [{name: refund, argument_checks: {note: []}, partial: true}]",
        TWO,
        Fail,
        "argument `note` is missing",
    ),
    seen("type: tool_calls\ncalls: [{name: find_order, result: {state: sent}}]", TWO, Pass, "1 of 1"),
    seen("type: tool_calls\ncalls: [{name: refund, result_checks: []}]", TWO, Fail, "its result is not known"),
    seen(
        "type: tool_calls\npick: single\ncalls: [{name: find}]",
        Seen::Calls(&[("find", "{}", None), ("find", "{}", None)]),
        Fail,
        "expected exactly one call of \"find\", the agent made 2",
    ),
    seen(
        "type: tool_calls\npick: last\ncalls: [{name: find, arguments: {page: 1}}]",
        Seen::Calls(&[("find", r#"{"page": 1}"#, None), ("find", r#"{"page": 2}"#, None)]),
        Fail,
        "argument `page` is 2, expected 1",
    ),
    seen(
        "type: tool_calls\ncalls: [{name: find, arguments: {page: 1.0}}]",
        Seen::Calls(&[("find", r#"{"page": 1}"#, None), ("find", r#"{"page": 2}"#, None)]),
        Pass,
        "1 of 1",
    ),
    seen(
        "type: tool_calls\ncalls: [{name: find, arguments: {page: 1}}]",
        Seen::Calls(&[("find", "page one", None)]),
        Fail,
        "not a JSON object",
    ),
    seen("type: trajectory_contains_action\naction: FIND_ORDER", TWO, Pass, "used \"find_order\""),
    seen("type: trajectory_contains_action\naction: CANCEL", TWO, Fail, "did not use"),
];
