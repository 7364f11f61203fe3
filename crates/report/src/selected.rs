//! A conversation for the pages: a trial and its turns, cut to the room of a page.

use record::{Finding, Scope, Trial, Turn, bounds, turn::ToolCall};

use crate::clip::clip;

/// Of one message, reply, tool result or note.
const TEXT_CHARS: usize = 4_000;
/// How many turns of a conversation are shown: the first ones, those around the failing one, and the last ones.
const FIRST_TURNS: usize = 12;
const TURNS_ROUND_FAILURE: usize = 6;
const LAST_TURNS: usize = 12;
const NOTES_PER_TURN: usize = 8;
const PARTS_PER_TURN: usize = 40;
const JUDGMENTS: usize = 200;
/// The size limit of one conversation. 220 of them are kept until the end of a run, and rendering a page copies them
/// several times.
const CONVERSATION_BYTES: usize = 256 << 10;
/// Texts are not cut shorter than this.
const LEAST_TEXT_CHARS: usize = 100;

/// A trial and its turns, long texts cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    pub trial: Trial,
    pub turns: Vec<Turn>,
}

impl Selected {
    /// The texts of a conversation that is too large are all cut to the same length.
    pub(crate) fn of(trial: &Trial, turns: &[Turn]) -> Self {
        let mut most = TEXT_CHARS;
        loop {
            let selected = cut_to(most, trial, turns);
            let size =
                bounds::size_of_end(&selected.trial) + selected.turns.iter().map(bounds::size_of_turn).sum::<usize>();
            if size <= CONVERSATION_BYTES || most <= LEAST_TEXT_CHARS {
                return selected;
            }
            most /= 2;
        }
    }
}

/// The parts that a page shows, with at most so many characters in each text.
fn cut_to(most: usize, trial: &Trial, turns: &[Turn]) -> Selected {
    let clip = |text: &mut String| clip(text, most);
    let turns: Vec<Turn> = kept(trial, turns).map(|turn| clipped_turn(turn, clip)).collect();
    let mut trial = trial.clone();
    trial.latencies.clear();
    trial.examined = None;
    if let Some(failure) = &mut trial.failure {
        clip(&mut failure.message);
    }
    if trial.judgments.len() > JUDGMENTS {
        trial.judgments.retain(|judgment| match judgment.scope {
            Scope::Turn { turn, .. } => {
                !matches!(judgment.finding, Finding::Pass | Finding::NotApplicable)
                    && turns.iter().any(|kept| kept.number == turn)
            }
            Scope::Conversation { .. } | Scope::Step { .. } => true,
        });
        trial.judgments.truncate(JUDGMENTS);
    }
    for judgment in &mut trial.judgments {
        clip(&mut judgment.reason);
        judgment.evidence.as_mut().map(clip);
        judgment.description.as_mut().map(clip);
    }
    Selected { trial, turns }
}

fn kept<'a>(trial: &Trial, turns: &'a [Turn]) -> impl Iterator<Item = &'a Turn> {
    let failing = trial.failure.as_ref().and_then(|failure| failure.turn);
    let failing = failing.and_then(|number| turns.iter().position(|turn| turn.number == number));
    let count = turns.len();
    turns
        .iter()
        .enumerate()
        .filter(move |(index, _)| {
            *index < FIRST_TURNS
                || index + LAST_TURNS >= count
                || failing.is_some_and(|failing| failing.abs_diff(*index) <= TURNS_ROUND_FAILURE)
        })
        .map(|(_, turn)| turn)
}

fn clipped_turn(turn: &Turn, clip: impl Fn(&mut String)) -> Turn {
    let mut turn = turn.clone();
    clip(&mut turn.user);
    turn.agent.as_mut().map(&clip);
    turn.messages.truncate(PARTS_PER_TURN);
    turn.messages.iter_mut().for_each(|said| clip(&mut said.text));
    turn.tool_calls.truncate(PARTS_PER_TURN);
    turn.tool_calls.iter_mut().for_each(|call| clip_call(call, &clip));
    if let Some(simulated) = &mut turn.simulated {
        simulated.calls.truncate(PARTS_PER_TURN);
        simulated.calls.iter_mut().for_each(|call| clip_call(call, &clip));
        simulated.untyped.as_mut().map(&clip);
        simulated.faults.truncate(PARTS_PER_TURN);
    }
    turn.actions.truncate(PARTS_PER_TURN);
    turn.actions.iter_mut().for_each(&clip);
    turn.calls.truncate(PARTS_PER_TURN);
    turn.calls.iter_mut().filter_map(|call| call.error.as_mut()).for_each(&clip);
    turn.notes.truncate(NOTES_PER_TURN);
    turn.notes.iter_mut().for_each(|note| clip(&mut note.text));
    turn
}

fn clip_call(call: &mut ToolCall, clip: impl Fn(&mut String)) {
    clip(&mut call.arguments);
    call.result.as_mut().map(clip);
}

#[cfg(test)]
mod tests {
    use record::{
        Failure, FailureKind, Verdict,
        turn::{Origin, ToolCall},
    };

    use super::*;

    fn turn(number: u32, reply: &str, calls: usize) -> Turn {
        let call =
            ToolCall { id: String::new(), name: "look".into(), arguments: "{}".into(), result: Some(reply.into()) };
        Turn {
            number,
            step: 1,
            speaker: Origin::Scripted,
            user: "Hi".into(),
            agent: Some(reply.into()),
            messages: Vec::new(),
            exit_code: None,
            tool_calls: vec![call; calls],
            actions: Vec::new(),
            started_micros: 0,
            duration_micros: 0,
            response_micros: None,
            calls: Vec::new(),
            notes: Vec::new(),
            simulated: None,
        }
    }

    fn trial() -> Trial {
        let planned = scenario::Trial {
            number: 0,
            id: scenario::TrialId::new("t"),
            case: 0,
            case_id: scenario::CaseId::new("c"),
            repeat: 0,
            seed: 0,
        };
        Trial::unplayed(&planned, 1, Verdict::Error, Failure::new(FailureKind::AgentExcessive, "too much"))
    }

    #[test]
    fn a_huge_conversation_is_kept_in_little_memory() {
        let turns: Vec<Turn> = (1..=5).map(|number| turn(number, &"large ".repeat(150_000), 0)).collect();
        let Selected { turns, .. } = Selected::of(&trial(), &turns);
        assert_eq!(turns.len(), 5);
        for turn in turns {
            let reply = turn.agent.unwrap();
            assert!(reply.contains("896,000 characters more"), "{}", &reply[reply.len() - 80..]);
            assert!(reply.capacity() < 2 * TEXT_CHARS, "{} bytes", reply.capacity());
        }
    }

    #[test]
    fn the_texts_of_a_conversation_with_many_of_them_are_cut_shorter() {
        let turns: Vec<Turn> = (1..=30).map(|number| turn(number, &"word ".repeat(2_000), 40)).collect();
        let Selected { turns, .. } = Selected::of(&trial(), &turns);
        let size: usize = turns.iter().map(bounds::size_of_turn).sum();
        assert!(size <= CONVERSATION_BYTES, "{size} bytes");
        let result = turns[0].tool_calls[0].result.as_deref().unwrap();
        assert!(result.ends_with(" characters more in transcripts.jsonl]"), "{result}");
    }
}
