//! How large each part of a record may be, and what becomes of what is larger: it is cut, and the cut is marked.
//!
//! Agents, models and tools are bounded where they are heard. These are the last bounds: whatever passes them fits into
//! a message, into the store and into a report. docs/limits.md has them all in a table.

use std::borrow::Cow;

use crate::{Call, Failure, FailureKind, Judgment, Trial, Turn, Verdict};

/// Of what one side says in one message, and of a program's text or output.
pub const MOST_TEXT_BYTES: usize = scenario::plan::MOST_TEXT_BYTES;
/// Of the arguments of a tool call, and of its result.
pub const MOST_TOOL_BYTES: usize = 256 << 10;
/// Of a note.
pub const MOST_NOTE_BYTES: usize = 256 << 10;
/// Of a judgment's reason, and of its evidence.
pub const MOST_REASON_BYTES: usize = 64 << 10;
/// Of the message of a failure or of a call that failed.
pub const MOST_MESSAGE_BYTES: usize = 8 << 10;
/// Of a name: of a model, a tool, an action, an id, a check.
pub const LONGEST_NAME: usize = 256;
/// Of an agent's words, tool calls and results in one turn, where it is asked or calls several times.
pub const MOST_EXCHANGE_BYTES: usize = 2 << 20;
/// Of one turn with everything in it.
pub const MOST_TURN_BYTES: usize = 6 << 20;
/// Of all turns of a trial; the conversation ends with the turn that exceeds it.
pub const MOST_TRIAL_BYTES: usize = 4 << 20;
/// Of the end of a trial: its judgments, times and costs.
pub const MOST_END_BYTES: usize = 6 << 20;
/// Of one kind in a turn: messages, tool calls, actions, notes.
pub const MOST_ITEMS: usize = 4_096;

/// What each text of a list of fields takes beside itself, at most.
const AROUND: usize = 16;

/// The text, or its beginning with a mark where it is longer. For what stands in one line; see [`cut`].
#[must_use]
pub fn short(text: &str, most: usize) -> Cow<'_, str> {
    const MARK: &str = "…";
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(most.saturating_sub(MARK.len()));
    Cow::Owned(format!("{}{MARK}", &text[..end]))
}

/// Cuts a text that is too long, and says at its end how much is missing.
pub fn cut(text: &mut String, most: usize) {
    if text.len() <= most {
        return;
    }
    // The mark is no longer than this, whatever the number.
    const MARK_BYTES: usize = 48;
    let end = text.floor_char_boundary(most.saturating_sub(MARK_BYTES));
    let gone = text.len() - end;
    text.truncate(end);
    text.shrink_to_fit();
    let mark = format!("… [gabfest cut {gone} bytes]");
    if end + mark.len() <= most {
        text.push_str(&mark);
    }
}

/// Cuts what is too large in a turn, and then all its long texts alike until the whole fits.
pub fn turn(turn: &mut Turn) {
    turn.messages.truncate(MOST_ITEMS);
    turn.tool_calls.truncate(MOST_ITEMS);
    turn.actions.truncate(MOST_ITEMS);
    turn.notes.truncate(MOST_ITEMS);
    // What they cost is counted before.
    turn.calls.truncate(MOST_ITEMS);
    let mut most = MOST_TEXT_BYTES;
    texts_of(turn, most);
    while size_of_turn(turn) > MOST_TURN_BYTES && most > AROUND {
        most /= 2;
        texts_of(turn, most);
    }
}

/// Cuts what is too large in the end of a trial. One that has more in it than can be cut is an error instead.
pub fn end(trial: &mut Trial) {
    let mut most = MOST_REASON_BYTES;
    texts_of_end(trial, most);
    while size_of_end(trial) > MOST_END_BYTES && most > AROUND {
        most /= 2;
        texts_of_end(trial, most);
    }
    if size_of_end(trial) > MOST_END_BYTES {
        let message = format!(
            "the trial has {} judgments and {} turns, more than the {MOST_END_BYTES} bytes that are kept of its end",
            trial.judgments.len(),
            trial.turns
        );
        (trial.verdict, trial.failure) = (Verdict::Error, Some(Failure::new(FailureKind::Misconfigured, message)));
        (trial.judgments, trial.latencies) = (Vec::new(), Vec::new());
        trial.pace = crate::pace::Pace::default();
    }
}

/// Bytes of a turn, at least as many as it has on the wire.
#[must_use]
pub fn size_of_turn(turn: &Turn) -> usize {
    let text = |text: &str| text.len() + AROUND;
    let may = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + AROUND);
    let messages: usize = turn.messages.iter().map(|said| text(&said.text) + AROUND).sum();
    let tools = turn.tool_calls.iter();
    let tools: usize = tools.map(|it| text(&it.id) + text(&it.name) + text(&it.arguments) + may(&it.result)).sum();
    let actions: usize = turn.actions.iter().map(|action| text(action)).sum();
    let calls: usize = turn.calls.iter().map(size_of_call).sum();
    let notes: usize = turn.notes.iter().map(|note| text(&note.kind) + text(&note.text)).sum();
    8 * AROUND + text(&turn.user) + may(&turn.agent) + messages + tools + actions + calls + notes
}

/// Bytes of the end of a trial, at least as many as it has on the wire without the places of its turns.
#[must_use]
pub fn size_of_end(trial: &Trial) -> usize {
    let may = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + AROUND);
    let judgments = trial
        .judgments
        .iter()
        .map(|it| 8 * AROUND + it.check.len() + it.reason.len() + may(&it.description) + may(&it.evidence));
    let failure = trial.failure.as_ref().map_or(0, |failure| 5 * AROUND + failure.message.len());
    let spend: usize = trial.spend.lines.keys().map(|(_, model)| 14 * AROUND + model.len()).sum();
    let pace = trial.pace.lines.iter().map(|((_, model), line)| {
        3 * AROUND + model.len() + 10 * (line.waits.len() + line.services.len() + line.wholes.len())
    });
    let ids = trial.trial_id.as_str().len() + trial.case_id.as_str().len();
    let latencies = 2 * AROUND * trial.latencies.len();
    let rest = may(&trial.termination_reason) + ids + latencies + 20 * AROUND;
    judgments.sum::<usize>() + failure + spend + pace.sum::<usize>() + rest
}

fn size_of_call(call: &Call) -> usize {
    20 * AROUND + call.endpoint.len() + call.model.len() + call.error.as_ref().map_or(0, String::len)
}

fn texts_of(turn: &mut Turn, most: usize) {
    let name = |text: &mut String| shorten(text, most);
    cut(&mut turn.user, most);
    turn.agent.iter_mut().for_each(|text| cut(text, most));
    turn.messages.iter_mut().for_each(|said| cut(&mut said.text, most));
    for call in &mut turn.tool_calls {
        name(&mut call.id);
        name(&mut call.name);
        cut(&mut call.arguments, most.min(MOST_TOOL_BYTES));
        call.result.iter_mut().for_each(|text| cut(text, most.min(MOST_TOOL_BYTES)));
    }
    turn.actions.iter_mut().for_each(name);
    for call in &mut turn.calls {
        name(&mut call.endpoint);
        name(&mut call.model);
        call.error.iter_mut().for_each(|text| cut(text, most.min(MOST_MESSAGE_BYTES)));
    }
    for note in &mut turn.notes {
        name(&mut note.kind);
        cut(&mut note.text, most.min(MOST_NOTE_BYTES));
    }
}

fn texts_of_end(trial: &mut Trial, most: usize) {
    for Judgment { check, description, reason, evidence, .. } in &mut trial.judgments {
        shorten(check, most);
        cut(reason, most);
        description.iter_mut().chain(evidence).for_each(|text| cut(text, most));
    }
    trial.failure.iter_mut().for_each(|failure| cut(&mut failure.message, most.min(MOST_MESSAGE_BYTES)));
    trial.termination_reason.iter_mut().for_each(|text| cut(text, most.min(MOST_MESSAGE_BYTES)));
}

fn shorten(text: &mut String, most: usize) {
    if let Cow::Owned(shorter) = short(text, most.min(LONGEST_NAME)) {
        *text = shorter;
    }
}
