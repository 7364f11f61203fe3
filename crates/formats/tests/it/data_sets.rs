//! Variables, included files, data sets, and combinations that a matrix excludes or adds, up to the plan.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use scenario::{
    Action, Diagnostic, Plan, Reading,
    plan::{Choices, build},
};

#[cfg(feature = "parquet")]
mod parquet;

/// Counts what the tests of this crate allocate.
#[global_allocator]
static ALLOCATED: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

const REFUND: &str = "name: Refund
description: d
judgment: {strategy: all_pass}
gabfest:
  vars: {city: Oslo, turns: 3}
  data: {file: refunds.csv, id: case, map: {mood: user_simulator.emotional_state}, types: {amount: number}}
run:
  - conversation:
      max_turns: ${vars.turns}
      user_simulator: {persona: 'from ${vars.city}', objective: 'get ${row.amount} EUR back for ${row.order}'}
";
const REFUNDS: &str = "case,order,amount,mood,plan\na,W-1,30,angry,pro\nb,W-2,12.5,,free\nc,\"W-3, W-4\",7,calm,pro\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn of(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn read(&self) -> Reading {
        formats::read(&[self.0.path().to_path_buf()])
    }

    fn plan(&self, choices: &Choices) -> Plan {
        let reading = self.read();
        let errors: Vec<String> = self.lines(&reading.diagnostics);
        assert_eq!(errors, [""; 0]);
        let plan = build(&reading, choices).unwrap_or_else(|faults| panic!("{:?}", self.lines(&faults)));
        // The form that workers get.
        Plan::from_json(&plan.to_json()).unwrap()
    }

    fn faults(&self, choices: &Choices) -> Vec<String> {
        let reading = self.read();
        let mut found = reading.diagnostics.clone();
        if !found.iter().any(Diagnostic::is_error) {
            found.extend(build(&reading, choices).err().unwrap_or_default());
        }
        self.lines(&found)
    }

    /// Diagnostics with their hints, and paths below this folder.
    fn lines(&self, found: &[Diagnostic]) -> Vec<String> {
        let root = format!("{}/", self.0.path().display());
        let line = |one: &Diagnostic| match &one.help {
            Some(help) => format!("{one} | {help}").replace(&root, ""),
            None => one.to_string().replace(&root, ""),
        };
        found.iter().map(line).collect()
    }

    fn faults_of(files: &[(&str, &str)]) -> Vec<String> {
        Self::of(files).faults(&Choices::default())
    }
}

/// The cases of a plan: their names, and the messages of each.
fn cases(plan: &Plan) -> String {
    let mut text = String::new();
    for case in plan.cases() {
        let name = case.combination.clone().or(plan.variant(&case)).unwrap_or_default();
        let parameters: BTreeMap<_, _> =
            case.parameters.iter().map(|(name, value)| (name, value.to_string())).collect();
        let _ = write!(text, "{name} {parameters:?}");
        match plan.scenario(&case, formats::ALL) {
            Ok(scenario) => {
                for step in &scenario.steps {
                    if let Action::Converse(conversation) = &step.action {
                        let simulator = &conversation.simulator;
                        let _ = write!(
                            text,
                            " | {} turns, {}, {}, {:?}",
                            conversation.max_turns, simulator.persona, simulator.objective, simulator.emotional_state
                        );
                    }
                    if let Action::Say { messages, .. } = &step.action {
                        let _ = write!(text, " | {}", scenario::message::said(messages));
                    }
                }
            }
            Err(faults) => panic!("{faults:?}"),
        }
        text.push('\n');
    }
    text
}

fn ids(plan: &Plan) -> BTreeMap<String, String> {
    plan.cases().map(|case| (plan.variant(&case).unwrap_or_default(), case.id.to_string())).collect()
}

#[test]
fn each_row_is_a_case() {
    let folder = Folder::of(&[("refund.scenario.yaml", REFUND), ("refunds.csv", REFUNDS)]);
    let plan = folder.plan(&Choices::default());
    insta::assert_snapshot!(cases(&plan), @r#"
    a {"row": "\"a\""} | 3 turns, from Oslo, get 30 EUR back for W-1, Some("angry")
    b {"row": "\"b\""} | 3 turns, from Oslo, get 12.5 EUR back for W-2, None
    c {"row": "\"c\""} | 3 turns, from Oslo, get 7 EUR back for W-3, W-4, Some("calm")
    "#);
    assert_eq!((plan.version, plan.planned()), (2, Some(3)));
    let set = vec![("gabfest.vars.city".to_owned(), "Rome".into())];
    let changed = folder.plan(&Choices { set, ..Choices::default() });
    assert!(cases(&changed).contains("from Rome, get 30 EUR"), "{}", cases(&changed));
}

#[test]
fn rows_multiply_axes_personas_and_agents() {
    let matrix = "name: M\nbase_scenario: refund.scenario.yaml\nmatrix:\n  - {parameter: gabfest.vars.city, values: [Rome, Bonn]}\n";
    let people = "- {name: shy, persona: a shy customer}\n- {name: loud, persona: a loud customer}\n";
    let folder = Folder::of(&[
        ("refund.scenario.yaml", REFUND),
        ("refunds.csv", REFUNDS),
        ("m.matrix.yaml", matrix),
        ("personas/p.yaml", people),
    ]);
    let agents = vec!["x".to_owned(), "y".to_owned()];
    let plan = folder.plan(&Choices { agents, personas: vec!["all".to_owned()], ..Choices::default() });
    assert_eq!(plan.case_count(), 2 * 3 * 2 * 2);
    let all: Vec<_> = plan.cases().collect();
    let distinct: std::collections::BTreeSet<_> = all.iter().map(|case| case.id.clone()).collect();
    assert_eq!(distinct.len(), 24);
    for (number, case) in (0..).zip(&all) {
        assert_eq!(plan.case(number).as_ref(), Some(case));
    }
    let seen = |case: &scenario::Case| {
        let text = |index: usize| case.parameters[index].1.as_str().unwrap().to_owned();
        (text(0), text(1), case.persona.clone().unwrap(), case.agent.clone())
    };
    let row = |city: &str, row: &str, persona: &str, agent: &str| {
        (city.to_owned(), row.to_owned(), persona.to_owned(), agent.to_owned())
    };
    assert_eq!(seen(&all[0]), row("Rome", "a", "loud", "x"));
    assert_eq!(seen(&all[3]), row("Rome", "a", "shy", "y"));
    assert_eq!(seen(&all[4]), row("Rome", "b", "loud", "x"));
    assert_eq!(seen(&all[12]), row("Bonn", "a", "loud", "x"));
    assert_eq!(all[0].combination, all[4].combination, "a combination is one of the axes, whatever the row");
    assert_ne!(all[0].combination, all[12].combination);
}

#[test]
fn the_order_of_rows_and_rows_that_are_added_change_no_id() {
    let scenario = REFUND.replace("id: case, ", "");
    let shuffled = "plan,mood,case,amount,order,note\npro,calm,c,7,\"W-3, W-4\",\nfree,,b,12.5,W-2,\npro,angry,a,30,W-1,\nfree,,d,1,W-9,new\n";
    for text in [REFUND, &scenario] {
        let before =
            ids(&Folder::of(&[("refund.scenario.yaml", text), ("refunds.csv", REFUNDS)]).plan(&Choices::default()));
        let after =
            ids(&Folder::of(&[("refund.scenario.yaml", text), ("refunds.csv", shuffled)]).plan(&Choices::default()));
        assert_eq!((before.len(), after.len()), (3, 4));
        assert!(before.iter().all(|(name, id)| after.get(name) == Some(id)), "{before:?}\n{after:?}");
    }
    let hashed =
        ids(&Folder::of(&[("refund.scenario.yaml", &scenario), ("refunds.csv", REFUNDS)]).plan(&Choices::default()));
    let is_hash = |name: &String| name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(hashed.keys().all(is_hash), "{hashed:?}");
    // A row with an id is the same case whatever its values.
    let changed = REFUNDS.replace("30,angry", "31,sad");
    let changed =
        ids(&Folder::of(&[("refund.scenario.yaml", REFUND), ("refunds.csv", &changed)]).plan(&Choices::default()));
    let usual =
        ids(&Folder::of(&[("refund.scenario.yaml", REFUND), ("refunds.csv", REFUNDS)]).plan(&Choices::default()));
    assert_eq!(changed, usual);
}

#[test]
fn jsonl_and_tsv_say_the_same() {
    let jsonl = "\n{\"case\":\"a\",\"order\":\"W-1\",\"amount\":30,\"mood\":\"angry\",\"plan\":\"pro\"}\n{\"case\":\"b\",\"order\":\"W-2\",\"amount\":12.5,\"plan\":\"free\"}\n{\"case\":\"c\",\"order\":\"W-3, W-4\",\"amount\":7,\"mood\":\"calm\",\"plan\":\"pro\"}\n";
    let tsv = "\u{feff}case\torder\tamount\tmood\tplan\r\na\tW-1\t30\tangry\tpro\r\nb\tW-2\t12.5\t\tfree\r\nc\tW-3, W-4\t7\tcalm\tpro\r\n";
    let csv = Folder::of(&[("refund.scenario.yaml", REFUND), ("refunds.csv", REFUNDS)]).plan(&Choices::default());
    let as_jsonl = REFUND.replace("refunds.csv", "refunds.jsonl").replace(", types: {amount: number}", "");
    // A folder with a `.jsonl` file beside the scenario: the data file is not a scenario.
    let from_jsonl =
        Folder::of(&[("refund.scenario.yaml", &as_jsonl), ("refunds.jsonl", jsonl)]).plan(&Choices::default());
    let as_tsv = REFUND.replace("refunds.csv", "refunds.tsv");
    let from_tsv = Folder::of(&[("refund.scenario.yaml", &as_tsv), ("refunds.tsv", tsv)]).plan(&Choices::default());
    assert_eq!(cases(&csv), cases(&from_jsonl));
    assert_eq!(cases(&csv), cases(&from_tsv));
    assert_eq!(ids(&csv), ids(&from_tsv));
}

#[test]
fn where_and_sample_take_rows() {
    let named = |keys: &str| {
        let text = REFUND.replace("id: case", &format!("id: case, {keys}"));
        let plan = Folder::of(&[("refund.scenario.yaml", &text), ("refunds.csv", REFUNDS)]).plan(&Choices::default());
        ids(&plan).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(named("where: {plan: [pro]}"), ["a", "c"]);
    assert_eq!(named("where: {plan: [pro, free], amount: [12.5, 7]}"), ["b", "c"]);
    assert_eq!(named("where: {plan: [pro]}, sample: 5"), ["a", "c"]);
    // Many rows: a sample is the same each time, another seed takes others, and added rows displace few.
    let scenario = REFUND.replace("id: case", "id: case, sample: 100");
    let table = |rows: std::ops::Range<u32>| {
        let rows = rows.map(|row| format!("r{row},W,1,,pro\n")).collect::<String>();
        format!("case,order,amount,mood,plan\n{rows}")
    };
    let taken = |text: &str, rows: std::ops::Range<u32>| {
        let plan =
            Folder::of(&[("refund.scenario.yaml", text), ("refunds.csv", &table(rows))]).plan(&Choices::default());
        plan.cases().map(|case| case.row_id().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = taken(&scenario, 0..2_000);
    assert_eq!((first.len(), &first), (100, &taken(&scenario, 0..2_000)));
    let numbers: Vec<u32> = first.iter().map(|name| name[1..].parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "in the order of the file: {numbers:?}");
    let more = taken(&scenario, 0..2_100);
    let kept = first.iter().filter(|name| more.contains(name)).count();
    assert!((85..100).contains(&kept), "{kept}");
    let other = taken(&scenario.replace("sample: 100", "sample: 100, seed: 7"), 0..2_000);
    let same = first.iter().filter(|name| other.contains(name)).count();
    assert!(same < 30, "{same}");
}

#[test]
fn faults_name_the_file_and_line_of_the_data() {
    let of = |scenario: &str, data: &str| Folder::faults_of(&[("r.scenario.yaml", scenario), ("refunds.csv", data)]);
    let rows: &[(&str, &str, &[&str])] = &[
        (
            REFUND,
            "case,order,amount,mood,plan\na,W-1,x,,pro\n",
            &["refunds.csv:2: error: row `a`, column `amount`: expected a number, found \"x\""],
        ),
        (
            REFUND,
            "case,order,amount,mood,plan\na,W-1,1,,pro\n,W-2,1,,pro\na,W-3,1,,pro\n",
            &[
                "refunds.csv:3: error: column `case`: the row has no id",
                "refunds.csv:4: error: column `case`: the id `a` is also on line 2",
            ],
        ),
        (
            REFUND,
            "case,order,amount,mood,plan\na,W-1,1,,pro\nb,W-2\n",
            &[
                "refunds.csv:3: error: the row has 2 values, and the first line names 5 columns | put a value that contains a separator in quotes",
            ],
        ),
        (
            REFUND,
            "case,order,amount,mood,case\na,W-1,1,,pro\n",
            &["refunds.csv:1: error: there are two columns `case` | the first line has the names of the columns"],
        ),
        (REFUND, "case,order,amount,mood\n", &["r.scenario.yaml:6:16: error: `refunds.csv`: the file has no rows"]),
        (
            &REFUND.replace("id: case", "id: cas"),
            REFUNDS,
            &["r.scenario.yaml:6:33: error: `refunds.csv` has no column `cas` | did you mean `case`?"],
        ),
        (
            &REFUND.replace("{mood:", "{mod:"),
            REFUNDS,
            &["r.scenario.yaml:6:45: error: `refunds.csv` has no column `mod` | did you mean `mood`?"],
        ),
        (
            &REFUND.replace("emotional_state", "emotional_stat"),
            REFUNDS,
            &[
                "r.scenario.yaml:6:51: error: `run[0].conversation.user_simulator` has no key `emotional_stat` | did you mean `emotional_state`?",
            ],
        ),
        (
            &REFUND.replace("types: {amount", "where: {plam: [pro]}, types: {amount"),
            REFUNDS,
            &["r.scenario.yaml:6:92: error: `refunds.csv` has no column `plam` | did you mean `plan`?"],
        ),
        (
            &REFUND.replace("refunds.csv", "refund.csv"),
            REFUNDS,
            &[
                "r.scenario.yaml:6:16: error: the data file `refund.csv` cannot be read: No such file or directory (os error 2)",
            ],
        ),
        (
            &REFUND.replace("refunds.csv", "refunds.xlsx"),
            REFUNDS,
            &[
                "r.scenario.yaml:6:16: error: the data file `refunds.xlsx` cannot be read: No such file or directory (os error 2)",
            ],
        ),
        (
            &REFUND.replace("sample", "sampel").replace("id: case", "id: case, sampel: 1"),
            REFUNDS,
            &["r.scenario.yaml:6:39: error: unknown key `sampel` | did you mean `sample`?"],
        ),
        (
            &REFUND.replace("${row.order}", "${row.oder}"),
            REFUNDS,
            &[
                "r.scenario.yaml:10:65: error: `${row.oder}`: `refunds.csv` has no column `oder` | did you mean `order`?",
            ],
        ),
        (
            &REFUND.replace("${vars.city}", "${vars.town}"),
            REFUNDS,
            &["r.scenario.yaml:10:33: error: `${vars.town}`: there is no variable `town` | known: city, turns"],
        ),
        (
            &REFUND.replace("name: Refund", "name: Refund ${row.order}"),
            REFUNDS,
            &["r.scenario.yaml:1:7: error: `${row.order}`: `name` is the same for all cases"],
        ),
    ];
    for (scenario, data, wanted) in rows {
        let found = of(scenario, data);
        let found: Vec<String> = found.into_iter().filter(|line| !line.contains("warning")).collect();
        assert_eq!(found, *wanted, "{scenario}\n{data}");
    }
}

#[test]
fn a_row_with_which_the_scenario_cannot_be_read_is_named_with_its_column() {
    let scenario = REFUND.replace("${vars.turns}", "${row.amount}");
    let data = REFUNDS.replace("12.5", "99");
    let found = Folder::faults_of(&[("r.scenario.yaml", &scenario), ("refunds.csv", &data.replace(",7,", ",8,"))]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("r.scenario.yaml"),
        "30 turns of the first row are a fault of the scenario: {found:?}"
    );
    let data = data.replace("30", "5");
    let found = Folder::faults_of(&[("r.scenario.yaml", &scenario), ("refunds.csv", &data)]);
    assert!(
        found[0].starts_with("refunds.csv:3: error: row `b`, column `amount`: expected a whole number from 2 to"),
        "{found:?}"
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn equal_rows_without_an_id_are_played_once() {
    let scenario = REFUND.replace("id: case, ", "");
    let data = "order,amount,mood\nW-1,1,\nW-1,1,\n";
    let folder = Folder::of(&[("r.scenario.yaml", &scenario), ("refunds.csv", data)]);
    let reading = folder.read();
    assert_eq!(
        folder.lines(&reading.diagnostics),
        [
            "refunds.csv:3: warning: the row is the same as on line 2, and is played once | `gabfest: {repeats: N}` plays a case several times"
        ]
    );
    assert_eq!(build(&reading, &Choices::default()).unwrap().case_count(), 1);
}

#[test]
fn a_row_that_does_not_end_is_refused_without_being_kept() {
    let endless = format!("case,order,amount,mood,plan\na,\"{}", "x,\n".repeat(2 << 20));
    let found = Folder::faults_of(&[("r.scenario.yaml", REFUND), ("refunds.csv", &endless)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("the row has more than 131072 bytes | a quote may be missing"), "{found:?}");
    let long = format!("{REFUNDS}d,{},1,,\n", "x".repeat(70_000));
    let found = Folder::faults_of(&[("r.scenario.yaml", REFUND), ("refunds.csv", &long)]);
    assert!(found[0].starts_with("refunds.csv:5: error: the row has 70"), "{found:?}");
}

#[test]
fn included_files_merge_and_the_scenario_takes_precedence() {
    let scenario = "name: Refund\ndescription: d\njudgment: {strategy: all_pass}\ngabfest:\n  include: [parts/base.yaml, parts/more.yaml]\n  vars: {city: Oslo}\nrun: [{input: 'to ${vars.city} ${vars.day} ${vars.hour}', evaluations: [{type: empty}]}]\n";
    let base = "gabfest:\n  include: [deep/vars.yaml]\n  tags: [base]\n  vars: {city: Rome, day: Monday}\nrun: [{input: never}]\n";
    let more = "gabfest: {tags: [more], vars: {day: Sunday}}\n";
    let folder = Folder::of(&[
        ("r.scenario.yaml", scenario),
        ("parts/base.yaml", base),
        ("parts/more.yaml", more),
        ("parts/deep/vars.yaml", "gabfest: {vars: {hour: noon, day: Friday}}\n"),
    ]);
    let plan = folder.plan(&Choices::default());
    assert!(cases(&plan).ends_with("| to Oslo Sunday noon\n"), "{}", cases(&plan));
    assert_eq!(plan.groups[0].tags, ["more"], "lists do not merge, and a later file is stronger");
    assert_eq!(plan.version, 1);
}

#[test]
fn faults_of_included_files_name_them() {
    let scenario = "name: R\ndescription: d\njudgment: {strategy: all_pass}\ngabfest:\n  include: [a.yaml]\n";
    let run = "run: [{input: hi, evaluations: [{type: empty}]}]\n";
    let rows: &[(&[(&str, &str)], &str)] = &[
        (&[("a.yaml", "run:\n  - inptu: hi\n")], "a.yaml:2:5: "),
        (
            &[("a.yaml", "run:\n  - input: ${vars.x}\n    evaluations: [{type: empty}]\n")],
            "a.yaml:2:12: error: `${vars.x}`: there is no variable `x`",
        ),
        (&[("a.yaml", "run: [\n")], "a.yaml:"),
        (&[("a.yaml", "- 1\n")], "a.yaml:1:1: error: expected a mapping"),
        (&[], "r.scenario.yaml:5:13: error: the included file `a.yaml` cannot be read"),
        (
            &[("a.yaml", "gabfest: {include: [a.yaml]}\n")],
            "a.yaml:1:21: error: the included file `a.yaml` includes itself",
        ),
        (
            &[("a.yaml", "gabfest: {include: [b.yaml]}\n"), ("b.yaml", "gabfest: {include: [a.yaml]}\n")],
            "b.yaml:1:21: error: the included file `a.yaml` is already being included",
        ),
        (
            &[("a.yaml", "gabfest: {include: [../../x.yaml]}\n")],
            "a.yaml:1:21: error: the included file `../../x.yaml` ",
        ),
    ];
    for (files, wanted) in rows {
        let text = if files.iter().any(|(_, text)| text.starts_with("run")) {
            scenario.to_owned()
        } else {
            format!("{scenario}{run}")
        };
        let all: Vec<(&str, &str)> = files.iter().copied().chain([("r.scenario.yaml", text.as_str())]).collect();
        let found = Folder::faults_of(&all);
        assert!(found.iter().any(|line| line.starts_with(wanted)), "{wanted}\n{found:#?}");
    }
    // Nine files deep.
    let names: Vec<String> = (0..10).map(|number| format!("d{number}.yaml")).collect();
    let texts: Vec<String> = (1..11).map(|number| format!("gabfest: {{include: [d{number}.yaml]}}\n")).collect();
    let text = format!("{}{run}", scenario.replace("a.yaml", "d0.yaml"));
    let mut all: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    all.push(("r.scenario.yaml", &text));
    let found = Folder::faults_of(&all);
    assert!(found.iter().any(|line| line.contains("is more than 8 files deep")), "{found:#?}");
}

#[test]
fn environment_variables_are_recorded_and_are_no_part_of_an_id() {
    // The path of the search for programs is set wherever tests run.
    let scenario = "name: R\ndescription: d\njudgment: {strategy: all_pass}\nrun: [{input: 'at ${env:PATH}', evaluations: [{type: empty}]}]\n";
    let folder = Folder::of(&[("r.scenario.yaml", scenario)]);
    let plan = folder.plan(&Choices::default());
    let path = std::env::var("PATH").unwrap();
    assert_eq!(plan.groups[0].environment, BTreeMap::from([("PATH".to_owned(), path.clone())]));
    assert!(cases(&plan).ends_with(&format!("| at {path}\n")));
    let mut elsewhere = plan.clone();
    elsewhere.groups[0].environment.insert("PATH".to_owned(), "/preview".to_owned());
    assert!(cases(&elsewhere).ends_with("| at /preview\n"));
    assert_eq!(elsewhere.case(0).unwrap().id, plan.case(0).unwrap().id);
    assert_ne!(elsewhere.digest(), plan.digest());
    // Also as a value of an axis.
    let matrix = "name: M\nbase_scenario: r.scenario.yaml\nmatrix: [{parameter: 'run[0].input', values: ['to ${env:PATH}', x]}]\n";
    let plan = Folder::of(&[("r.scenario.yaml", scenario), ("m.matrix.yaml", matrix)]).plan(&Choices::default());
    assert_eq!(plan.case(0).unwrap().parameters[0].1, "to ${env:PATH}");
    assert!(cases(&plan).contains(&format!("| to {path}\n")), "{}", cases(&plan));
    for (name, wanted) in
        [("SHOP_API_KEY", "may hold a key"), ("db_password", "may hold a key"), ("GABFEST_UNSET_NAME", "is not set")]
    {
        let found = Folder::faults_of(&[("r.scenario.yaml", &scenario.replace("PATH", name))]);
        assert!(found[0].contains(wanted) && found[0].starts_with("r.scenario.yaml:4:15: error: "), "{found:?}");
    }
}

const TALK: &str = "name: Talk\ndescription: d\njudgment: {strategy: all_pass}\ngabfest: {vars: {locale: en, plan: free}, tags: [slow]}\nrun: [{input: '${vars.locale} ${vars.plan}', evaluations: [{type: empty}]}]\n";
const MATRIX: &str = "name: M\nbase_scenario: talk.scenario.yaml\nmatrix:\n  - {parameter: gabfest.vars.locale, values: [de, en]}\n  - {parameter: gabfest.vars.plan, values: [free, pro]}\nexclude: [{locale: de, plan: free}]\ninclude: [{locale: ja, plan: trial}, {plan: pro, locale: en}]\n";

fn said(plan: &Plan) -> Vec<String> {
    cases(plan).lines().map(|line| line.rsplit("| ").next().unwrap().to_owned()).collect()
}

#[test]
fn a_matrix_leaves_out_and_adds_combinations() {
    let folder = Folder::of(&[("talk.scenario.yaml", TALK), ("m.matrix.yaml", MATRIX)]);
    let plan = folder.plan(&Choices::default());
    assert_eq!(said(&plan), ["de pro", "en free", "en pro", "ja trial"]);
    assert_eq!((plan.groups[0].excluded, plan.version), (1, 2));
    let without = MATRIX.split("exclude").next().unwrap();
    let all = Folder::of(&[("talk.scenario.yaml", TALK), ("m.matrix.yaml", without)]).plan(&Choices::default());
    let known: Vec<String> = all.cases().map(|case| case.id.to_string()).collect();
    let kept = plan.cases().filter(|case| known.contains(&case.id.to_string())).count();
    assert_eq!(kept, 3, "what is left out or added renames nothing");
    // A value from the command line replaces an axis, also in added combinations.
    let set = vec![("gabfest.vars.locale".to_owned(), "fr".into())];
    assert_eq!(said(&folder.plan(&Choices { set, ..Choices::default() })), ["fr free", "fr pro", "fr trial"]);
    let rows: &[(&str, &str, &str)] = &[
        (
            "exclude: [{locale: de,",
            "exclude: [{locali: de,",
            "m.matrix.yaml:6:11: error: there is no axis `locali` | did you mean `locale`?",
        ),
        (
            "{locale: ja, plan: trial}",
            "{locale: ja}",
            "m.matrix.yaml:7:11: error: it has no value for `plan` | an added combination has a value for each axis",
        ),
        (
            "{locale: ja, plan: trial}",
            "{locale: ja, plan: trial, x: 1}",
            "m.matrix.yaml:7:11: error: there is no axis `x`",
        ),
        (
            "exclude: [{locale: de,",
            "exclude: [{locale: dee,",
            "m.matrix.yaml:6:11: warning: `locale` never has the value \"dee\", so this leaves nothing out",
        ),
    ];
    for (from, to, wanted) in rows {
        let found = Folder::faults_of(&[("talk.scenario.yaml", TALK), ("m.matrix.yaml", &MATRIX.replace(from, to))]);
        assert!(found.iter().any(|line| line.starts_with(wanted)), "{wanted}\n{found:#?}");
    }
}

#[test]
fn cases_are_chosen_by_their_values() {
    let folder = Folder::of(&[
        ("refund.scenario.yaml", REFUND),
        ("refunds.csv", REFUNDS),
        ("talk.scenario.yaml", TALK),
        ("m.matrix.yaml", MATRIX),
    ]);
    let pairs = |all: &[(&str, &str)]| all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
    let chosen = |conditions: &[(&str, &str)], exclude: &[&[(&str, &str)]], filter: Option<&str>| {
        let exclude = exclude.iter().map(|cell| pairs(cell)).collect();
        folder.plan(&Choices {
            conditions: pairs(conditions),
            exclude,
            filter: filter.map(str::to_owned),
            ..Choices::default()
        })
    };
    let names = |plan: &Plan| -> Vec<String> {
        plan.cases().map(|case| case.row_id().map_or_else(|| case.parameters[0].1.to_string(), str::to_owned)).collect()
    };
    // `plan` is an axis of one scenario and a column of the other.
    let plan = chosen(&[("plan", "pro")], &[], None);
    assert_eq!(names(&plan), ["a", "c", "\"de\"", "\"en\""]);
    assert_eq!(plan.groups[0].rows.as_ref().unwrap().len(), 2, "only rows that are played travel");
    let objectives = cases(&plan);
    assert!(objectives.contains("for W-3, W-4") && !objectives.contains("W-2"), "{objectives}");
    assert_eq!(names(&chosen(&[("plan", "pro"), ("row", "c"), ("row", "a")], &[], None)), ["a", "c"]);
    assert_eq!(names(&chosen(&[("scenario", "Refund")], &[&[("plan", "pro"), ("mood", "calm")]], None)), ["a", "b"]);
    assert_eq!(
        names(&chosen(&[], &[&[("scenario", "Refund")], &[("locale", "ja")]], Some("en"))),
        ["\"en\"", "\"en\""]
    );
    let before = ids(&folder.plan(&Choices::default()));
    assert!(ids(&plan).into_iter().filter(|(name, _)| !name.is_empty()).all(|(name, id)| before[&name] == id));
    let refused = |conditions: &[(&str, &str)]| {
        folder.faults(&Choices { conditions: pairs(conditions), ..Choices::default() }).join("\n")
    };
    assert_eq!(refused(&[("plann", "pro")]), "error: no case has a `plann` | did you mean `plan`?");
    assert!(refused(&[("plan", "gold")]).starts_with("error: no case is left by `--where`"));
    assert_eq!(refused(&[("scenario", "Refnd")]), "error: no case has the scenario `Refnd` | did you mean `Refund`?");
    let one_of = chosen(&[("scenario", "Refnd"), ("scenario", "Refund")], &[], None);
    assert_eq!(names(&one_of), names(&chosen(&[("scenario", "Refund")], &[], None)), "one value is enough");
    let tags = |exclude_tags: &[&str]| {
        let exclude_tags = exclude_tags.iter().map(|tag| (*tag).to_owned()).collect();
        let plan = folder.plan(&Choices { exclude_tags, ..Choices::default() });
        plan.groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(tags(&["slow"]), ["Refund"]);
}

#[test]
fn a_sample_of_a_larger_file_takes_no_more_memory() {
    let peak = |rows: u32| {
        let mut table = String::from("case,order,amount,mood,plan\n");
        (0..rows).for_each(|row| writeln!(table, "row-{row:06},W-{row},{},calm,pro", row % 90).unwrap());
        let scenario = REFUND.replace("id: case", "id: case, sample: 200");
        let folder = Folder::of(&[("r.scenario.yaml", &scenario), ("refunds.csv", &table)]);
        drop(table);
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        let reading = folder.read();
        assert_eq!(folder.lines(&reading.diagnostics), [""; 0]);
        assert_eq!(build(&reading, &Choices::default()).unwrap().case_count(), 200);
        ALLOCATED.peak_usage() - before
    };
    // One-time setup is done by now.
    peak(1_000);
    let [few, many] = [20_000, 100_000].map(peak);
    assert!(many < few + few / 10, "{few} bytes for 20,000 rows and {many} bytes for 100,000");
}

#[test]
fn rows_with_one_id_are_found_in_a_sample() {
    let mut table = String::from("case,order,amount,mood,plan\n");
    for row in (0..300).chain(0..300) {
        writeln!(table, "row-{row},W-{row},1,calm,pro").unwrap();
    }
    let scenario = REFUND.replace("id: case", "id: case, sample: 5");
    let found = Folder::faults_of(&[("r.scenario.yaml", &scenario), ("refunds.csv", &table)]);
    let found: Vec<&String> = found.iter().filter(|fault| fault.contains("is also on line")).collect();
    assert_eq!(found.len(), 5, "{found:?}");
    let without = REFUND.replace("id: case, ", "sample: 5, ");
    let found = Folder::of(&[("r.scenario.yaml", &without), ("refunds.csv", &table)]);
    let reading = found.read();
    let warnings = found.lines(&reading.diagnostics);
    assert_eq!(warnings.iter().filter(|line| line.contains("is the same as on line")).count(), 5, "{warnings:?}");
    assert_eq!(build(&reading, &Choices::default()).unwrap().case_count(), 5);
}

#[test]
fn a_large_data_set_costs_little_more_than_its_bytes() {
    let scenario = REFUND.replace("id: case", "id: case, where: {plan: [pro]}");
    let mut table = String::from("case,order,amount,mood,plan\n");
    for row in 0..200_000_u32 {
        let plan = if row % 4 == 0 { "pro" } else { "free" };
        writeln!(table, "row-{row},W-{row},{},calm,{plan}", row % 90).unwrap();
    }
    let folder = Folder::of(&[("r.scenario.yaml", &scenario), ("refunds.csv", &table)]);
    let reading = folder.read();
    assert_eq!(folder.lines(&reading.diagnostics), [""; 0]);
    let plan = build(&reading, &Choices::default()).unwrap();
    assert_eq!(plan.case_count(), 50_000);
    let json = plan.to_json();
    assert!(json.len() < 50_000 * 80, "{} bytes", json.len());
    let last = Plan::from_json(&json).unwrap().trial(49_999).unwrap();
    assert_eq!(plan.case(last.case).unwrap().row_id(), Some("row-199996"));
    // All rows together exceed the limit of cases.
    let all = REFUND.to_owned();
    let found = Folder::faults_of(&[("r.scenario.yaml", &all), ("refunds.csv", &table)]);
    assert!(found[0].contains("the plan has 200000 cases, at most 100000 are allowed"), "{found:?}");
    assert!(found[0].contains("alone has 200000 rows = 200000"), "{found:?}");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_the_feature_a_parquet_file_says_how_to_read_it() {
    let scenario = REFUND.replace("refunds.csv", "refunds.parquet").replace(", types: {amount: number}", "");
    let found = Folder::faults_of(&[("r.scenario.yaml", &scenario), ("refunds.parquet", "PAR1")]);
    for part in ["`refunds.parquet` is a Parquet file", "--features parquet", "to_json(\"refunds.jsonl\""] {
        assert!(found[0].contains(part), "{found:?}");
    }
}
