//! Texts that try to be markup, script, links, colours or commands: on every page they stay text.

use record::{Summary, Trial, Turn};
use report::{html, junit, markdown, terminal};
use sha2::{Digest as _, Sha256};

use crate::{
    base64,
    sample::{self, Sample},
};

/// Each would raise a dialog, load something or break out of its place if a page did not escape it.
pub(crate) const PAYLOADS: [&str; 14] = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "\"><img src=x onerror=alert(3)>",
    "' onmouseover='alert(4)' x='",
    "<svg/onload=alert(5)>",
    "</title></style></textarea></details><iframe srcdoc='<script>parent.alert(6)</script>'></iframe>",
    "<a href=\"javascript:alert(7)\">x</a>",
    "{{ 7*7 }}{% raw %}{{ self }}",
    "<!--<script>alert(8)//-->",
    "<math><mtext><table><mglyph><style><img src onerror=alert(9)>",
    "<base href=https://evil.example/><meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<form action=https://evil.example><button autofocus onfocus=alert(10)>x",
    "]]><x>&lt;b&gt;&#0;\u{0}\u{1b}[31m\u{fffe}\u{202e}gnp.exe",
    "[x](javascript:alert(11)) ![y](https://evil.example/p.png) `code` | **b** @everyone https://evil.example www.evil.example",
];

/// The small run with payloads wherever a text can come from outside.
pub(crate) fn sample() -> Sample {
    let mut sample = sample::small();
    let all = PAYLOADS.join("\n");
    poison_summary(&mut sample.summary, &all);
    for (trial, turns) in &mut sample.trials {
        poison_trial(trial, &all);
        turns.iter_mut().for_each(|turn| poison_turn(turn, &all));
    }
    sample
}

fn poison_summary(summary: &mut Summary, all: &str) {
    summary.run.name = all.to_owned();
    summary.run.started_at = all.to_owned();
    summary.run.gabfest_version = all.to_owned();
    for gate in &mut summary.gates {
        gate.name = all.to_owned();
        gate.reason = all.to_owned();
    }
    summary.summary.models.iter_mut().for_each(|line| line.model = all.to_owned());
    summary.summary.success_rate.method = all.to_owned();
    for (index, case) in summary.cases.iter_mut().enumerate() {
        case.scenario = format!("{index}{all}");
        case.source = all.to_owned();
        case.agent = format!("{index}{all}");
        case.persona = case.persona.as_ref().map(|name| format!("{name}{all}"));
        case.combination = Some(all.to_owned());
        case.parameters.insert(all.to_owned(), all.into());
    }
}

fn poison_trial(trial: &mut Trial, all: &str) {
    trial.trial_id = scenario::TrialId::new(all);
    trial.case_id = scenario::CaseId::new(all);
    trial.termination_reason = Some(all.to_owned());
    if let Some(failure) = &mut trial.failure {
        failure.message = all.to_owned();
    }
    for judgment in &mut trial.judgments {
        judgment.check = all.to_owned();
        judgment.description = Some(all.to_owned());
        judgment.reason = all.to_owned();
        judgment.evidence = Some(all.to_owned());
    }
}

fn poison_turn(turn: &mut Turn, all: &str) {
    turn.user = all.to_owned();
    turn.agent = turn.agent.as_ref().map(|_| all.to_owned());
    turn.actions.push(all.to_owned());
    let of_user = turn.simulated.iter_mut().flat_map(|simulated| &mut simulated.calls);
    for call in turn.tool_calls.iter_mut().chain(of_user) {
        call.name = all.to_owned();
        call.arguments = format!("{{\"x\": {}}}", serde_json::to_string(all).unwrap());
        call.result = Some(all.to_owned());
    }
    if let Some(simulated) = &mut turn.simulated {
        simulated.state = Some(all.to_owned());
    }
    for call in &mut turn.calls {
        call.endpoint = all.to_owned();
        call.model = all.to_owned();
        call.error = Some(all.to_owned());
    }
    for note in &mut turn.notes {
        note.kind = all.to_owned();
        note.text = all.to_owned();
    }
}

fn html(sample: &Sample) -> String {
    html::render(&sample.summary, &sample.selection()).unwrap()
}

/// The tags of a page, in order, without the content of its own style and script.
fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = rest[start..=end].to_owned();
        rest = &rest[end + 1..];
        for raw in ["style", "script"] {
            if tag == format!("<{raw}>") {
                rest = &rest[rest.find(&format!("</{raw}>")).expect("a raw block ends")..];
            }
        }
        tags.push(tag);
    }
    tags
}

/// The names of a tag's attributes.
fn attributes(tag: &str) -> Vec<String> {
    // Every second piece between quotes is a value.
    let outside: String = tag.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let words = outside.trim_matches(['<', '>', '/']).split_ascii_whitespace().skip(1);
    words.map(|word| word.trim_end_matches('=').to_ascii_lowercase()).collect()
}

/// A line of Markdown without its code spans, in which nothing is markup.
fn without_code(line: &str) -> String {
    let mut outside = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(['`', '\\']) {
        outside.push_str(&rest[..start]);
        rest = &rest[start..];
        if rest.starts_with('\\') {
            let end = rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end);
            outside.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let fence: String = rest.chars().take_while(|one| *one == '`').collect();
        let mut end = fence.len();
        loop {
            end += rest[end..].find('`').expect("a code span ends");
            let run = rest[end..].chars().take_while(|one| *one == '`').count();
            end += run;
            if run == fence.len() {
                break;
            }
        }
        rest = &rest[end..];
    }
    outside + rest
}

#[test]
fn payloads_are_text_in_html() {
    const KNOWN: [&str; 50] = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "script",
        "a",
        "header",
        "nav",
        "main",
        "section",
        "footer",
        "div",
        "p",
        "h1",
        "h2",
        "h3",
        "span",
        "b",
        "bdi",
        "time",
        "code",
        "pre",
        "kbd",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "figure",
        "figcaption",
        "details",
        "summary",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "th",
        "td",
        "svg",
        "rect",
        "line",
        "text",
        "g",
        "polyline",
        "circle",
    ];
    let page = html(&sample());
    for tag in tags(&page) {
        let name = tag.trim_matches(['<', '>', '/']).split([' ', '\n']).next().unwrap().to_ascii_lowercase();
        let known = KNOWN.contains(&name.as_str()) || ["button", "label", "input"].contains(&name.as_str());
        assert!(known, "a tag that no template writes: {tag}");
        for attribute in attributes(&tag) {
            let loads_or_runs =
                attribute.starts_with("on") || ["style", "src", "srcdoc", "srcset"].contains(&attribute.as_str());
            assert!(!loads_or_runs, "{attribute} in {tag}");
        }
        if let Some(at) = tag.find("href=\"") {
            assert!(tag[at..].starts_with("href=\"#"), "only within the page: {tag}");
        }
    }
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains("&lt;script&gt;alert(1)"), "what was said is shown");
    assert!(!page.contains("49{%"), "nothing from outside is a template");
}

#[test]
fn the_policy_names_the_blocks_of_the_page() {
    let page = html(&sample::small());
    let between = |from: &str, to: &str| {
        let start = page.find(from).unwrap() + from.len();
        page[start..start + page[start..].find(to).unwrap()].to_owned()
    };
    let policy = between("http-equiv=\"Content-Security-Policy\" content=\"", "\"");
    let policy = policy.replace("&#x27;", "'").replace("&#x2f;", "/");
    for (directive, block) in
        [("style-src", between("<style>", "</style>")), ("script-src", between("<script>", "</script>"))]
    {
        let hash = policy.split(&format!("{directive} 'sha256-")).nth(1).unwrap().split('\'').next().unwrap();
        assert_eq!(base64::decode(hash), Sha256::digest(block.as_bytes()).to_vec(), "{directive}");
    }
    for directive in ["default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'"] {
        assert!(policy.contains(directive), "{policy}");
    }
    assert!(!policy.contains("unsafe"));
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let page = html(&sample::night());
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("url("), "a self-contained page");
    assert!(!page.contains("@import"));
}

#[test]
fn markdown_has_no_markup_from_outside() {
    let sample = sample();
    let page = markdown::render(&sample.summary, &sample.selection());
    for line in page.lines() {
        let outside = without_code(line);
        assert!(!outside.contains("<script") && !outside.contains("<img") && !outside.contains("<iframe"), "{outside}");
        assert!(!outside.contains("://"), "{outside}");
        assert!(!outside.contains("@everyone"), "{outside}");
        assert!(!outside.replace("\\]", "").contains("]("), "{outside}");
    }
    assert!(page.contains("&lt;script&gt;"));
}

#[test]
fn a_terminal_is_not_steered() {
    let sample = sample();
    let text = terminal::summary_text(&sample.summary, sample.selection().found(), false, 80);
    let steering: Vec<char> =
        text.chars().filter(|one| (one.is_control() && *one != '\n') || *one == '\u{202e}').collect();
    assert!(steering.is_empty(), "{steering:?}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn xml_stays_well_formed() {
    let sample = sample();
    let page = junit::render(&sample.summary, &sample.selection()).unwrap();
    let report = quick_junit::Report::deserialize_from_str(&page).expect("what is written can be read");
    assert_eq!(report.test_suites.iter().map(|suite| suite.test_cases.len()).sum::<usize>(), 3 + 2, "cases and gates");
    let forbidden =
        |one: char| matches!(one, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    assert!(!page.contains(forbidden));
}

#[test]
fn lines_of_json_stay_lines() {
    let sample = sample();
    for (trial, turns) in &sample.trials {
        let line = report::trials_jsonl::line(trial);
        assert_eq!((line.matches('\n').count(), line.ends_with('\n')), (1, true));
        if let Some(line) = report::transcripts_jsonl::line(trial, turns) {
            assert_eq!(line.matches('\n').count(), 1);
        }
        assert_eq!(report::view::line(trial).matches('\n').count(), 1);
    }
}
