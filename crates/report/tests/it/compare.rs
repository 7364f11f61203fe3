//! Comparisons of prepared runs on every page: better, worse, the same, and too few trials to say.

use report::{Screen, compare as pages};
use statistics::compare::{
    compare,
    found::{CompareVerdict, Comparison},
    played::{CellName, Played, PlayedCell, PlayedTrial},
};

use crate::sample;

/// Of 20 trials each: how many of BASE and of NEW pass, and how much slower NEW is.
type Row = (&'static str, &'static str, u32, u32, f64);

/// 12 scenarios in which `before` of 20 trials pass in BASE and 19 in NEW, and those of a test.
fn rows(before: u32, changed: &[Row]) -> Vec<Row> {
    let names = [
        "address",
        "balance",
        "cancel",
        "delivery",
        "exchange",
        "gift card",
        "invoice",
        "opening hours",
        "password",
        "receipt",
        "size",
        "warranty",
    ];
    names.into_iter().map(|name| (name, "calm", before, 19, 1.0)).chain(changed.iter().copied()).collect()
}

fn run(id: &str, rows: &[Row], trials: u32, side: impl Fn(&Row) -> (u32, f64)) -> Played {
    let mut played = Played::of(&sample::small().summary);
    played.run.id = id.to_owned();
    played.run.called = format!("nightly-{id}");
    played.agents = [id.to_owned()].into();
    played.cells = rows
        .iter()
        .map(|row| {
            let (passed, slower) = side(row);
            PlayedCell {
                cell: CellName {
                    scenario: format!("{0}.scenario.yaml/{0}", row.0),
                    parameters: Vec::new(),
                    persona: Some(row.1.to_owned()),
                },
                agent: id.to_owned(),
                title: row.0.to_owned(),
                variant: None,
                tags: Vec::new(),
                planned: u64::from(trials),
                quarantined: false,
                trials: (0..trials).map(|repeat| trial(id, repeat, repeat < passed, slower)).collect(),
            }
        })
        .collect();
    played
}

fn trial(id: &str, repeat: u32, passed: bool, slower: f64) -> PlayedTrial {
    let time = f64::from(repeat * 37 % 101) + 200.0;
    PlayedTrial {
        repeat,
        seed: u64::from(repeat) + id.len() as u64 * 1_000,
        passed: Some(passed),
        response_ms: vec![time * slower, time * slower * 1.5],
        ttft_ms: vec![time / 4.0],
        unanswered: 0,
        agent_tokens: 120 + u64::from(repeat),
        cost_usd: Some(0.002 * slower),
        checks: [("brief".to_owned(), Some(true)), ("polite".to_owned(), Some(passed))].into(),
    }
}

fn compared(rows: &[Row], trials: u32) -> Comparison {
    let base = run("20260313-020000-aaaa", rows, trials, |row| (row.2, 1.0));
    let new = run("20260314-020000-bbbbb", rows, trials, |row| (row.3, row.4));
    compare(&base, &new, 0.03)
}

fn worse() -> Comparison {
    let changed = [("refund", "calm", 18, 4, 3.0), ("refund", "angry", 20, 17, 1.0), ("returns", "calm", 20, 0, 1.0)];
    compared(&rows(19, &changed), 20)
}

fn better() -> Comparison {
    compared(&rows(15, &[("refund", "calm", 4, 18, 0.5), ("refund", "angry", 17, 20, 1.0)]), 20)
}

fn same() -> Comparison {
    compared(&rows(19, &[]), 20)
}

fn too_few() -> Comparison {
    compared(&[("refund", "calm", 3, 2, 1.0), ("returns", "calm", 3, 3, 1.0), ("warranty", "calm", 3, 2, 1.0)], 3)
}

type Case = (&'static str, fn() -> Comparison, CompareVerdict);

const CASES: [Case; 4] = [
    ("worse", worse, CompareVerdict::Worse),
    ("better", better, CompareVerdict::Better),
    ("same", same, CompareVerdict::NotWorse),
    ("too_few", too_few, CompareVerdict::CannotTell),
];

#[test]
fn prepared_runs_get_the_right_verdict() {
    for (name, comparison, verdict) in CASES {
        assert_eq!(comparison().verdict, verdict, "{name}");
    }
}

#[test]
fn terminal_pages_of_comparisons() {
    for (name, comparison, _) in CASES {
        insta::assert_snapshot!(format!("compare_terminal_{name}"), pages::terminal(&comparison(), Screen::PLAIN));
    }
}

#[test]
fn markdown_pages_of_comparisons() {
    for (name, comparison, _) in CASES {
        insta::assert_snapshot!(format!("compare_markdown_{name}"), pages::markdown(&comparison()));
    }
}

/// Without style and script, which are those of every page.
#[test]
fn html_pages_of_comparisons() {
    for (name, comparison, _) in CASES {
        let page = pages::html(&comparison()).unwrap();
        let (_, body) = page.split_once("<body>").unwrap();
        let (body, _) = body.split_once("<script>").unwrap();
        insta::assert_snapshot!(format!("compare_html_{name}"), body);
    }
}

#[test]
fn names_from_files_are_escaped() {
    let hostile = [("<script>alert(1)</script> [x](http://evil)", "calm", 20, 0, 1.0)];
    let found = compared(&hostile, 20);
    let (html, markdown) = (pages::html(&found).unwrap(), pages::markdown(&found));
    assert!(html.contains("&lt;script&gt;alert(1)") && !html.contains("<script>alert(1)"), "{html}");
    assert!(markdown.contains("&lt;script&gt;") && !markdown.contains("[x](http://evil)"), "{markdown}");
}

#[test]
fn the_terminal_page_of_a_comparison_keeps_to_its_width() {
    use unicode_width::UnicodeWidthStr as _;
    for (name, comparison, _) in CASES {
        for width in [60, 80, 100, 160] {
            let page = pages::terminal(&comparison(), Screen { color: false, width });
            assert!(page.lines().all(|line| line.width() <= width), "{name} at {width}: {page}");
        }
    }
}

#[test]
fn json_has_every_case_and_reads_back() {
    let found: serde_json::Value = serde_json::from_str(&pages::json(&worse())).unwrap();
    assert_eq!((&found["verdict"], &found["worse_cases"]), (&"worse".into(), &2.into()));
    assert_eq!(found["cases"].as_array().unwrap().len(), 15);
    assert_eq!(found["cases"][12]["base"], serde_json::json!({ "pass": 18, "fail": 2, "undecided": 0 }));
    assert!(found["cases"][12]["adjusted"].as_f64() < Some(0.001), "{}", found["cases"][12]);
}
