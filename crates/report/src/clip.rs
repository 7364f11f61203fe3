//! Long texts and long conversations, cut to what a page can carry; the whole is in `transcripts.jsonl`.

use record::{Finding, Scope, Trial, Turn};

use crate::{Selected, figures};

/// Of one message, reply, tool result or note.
const TEXT_CHARS: usize = 4_000;
/// Of one conversation: the first ones, those round the failing one, and the last ones.
const FIRST_TURNS: usize = 12;
const TURNS_ROUND_FAILURE: usize = 6;
const LAST_TURNS: usize = 12;
const NOTES_PER_TURN: usize = 8;
const PARTS_PER_TURN: usize = 40;
const JUDGMENTS: usize = 200;

/// What the pages keep of a trial.
pub(crate) fn selected(trial: &Trial, turns: &[Turn]) -> Selected {
    let turns: Vec<Turn> = kept(trial, turns).map(clipped_turn).collect();
    let mut trial = trial.clone();
    trial.latencies.clear();
    if let Some(failure) = &mut trial.failure {
        clip(&mut failure.message);
    }
    if trial.judgments.len() > JUDGMENTS {
        trial.judgments.retain(|judgment| match judgment.scope {
            Scope::Turn { turn, .. } => {
                judgment.finding != Finding::Pass && turns.iter().any(|kept| kept.number == turn)
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

/// The first `chars` characters, with a dot-dot-dot where more were there.
pub(crate) fn ellipsis(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
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

fn clipped_turn(turn: &Turn) -> Turn {
    let mut turn = turn.clone();
    clip(&mut turn.user);
    turn.agent.as_mut().map(clip);
    turn.messages.truncate(PARTS_PER_TURN);
    turn.messages.iter_mut().for_each(|said| clip(&mut said.text));
    turn.tool_calls.truncate(PARTS_PER_TURN);
    for call in &mut turn.tool_calls {
        clip(&mut call.arguments);
        call.result.as_mut().map(clip);
    }
    turn.actions.truncate(PARTS_PER_TURN);
    turn.actions.iter_mut().for_each(clip);
    turn.calls.truncate(PARTS_PER_TURN);
    turn.calls.iter_mut().filter_map(|call| call.error.as_mut()).for_each(clip);
    turn.notes.truncate(NOTES_PER_TURN);
    turn.notes.iter_mut().for_each(|note| clip(&mut note.text));
    turn
}

fn clip(text: &mut String) {
    let Some((end, _)) = text.char_indices().nth(TEXT_CHARS) else { return };
    let more = text[end..].chars().count() as u64;
    text.truncate(end);
    text.push_str(&format!("… [{} more in transcripts.jsonl]", figures::plural(more, "character", "characters")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_say_how_much_is_missing() {
        let mut text = "ä".repeat(TEXT_CHARS + 1_234);
        clip(&mut text);
        assert!(
            text.ends_with("ä… [1,234 characters more in transcripts.jsonl]")
                || text.ends_with("more in transcripts.jsonl]")
        );
        assert!(text.chars().count() < TEXT_CHARS + 60);
        let mut short = "ok".to_owned();
        clip(&mut short);
        assert_eq!(short, "ok");
        assert_eq!(ellipsis("one two three", 8), "one two…");
        assert_eq!(ellipsis("one", 8), "one");
    }
}
