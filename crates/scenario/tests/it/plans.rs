//! Plans: the numbers of trials, the choices, and refusals.

use std::{collections::BTreeSet, fs, sync::Arc};

use formats::read;
use proptest::prelude::*;
use scenario::{
    Action, Diagnostic, Plan, Reading, estimate,
    plan::{Axis, Choices, Error, Gates, Group, Trials, VERSION, build, unknown_tags},
};
use serde_json::json;

const TALK: &str = "name: Talk\ndescription: d\njudgment: {strategy: all_pass}\ngabfest: {tags: [smoke], weight: 3, required_pass_rate: 0.5}\nrun:\n  - conversation:\n      max_turns: 4\n      user_simulator: {persona: own, objective: o}\n";
const ASK: &str = "name: Ask\ndescription: d\njudgment: {strategy: all_pass}\nrun: [{input: hi, evaluations: [{type: string_contains, value: x}]}]\n";
const PEOPLE: &str = "- {name: angry, persona: an angry customer, temperature: 1.1}\n- {name: shy, persona: a shy customer, objective: leave}\n";

/// Reads files with these names and texts.
fn reading(files: &[(&str, &str)]) -> Reading {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let reading = read::read(&[folder.path().to_path_buf()]);
    let errors: Vec<&Diagnostic> = reading.diagnostics.iter().filter(|found| found.is_error()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    reading
}

fn usual() -> Reading {
    reading(&[("talk.scenario.yaml", TALK), ("ask.scenario.yaml", ASK), ("personas/people.yaml", PEOPLE)])
}

fn messages(outcome: Result<Plan, Vec<Diagnostic>>) -> String {
    let faults = outcome.unwrap_err();
    let lines = faults.iter().map(|fault| format!("{fault} | {}", fault.help.as_deref().unwrap_or("-")));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn personas_multiply_conversations_only() {
    let choices = Choices { personas: vec!["all".to_owned()], repeats: Some(2), ..Choices::default() };
    let plan = build(&usual(), &choices).unwrap();
    let cases: Vec<(String, Option<String>)> =
        (0..plan.case_count()).map(|n| plan.case(n).unwrap()).map(|case| (case.scenario, case.persona)).collect();
    let talk = |name: &str| ("Talk".to_owned(), Some(name.to_owned()));
    assert_eq!(cases, [("Ask".to_owned(), None), talk("angry"), talk("shy")]);
    assert_eq!(plan.planned(), Some(6));
    let dressed = plan.scenario(&plan.case(1).unwrap(), formats::ALL).unwrap();
    let Action::Converse(conversation) = &dressed.steps[0].action else { panic!() };
    assert_eq!(conversation.simulator.persona, "an angry customer");
    assert_eq!((conversation.simulator.objective.as_str(), conversation.simulator.temperature), ("o", 1.1));
    assert_eq!((plan.groups[1].weight, plan.groups[1].required_pass_rate), (3.0, Some(0.5)));
    assert_eq!(plan.groups[1].tags, ["smoke"]);
    assert_eq!(plan.groups[1].key, "talk/Talk");
}

#[test]
fn lines_survive_the_plan() {
    let plan = build(&usual(), &Choices::default()).unwrap();
    let plan = Plan::from_json(&plan.to_json()).unwrap();
    let scenario = plan.scenario(&plan.case(0).unwrap(), formats::ALL).unwrap();
    assert_eq!((scenario.steps[0].line, scenario.steps[0].checks[0].line), (4, 4));
    let talk = plan.scenario(&plan.case(1).unwrap(), formats::ALL).unwrap();
    assert_eq!(talk.steps[0].line, 6);
    assert!(talk.source.path.ends_with("talk.scenario.yaml"));
}

#[test]
fn set_becomes_an_axis_of_one_value() {
    let set = vec![("run[0].conversation.max_turns".to_owned(), json!(9))];
    let plan = build(&usual(), &Choices { set, ..Choices::default() }).unwrap();
    assert_eq!(plan.case(0).unwrap().parameters, []);
    let case = plan.case(1).unwrap();
    assert_eq!(case.parameters, [("run[0].conversation.max_turns".to_owned(), json!(9))]);
    let scenario = plan.scenario(&case, formats::ALL).unwrap();
    assert!(matches!(&scenario.steps[0].action, Action::Converse(conversation) if conversation.max_turns == 9));
    let without = build(&usual(), &Choices::default()).unwrap();
    assert_ne!(case.id, without.case(1).unwrap().id, "another value is another case");
    // A leaf that the format knows may be added.
    let set = vec![("run[0].conversation.user_simulator.style".to_owned(), json!("curt"))];
    assert!(build(&usual(), &Choices { set, ..Choices::default() }).is_ok());
}

#[test]
fn set_replaces_the_axis_of_a_matrix() {
    let matrix = "name: M\nbase_scenario: talk.scenario.yaml\nmatrix:\n  - {parameter: name, values: [a, b]}\n  - {parameter: 'run[0].conversation.max_turns', values: [2, 3, 4]}\n";
    let reading = reading(&[("talk.scenario.yaml", TALK), ("m.matrix.yaml", matrix)]);
    let plan = build(&reading, &Choices::default()).unwrap();
    assert_eq!((plan.groups.len(), plan.case_count()), (1, 6), "the base is played through the matrix only");
    assert_eq!(plan.groups[0].key, "m/M");
    let set = vec![("run[0].conversation.max_turns".to_owned(), json!(5))];
    let plan = build(&reading, &Choices { set, ..Choices::default() }).unwrap();
    assert_eq!(plan.case_count(), 2);
}

type Change = fn(&mut Choices);

#[test]
fn choices_that_name_nothing_are_refused() {
    let choose = |change: Change| {
        let mut choices = Choices::default();
        change(&mut choices);
        messages(build(&usual(), &choices))
    };
    let rows: &[(Change, &str)] = &[
        (
            |choices| choices.personas = vec!["angri".to_owned()],
            "error: unknown persona `angri` | did you mean `angry`?",
        ),
        (|choices| choices.personas = vec!["bob".to_owned()], "error: unknown persona `bob` | known: angry, shy"),
        (
            |choices| choices.tags = vec!["smoek".to_owned()],
            "error: no scenario has the tag `smoek` | did you mean `smoke`?",
        ),
        (|choices| choices.filter = Some("zebra".to_owned()), "error: no case has `zebra` in its scenario"),
        (|choices| choices.agents.clear(), "error: no agent is named"),
        (
            |choices| choices.set = vec![("run[0]..x".to_owned(), json!(1))],
            "`run[0]..x` is not a path: Empty segment in path | did you mean `run[0].x`?",
        ),
        (
            |choices| choices.set = vec![("run[0].conversation.user_simulator.stile".to_owned(), json!(1))],
            "`run[0].conversation.user_simulator.stile` cannot be set in any scenario: `run[0].conversation.user_simulator` has no key `stile` | did you mean `style`?",
        ),
        (
            |choices| choices.set = vec![("run[7].input".to_owned(), json!("x"))],
            "`run` has 1 elements, so there is no [7]",
        ),
        (
            |choices| choices.set = vec![("run[0].conversation.max_turns".to_owned(), json!(99))],
            "with `run[0].conversation.max_turns` set to 99: expected a whole number from 2 to 20, found 99",
        ),
        (|choices| choices.max_trials = 1, "the plan has 2 trials, at most 1 are allowed"),
    ];
    for (change, expected) in rows {
        let found = choose(*change);
        assert!(found.contains(expected), "expected {expected}\nfound {found}");
    }
    assert!(messages(build(&Reading::default(), &Choices::default())).contains("there is no scenario to play"));
}

#[test]
fn personas_that_files_name_must_exist() {
    let scenario = TALK.replace("tags: [smoke]", "personas: [angri]");
    let fault =
        messages(build(&reading(&[("t.scenario.yaml", &scenario), ("personas/p.yaml", PEOPLE)]), &Choices::default()));
    assert!(fault.contains("t.scenario.yaml:4:21: error: unknown persona `angri` | did you mean `angry`?"), "{fault}");
    let matrix = "name: M\nbase_scenario: t.scenario.yaml\nmatrix: [{parameter: name, values: [a]}]\ngabfest:\n  repeats: 4\n  tags: [nightly]\n  personas: [shy]\n";
    let files = [("t.scenario.yaml", scenario.as_str()), ("m.matrix.yaml", matrix), ("personas/p.yaml", PEOPLE)];
    let plan = build(&reading(&files), &Choices::default()).unwrap();
    let group = &plan.groups[0];
    assert_eq!((group.repeats, group.tags.as_slice(), plan.planned()), (4, ["nightly".to_owned()].as_slice(), Some(4)));
    assert_eq!(plan.case(0).unwrap().persona.as_deref(), Some("shy"), "the matrix is stronger than the scenario");
    let alone = build(&reading(&[files[0], ("m.matrix.yaml", &matrix.replace("shy", "bob"))]), &Choices::default());
    let fault = messages(alone);
    assert!(
        fault.contains("m.matrix.yaml:7:13: error: unknown persona `bob` | no persona library was read"),
        "{fault}"
    );
}

#[test]
fn filter_and_tags_keep_matching_cases() {
    let kept = |choices: Choices| {
        let plan = build(&usual(), &choices).unwrap();
        (0..plan.case_count())
            .map(|n| plan.case(n).unwrap())
            .map(|case| (case.number, case.scenario, case.persona))
            .collect::<Vec<_>>()
    };
    let all = || vec!["all".to_owned()];
    let filter = |text: &str| Choices { filter: Some(text.to_owned()), personas: all(), ..Choices::default() };
    assert_eq!(kept(filter("SHY")), [(0, "Talk".to_owned(), Some("shy".to_owned()))]);
    assert_eq!(kept(filter("ask/")), [(0, "Ask".to_owned(), None)]);
    assert_eq!(kept(filter("talk")).len(), 2);
    assert_eq!(kept(Choices { tags: vec!["smoke".to_owned()], ..Choices::default() }), [(0, "Talk".to_owned(), None)]);
    // The same case has the same id with any filter.
    let whole = build(&usual(), &Choices { personas: all(), ..Choices::default() }).unwrap();
    let part = build(&usual(), &filter("shy")).unwrap();
    assert_eq!(whole.case(2).unwrap().id, part.case(0).unwrap().id);
    assert_eq!(whole.trial(2).unwrap().seed, part.trial(0).unwrap().seed);
}

#[test]
fn an_unknown_tag_beside_a_known_one_is_reported() {
    let tags = ["smoke".to_owned(), "smokes".to_owned()];
    let found = unknown_tags(&usual(), &tags);
    let told: Vec<_> = found.iter().map(|one| (one.is_error(), one.message.as_str(), one.help.as_deref())).collect();
    assert_eq!(told, [(false, "no scenario has the tag `smokes`", Some("did you mean `smoke`?"))]);
    assert!(unknown_tags(&usual(), &tags[..1]).is_empty());
}

#[test]
fn a_matrix_of_ten_to_the_twelve_is_refused_with_its_arithmetic() {
    let mut matrix = "name: Huge\nbase_scenario: talk.scenario.yaml\nmatrix:\n".to_owned();
    let simulator = "run[0].conversation.user_simulator";
    let paths =
        ["name", "description", "run[0].name", "run[0].input", "gabfest.weight", "run[0].conversation.max_turns"];
    let below = ["persona", "objective", "style", "emotional_state", "model_type", "temperature"];
    for path in paths.iter().map(ToString::to_string).chain(below.iter().map(|key| format!("{simulator}.{key}"))) {
        let values: Vec<String> = (2..12)
            .map(|n| match path.as_str() {
                "gabfest.weight" | "run[0].conversation.max_turns" => n.to_string(),
                path if path.ends_with("temperature") => format!("0.{n:02}"),
                _ => format!("'{n}'"),
            })
            .collect();
        matrix.push_str(&format!("  - {{parameter: '{path}', values: [{}]}}\n", values.join(", ")));
    }
    let reading = reading(&[("talk.scenario.yaml", TALK), ("huge.matrix.yaml", &matrix)]);
    let fault = messages(build(&reading, &Choices { repeats: Some(7), ..Choices::default() }));
    assert!(fault.contains("the plan has 1000000000000 cases, at most 100000 are allowed"), "{fault}");
    assert!(fault.contains("`huge/Huge` alone has 10 values x 10 values"), "{fault}");
}

#[test]
fn a_plan_with_too_many_trials_says_which_number_to_lower() {
    let reading = reading(&[("ask.scenario.yaml", ASK)]);
    let choices = Choices { repeats: Some(5), max_trials: 1, ..Choices::default() };
    let fault = messages(build(&reading, &choices));
    let expected = "the plan has 5 trials, at most 1 are allowed; `ask/Ask` alone has 5 repeats = 5 | lower `--repeats`, or raise `--max-trials`";
    assert!(fault.contains(expected), "{fault}");
}

#[test]
fn groups_with_one_key_are_distinguished_by_content() {
    let other = ASK.replace("value: x", "value: y");
    let files = [("a/ask.scenario.yaml", ASK), ("b/ask.scenario.yaml", &other), ("c/ask.scenario.yaml", ASK)];
    let plan = build(&reading(&files), &Choices::default()).unwrap();
    let keys: Vec<&str> = plan.groups.iter().map(|group| group.key.as_str()).collect();
    assert!(keys.iter().all(|key| key.starts_with("ask/Ask#")), "{keys:?}");
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 3, "{keys:?}");
    assert_eq!(format!("{}-2", keys[0]), keys[2], "{keys:?}");
}

#[test]
fn another_version_and_broken_plans_are_refused() {
    let plan = build(&usual(), &Choices::default()).unwrap();
    let text = plan.to_json();
    assert_eq!(Plan::from_json(&text).unwrap(), plan);
    assert_eq!(Plan::from_json(&text).unwrap().digest(), plan.digest());
    let other = text.replacen("\"version\":1", "\"version\":99", 1);
    assert!(matches!(Plan::from_json(&other), Err(Error::Version { found: 99 })));
    assert!(matches!(Plan::from_json("{}"), Err(Error::Version { found: 0 })));
    assert!(matches!(Plan::from_json("nonsense"), Err(Error::Malformed(_))));
    for break_it in [
        |plan: &mut Plan| plan.agents.clear(),
        |plan: &mut Plan| plan.groups[0].repeats = 0,
        |plan: &mut Plan| plan.groups[0].personas.clear(),
        |plan: &mut Plan| plan.groups[0].personas = vec![Some("nobody".to_owned())],
        |plan: &mut Plan| plan.groups[0].axes = vec![Axis { parameter: "name".to_owned(), values: vec![] }],
        |plan: &mut Plan| plan.groups[0].selection = Some(vec![5]),
    ] {
        let mut broken = plan.clone();
        break_it(&mut broken);
        assert!(matches!(Plan::from_json(&broken.to_json()), Err(Error::Inconsistent(_))));
    }
}

#[test]
fn the_digest_does_not_depend_on_the_order_of_keys() {
    let plan = build(&usual(), &Choices::default()).unwrap();
    let mut other = plan.clone();
    let document = other.groups[0].document.as_object().unwrap();
    other.groups[0].document = document.clone().into_iter().rev().collect();
    assert_eq!(plan.digest(), other.digest());
    other.seed += 1;
    assert_ne!(plan.digest(), other.digest());
}

#[test]
fn the_estimate_counts_questions() {
    let judged = "name: J\ndescription: d\njudgment: {strategy: all_pass}\nrun:\n  - conversation:\n      max_turns: 3\n      user_simulator: {persona: p, objective: o}\n      turn_evaluations: [{type: llm_judge, prompt: q, expected: 'yes'}]\n      final_evaluations:\n        - {type: conversation_flow, required_patterns: [clarification_cycle, escalation_pattern]}\n        - {type: user_satisfaction, measurement_method: keyword_analysis}\n";
    let reading = reading(&[("j.scenario.yaml", judged), ("ask.scenario.yaml", ASK)]);
    let plan = build(&reading, &Choices { repeats: Some(10), ..Choices::default() }).unwrap();
    let size = estimate::estimate(&plan, formats::ALL);
    assert_eq!((size.cases, size.trials, size.conversations), (2, 20, 20));
    assert_eq!(size.upper.agent.calls, 10 + 30);
    assert_eq!(size.upper.user_sim.calls, 20, "the first line is the scenario's");
    assert_eq!(size.upper.judge.calls, 30 + 20);
    assert!(size.typical.agent.input_tokens > 0 && size.typical.agent.input_tokens < size.upper.agent.input_tokens);
    assert_eq!(size.typical.judge.calls, size.upper.judge.calls, "without conditions it lasts all its turns");
}

/// Calls of one trial of a conversation with at most five turns: agent, user and judge, and what the judge reads.
fn five_turns(user: &str, checks: &str) -> estimate::Load {
    let text = format!(
        "name: J\ndescription: d\njudgment: {{strategy: all_pass}}\nrun:\n  - conversation:\n      max_turns: 5\n      user_simulator: {{persona: p, objective: o, gabfest: {user}}}\n      final_evaluations: [{checks}]\n"
    );
    let plan = build(&reading(&[("j.scenario.yaml", &text)]), &Choices::default()).unwrap();
    estimate::estimate(&plan, formats::ALL).upper
}

#[test]
fn the_estimate_counts_scripted_turns_and_questions_about_the_user() {
    const LENGTH: &str = "{type: conversation_length, max_turns: 9}";
    let states = "states: {ask: {say: s, next: [{if: {ask: a}, go: end}, {if: {ask: b}, go: end}, {if: {after_turns: 4}, go: end}]}, end: {end: done}}";
    let rows = [
        ("{}".to_owned(), (5, 4, 0)),
        // Lines of the script cost no call of the user's model. The first line is the scenario's.
        ("{script: [{turn: 3, verbatim: Are you a robot?}, {turn: 4, verbatim: Sure?}]}".to_owned(), (5, 2, 0)),
        // Both questions after each answer of the agent.
        (format!("{{{states}}}"), (5, 4, 10)),
        // Three questions about each line of the user's model, and one for the violation.
        ("{self_check: model, violations: [{id: rude, text: shouts}]}".to_owned(), (5, 4, 16)),
        (format!("{{{states}, script: [{{turn: 5, verbatim: Bye}}]}}"), (5, 3, 10)),
    ];
    for (user, calls) in rows {
        let found = five_turns(&user, LENGTH);
        assert_eq!((found.agent.calls, found.user_sim.calls, found.judge.calls), calls, "{user}");
    }
    let long = format!("{{script: [{{turn: 2, verbatim: {}}}]}}", "x".repeat(4_000));
    let (short, long) = (five_turns("{script: [{turn: 2, verbatim: x}]}", LENGTH), five_turns(&long, LENGTH));
    assert_eq!(long.agent.input_tokens - short.agent.input_tokens, 4 * 999, "each later turn sends the line again");
}

#[test]
fn the_estimate_counts_what_the_author_shows_a_judge() {
    let check = |more: &str| format!("{{type: llm_judge, prompt: q, expected: 'yes', votes: 3{more}}}");
    let plain = five_turns("{}", &check("")).judge;
    let shown = five_turns("{}", &check(&format!(", reference: {}", "x".repeat(400)))).judge;
    assert_eq!((plain.calls, shown.calls, shown.input_tokens - plain.input_tokens), (3, 3, 300));
}

/// Groups of any shape; documents do not matter here.
fn any_plan() -> impl Strategy<Value = Plan> {
    let axis = proptest::collection::vec(-3.0..3.0_f64, 1..4);
    let axes = proptest::collection::vec(axis, 0..3);
    let group = (axes, 1..3_usize, 1..5_u32, any::<Option<u64>>());
    (proptest::collection::vec(group, 0..5), 1..3_usize, any::<u64>()).prop_map(|(groups, agents, seed)| {
        let groups = groups.into_iter().enumerate().map(|(index, (axes, personas, repeats, select))| {
            let axes: Vec<Axis> = axes
                .into_iter()
                .enumerate()
                .map(|(at, values)| Axis {
                    parameter: format!("p{at}"),
                    // Different by their places: equal values of an axis would be one case twice.
                    values: values.into_iter().enumerate().map(|(place, value)| json!([place, value])).collect(),
                })
                .collect();
            let cells = axes.iter().map(|axis| axis.values.len()).product::<usize>() * personas * agents;
            let selection = select.map(|bits| (0..cells as u64).filter(|cell| bits >> (cell % 64) & 1 == 1).collect());
            Group {
                key: format!("g{index}"),
                name: format!("g{index}"),
                format: "eliza".to_owned(),
                source: scenario::Source::default(),
                document: json!({"name": "x", "weight": 0.1 + 0.2}),
                lines: [("run[0]".to_owned(), 3)].into(),
                tags: Vec::new(),
                weight: 1.0 / 3.0,
                required_pass_rate: None,
                axes,
                personas: [None, Some("p".to_owned())].into_iter().take(personas).collect(),
                repeats,
                selection,
                extra: Vec::new(),
                exclude: Vec::new(),
                excluded: 0,
                environment: Default::default(),
                rows: None,
                cover: None,
            }
        });
        let persona = json!({"name": "p", "persona": "x"});
        Plan {
            version: VERSION,
            name: "any".to_owned(),
            seed,
            groups: groups.collect(),
            personas: [("p".to_owned(), serde_json::from_value(persona).unwrap())].into(),
            agents: (0..agents).map(|n| format!("a{n}")).collect(),
            live: false,
            plays_on: false,
            replays: 2,
            gates: Gates { pass_rate: Some(0.1 + 0.7), max_unjudged_cases: seed % 2, ..Gates::default() },
            pass_k: (seed % 3 == 0).then_some(5),
            endpoints: [("large".to_owned(), "a digest".to_owned())].into(),
            transcripts: if seed % 7 == 0 { scenario::plan::Transcripts::Failures } else { Default::default() },
            think_time: false,
            load: None,
            decide: None,
            origin: None,
            goodput: (seed % 5 == 0)
                .then_some(scenario::Goodput { ttft_micros: Some(7), ..scenario::Goodput::default() }),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every case as often as its group repeats it, each trial once, with repeats outermost.
    #[test]
    fn trials_are_a_bijection_onto_cases_and_repeats(plan in any_plan()) {
        let mut expected = BTreeSet::new();
        for number in 0..plan.case_count() {
            let case = plan.case(number).unwrap();
            prop_assert_eq!(case.number, number);
            for repeat in 0..plan.groups[case.group].repeats {
                expected.insert((repeat, number));
            }
        }
        prop_assert_eq!(plan.planned(), Some(expected.len() as u64));
        let (mut ids, mut seeds, mut cases) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let trials = Trials::of(Arc::new(plan.clone()));
        // Ascending by repeat, then by case: exactly the order of the set.
        for (number, (repeat, case_number)) in expected.into_iter().enumerate() {
            let trial = plan.trial(number as u64).unwrap();
            prop_assert_eq!(trials.get(number as u64), Some(trial.clone()));
            prop_assert_eq!((trial.number, trial.repeat, trial.case), (number as u64, repeat, case_number));
            prop_assert_eq!(&trial.case_id, &plan.case(case_number).unwrap().id);
            cases.insert(trial.case_id.clone());
            prop_assert!(ids.insert(trial.id.clone()));
            // Agents play the same conversations.
            prop_assert!(seeds.insert((plan.case(case_number).unwrap().agent, trial.seed)));
        }
        prop_assert_eq!(cases.len() as u64, plan.case_count());
        prop_assert!(plan.trial(plan.planned().unwrap()).is_none() && plan.case(plan.case_count()).is_none());
        prop_assert!(trials.get(plan.planned().unwrap()).is_none());
    }

    #[test]
    fn plans_survive_their_json(plan in any_plan()) {
        let text = plan.to_json();
        let back = Plan::from_json(&text).unwrap();
        prop_assert_eq!(back.digest(), plan.digest());
        prop_assert_eq!(back, plan);
    }

    #[test]
    fn numbers_that_no_plan_has_are_refused_not_feared(number in any::<u64>(), mut plan in any_plan()) {
        for group in &mut plan.groups {
            group.repeats = u32::MAX;
            group.axes = (0..40).map(|at| Axis { parameter: format!("p{at}"), values: vec![json!(1), json!(2), json!(3)] }).collect();
            group.selection = None;
        }
        if let Some(trial) = plan.trial(number) {
            prop_assert_eq!(trial.number, number);
        }
        prop_assert_eq!(Trials::of(Arc::new(plan.clone())).get(number), plan.trial(number));
        let _ = plan.case(number);
    }
}
