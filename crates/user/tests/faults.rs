//! The fault detectors, measured on labelled lines in three languages.
//!
//! Lines with odd numbers are the half that word lists are tuned on, lines with even numbers are the half that tests them.

use std::collections::{BTreeMap, BTreeSet};

use record::user_fault::FaultKind;
use serde::Deserialize;
use user::faults::{self, Exchange, Fact, Line, Scene, Tell};

/// The prompt of the simulated user, as far as the labelled lines quote it.
const RULES: &str = "You are a person who talks to an assistant. You are not an assistant. Say what you want and answer questions. \
    Never offer help, never ask for the other side's details. Write only your own next words: no name in front, no quotation \
    marks.";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScene {
    scene: String,
    language: String,
    persona: String,
    objective: String,
    constraints: Vec<String>,
    facts: Vec<WrittenFact>,
    goal: Vec<String>,
    words: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFact {
    key: String,
    value: String,
    tell: String,
    #[serde(default)]
    asked_by: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Labelled {
    id: String,
    scene: String,
    /// What the agent said, the newest last: the line answers it.
    agent: Vec<String>,
    /// What the user said before, the newest last.
    #[serde(default)]
    said: Vec<String>,
    say: String,
    signal: Option<String>,
    faults: Vec<String>,
}

fn read<T: for<'a> Deserialize<'a>>(file: &str) -> Vec<T> {
    let path = format!("{}/tests/faults/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the file of labelled lines is there");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{path}: {line}: {error}")))
        .collect()
}

fn found(line: &Labelled, scene: &WrittenScene) -> Vec<faults::Found> {
    read_in(line, scene, faults::examine)
}

fn read_in<R>(line: &Labelled, scene: &WrittenScene, reads: impl FnOnce(&Line<'_>, &Scene<'_>) -> R) -> R {
    let constraints = scene.constraints.join("; ");
    let instructions = [RULES, &scene.persona, &constraints];
    let mut wishes: Vec<&str> = scene.goal.iter().map(String::as_str).collect();
    wishes.push(&scene.objective);
    let facts: Vec<Fact<'_>> = scene
        .facts
        .iter()
        .map(|fact| Fact {
            name: &fact.key,
            value: &fact.value,
            tell: match fact.tell.as_str() {
                "first" => Tell::First,
                "asked" => Tell::Asked(&fact.asked_by),
                "never" => Tell::Never,
                other => panic!("{other}"),
            },
        })
        .collect();
    let turns = line.agent.len().max(line.said.len());
    let nth = |texts: &'_ [String], turn: usize| (turn + texts.len()).checked_sub(turns).map(|at| texts[at].clone());
    let said: Vec<(String, String)> = (0..turns)
        .map(|turn| (nth(&line.said, turn).unwrap_or_default(), nth(&line.agent, turn).unwrap_or_default()))
        .collect();
    let earlier: Vec<Exchange<'_>> =
        said.iter().map(|(user, agent)| Exchange { user: user.into(), agent: agent.into() }).collect();
    let shown = Scene {
        instructions: &instructions,
        wishes: &wishes,
        known: &[&scene.persona, &constraints],
        facts: &facts,
        earlier: &earlier,
        most_words: Some(2 * scene.words),
        most_sentences: None,
        language: Some(&scene.language),
    };
    reads(&Line { say: &line.say, done: line.signal.as_deref() == Some("done") }, &shown)
}

/// How a detector does on some of the lines.
#[derive(Debug, Default, Clone, Copy)]
struct Score {
    /// Lines with this label.
    labelled: u32,
    /// Those of them that the detector finds.
    hits: u32,
    /// Other lines that it finds.
    alarms: u32,
}

impl Score {
    fn recall(self) -> f64 {
        f64::from(self.hits) / f64::from(self.labelled)
    }

    fn precision(self) -> f64 {
        f64::from(self.hits) / f64::from(self.hits + self.alarms)
    }
}

#[derive(Debug, Default)]
struct Measured {
    by_kind: BTreeMap<&'static str, Score>,
    /// Lines without a fault, and those of them in which one is found.
    clean: (u32, u32),
    languages: BTreeSet<String>,
    lines: usize,
    /// What was found wrongly or not at all.
    errors: Vec<String>,
}

fn measure(files: &[&str], half: Option<u32>) -> Measured {
    let scenes: Vec<WrittenScene> = read("scenes");
    let mut measured = Measured::default();
    for line in files.iter().flat_map(|file| read::<Labelled>(file)) {
        let number: u32 = line.id[3..].parse().expect("an id ends with a number");
        if half.is_some_and(|half| number % 2 != half) {
            continue;
        }
        let scene = scenes.iter().find(|scene| scene.scene == line.scene).expect("the scene of the line is listed");
        let found = found(&line, scene);
        measured.lines += 1;
        measured.languages.insert(scene.language.clone());
        if line.faults.is_empty() {
            measured.clean.0 += 1;
            measured.clean.1 += u32::from(!found.is_empty());
        }
        for kind in FaultKind::ALL {
            let is_labelled = line.faults.iter().any(|label| label == kind.name());
            let is_found = found.iter().any(|fault| fault.kind == kind);
            let score = measured.by_kind.entry(kind.name()).or_default();
            score.labelled += u32::from(is_labelled);
            score.hits += u32::from(is_labelled && is_found);
            score.alarms += u32::from(!is_labelled && is_found);
            if is_labelled != is_found {
                let what = if is_found { "found" } else { "missed" };
                measured.errors.push(format!("{} {:?}: {} {what}", line.id, line.say, kind.name()));
            }
        }
    }
    measured
}

/// The least recall of each detector on the half that tests: what was measured.
const FLOORS: [(&str, f64); 9] = [
    ("role_flip", 1.0),
    ("invented_fact", 1.0),
    ("leak", 1.0),
    ("repetition", 1.0),
    ("told_early", 1.0),
    ("premature_end", 1.0),
    ("too_long", 1.0),
    ("too_polite", 1.0),
    ("wrong_language", 1.0),
];

#[test]
fn each_detector_is_precise_and_finds_what_is_labelled() {
    let whole = measure(&["en", "de", "es"], None);
    assert!(whole.lines >= 300 && whole.languages.len() == 3, "{} lines, {:?}", whole.lines, whole.languages);
    assert!(whole.clean.0 >= 200 && whole.clean.1 * 100 <= whole.clean.0, "{:?} {:#?}", whole.clean, whole.errors);
    for half in [1, 0] {
        let measured = measure(&["en", "de", "es"], Some(half));
        for (kind, floor) in FLOORS {
            let score = measured.by_kind[kind];
            let (recall, precision) = (score.recall(), score.precision());
            assert!(recall >= floor && precision >= 0.9, "{kind}: {score:?}, {:#?}", measured.errors);
        }
    }
}

/// Lines that a model with 1.5 billion parameters wrote, as they came. They helped to make the rules, so this is no independent
/// test.
#[test]
fn lines_of_a_real_model_raise_no_false_alarm_and_most_of_its_role_flips_are_found() {
    let measured = measure(&["real"], None);
    let all = measured.by_kind.values().fold(Score::default(), |sum, score| Score {
        labelled: sum.labelled + score.labelled,
        hits: sum.hits + score.hits,
        alarms: sum.alarms + score.alarms,
    });
    assert_eq!(measured.clean.1, 0, "{:#?}", measured.errors);
    assert!(all.precision() >= 0.9, "{all:?} {:#?}", measured.errors);
    let flips = measured.by_kind["role_flip"];
    assert!(flips.recall() >= 0.9, "{flips:?} {:#?}", measured.errors);
    let others = all.labelled - flips.labelled;
    assert!(all.hits - flips.hits >= others * 8 / 10, "{all:?} {flips:?} {:#?}", measured.errors);
}

/// A doubt costs a call, so lines of people seldom get one.
#[test]
fn few_lines_of_people_are_in_doubt() {
    let scenes: Vec<WrittenScene> = read("scenes");
    let mut doubted = Vec::new();
    let mut clean = 0;
    for line in ["en", "de", "es"].iter().flat_map(|file| read::<Labelled>(file)).filter(|line| line.faults.is_empty())
    {
        let scene = scenes.iter().find(|scene| scene.scene == line.scene).expect("the scene of the line is listed");
        clean += 1;
        if let Some(doubt) = read_in(&line, scene, faults::doubt) {
            doubted.push(format!("{} {doubt:?}", line.id));
        }
    }
    assert!(clean >= 200 && doubted.len() * 50 <= clean, "{} of {clean}: {doubted:#?}", doubted.len());
}

/// Lines that a model with 1.5 billion parameters sent in the bench: the detectors of that time had found no critical fault in them.
/// The rules for doubts were written from them, so this is no independent test.
#[test]
fn role_flips_that_the_detectors_miss_are_in_doubt() {
    let scenes: Vec<WrittenScene> = read("scenes");
    let (mut flips, mut clean, mut errors) = ((0, 0), (0, 0), Vec::new());
    for line in read::<Labelled>("sent") {
        let scene = scenes.iter().find(|scene| scene.scene == line.scene).expect("the scene of the line is listed");
        let is_flip = line.faults.iter().any(|fault| fault == "role_flip");
        let goes_back = !found(&line, scene).is_empty() || read_in(&line, scene, faults::doubt).is_some();
        let (all, back) = if is_flip { &mut flips } else { &mut clean };
        *all += 1;
        *back += u32::from(goes_back);
        if is_flip != goes_back {
            errors.push(format!("{} {:?}", line.id, line.say));
        }
    }
    assert_eq!(flips, (15, 15), "{errors:#?}");
    assert!(clean.0 == 86 && clean.1 <= 12, "{clean:?} {errors:#?}");
}
