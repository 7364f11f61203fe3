//! Summaries of small runs, figure by figure.

use record::Role;
use scenario::{
    Digest, RunId, Source,
    plan::{Axis, Gates, VERSION},
};
use serde_json::{Value, json};

use super::*;

fn plan(agents: usize) -> Plan {
    let group = Group {
        key: "f/refund".to_owned(),
        name: "refund".to_owned(),
        format: "eliza".to_owned(),
        source: Source { path: "f.scenario.yaml".to_owned(), line: 1 },
        document: Value::Null,
        lines: BTreeMap::new(),
        tags: Vec::new(),
        weight: 1.0,
        required_pass_rate: Some(0.5),
        axes: vec![Axis { parameter: "name".to_owned(), values: vec![json!("x"), json!("y")] }],
        personas: vec![None],
        repeats: 4,
        selection: None,
        extra: Vec::new(),
        exclude: Vec::new(),
        excluded: 0,
        cover: None,
        environment: Default::default(),
        rows: None,
    };
    Plan {
        version: VERSION,
        name: "nightly".to_owned(),
        seed: 1,
        groups: vec![group],
        personas: BTreeMap::new(),
        agents: (0..agents).map(|index| format!("agent-{index}")).collect(),
        live: false,
        plays_on: false,
        replays: 2,
        gates: Gates { max_unjudged: 0.25, ..Gates::default() },
        pass_k: None,
        endpoints: std::collections::BTreeMap::new(),
        transcripts: scenario::plan::Transcripts::All,
        think_time: false,
        load: None,
        decide: None,
        origin: None,
        goodput: None,
    }
}

fn row(plan: &Plan) -> RunRow {
    RunRow {
        id: RunId::new("r"),
        name: plan.name.clone(),
        plan_digest: Digest::new("d"),
        seed: plan.seed,
        planned: plan.planned().expect("no load"),
        state: RunState::Running,
        started_at: 1_000,
        ended_at: None,
        version: "0.1.0".to_owned(),
        exhausted: false,
        max_cost: None,
        preflight: Spend::default(),
    }
}

#[test]
fn a_run_without_trials_says_so() {
    let plan = plan(1);
    let summary = of(&row(&plan), &plan, &Tally::default(), &Spend::default(), &Recovered::default(), None);
    assert_eq!(summary.verdict, RunVerdict::Inconclusive);
    assert_eq!(summary.gates[1].reason, "none of 8 trials was played");
    assert_eq!((summary.run.started_at.as_str(), summary.run.ended_at), ("1970-01-01T00:00:01.000Z", None));
    let totals = summary.summary;
    assert_eq!((totals.trials.not_started, totals.completed_rate, totals.weighted_success_rate), (8, 0.0, None));
    assert_eq!((totals.success_rate.estimate, totals.attempts.total), (None, 0));
    assert!(totals.cost.complete && totals.tokens.len() == Role::ALL.len());
    assert_eq!(summary.cases.iter().map(|case| case.trials).sum::<u64>(), 8);
}

#[test]
fn cases_keep_the_plans_order_and_their_own_rules() {
    let plan = plan(2);
    let counts = [(4, 0, 0), (2, 2, 0), (1, 3, 0), (3, 0, 1)];
    let mut tally = Tally::default();
    for ((pass, fail, inconclusive), case) in counts.into_iter().zip(0_u64..) {
        let counts = Counts { pass, fail, inconclusive, ..Counts::default() };
        tally.cases.insert(case, counts);
        tally.total.merge(&counts);
    }
    let summary = of(&row(&plan), &plan, &tally, &Spend::default(), &Recovered::default(), None);
    let found: Vec<_> = summary
        .cases
        .iter()
        .map(|case| (case.number, case.agent.as_str(), case.parameters["name"].clone(), case.flaky, case.verdict))
        .collect();
    assert_eq!(
        found,
        [
            (0, "agent-0", json!("x"), false, RunVerdict::Pass),
            (1, "agent-1", json!("x"), true, RunVerdict::Pass),
            (2, "agent-0", json!("y"), true, RunVerdict::Fail),
            (3, "agent-1", json!("y"), false, RunVerdict::Pass),
        ]
    );
    assert_eq!(summary.cases[1].pass_hat_k.len(), 4);
    let combination = summary.cases[2].combination.as_deref().unwrap();
    let failed = format!("1 failed (refund / {combination} / agent-0: 1 of 4 passed, required 50 %)");
    assert!(summary.gates[0].reason.contains(&failed), "{}", summary.gates[0].reason);
    assert_eq!(summary.gates[1].verdict, RunVerdict::Pass, "one of sixteen may be missing");
    assert_eq!(summary.verdict, RunVerdict::Fail);
    // One scenario: its 10 passes of 15 trials.
    assert_eq!(summary.summary.weighted_success_rate, Some(10.0 / 15.0));
    assert_eq!(summary.summary.flaky_cases, 2);
}

#[test]
fn gates_and_cases_name_files_and_questions() {
    let mut plan = plan(1);
    plan.groups[0].required_pass_rate = None;
    let other = Source { path: "g.scenario.yaml".to_owned(), line: 1 };
    let mut twin = Group { source: other, axes: Vec::new(), ..plan.groups[0].clone() };
    let questions = Axis { parameter: "question".to_owned(), values: vec![json!("Hi"), json!("Good morning")] };
    let source = Source { path: "faq.qna".to_owned(), line: 3 };
    let asked = Group {
        name: "Hi".to_owned(),
        format: "qna".to_owned(),
        source: source.clone(),
        axes: vec![questions],
        ..twin.clone()
    };
    plan.groups[0].axes.clear();
    twin.repeats = 1;
    plan.groups.extend([twin, asked.clone(), Group { source: Source { line: 9, ..source }, ..asked }]);
    let mut tally = Tally::default();
    let fail = Counts { fail: 1, ..Counts::default() };
    for case in [0, 3, 4] {
        tally.cases.insert(case, fail);
        tally.total.merge(&fail);
    }
    let summary = of(&row(&plan), &plan, &tally, &Spend::default(), &Recovered::default(), None);
    let called: Vec<_> = summary.cases.iter().map(|case| (case.title.as_str(), case.variant.as_deref())).collect();
    assert_eq!(
        called,
        [
            ("refund (f.scenario.yaml)", None),
            ("refund (g.scenario.yaml)", None),
            ("Hi (faq.qna:3)", Some("Hi")),
            ("Hi (faq.qna:3)", Some("Good morning")),
            ("Hi (faq.qna:9)", Some("Hi")),
            ("Hi (faq.qna:9)", Some("Good morning")),
        ]
    );
    let named = "refund (f.scenario.yaml), Hi (faq.qna:3) / Good morning, Hi (faq.qna:9) / Hi";
    assert!(summary.gates[0].reason.contains(named), "{}", summary.gates[0].reason);
}

#[test]
fn only_a_cancelled_run_counts_unfinished_trials_as_cancelled() {
    let plan = plan(1);
    let counts = Counts { pass: 1, error: 1, ..Counts::default() };
    let mut tally = Tally::default();
    tally.cases.insert(0, counts);
    tally.total.merge(&counts);
    for (state, cancelled, not_started, by_case) in
        [(RunState::Running, 0, 6, [0, 0]), (RunState::Interrupted, 0, 6, [0, 0]), (RunState::Cancelled, 6, 0, [2, 4])]
    {
        let row = RunRow { state, ..row(&plan) };
        let summary = of(&row, &plan, &tally, &Spend::default(), &Recovered::default(), None);
        let trials = summary.summary.trials;
        assert_eq!((trials.cancelled, trials.not_started), (cancelled, not_started), "{state:?}");
        assert_eq!(summary.cases.iter().map(|case| case.cancelled).collect::<Vec<_>>(), by_case, "{state:?}");
        assert_eq!(summary.summary.attempts.total, 2, "what was not played is no attempt");
        assert_eq!(summary.verdict, RunVerdict::Inconclusive, "{state:?}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// One success rate: the headline, the gate's reason, the metrics and every page say the same.
    #[test]
    fn one_success_rate_is_everywhere(
        drawn in proptest::collection::vec((0_u64..9, 0_u64..9, 0_u64..9, 0_u64..3), 4),
    ) {
        let mut plan = plan(2);
        plan.groups[0].repeats = 30;
        plan.gates = Gates { pass_rate: Some(0.9), ..Gates::default() };
        let mut tally = Tally::default();
        for ((pass, fail, agent_errors, ours), case) in drawn.iter().copied().zip(0_u64..) {
            let counts = Counts { pass, fail, error: agent_errors + ours, agent_errors, ..Counts::default() };
            tally.cases.insert(case, counts);
            tally.total.merge(&counts);
        }
        let row = RunRow { state: RunState::Finished, ended_at: Some(2_000), ..row(&plan) };
        let summary = of(&row, &plan, &tally, &Spend::default(), &Recovered::default(), None);
        let (pass, all) = (tally.total.pass, tally.total.pass + tally.total.fail + tally.total.agent_errors);
        proptest::prop_assume!(all > 0);
        let rate = pass as f64 / all as f64;
        let found = &summary.summary.success_rate;
        proptest::prop_assert_eq!((found.estimate, found.n), (Some(rate), all));
        let reason = &summary.gates[0].reason;
        proptest::prop_assert!(reason.starts_with(&format!("{pass} of {all} passed ")), "{}", reason);
        for case in &summary.cases {
            let counts = case.counts();
            let right = (counts.conclusive() > 0).then(|| counts.pass as f64 / counts.conclusive() as f64);
            proptest::prop_assert_eq!(case.success_rate.estimate, right);
            proptest::prop_assert_eq!(case.pass_hat_k.first().copied(), right);
        }

        let selection = report::Selection::default();
        let text = report::terminal::summary_text(&summary, selection.found(), false, 100);
        let shown = text.split("success rate ").nth(1).and_then(|rest| rest.split('%').next()).unwrap();
        proptest::prop_assert!((shown.parse::<f64>().unwrap() - rate * 100.0).abs() <= 0.1, "{} {}", shown, rate);
        let markdown = report::markdown::render(&summary, &selection);
        proptest::prop_assert!(markdown.contains(&format!("success rate {shown}% (")), "{}", markdown);
        let html = report::html::render(&summary, &selection).unwrap();
        let figure = html.split("Success rate</").nth(1).unwrap();
        proptest::prop_assert!(figure[..400].contains(&format!("{shown}%")), "{} {}", shown, &figure[..400]);
    }
}

#[test]
fn a_run_that_is_over_has_the_digests_of_what_it_played() {
    let contents_of = |plan: &Plan, state| {
        let row = RunRow { state, ..row(plan) };
        of(&row, plan, &Tally::default(), &Spend::default(), &Recovered::default(), None).run.contents
    };
    let plan = plan(1);
    assert_eq!(contents_of(&plan, RunState::Running), None);
    let found = contents_of(&plan, RunState::Finished).unwrap();
    let moved =
        Group { source: Source { path: "night/f.scenario.yaml".to_owned(), line: 1 }, ..plan.groups[0].clone() };
    let moved = Plan { groups: vec![moved], agents: vec!["preview".to_owned()], ..plan.clone() };
    assert_eq!(
        contents_of(&moved, RunState::Interrupted),
        Some(found.clone()),
        "neither the folder nor the agent counts"
    );
    let changed = Group { document: json!({ "run": [] }), tags: vec!["money".to_owned()], ..plan.groups[0].clone() };
    let changed = contents_of(&Plan { groups: vec![changed], ..plan.clone() }, RunState::Finished).unwrap();
    let key = "f.scenario.yaml/refund";
    assert_ne!(found.scenarios[key].digest, changed.scenarios[key].digest);
    assert_eq!((found.scenarios[key].digest.len(), &changed.scenarios[key].tags), (16, &vec!["money".to_owned()]));
}
