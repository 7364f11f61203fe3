//! Four prepared pairs of runs: better, worse, the same, and too few trials. A reader of the terminal, the Markdown or the HTML alone
//! decides rightly.

use crate::process::Place;

const SCENARIO: &str = "
name: NAME
description: a customer asks
run:
  - input: I want my money back.
    evaluations: [{type: string_contains, value: money}]
judgment: {strategy: all_pass}
";

const SETTINGS: &str = "
endpoints:
  good: { kind: mock, mock: { pass: [{ probability: 0.96 }] } }
  poor: { kind: mock, mock: { pass: [{ probability: 0.6 }] } }
agents:
  good: { endpoint: good }
  poor: { endpoint: poor }
gates: { pass_rate: 0, case_pass_rate: 0 }
";

/// What the pair is, its runs, the exit code, the words of the verdict, and what the reason says.
type Pair = (&'static str, [&'static str; 2], i32, &'static str, &'static str);

const PAIRS: [Pair; 4] = [
    ("better", ["poor", "good"], 0, "BETTER", "the success rate rose"),
    ("worse", ["good", "poor"], 1, "WORSE", "the success rate fell"),
    ("same", ["good", "good again"], 0, "NOT WORSE", "the success rate did not fall by 5 points"),
    ("not enough data", ["good", "few"], 3, "CANNOT TELL", "too little evidence"),
];

#[test]
fn every_page_of_a_comparison_lets_its_reader_decide_rightly() {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    for name in ["refund", "exchange", "returns", "delivery", "invoice", "hours"] {
        place.write(&format!("scenarios/{name}.scenario.yaml"), &SCENARIO.replace("NAME", name));
    }
    for (folder, agent, repeats, seed) in [
        ("poor", "poor", "60", "1"),
        ("good", "good", "60", "2"),
        ("good again", "good", "60", "3"),
        ("few", "good", "2", "5"),
    ] {
        let args =
            ["run", "scenarios", "--agent", agent, "--repeats", repeats, "--seed", seed, "--quiet", "--out", folder];
        let ended = place.run(&args);
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    }
    for (pair, [base, new], code, verdict, reason) in PAIRS {
        for form in ["text", "markdown", "html"] {
            let ended = place.run(&["compare", base, new, "--margin", "5pp", "--format", form]);
            assert_eq!(ended.code, code, "{pair}: {}", ended.stderr);
            let (first, read) = as_read(&ended.stdout, form);
            assert_eq!(first, verdict, "{pair} as {form}:\n{read}");
            // The reason comes before everything else, and no page gives the reason of another answer.
            let (top, _) = read.split_once("Times, tokens and cost").unwrap();
            let given: Vec<&str> = PAIRS.iter().map(|of| of.4).filter(|of| top.contains(of)).collect();
            assert_eq!(given, [reason], "{pair} as {form}:\n{read}");
            assert!(
                read.contains("Two runs cannot tell a change of the agent from a difference between two nights"),
                "{read}"
            );
        }
    }
}

/// The words of the verdict, and the whole page as its reader sees it: without markup, in one line.
fn as_read(page: &str, form: &str) -> (String, String) {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if form != "html" {
        let first = page.lines().next().unwrap();
        let words = first.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
        let words = words.split("  ").next().unwrap().split(':').next().unwrap();
        return (words.to_owned(), flat(&page.replace(['*', '\\'], "")));
    }
    let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    let mut seen = String::new();
    for part in body.split('<') {
        let (tag, text) = part.split_once('>').unwrap_or(("", part));
        seen.push_str(if tag.starts_with("/span") || tag.starts_with("span") { "" } else { " " });
        seen.push_str(text);
    }
    let title = body.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0;
    (title.rsplit('>').next().unwrap().to_owned(), flat(&seen))
}
