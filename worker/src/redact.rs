//! Keeps keys out of what happened: a turn or a trial passes here before it leaves the worker, and so before it is
//! stored, exported or reported. Only the worker knows the keys, so only it can do this.

use std::borrow::Cow;

use record::{Call, Failure, Trial, Turn};

pub(crate) fn turn(turn: &mut Turn) {
    text(&mut turn.user);
    turn.agent.iter_mut().for_each(text);
    for call in &mut turn.tool_calls {
        text(&mut call.name);
        text(&mut call.arguments);
        call.result.iter_mut().for_each(text);
    }
    turn.actions.iter_mut().for_each(text);
    turn.calls.iter_mut().for_each(call);
    turn.notes.iter_mut().for_each(|note| text(&mut note.text));
}

pub(crate) fn call(call: &mut Call) {
    text(&mut call.model);
    call.error.iter_mut().for_each(text);
}

pub(crate) fn trial(trial: &mut Trial) {
    for judgment in &mut trial.judgments {
        text(&mut judgment.reason);
        judgment.evidence.iter_mut().for_each(text);
    }
    if let Some(Failure { message, .. }) = &mut trial.failure {
        text(message);
    }
}

fn text(text: &mut String) {
    if let Cow::Owned(clean) = telemetry::redact(text) {
        *text = clean;
    }
}
