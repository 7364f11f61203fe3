//! Rows of the evaluations that limit time, tokens, money and repetition, and of those that use files, commands or
//! custom checks.

use record::Finding::{Error, Fail, Inconclusive, NotApplicable, Pass};

use super::{Row, Seen, row, seen};

const POLITE: Seen = Seen::Talk(&[("Thanks", "You're welcome!"), ("Bye", "You're welcome!")]);

const LOOP: Seen =
    Seen::Talk(&[("It is offline", "Please restart the router now."), ("I did", "Please restart the router, now!")]);

const REFUNDED: Seen =
    Seen::State(r#"{"orders": {"7": {"status": "refunded", "total": 30}, "9": {"status": "open"}}}"#);

/// The rows that a query finds.
const TABLE: Seen = Seen::State(r#"{"shop": [["refunded", 30], ["open", 5]]}"#);

/// Custom checks, and their answers each time.
pub(super) const CUSTOM: [(&str, &[&str]); 5] = [
    ("totals", &[r#"{"pass": false, "reason": "3 of 4 totals are right"}"#]),
    ("tone", &[r#"{"score": 0.7, "reason": "curt"}"#]),
    ("refund", &[r#"{"not_applicable": true, "reason": "no refund was asked for"}"#]),
    ("wavers", &[r#"{"pass": true}"#, r#"{"pass": false}"#]),
    ("crashes", &[]),
];

pub(super) const ROWS: &[Row] = &[
    seen("type: execution_time\nmax_duration_ms: 1000", Seen::Took(None, 700), Pass, "took 700 ms"),
    seen("type: execution_time\nmax_duration_ms: 500", Seen::Took(None, 700), Fail, "above the maximum of 500 ms"),
    seen("type: latency\nmax_total_ms: 1000", Seen::Took(Some(200), 700), Pass, "at most 700 ms a reply"),
    seen("type: latency\nmax_total_ms: 500", Seen::Took(Some(200), 700), Fail, "took 700 ms, at most 500 ms"),
    seen("type: latency\nmax_ttft_ms: 100", Seen::Took(Some(200), 700), Fail, "the first token of turn 1 took 200 ms"),
    seen("type: latency\nmax_ttft_ms: 100", Seen::Took(None, 700), Error, "does not stream"),
    seen("type: spend\nmax_tokens: 100", Seen::Used(80, None), Pass, "80 tokens"),
    seen("type: spend\nmax_tokens: 50", Seen::Used(80, None), Fail, "used 80 tokens, at most 50"),
    seen("type: spend\nmax_tokens: 50", Seen::Used(0, None), Error, "does not say how many tokens"),
    seen("type: spend\nmax_usd: 0.01", Seen::Used(80, Some(2_000_000)), Pass, "$0.0020"),
    seen("type: spend\nmax_usd: 0.001", Seen::Used(80, Some(2_000_000)), Fail, "cost $0.0020, at most $0.0010"),
    seen("type: spend\nmax_usd: 0.001", Seen::Used(80, None), Error, "has no price"),
    seen("type: no_repeated_reply", LOOP, Fail, "reply 2 repeats reply 1"),
    seen("type: no_repeated_reply", POLITE, Pass, "none of 2 replies recurs"),
    row("type: no_repeated_reply", "Please restart the router now.", Error, "not a conversation"),
    seen("type: no_repeated_reply\nmin_words: 8", LOOP, Pass, "none of 2 replies recurs"),
    row("type: file_exists\npath: notes.txt", "Done.", Pass, ""),
    row("type: file_exists\npath: missing.txt", "Done.", Fail, ""),
    row("type: file_contains\npath: notes.txt\nvalue: Refund", "Done.", Pass, ""),
    row("type: file_contains\npath: notes.txt\nvalue: Cancelled", "Done.", Fail, ""),
    row("type: custom\ncheck: totals\nconfig: {max: 30}", "Done.", Fail, "totals: 3 of 4 totals are right"),
    row("type: custom\ncheck: tone\nthreshold: 0.6", "Done.", Pass, "tone: curt"),
    row("type: custom\ncheck: tone\nthreshold: 0.8", "Done.", Fail, "tone: curt"),
    row("type: custom\ncheck: tone", "Done.", Inconclusive, "the scenario has no `threshold`"),
    row("type: custom\ncheck: refund", "Done.", NotApplicable, "no refund was asked for"),
    row("type: custom\ncheck: wavers", "Done.", Inconclusive, "it answered pass, then fail"),
    row("type: custom\ncheck: crashes", "Done.", Error, "it ended"),
    row("type: custom\ncheck: unknown", "Done.", Error, "the worker's settings name no such check"),
    seen(
        "type: mock_state\npath: $.orders.7.status\nequals: refunded",
        REFUNDED,
        Pass,
        "`$.orders.7.status` is \"refunded\"",
    ),
    seen("type: mock_state\npath: orders.7.status\nequals: open", REFUNDED, Fail, "expected \"open\""),
    seen("type: mock_state\npath: orders.8", REFUNDED, Fail, "selects nothing"),
    seen("type: mock_state\npath: $.orders.*.status\nequals: refunded", REFUNDED, Fail, "selects 2 values"),
    seen("type: mock_state\npath: orders.7.total\nequals: 30.0", REFUNDED, Pass, "is 30"),
    seen(
        "type: http_state\nhost: shop\npath: /orders\njson_path: $.7.status\nequals: refunded",
        REFUNDED,
        Pass,
        "is \"refunded\"",
    ),
    seen(
        "type: http_state\nhost: shop\npath: /orders\njson_path: $.9.status\nequals: refunded\nwithin_ms: 1",
        REFUNDED,
        Fail,
        "expected \"refunded\"",
    ),
    seen("type: http_state\nhost: shop\npath: /carts", REFUNDED, Fail, "shop has nothing at /carts"),
    seen("type: http_state\nhost: down\npath: /orders", REFUNDED, Error, "it cannot be reached"),
    seen("type: http_state\nhost: other\npath: /orders", REFUNDED, Error, "the worker's settings do not name it"),
    seen(
        "type: sql_state\ndatabase: shop\nquery: select status, total from orders where customer = ?\nparameters: [3]\nrows: [[open, 5], [refunded, 30.0]]",
        TABLE,
        Pass,
        "the query returns",
    ),
    seen(
        "type: sql_state\ndatabase: shop\nquery: select status, total from orders\nrows: [[open, 5], [refunded, 30]]\nordered: true",
        TABLE,
        Fail,
        "expected [[\"open\",5]",
    ),
    seen(
        "type: sql_state\ndatabase: shop\nquery: select status, total from orders\nrows: [[refunded, 30]]\nunchanged: [customers]",
        TABLE,
        Fail,
        "expected [[\"refunded\",30]]",
    ),
    seen("type: sql_state\ndatabase: shop\nunchanged: [customers]", TABLE, Pass, "as it was: customers"),
    seen(
        "type: sql_state\ndatabase: shop\nunchanged: [customers, orders]",
        TABLE,
        Fail,
        "the table orders is not as it was",
    ),
    seen(
        "type: sql_state\ndatabase: other\nquery: select 1\nrows: [[1]]",
        TABLE,
        Error,
        "the worker's settings do not name it",
    ),
    row("type: mock_state\npath: orders", "Done.", Error, "the scenario has no `gabfest.state`"),
    row("type: command_exit_code_is\ncommand: test -f notes.txt", "Done.", Error, "not allowed"),
];
