//! The golden workbook of Emely's revision 9043c93, cell by cell: its conversation judged again with its scores.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use evaluate::{
    JudgePool, Scorer,
    battery::{Conversation, Found, examine},
    scorer::{Answer, Error, Score, TOXICITY, Toxicity},
};
use formats::battery::shipped;
use record::{
    Judgment, Scope, Turn,
    battery::{Examined, Head},
    turn::Origin,
};
use report::battery::{
    Sheet, Totals,
    sheet::{Column, Sum},
};
use scenario::{
    Battery,
    battery::{
        Augmentation, Compat, Examination, Injection, Mutation, Part, Requirement, Shown, Test, Tester, Thresholds,
        Values,
    },
};
use serde_json::{Value, json};

/// Differences of a corrected run from the golden workbook, and why they are intended.
const DIFFERENCES: &[(&str, Value, &str)] = &[
    ("MLA6TC1", Value::Null, "stuttering passes at or below its threshold, not above it"),
    ("Coherence wrt context", Value::Null, "coherence passes or fails; the original has no word for a pass"),
    ("MLI13TC1", Value::Null, "the first answer is what later ones are measured by, and not one of them"),
];

fn folder() -> Option<PathBuf> {
    cases::folder("emely", "2 golden workbooks of Emely")
}

fn sheet_of(name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(folder()?.join(name)).unwrap();
    Some(serde_json::from_str::<Value>(&text).unwrap()[0].take())
}

fn heads(golden: &Value) -> Vec<String> {
    golden["columns_in_order"].as_array().unwrap().iter().map(|head| head.as_str().unwrap().to_owned()).collect()
}

/// The scores of the golden workbook, by row.
#[derive(Debug)]
struct Replay {
    rows: Vec<Value>,
}

#[derive(Debug)]
struct Row<'a>(&'a Value);

impl Row<'_> {
    /// The one cell whose column has this word.
    fn cell(&self, word: &str) -> &Value {
        let named = self.0.as_object().unwrap().iter().find(|(head, _)| head.starts_with("ML") && head.contains(word));
        named.expect("the row is a test").1
    }
}

impl JudgePool for Replay {
    fn judge(&self, _: Option<&str>) -> Arc<dyn llm::Chat> {
        unreachable!("scores are replayed")
    }

    fn context(&self, _: Scope) -> (llm::Context, u64) {
        unreachable!("scores are replayed")
    }

    fn scorer(&self, scope: Scope) -> Box<dyn Scorer + '_> {
        let Scope::Turn { turn, .. } = scope else { panic!("scores are about turns") };
        Box::new(Row(&self.rows[turn as usize - 1]))
    }
}

#[async_trait]
impl Scorer for Row<'_> {
    async fn similarity(&self, _: &str, b: &str) -> Result<Score, Error> {
        assert_eq!(self.cell("(interpret)"), b, "what was extracted is compared");
        Ok(Score { value: self.cell("(detailed)").as_f64().unwrap(), model: "golden".to_owned(), ballot: None })
    }

    async fn answer(&self, _: &str, context: &str) -> Result<Answer, Error> {
        assert_eq!(self.0["Response"], context, "the reply is asked");
        Ok(Answer {
            text: self.cell("(interpret)").as_str().unwrap().to_owned(),
            model: "golden".to_owned(),
            ballot: None,
        })
    }

    async fn next_sentence(&self, _: &str, _: &str) -> Result<Score, Error> {
        // Not recorded: all that the workbook says is that it lay above the threshold.
        Ok(Score { value: 5.0, model: "golden".to_owned(), ballot: None })
    }

    async fn toxicity(&self, _: &str) -> Result<Toxicity, Error> {
        let scores = TOXICITY.map(|name| self.0[format!("{name} (detailed)")].as_f64().unwrap());
        Ok(Toxicity { scores, model: "golden".to_owned(), ballot: None })
    }
}

/// The battery of the run, reconstructed from its columns.
fn battery(compat: Option<Compat>) -> Battery {
    let tested = [
        Requirement::WordOrder,
        Requirement::Typos,
        Requirement::Consistency,
        Requirement::ContextInformation,
        Requirement::WordedQuestions,
    ];
    Battery {
        length: 25,
        turn_timeout_ms: 1_000,
        tester: Tester::Lines(Vec::new()),
        tester_memory: 2,
        agent_memory: None,
        random_start: false,
        injections: tested
            .map(|requirement| Injection { requirement, probability: 0.1, max_sets: 1, max_wait: 5 })
            .to_vec(),
        observed: vec![
            Requirement::Stutter,
            Requirement::RepeatedQuestions,
            Requirement::ContextCoherence,
            Requirement::Toxicity,
        ],
        required: Vec::new(),
        thresholds: Thresholds::default(),
        sets: shipped(true),
        replacement: Default::default(),
        augmentation: Augmentation::default(),
        shown: Shown::default(),
        compat,
        saved: None,
    }
}

/// The test of each row, according to its filled cells.
fn examination(rows: &[Value]) -> Examination {
    let sets = shipped(true);
    let test = |row: &Value| {
        row.as_object().unwrap().keys().find_map(|head| {
            let (name, id) = head.split_once(" - ")?;
            let requirement = Requirement::of_name(name)?;
            let text = row["Input"].as_str().unwrap().to_owned();
            let values = row[format!("Values used for {name}")].as_str();
            let mutation = values.map(|values| Mutation {
                text: text.clone(),
                values: Values::parse(requirement, values).unwrap(),
                changed: Vec::new(),
            });
            Some(Test { requirement, set: id.parse().ok()?, part: Part::Question, text, mutation })
        })
    };
    let turns: Vec<Option<Test>> = rows.iter().map(test).collect();
    let mut used: Vec<(Requirement, Vec<_>)> = Vec::new();
    for test in turns.iter().flatten() {
        if !used.iter().any(|(requirement, _)| *requirement == test.requirement) {
            used.push((test.requirement, sets.iter().filter(|set| set.id == test.set).cloned().collect()));
        }
    }
    Examination { turns, sets: used }
}

fn turns(rows: &[Value]) -> Vec<Turn> {
    let turn = |(index, row): (usize, &Value)| Turn {
        number: index as u32 + 1,
        step: 1,
        speaker: Origin::Scripted,
        user: row["Input"].as_str().unwrap().to_owned(),
        agent: row["Response"].as_str().map(str::to_owned),
        messages: Vec::new(),
        exit_code: None,
        tool_calls: Vec::new(),
        actions: Vec::new(),
        started_micros: 0,
        duration_micros: (row["Response times"].as_f64().unwrap() * 1e6).round() as u64,
        response_micros: None,
        calls: Vec::new(),
        notes: Vec::new(),
        simulated: None,
    };
    rows.iter().enumerate().map(turn).collect()
}

/// The golden conversation judged again: its table and its findings.
fn judged(golden: &Value, compat: Option<Compat>) -> (Sheet, Vec<Judgment>) {
    let rows: Vec<Value> = golden["rows"].as_array().unwrap()[..25].to_vec();
    let battery = battery(compat);
    let examination = examination(&rows);
    let head = Head {
        requirements: battery.requirements(),
        examination: examination.clone(),
        thresholds: battery.thresholds,
        shown: battery.shown,
        compat,
        saved: false,
    };
    let turns = turns(&rows);
    let conversation = Conversation { battery: &battery, examination: &examination, turns: &turns, step: 1 };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let Found { judgments, replies } = runtime.block_on(examine(conversation, &Replay { rows }));
    (Sheet::of(&Examined { head, replies }, &turns), judgments)
}

#[test]
fn the_golden_sheet_is_reproduced_cell_by_cell() {
    let Some(golden) = sheet_of("golden-report-run0.json") else { return };
    let (sheet, _) = judged(&golden, Some(Compat::Emely9043c93));
    let found: Vec<&str> = sheet.columns.iter().map(|column| column.head.as_str()).collect();
    assert_eq!(found, heads(&golden));
    let mut cells = 0;
    for column in &sheet.columns {
        for (row, cell) in golden["rows"].as_array().unwrap().iter().enumerate() {
            let found = match column.cells.get(row) {
                Some(cell) => cell.clone(),
                None => column.total.as_ref().map(|(_, sum)| sum.value()),
            };
            let (found, expected) = (found.unwrap_or(Value::Null), cell.get(&column.head).unwrap_or(&Value::Null));
            let alike = match (found.as_f64(), expected.as_f64()) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-6,
                _ => found == *expected,
            };
            assert!(alike, "row {row}, {}: found {found}, expected {expected}", column.head);
            cells += 1;
        }
    }
    assert_eq!(cells, 38 * 26);
}

#[test]
fn a_corrected_run_differs_only_where_listed() {
    let Some(golden) = sheet_of("golden-report-run0.json") else { return };
    let (then, _) = judged(&golden, Some(Compat::Emely9043c93));
    let (now, judgments) = judged(&golden, None);
    let totals = |sheet: &Sheet| -> Vec<(String, Value)> {
        sheet.columns.iter().filter_map(|it| it.total.as_ref()).map(|(name, sum)| (name.clone(), sum.value())).collect()
    };
    let (then, now) = (totals(&then), totals(&now));
    let changed: Vec<&str> = then
        .iter()
        .zip(&now)
        .filter(|((name, then), (other, now))| {
            assert_eq!(name, other);
            then != now
        })
        .map(|((name, _), _)| name.as_str())
        .collect();
    let mut expected: Vec<&str> = DIFFERENCES.iter().map(|(name, ..)| *name).collect();
    expected.sort_unstable();
    let mut found = changed.clone();
    found.sort_unstable();
    assert_eq!(found, expected, "{DIFFERENCES:?}");
    let total = |name: &str| now.iter().find(|(other, _)| other == name).unwrap().1.clone();
    assert_eq!(total("MLA6TC1"), json!([25, 25]));
    assert_eq!(total("Coherence wrt context"), json!([25, 25]));
    assert_eq!(total("MLI13TC1"), json!([0, 0]));
    assert_eq!(total("rep_q"), json!([11, 25]));
    // The deciding judgments agree.
    let required: Vec<&Judgment> = judgments.iter().filter(|judgment| judgment.required).collect();
    let of = |id: &str| required.iter().find(|judgment| judgment.check == id).unwrap();
    assert_eq!(of("ML-A7").score, Some(0.44));
    assert!(of("ML-U4").reason.contains("0 of 6 passed") && of("ML-U4").reason.contains("0: 0/3, 1: 0/1, 2: 0/1"));
    assert!(!required.iter().any(|judgment| judgment.check == "ML-I13"), "one answer alone says nothing");
}

/// A conversation that was held elsewhere does not say how strongly a question was garbled: its total is a plain one.
#[test]
fn a_garbled_question_of_unknown_level_is_in_the_total() {
    let Some(golden) = sheet_of("golden-report-run0.json") else { return };
    let rows: Vec<Value> = golden["rows"].as_array().unwrap()[..25].to_vec();
    let battery = battery(None);
    let mut examination = examination(&rows);
    for test in examination.turns.iter_mut().flatten() {
        test.mutation = None;
    }
    let head = Head {
        requirements: battery.requirements(),
        examination: examination.clone(),
        thresholds: battery.thresholds,
        shown: battery.shown,
        compat: None,
        saved: true,
    };
    let turns = turns(&rows);
    let conversation = Conversation { battery: &battery, examination: &examination, turns: &turns, step: 1 };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let Found { replies, .. } = runtime.block_on(examine(conversation, &Replay { rows }));
    let sheet = Sheet::of(&Examined { head, replies }, &turns);
    let total = |wanted: &str| {
        let totals = sheet.columns.iter().filter_map(|column| column.total.as_ref());
        totals.into_iter().find(|(name, _)| name == wanted).unwrap().1.value()
    };
    assert_eq!((total("MLU4TC1"), total("MLU3TC1")), (json!([0, 6]), json!([1, 3])));
}

#[test]
fn the_golden_summary_is_reproduced_with_its_broken_sums() {
    let Some(golden) = sheet_of("golden-emely_summary.json") else { return };
    let rows = golden["rows"].as_array().unwrap();
    let sums = |row: &Value| -> Vec<Column> {
        let entries = row.as_object().unwrap().iter().filter(|(name, _)| *name != "index");
        let sum = |value: &Value| match value.as_array().unwrap().len() {
            2 => Sum::Passed(serde_json::from_value(value.clone()).unwrap()),
            _ => Sum::ByLevel(serde_json::from_value(value.clone()).unwrap()),
        };
        let column = |(name, value): (&String, &Value)| Column {
            head: name.clone(),
            cells: Vec::new(),
            total: Some((name.clone(), sum(value))),
        };
        entries.map(column).collect()
    };
    for compat in [true, false] {
        let mut totals = Totals::default();
        for row in &rows[..3] {
            totals.add(&Sheet { compat, rows: 25, columns: sums(row) });
        }
        assert_eq!(totals.columns, heads(&golden));
        for name in &totals.columns {
            let (found, expected) = (totals.last_row(name).unwrap().value(), &rows[3][name]);
            let broken = ["MLU3TC1", "MLU4TC1", "MLU6TC1"].contains(&name.as_str());
            assert_eq!(found == *expected, compat || !broken, "{name}: {found} and {expected}");
        }
        // The true sums, which the original loses.
        let Some(Sum::ByLevel(levels)) = totals.all.get("MLU4TC1") else { panic!("a histogram") };
        assert_eq!(levels[..6], [[0, 3], [0, 1], [0, 1], [1, 2], [0, 1], [1, 1]]);
    }
}
