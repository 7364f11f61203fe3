//! Redacts keys in records: every turn and trial passes through here before it leaves the worker, and so before it is
//! stored, exported or reported. Only the worker has the keys, so only the worker can redact them.
//!
//! A record is destructured completely, so that a new field does not compile until it is handled here.

use std::{borrow::Cow, sync::Arc};

use record::{
    Ballot, Call, CustomRun, Failure, Judgment, Jury, Simulated, Stop, Trial, Turn,
    call::Spend,
    call_times::CallTimes,
    turn::{Note, Said, ToolCall},
    user_fault::{UserConduct, UserFault},
};
use redact::Redactor;

pub(crate) fn turn(turn: &mut Turn) {
    Cleaner::new().turn(turn);
}

/// Of a call that is in no turn.
pub(crate) fn call(call: &mut Call) {
    Cleaner::new().call(call);
}

pub(crate) fn trial(trial: &mut Trial) {
    Cleaner::new().trial(trial);
}

struct Cleaner {
    redactor: Arc<Redactor>,
}

impl Cleaner {
    fn new() -> Self {
        Self { redactor: redact::known() }
    }

    fn turn(&self, turn: &mut Turn) {
        let Turn {
            number,
            step,
            speaker,
            user,
            agent,
            messages,
            exit_code,
            tool_calls,
            actions,
            started_micros,
            duration_micros,
            response_micros,
            calls,
            notes,
            simulated,
        } = turn;
        holds_no_text((*number, *step, *speaker, *exit_code, *started_micros, *duration_micros));
        holds_no_text(*response_micros);
        self.text(user);
        self.texts(agent);
        messages.iter_mut().for_each(|said| self.said(said));
        self.texts(actions);
        tool_calls.iter_mut().for_each(|call| self.tool_call(call));
        calls.iter_mut().for_each(|call| self.call(call));
        notes.iter_mut().for_each(|note| self.note(note));
        simulated.iter_mut().for_each(|simulated| self.simulated(simulated));
    }

    fn simulated(&self, simulated: &mut Simulated) {
        let Simulated { sent_back, summed_up, parts_done, faults, untyped, state, failed_asks, calls } = simulated;
        calls.iter_mut().for_each(|call| self.tool_call(call));
        self.texts(untyped);
        self.texts(state);
        for UserFault { kind, severity, sent, evidence } in faults {
            holds_no_text((*kind, *severity, *sent));
            self.text(evidence);
        }
        holds_no_text((*sent_back, *summed_up, *failed_asks));
        self.texts(parts_done);
    }

    fn trial(&self, trial: &mut Trial) {
        let Trial {
            number,
            // The plan's own text: it identifies the trial, and no server can change it.
            trial_id: _,
            case_id: _,
            case,
            repeat,
            epoch,
            seed,
            verdict,
            failure,
            strategy,
            termination_reason,
            stop,
            turns,
            conversations,
            duration_ms,
            start,
            began_at_ms,
            latencies,
            unanswered,
            spend,
            call_times,
            judgments,
            user,
            examined,
            keep_transcript,
            exhausted,
            // Only the coordinator's store knows this.
            past: _,
        } = trial;
        holds_no_text((*number, *case, *repeat, *epoch, *seed, *verdict, *strategy));
        holds_no_text((*turns, *conversations, *duration_ms, *unanswered, *keep_transcript, *exhausted));
        holds_no_text(*start);
        holds_no_text(*began_at_ms);
        latencies.iter().copied().for_each(holds_no_text);
        self.texts(termination_reason);
        stop.iter_mut().for_each(|stop| self.stop(stop));
        self.spend(spend);
        self.call_times(call_times);
        failure.iter_mut().for_each(|failure| self.failure(failure));
        judgments.iter_mut().for_each(|judgment| self.judgment(judgment));
        user.iter_mut().for_each(|user| self.user(user));
        examined.iter_mut().for_each(|examined| examined.each_text(&mut |text| self.text(text)));
    }

    fn stop(&self, stop: &mut Stop) {
        let Stop { who, signal, turn } = stop;
        holds_no_text((*who, *turn));
        self.text(signal);
    }

    fn said(&self, said: &mut Said) {
        let Said { text, tool_calls_before } = said;
        holds_no_text(*tool_calls_before);
        self.text(text);
    }

    fn tool_call(&self, call: &mut ToolCall) {
        let ToolCall { id, name, arguments, result } = call;
        [id, name, arguments].into_iter().for_each(|text| self.text(text));
        self.texts(result);
    }

    fn call(&self, call: &mut Call) {
        let Call {
            role,
            endpoint,
            model,
            started_micros,
            wait_micros,
            connect_micros,
            ttft_micros,
            inter_token_micros,
            total_micros,
            retried_micros,
            tokens,
            texts,
            estimated,
            cost,
            plain_priced,
            reported_cost,
            finish,
            tries,
            throttled_tries,
            lost_tries,
            error,
            error_kind,
            of_trial,
            limits,
        } = call;
        // Limits are numbers, by words of gabfest's own.
        limits.iter().for_each(|(of, limit)| holds_no_text((*of, *limit)));
        holds_no_text((*role, *started_micros, *wait_micros, *connect_micros, *ttft_micros, *inter_token_micros));
        holds_no_text((*total_micros, *retried_micros, *tokens, *estimated, *cost, *tries, *throttled_tries));
        holds_no_text((*lost_tries, *error_kind, *of_trial, *plain_priced, *reported_cost, *finish));
        // For the trace of this worker alone, which has them already.
        *texts = None;
        self.text(endpoint);
        self.text(model);
        self.texts(error);
    }

    fn note(&self, note: &mut Note) {
        let Note { kind, text } = note;
        self.text(kind);
        self.text(text);
    }

    fn failure(&self, failure: &mut Failure) {
        let Failure { kind, blame, message, step, turn } = failure;
        holds_no_text((*kind, *blame, *step, *turn));
        self.text(message);
    }

    fn judgment(&self, judgment: &mut Judgment) {
        let Judgment {
            check,
            name,
            description,
            scope,
            finding,
            score,
            reason,
            evidence,
            failure,
            line,
            required,
            weight,
            ballots,
            jury,
            custom,
        } = judgment;
        holds_no_text((*scope, *finding, *score, *failure, *line, *required, *weight));
        self.text(check);
        self.texts(name);
        self.texts(description);
        self.text(reason);
        self.texts(evidence);
        ballots.iter_mut().for_each(|ballot| self.ballot(ballot));
        if let Some(Jury { words, uncalibrated }) = jury {
            holds_no_text(*words);
            self.texts(uncalibrated);
        }
        if let Some(CustomRun { check, program, transcript, differs }) = custom.as_deref_mut() {
            holds_no_text(*differs);
            [check, program, transcript].into_iter().for_each(|text| self.text(text));
        }
    }

    fn ballot(&self, ballot: &mut Ballot) {
        let Ballot { criterion, model, digest, judge, verdict, confidence, reason, shortened_turns } = ballot;
        holds_no_text((*confidence, *shortened_turns));
        [criterion, model, digest, judge, verdict, reason].into_iter().for_each(|text| self.text(text));
    }

    fn user(&self, user: &mut UserConduct) {
        let UserConduct { persona, lines, unknown, faults, despite_fault } = user;
        holds_no_text((*lines, *unknown, *despite_fault));
        faults.iter().copied().for_each(holds_no_text);
        self.texts(persona);
    }

    /// Merges lines whose model names are equal after redaction.
    fn spend(&self, spend: &mut Spend) {
        let Spend { lines } = spend;
        if lines.keys().all(|(_, model)| matches!(self.redactor.redact(model), Cow::Borrowed(_))) {
            return;
        }
        let mut clean = Spend::default();
        for ((role, model), line) in std::mem::take(lines) {
            clean.add_line(role, &self.redactor.redact(&model), line);
        }
        *spend = clean;
    }

    fn call_times(&self, call_times: &mut CallTimes) {
        let CallTimes { lines } = call_times;
        if lines.keys().all(|(_, model)| matches!(self.redactor.redact(model), Cow::Borrowed(_))) {
            return;
        }
        let mut clean = CallTimes::default();
        for ((role, model), line) in std::mem::take(lines) {
            clean.add_line(role, &self.redactor.redact(&model), line);
        }
        *call_times = clean;
    }

    fn texts<'a>(&self, texts: impl IntoIterator<Item = &'a mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn text(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.redactor.redact(text) {
            *text = clean;
        }
    }
}

/// A `Copy` value owns no text: the compiler checks it.
fn holds_no_text<T: Copy>(_: T) {}

#[cfg(test)]
mod tests;
