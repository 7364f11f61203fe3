//! Every page of the small run as a snapshot, and further properties of each.

use record::{
    Trial,
    slices::Slices,
    summary::{AgentSummary, JudgedLength, Judges, MetricSummary, Uncalibrated},
    turn_times::Times,
};
use report::{github, html, json, junit, markdown, series_csv, terminal, transcripts_jsonl, trials_jsonl};
use serde_json::{Value, json};

use unicode_width::UnicodeWidthStr as _;

use crate::{
    hostile,
    sample::{self, End},
};

#[test]
fn terminal_page() {
    let sample = sample::small();
    let text = terminal::summary_text(&sample.summary, sample.selection().found(), false, 100);
    insta::assert_snapshot!(text);
}

#[test]
fn the_terminal_page_keeps_to_its_width() {
    for sample in [sample::small(), sample::night(), hostile::sample()] {
        let selection = sample.selection();
        for width in [60, 80, 100, 160] {
            let page = |color| terminal::summary_text(&sample.summary, selection.found(), color, width);
            let plain = page(false);
            assert!(plain.lines().all(|line| line.width() <= width), "{width}: {plain}");
            let mut stripped = page(true);
            for code in ["0", "1", "2", "31", "32", "33", "35", "1;31", "1;32", "1;33"] {
                stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
            }
            let trimmed: String = stripped.lines().map(|line| format!("{}\n", line.trim_end())).collect();
            assert_eq!(trimmed, plain, "colours change only colours");
        }
    }
}

#[test]
fn checks_with_a_name_have_a_table_of_their_own() {
    let mut sample = sample::small();
    let metric = |name: &str, pass: u64, fail: u64, mean_score: Option<f64>| MetricSummary {
        name: name.to_owned(),
        pass,
        fail,
        not_judged: 2,
        not_applicable: 0,
        rate: statistics::interval(pass, pass + fail),
        mean_score,
        scores: pass,
    };
    sample.summary.metrics = vec![metric("length", 9, 0, None), metric("tone", 6, 4, Some(0.75))];
    let page = markdown::render(&sample.summary, &sample.selection());
    let (_, section) = page.split_once("## Named checks\n\n").unwrap();
    let rows: Vec<&str> = section.lines().take(4).collect();
    assert_eq!(rows[0], "| name | pass rate | 95% | passed | failed | not judged | mean score |");
    assert_eq!(rows[2], "| tone | 60% | 31–84% | 6 | 4 | 2 | 0.75 |", "the lowest rate first");
    assert_eq!(rows[3], "| length | 100% | 70–100% | 9 | 0 | 2 | – |");
}

#[test]
fn every_page_has_verdicts_by_length_and_names_judges_that_only_inform() {
    let mut sample = sample::small();
    let range = |from_words, below_words, pass, fail| JudgedLength {
        from_words,
        below_words,
        pass,
        fail,
        not_judged: 1,
        not_applicable: 0,
        rate: statistics::interval(pass, pass + fail),
    };
    let uncalibrated = vec![Uncalibrated { reason: "judge ab12 is not calibrated".to_owned(), findings: 3 }];
    let by_length = vec![range(0, Some(25), 9, 1), range(400, None, 6, 4)];
    sample.summary.judges = Some(Judges { by_length, uncalibrated, by_criterion: Vec::new() });
    let selection = sample.selection();
    let pages = [
        markdown::render(&sample.summary, &selection),
        terminal::summary_text(&sample.summary, selection.found(), false, 100),
        html::render(&sample.summary, &selection).unwrap(),
    ];
    for page in pages {
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("3 findings of required checks only inform: judge ab12 is not calibrated"), "{page}");
        assert!(page.contains("0–24") && page.contains("400 or more"), "{page}");
    }
    let json: Value = serde_json::from_str(&json::render(&sample.summary)).unwrap();
    assert_eq!(json.pointer("/judges/by_length/1/fail"), Some(&json!(4)));
}

#[test]
fn similar_failures_are_grouped_on_the_terminal() {
    let sample = sample::night();
    insta::assert_snapshot!(terminal::summary_text(&sample.summary, sample.selection().found(), false, 60));
}

#[test]
fn similar_failures_are_counted_beyond_the_kept_conversations() {
    let sample = sample::play(
        "a bad night",
        &[
            sample::Cell {
                scenario: "refund",
                persona: Some("polite"),
                combination: None,
                parameters: &[],
                ends: &[End::Fail; 300],
            },
            sample::Cell {
                scenario: "refund",
                persona: Some("expert"),
                combination: None,
                parameters: &[],
                ends: &[End::Fail; 20],
            },
            sample::Cell {
                scenario: "greeting",
                persona: None,
                combination: None,
                parameters: &[],
                ends: &[End::Timeout],
            },
        ],
    );
    let text = terminal::summary_text(&sample.summary, sample.selection().found(), false, 80);
    for line in [
        "  ✗ FAIL         320 × refund, step 1, turn 3",
        "      polite 300, expert 20",
        "      first: repeat 1, trial 0000abc000000000",
        "  ! ERROR        greeting, step 1, turn 4",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    assert!(!text.contains("more in the report"), "{text}");
}

#[test]
fn failures_that_differ_by_numbers_alone_are_one_group() {
    let cell =
        |scenario| sample::Cell { scenario, persona: None, combination: None, parameters: &[], ends: &[End::Fail; 30] };
    let mut sample = sample::play("slow", &[cell("refund"), cell("greeting")]);
    for (index, (trial, _)) in sample.trials.iter_mut().enumerate() {
        trial.failure.as_mut().unwrap().message = format!("latency: took {}.{index} ms, at most 500 ms", 600 + index);
    }
    let text = terminal::summary_text(&sample.summary, sample.selection().found(), false, 80);
    for line in [
        "  ✗ FAIL         60 × 2 scenarios, step 1, turn 3",
        "      e.g. latency: took 600.0 ms, at most 500 ms",
        "      greeting 30, refund 30",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    assert_eq!(text.matches("✗ FAIL  ").count(), 2, "the run and one group: {text}");
}

#[test]
fn every_page_divides_a_run_by_agent_tag_value_and_check() {
    let mut sample = sample::night();
    for case in &mut sample.summary.cases {
        case.agent = if case.number % 2 == 0 { "stable" } else { "candidate" }.to_owned();
    }
    let agent = |name: &str, odd: u64| AgentSummary {
        agent: name.to_owned(),
        figures: sample::figures(&sample.trials, &|case| case % 2 == odd),
    };
    sample.summary.by_agent = vec![agent("stable", 0), agent("candidate", 1)];
    sample.summary.by_axis[0].figures = sample.summary.by_agent[0].figures.clone();
    let mut warm = sample.summary.by_axis[0].clone();
    warm.value = "0.9".into();
    sample.summary.by_axis.push(warm);
    let json: Value = serde_json::from_str(&json::render(&sample.summary)).unwrap();
    for (path, found) in [
        ("/by_agent/1/agent", json!("candidate")),
        ("/by_tag/0/tag", json!("money")),
        ("/by_tag/0/trials", json!(16)),
        ("/by_axis/1/value", json!("0.9")),
        ("/by_check/0/check", json!("llm_judge")),
        ("/by_check/0/fail", json!(3)),
        ("/by_check/0/not_judged", json!(1)),
        ("/wall/duration_ms", json!(271_000)),
    ] {
        assert_eq!(json.pointer(path), Some(&found), "{path}");
    }
    let rate = json["by_agent"][0]["success_rate"]["n"].as_u64().unwrap();
    let figures = &json["by_agent"][0];
    let held = ["pass", "fail", "agent_errors"].map(|key| figures[key].as_u64().unwrap()).iter().sum::<u64>();
    assert_eq!(rate, held);
    let terminal = terminal::summary_text(&sample.summary, sample.selection().found(), false, 100);
    for words in ["\nBy agent\n", "\nBy tag\n", "\nBy simulator.temperature\n", "  wall time  4 min 31 s; "] {
        assert!(terminal.contains(words), "{words}: {terminal}");
    }
    let cost =
        |terminal: &str| terminal.lines().find(|line| line.starts_with("  candidate")).map(str::to_owned).unwrap();
    assert!(cost(&terminal).contains("  ≥ "), "{terminal}");
    sample.summary.by_agent[1].figures.cost_usd = 0.0;
    let unpriced = terminal::summary_text(&sample.summary, sample.selection().found(), false, 100);
    assert!(cost(&unpriced).ends_with("  unknown"), "{unpriced}");
    sample.summary.by_agent[1].figures.unpriced_calls = 0;
    let free = terminal::summary_text(&sample.summary, sample.selection().found(), false, 100);
    assert!(cost(&free).contains("  $0"), "{free}");
    assert!(terminal.contains("    candidate: ") && terminal.contains(" check_failed"), "{terminal}");
    let markdown = markdown::render(&sample.summary, &sample.selection());
    for words in
        ["## By agent", "## By tag", "## By `simulator.temperature`", "## Checks", "- **wall time** 4 min 31 s; "]
    {
        assert!(markdown.contains(words), "{words}: {markdown}");
    }
    let html = html::render(&sample.summary, &sample.selection()).unwrap();
    assert!(html.contains(" impatient @ candidate</bdi>"), "whose conversation it is");
    for part in ["by-agent", "by-tag", "by-axis", "by-check", "named-limits", "figure-wall", "groups"] {
        assert!(html.contains(&format!("data-testid=\"{part}\"")), "{part}");
    }
}

/// In turn 3 the user looked at something before it spoke.
#[test]
fn the_page_shows_what_the_simulated_user_did_and_the_state_it_was_in() {
    let sample = sample::small();
    let html = html::render(&sample.summary, &sample.selection()).unwrap();
    let (_, turn) = html.split_once(">Turn 3</a>").unwrap();
    let (turn, _) = turn.split_once("</li>").unwrap();
    let place = |text: &str| turn.find(text).unwrap_or_else(|| panic!("{text}: {turn}"));
    let called =
        place("<div class=\"said user\"><details class=\"tool\"><summary>user called <code>read_bank_statement");
    assert!(called < place("user, simulated · state: <bdi>insists</bdi>"), "{turn}");
    assert!(place("&quot;month&quot;") < place("&quot;shop&quot;"), "arguments, then the result");
    let (_, turn) = html.split_once(">Turn 1</a>").unwrap();
    let (turn, _) = turn.split_once("</li>").unwrap();
    assert!(turn.contains("<p class=\"who\">user, scripted</p>") && !turn.contains("user called"), "{turn}");
}

#[test]
fn the_page_groups_failures_as_the_terminal_does_and_shows_many_personas_as_rows() {
    const PERSONAS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let cells: Vec<_> = PERSONAS
        .iter()
        .map(|persona| sample::Cell {
            scenario: "refund",
            persona: Some(persona),
            combination: None,
            parameters: &[],
            ends: &[End::Fail, End::FailAfter],
        })
        .collect();
    let sample = sample::play("many personas", &cells);
    let html = html::render(&sample.summary, &sample.selection()).unwrap();
    assert_eq!(html.matches("data-testid=\"group\"").count(), 2, "a check of a turn, and a judge at the end");
    assert!(html.contains("12&nbsp;×") && html.contains("24 trials in 2 groups of similar failures"));
    for group in ["0", "1"] {
        let of = html.matches(&format!("data-group=\"{group}\"")).count();
        assert_eq!(of, 12, "each conversation carries its group");
    }
    assert!(
        html.contains("<th scope=\"col\">Persona</th><th scope=\"col\"><bdi title=\"refund\">refund</bdi></th></tr>")
    );
}

#[test]
fn scenarios_and_questions_of_one_name_are_distinct_on_every_page() {
    let cell = |scenario| sample::Cell {
        scenario,
        persona: None,
        combination: Some("combo-001-59fc3c"),
        parameters: &[],
        ends: &[End::Fail, End::Pass],
    };
    let mut sample = sample::play("twins", &[cell("greeting"), cell("greeting")]);
    for (case, file) in sample.summary.cases.iter_mut().zip(["a.qna", "b.qna"]) {
        case.source = file.to_owned();
        case.title = format!("greeting ({file})");
        case.variant = Some(format!("Who are you, {file}?"));
    }
    // Annotations name failures only, and the run over time names nothing.
    for (form, text) in sample.pages().into_iter().filter(|(form, _)| !["github", "series"].contains(form)) {
        for words in ["greeting (a.qna)", "greeting (b.qna)", "Who are you, b.qna?"] {
            assert!(text.contains(words), "{form}: {words}: {text}");
        }
        assert!(form == "json" || !text.contains("combo-001"), "{form}: {text}");
    }
}

#[test]
fn markdown_page() {
    let sample = sample::small();
    insta::assert_snapshot!(markdown::render(&sample.summary, &sample.selection()));
}

#[test]
fn junit_page() {
    let sample = sample::small();
    insta::assert_snapshot!(junit::render(&sample.summary, &sample.selection()).unwrap());
}

#[test]
fn github_page() {
    let sample = sample::small();
    insta::assert_snapshot!(github::render(&sample.summary, &sample.selection()));
}

#[test]
fn json_page() {
    let sample = sample::small();
    insta::assert_snapshot!(json::render(&sample.summary));
}

#[test]
fn trial_lines() {
    let sample = sample::small();
    let lines: String = sample.trials.iter().map(|(trial, _)| trials_jsonl::line(trial)).collect();
    insta::assert_snapshot!(lines);
}

#[test]
fn a_trial_line_has_every_promised_field() {
    let sample = sample::small();
    for (trial, _) in &sample.trials {
        let line = trials_jsonl::line(trial);
        assert_eq!(line.matches('\n').count(), 1);
        let line: Value = serde_json::from_str(&line).unwrap();
        for field in [
            "trial_id",
            "case_id",
            "repeat",
            "epoch",
            "verdict",
            "failure_kind",
            "blame",
            "strategy",
            "termination_reason",
            "turns",
            "duration_ms",
            "llm_calls",
            "tokens",
            "cost_usd",
            "judgments",
        ] {
            assert!(line.get(field).is_some(), "{field}");
        }
        for role in ["agent", "user_sim", "judge"] {
            assert!(line["llm_calls"][role].is_u64() && line["tokens"][role]["input"].is_u64(), "{role}");
        }
    }
}

#[test]
fn transcripts_are_kept_if_not_passed_or_requested() {
    let sample = sample::small();
    let kept: Vec<u64> = sample
        .trials
        .iter()
        .filter_map(|(trial, turns)| transcripts_jsonl::line(trial, turns))
        .map(|line| serde_json::from_str::<Value>(&line).unwrap()["number"].as_u64().unwrap())
        .collect();
    // 1, 2 and 4 passed, and only the first repeat of a case was requested.
    assert_eq!(kept, [0, 3, 5, 6, 7, 8, 9, 10]);
    let (trial, turns) = &sample.trials[3];
    let line: Value = serde_json::from_str(&transcripts_jsonl::line(trial, turns).unwrap()).unwrap();
    let turn = &line["turns"][1];
    assert_eq!(turn["tool_calls"][0]["name"], "find_order");
    assert_eq!(turn["calls"].as_array().unwrap().len(), 2);
    assert_eq!(turn["notes"][0]["kind"], "termination");
}

#[test]
fn the_run_over_time_is_a_table_for_spreadsheets() {
    let mut sample = sample::small();
    let heads = series_csv::render(&sample.summary);
    assert_eq!(heads.lines().count(), 1, "the sample does not say when its trials were played");
    let mut slices = Slices::of_run_started_at(1_000);
    for (trial, _) in &sample.trials {
        slices.add(&Trial { began_at_ms: 1_000 + trial.number * 400, ..trial.clone() }, None);
    }
    sample.summary.series = slices.figures();
    insta::assert_snapshot!(series_csv::render(&sample.summary));
}

#[test]
fn the_schema_names_the_fields_of_the_report() {
    let schema = report::schema::report();
    let sample = sample::small();
    let page: Value = serde_json::from_str(&json::render(&sample.summary)).unwrap();
    for field in schema["required"].as_array().unwrap() {
        assert!(page.get(field.as_str().unwrap()).is_some(), "{field}");
    }
    for path in [
        "/run/plan_digest",
        "/summary/trials/not_started",
        "/summary/completed_rate",
        "/summary/success_rate/method",
        "/summary/latency/ttft/p999_ms",
        "/summary/latency/unanswered_turns",
        "/summary/tokens/agent/output",
        "/summary/cost/complete",
        "/summary/attempts/lost",
        "/summary/unsettled_usd",
        "/cases/0/parameters",
        "/cases/0/flaky",
    ] {
        assert!(page.pointer(path).is_some(), "{path}");
    }
    let back: record::Summary = serde_json::from_value(page).unwrap();
    assert_eq!(back, sample.summary);
}

/// A percentile without the unanswered turns would flatter the agent.
#[test]
fn every_page_says_how_many_turns_its_latency_leaves_out() {
    let mut answered = sample::small();
    let mut silent = sample::small();
    silent.summary.summary.latency.times = Times::default();
    for sample in [&answered, &silent] {
        let said = "2 turns without an answer are not in it";
        assert_eq!(sample.summary.summary.latency.unanswered_turns, 2);
        for (form, text) in sample.pages() {
            assert!(text.contains(said) || ["github", "json", "junit", "series"].contains(&form), "{form}: {text}");
        }
    }
    answered.summary.summary.latency.unanswered_turns = 0;
    for (form, text) in answered.pages() {
        assert!(!text.contains("without an answer"), "{form}");
    }
}

#[test]
fn pages_of_an_empty_run_can_be_read() {
    let mut sample = sample::play("nothing ran", &[]);
    sample.summary.summary.completed_rate = 0.0;
    sample.summary.gates.clear();
    for (form, text) in sample.pages() {
        assert!(!text.contains("NaN") && !text.is_empty(), "{form}: {text}");
    }
}

#[test]
fn every_page_has_quality_by_offered_load_and_its_knee() {
    let sample = sample::under_load();
    let selection = sample.selection();
    let page = markdown::render(&sample.summary, &selection);
    let (_, section) = page.split_once("## Quality by offered load\n\n").unwrap();
    let rows: Vec<&str> = section.lines().take(10).collect();
    assert_eq!(
        rows[0],
        "| offered | from | until | success rate | 95% interval | ended | dropped | agent errors | other | first token p50 | response p50 | p95 | p99 | cost a pass |"
    );
    assert_eq!(
        rows[3],
        "| 2/s | 20 s | 40 s | 97.5% | 87–100% | 40 | 0 | 0 | 0 | – | 478 ms | too few | too few | $0.0103 |"
    );
    let knee = "knee: the success rate falls above 3/s (95% interval 3 to 4/s), from 97.5% until there to 38.9% beyond";
    let sustained = "pass_rate >= 90% holds up to 3/s and not at 4/s, with 95% confidence; too few to say at 1/s, 2/s";
    assert_eq!(rows[8..], [format!("- {}", sustained.replace('>', "&gt;")), format!("- {knee}")]);
    let terminal = terminal::summary_text(&sample.summary, selection.found(), false, 100);
    let words = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("4/s 50% 39–61% 80 0"), "{terminal}");
    assert!(words.contains(knee) && words.contains(sustained), "{terminal}");
    let html = html::render(&sample.summary, &selection).unwrap().replace("&#x2f;", "/");
    assert!(html.contains(knee) && html.contains("50% of 80 at 4/s: 95% interval 39–61%"));
    let json: Value = serde_json::from_str(&json::render(&sample.summary)).unwrap();
    assert_eq!(json.pointer("/load/knee/load"), Some(&json!(3.0)));
    let steady = record::summary::Load { steps: sample::load().steps[..1].to_vec(), ..sample::load() };
    let summary = record::Summary { load: Some(steady), ..sample.summary.clone() };
    let page = html::render(&summary, &selection).unwrap();
    assert!(page.contains("Quality by offered load") && !page.contains("success-by-load"), "one load is no course");
}

#[test]
fn every_page_says_what_a_search_found() {
    use record::summary::{LoadSearch, LoadSearchStep};
    use scenario::load::StepVerdict::{Broke, Held};
    let sample = sample::under_load();
    let result = "held at 3/s, broke at 4/s: p99(response) 2.30 s of 1,350 turns";
    let step = |rate: f64, verdict, reason: &str| LoadSearchStep {
        rate,
        from_seconds: 20.0 * rate - 25.0,
        measured_from_seconds: 20.0 * rate - 20.0,
        until_seconds: 20.0 * rate,
        verdict,
        reason: reason.to_owned(),
    };
    let search = LoadSearch {
        requirements: vec!["p99(response) < 2s".to_owned()],
        held: Some(3.0),
        broke: Some(4.0),
        result: result.to_owned(),
        ended: Some("the rate is known to 5 %".to_owned()),
        steps: vec![
            step(3.0, Some(Held), "p99(response) 1.20 s of 900 turns"),
            step(4.0, Some(Broke), "p99(response) 2.30 s of 1,350 turns"),
            step(5.0, None, "the run ended before it was judged"),
        ],
    };
    let load = record::summary::Load { search: Some(search), ..sample::load() };
    let summary = record::Summary { load: Some(load), ..sample.summary.clone() };
    let selection = sample.selection();
    let page = markdown::render(&summary, &selection);
    let (_, section) = page.split_once("## Search for the highest load\n\n").unwrap();
    let rows: Vec<&str> = section.lines().take(9).collect();
    assert_eq!(rows[0], format!("- {result}"));
    assert_eq!(rows[1], "- each step must meet p99(response) &lt; 2s with 95% confidence");
    assert_eq!(rows[2], "- it ended because the rate is known to 5 %");
    assert_eq!(rows[4], "| rate | from | until | | figures |");
    assert_eq!(rows[6], "| 3/s | 40 s | 60 s | held | p99(response) 1.20 s of 900 turns |");
    assert_eq!(rows[8], "| 5/s | 80 s | 100 s | not judged | the run ended before it was judged |");
    let terminal = terminal::summary_text(&summary, selection.found(), false, 100);
    let words = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(result) && words.contains("4/s 60 s 80 s broke"), "{terminal}");
    let html = html::render(&summary, &selection).unwrap().replace("&#x2f;", "/");
    assert!(html.contains("Search for the highest load") && html.contains(result));
    let [load, matrix] = ["<section id=\"load\"", "<section id=\"matrix\""].map(|id| html.find(id).unwrap());
    assert!(load < matrix, "what a load is about comes before the conversations");
}

#[test]
fn charts_over_time_have_the_load_the_times_goodput_and_losses() {
    let sample = sample::under_load();
    let page = html::render(&sample.summary, &sample.selection()).unwrap().replace("&#x2f;", "/");
    for (id, lines) in [
        ("load-over-time", "Conversations per second: offered, started, completed"),
        ("times-over-time", "Response time and service time: response p99, service p99, response p50, service p50"),
        ("ttft-over-time", "First token of streamed replies: p99, p50"),
        ("goodput-over-time", "Turns that met the limits of goodput: goodput"),
        ("success-by-load", "Success rate by offered load: success rate; knee: "),
    ] {
        assert!(page.contains(&format!("<desc id=\"{id}-about\">{lines}")), "{id}");
    }
    assert_eq!(
        page.matches(">4 lost</text>").count(),
        4,
        "moments that are close share a mark, in each chart over time"
    );
    let short = sample::small();
    assert!(!html::render(&short.summary, &short.selection()).unwrap().contains("over-time-title"), "it has no course");
    for name in ["paused", "3/s", "restart"] {
        assert_eq!(page.matches(&format!(">{name}</text>")).count(), 4, "{name}");
    }
    assert!(
        page.contains("<title>after 5 s: paused (by ada); after 5 s: resumed, 1 min 30 s later</title>"),
        "a pause takes no time"
    );
    for (form, text) in sample.pages().into_iter().filter(|(form, _)| ["html", "markdown", "text"].contains(form)) {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("&#x2f;", "/");
        for event in [
            "What happened while it ran",
            "after 5.00 s: paused (by ada)",
            "after 33.00 s: 3/s for each group with a rate",
            "after 1 min 1 s: 3 conversations were lost with a worker",
            "after 1 min 30 s: the coordinator was started again, or another one took over",
        ] {
            assert!(words.contains(event), "{form}: {event}");
        }
        assert!(form != "markdown" || words.contains(" trials that ended, "), "{words}");
    }
    assert!(page.contains("offered after 40 s: 3.00") && page.contains("goodput after 0: 100%"));
}
