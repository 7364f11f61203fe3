//! The sizes of turns and of ends of trials, and how they are cut to fit.

use super::text::{
    MOST_END_BYTES, MOST_ITEMS, MOST_MESSAGE_BYTES, MOST_NOTE_BYTES, MOST_REASON_BYTES, MOST_TEXT_BYTES,
    MOST_TOOL_BYTES, MOST_TURN_BYTES, cut, shorten,
};
use crate::{
    Ballot, Call, CustomRun, Failure, FailureKind, Judgment, Simulated, Trial, Turn, Verdict, call_times::CallTimes,
    turn::ToolCall,
};

/// The most bytes that each text of a list of fields needs in addition to its content.
const AROUND: usize = 16;

/// Cuts the large parts of a turn, and then all its long texts equally until the whole fits.
pub fn turn(turn: &mut Turn) {
    turn.messages.truncate(MOST_ITEMS);
    turn.tool_calls.truncate(MOST_ITEMS);
    turn.actions.truncate(MOST_ITEMS);
    turn.notes.truncate(MOST_ITEMS);
    // Their costs are counted before.
    turn.calls.truncate(MOST_ITEMS);
    if let Some(simulated) = &mut turn.simulated {
        simulated.parts_done.truncate(MOST_ITEMS);
        simulated.faults.truncate(MOST_ITEMS);
        simulated.calls.truncate(MOST_ITEMS);
    }
    let mut most = MOST_TEXT_BYTES;
    texts_of(turn, most);
    while size_of_turn(turn) > MOST_TURN_BYTES && most > AROUND {
        most /= 2;
        texts_of(turn, most);
    }
}

/// Cuts the large parts of a trial's end. If cutting is not enough, the end becomes an error.
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
        (trial.judgments, trial.latencies, trial.examined) = (Vec::new(), Vec::new(), None);
        trial.call_times = CallTimes::default();
    }
}

/// Bytes of a turn, at least as many as it has on the wire.
#[must_use]
pub fn size_of_turn(turn: &Turn) -> usize {
    let text = |text: &str| text.len() + AROUND;
    let may = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + AROUND);
    let messages: usize = turn.messages.iter().map(|said| text(&said.text) + AROUND).sum();
    let tools: usize = turn.tool_calls.iter().map(size_of_tool_call).sum();
    let actions: usize = turn.actions.iter().map(|action| text(action)).sum();
    let calls: usize = turn.calls.iter().map(size_of_call).sum();
    let notes: usize = turn.notes.iter().map(|note| text(&note.kind) + text(&note.text)).sum();
    let simulated = turn.simulated.as_deref().map_or(0, size_of_simulated);
    9 * AROUND + text(&turn.user) + may(&turn.agent) + messages + tools + actions + calls + notes + simulated
}

/// The bytes of a trial's end, at least as many as on the wire without the places of its turns.
#[must_use]
pub fn size_of_end(trial: &Trial) -> usize {
    let may = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + AROUND);
    let ballot = |it: &Ballot| {
        let texts = [&it.criterion, &it.model, &it.digest, &it.judge, &it.verdict, &it.reason];
        9 * AROUND + texts.iter().map(|text| text.len()).sum::<usize>()
    };
    let judgments = trial.judgments.iter().map(|it| {
        let texts = it.check.len() + it.reason.len() + may(&it.name) + may(&it.description) + may(&it.evidence);
        let texts = texts + it.jury.as_ref().map_or(0, |jury| 3 * AROUND + may(&jury.uncalibrated));
        let custom = |it: &CustomRun| 5 * AROUND + it.check.len() + it.program.len() + it.transcript.len();
        let texts = texts + it.custom.as_deref().map_or(0, custom);
        8 * AROUND + texts + it.ballots.iter().map(ballot).sum::<usize>()
    });
    let failure = trial.failure.as_ref().map_or(0, |failure| 5 * AROUND + failure.message.len());
    let spend: usize = trial.spend.lines.keys().map(|(_, model)| 14 * AROUND + model.len()).sum();
    let call_times = trial.call_times.lines.iter().map(|((_, model), line)| {
        let times = line.waits.len() + line.services.len() + line.wholes.len();
        let streamed = line.ttfts.len() + line.inter_tokens.len() + line.per_tokens.len();
        let limits = 3 * AROUND * line.limits.len();
        3 * AROUND + model.len() + limits + 10 * (times + streamed)
    });
    let ids = trial.trial_id.as_str().len() + trial.case_id.as_str().len();
    let latencies = 6 * AROUND * trial.latencies.len();
    let examined = trial.examined.as_ref().map_or(0, |examined| examined.size());
    let user = trial.user.as_ref().map_or(0, |user| 6 * AROUND + may(&user.persona) + 4 * AROUND * user.faults.len());
    let stop = trial.stop.as_ref().map_or(0, |stop| 4 * AROUND + stop.signal.len());
    let rest = user + examined + may(&trial.termination_reason) + stop + ids + latencies + 22 * AROUND;
    judgments.sum::<usize>() + failure + spend + call_times.sum::<usize>() + rest
}

fn size_of_simulated(simulated: &Simulated) -> usize {
    let faults: usize = simulated.faults.iter().map(|fault| fault.evidence.len() + 4 * AROUND).sum();
    let may = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + AROUND);
    let calls: usize = simulated.calls.iter().map(size_of_tool_call).sum();
    5 * AROUND
        + calls
        + may(&simulated.untyped)
        + may(&simulated.state)
        + faults
        + simulated.parts_done.iter().map(|part| part.len() + AROUND).sum::<usize>()
}

fn size_of_tool_call(call: &ToolCall) -> usize {
    let result = call.result.as_ref().map_or(0, |text| text.len() + AROUND);
    4 * AROUND + call.id.len() + call.name.len() + call.arguments.len() + result
}

fn size_of_call(call: &Call) -> usize {
    (20 + 2 * call.limits.len()) * AROUND
        + call.endpoint.len()
        + call.model.len()
        + call.error.as_ref().map_or(0, String::len)
}

fn texts_of(turn: &mut Turn, most: usize) {
    let name = |text: &mut String| shorten(text, most);
    cut(&mut turn.user, most);
    turn.agent.iter_mut().for_each(|text| cut(text, most));
    turn.messages.iter_mut().for_each(|said| cut(&mut said.text, most));
    let of_user = turn.simulated.iter_mut().flat_map(|simulated| &mut simulated.calls);
    for call in turn.tool_calls.iter_mut().chain(of_user) {
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
    if let Some(simulated) = &mut turn.simulated {
        simulated.parts_done.iter_mut().for_each(name);
        simulated.state.iter_mut().for_each(name);
        simulated.untyped.iter_mut().for_each(|text| cut(text, most));
        simulated.faults.iter_mut().for_each(|fault| cut(&mut fault.evidence, most.min(MOST_MESSAGE_BYTES)));
    }
}

fn texts_of_end(trial: &mut Trial, most: usize) {
    for Judgment { check, name, description, reason, evidence, ballots, jury, custom, .. } in &mut trial.judgments {
        std::iter::once(check).chain(name).for_each(|text| shorten(text, most));
        if let Some(CustomRun { check, program, transcript, differs: _ }) = custom.as_deref_mut() {
            [check, program, transcript].into_iter().for_each(|text| shorten(text, most));
        }
        ballots.truncate(MOST_ITEMS);
        let objection = jury.iter_mut().filter_map(|jury| jury.uncalibrated.as_mut());
        objection.for_each(|why| cut(why, most.min(MOST_MESSAGE_BYTES)));
        for Ballot { criterion, model, digest, judge, verdict, confidence: _, reason, shortened_turns: _ } in ballots {
            [criterion, model, digest, judge, verdict].into_iter().for_each(|name| shorten(name, most));
            cut(reason, most.min(MOST_MESSAGE_BYTES));
        }
        cut(reason, most);
        description.iter_mut().chain(evidence).for_each(|text| cut(text, most));
    }
    trial.examined.iter_mut().for_each(|examined| examined.each_text(&mut |text| cut(text, most)));
    trial.failure.iter_mut().for_each(|failure| cut(&mut failure.message, most.min(MOST_MESSAGE_BYTES)));
    trial.user.iter_mut().filter_map(|user| user.persona.as_mut()).for_each(|persona| shorten(persona, most));
    trial.termination_reason.iter_mut().for_each(|text| cut(text, most.min(MOST_MESSAGE_BYTES)));
    trial.stop.iter_mut().for_each(|stop| shorten(&mut stop.signal, most));
}
