//! Assigns tests to the turns of a conversation: drawn from the trial's seed, without collisions.

use serde::{Deserialize, Serialize};

use super::{Battery, DataSet, Injection, Mutation, Requirement, chance::Chance, mutate, mutate::Style, words};

/// A conversation's tests: one entry a turn, and the data that they are made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Examination {
    /// `None`: the tester speaks freely.
    pub turns: Vec<Option<Test>>,
    pub sets: Vec<(Requirement, Vec<DataSet>)>,
}

/// The purpose of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    pub requirement: Requirement,
    /// The id of its data set.
    pub set: u32,
    pub part: Part,
    /// The tester's message.
    pub text: String,
    /// How the question was garbled.
    pub mutation: Option<Mutation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Its reply is not judged.
    Information,
    Question,
}

/// How many garbled questions follow a piece of information.
const GARBLED_QUESTIONS: usize = 3;

/// Plans the tests of one conversation.
#[must_use]
pub fn plan(battery: &Battery, seed: u64) -> Examination {
    let mut chance = Chance::new(seed);
    let injections: Vec<&Injection> = battery.injections.iter().filter(|it| it.probability > 0.0).collect();
    let sets: Vec<(Requirement, Vec<DataSet>)> =
        injections.iter().map(|it| (it.requirement, chosen_sets(battery, it, &mut chance))).collect();
    let length = battery.length as usize;
    let mut planner = Planner { battery, chance, turns: vec![None; length] };
    // The first turn starts the conversation and tests nothing.
    for turn in 1..length {
        if planner.turns[turn].is_some() {
            continue;
        }
        let drawn = planner.chance.unit();
        let mut sum = 0.0;
        for (injection, (_, sets)) in injections.iter().zip(&sets) {
            sum += injection.probability;
            if drawn < sum {
                planner.place(turn, injection, sets);
                break;
            }
        }
    }
    Examination { turns: planner.turns, sets }
}

/// A few of the sets of the requirement's kind, perhaps with reworded sentences.
fn chosen_sets(battery: &Battery, injection: &Injection, chance: &mut Chance) -> Vec<DataSet> {
    let of_kind: Vec<&DataSet> =
        battery.sets.iter().filter(|set| Some(set.kind) == injection.requirement.data()).collect();
    let most = of_kind.len().min(injection.max_sets as usize);
    let many = (1 + chance.below(most)).min(of_kind.len());
    let places = chance.distinct(many, of_kind.len());
    places.into_iter().map(|place| augmented(battery, of_kind[place], chance)).collect()
}

fn augmented(battery: &Battery, set: &DataSet, chance: &mut Chance) -> DataSet {
    let mut set = set.clone();
    for texts in [&mut set.information, &mut set.questions] {
        let written = texts.clone();
        for _ in 0..battery.augmentation.copies {
            texts.extend(written.iter().map(|text| words::reworded(text, battery.augmentation.probability, chance)));
        }
    }
    set
}

struct Planner<'a> {
    battery: &'a Battery,
    chance: Chance,
    turns: Vec<Option<Test>>,
}

impl Planner<'_> {
    /// Places a test at a free turn. If its parts do not fit, the turn stays the tester's.
    fn place(&mut self, turn: usize, injection: &Injection, sets: &[DataSet]) {
        let Some(set) = self.chance.pick(sets) else { return };
        let requirement = injection.requirement;
        let is_free = |turn: &usize| self.turns.get(*turn).is_some_and(Option::is_none);
        let questions: Vec<usize> = match requirement {
            Requirement::LongMemory => {
                let wait = injection.max_wait as usize;
                let free: Vec<usize> = (turn + 1..=turn + wait).filter(is_free).collect();
                match self.chance.pick(&free).filter(|_| turn + wait + 1 < self.turns.len()) {
                    Some(later) => vec![*later],
                    None => return,
                }
            }
            Requirement::Consistency | Requirement::InputFiltering => {
                let room = if requirement == Requirement::Consistency { 4 } else { 0 };
                if turn + room < self.turns.len() {
                    let text = self.wording(&set.information, true);
                    self.put(turn, requirement, set, Part::Question, text);
                }
                return;
            }
            _ if requirement.garbles() => (turn + 1..=turn + GARBLED_QUESTIONS).collect(),
            _ => vec![turn + 1],
        };
        // A reply to the last question is part of the conversation: it is never its last turn.
        let room = questions.last().is_some_and(|last| last + 1 < self.turns.len() || requirement.garbles());
        if !room || !questions.iter().all(is_free) {
            return;
        }
        let any_information = !matches!(requirement, Requirement::LongMemory | Requirement::WordedQuestions)
            && !matches!(requirement, Requirement::ContextQuestions);
        let text = self.wording(&set.information, any_information);
        self.put(turn, requirement, set, Part::Information, text);
        let any_question = requirement.garbles()
            || matches!(requirement, Requirement::WordedQuestions | Requirement::ContextQuestions);
        for place in questions {
            let text = self.wording(&set.questions, any_question);
            self.put(place, requirement, set, Part::Question, text);
        }
    }

    /// The first wording, or any.
    fn wording(&mut self, wordings: &[String], any: bool) -> String {
        let wording = if any { self.chance.pick(wordings) } else { wordings.first() };
        wording.cloned().unwrap_or_default()
    }

    fn put(&mut self, turn: usize, requirement: Requirement, set: &DataSet, part: Part, text: String) {
        let style = Style { ragged: self.battery.compat.is_some(), replacement: self.battery.replacement };
        let mutation = match part {
            Part::Question => mutate::garble(requirement, &text, style, &mut self.chance),
            Part::Information => None,
        };
        let text = mutation.as_ref().map_or(text, |mutation| mutation.text.clone());
        self.turns[turn] = Some(Test { requirement, set: set.id, part, text, mutation });
    }
}

impl Examination {
    /// The data set of a test.
    #[must_use]
    pub fn set(&self, requirement: Requirement, id: u32) -> Option<&DataSet> {
        let of_requirement = self.sets.iter().filter(|(other, _)| *other == requirement);
        of_requirement.flat_map(|(_, sets)| sets).find(|set| set.id == id)
    }
}

/// The least number of turns with which a requirement can be placed.
#[must_use]
pub fn least_turns(requirement: Requirement, max_wait: u32) -> u32 {
    match requirement {
        Requirement::LongMemory => max_wait + 3,
        Requirement::Consistency => 6,
        Requirement::InputFiltering => 2,
        _ if requirement.garbles() => 5,
        _ if requirement.data().is_some() => 4,
        _ => 1,
    }
}

/// A possible first sentence, for `random_start`.
#[must_use]
pub fn opening(seed: u64) -> &'static str {
    const SENTENCES: [&str; 8] = [
        "I just came back from a long walk by the river.",
        "The train was late again this morning.",
        "I am thinking about what to cook tonight.",
        "My neighbour has started to learn the violin.",
        "It has been a busy week for me.",
        "I found an old photo album in the attic.",
        "We are planning a trip to the mountains.",
        "I have been reading about space all evening.",
    ];
    let mut chance = Chance::new(seed ^ 0x006f_7065_6e69_6e67);
    SENTENCES[chance.below(SENTENCES.len())]
}
