//! A conversation with a simulated user: send a line, receive the reply, judge, until a condition ends it.

use std::{slice, time::Duration};

use record::{Failure, FailureKind, Scope, Stop, stop::Stopper, turn::Origin};
use scenario::{Conversation, Message, conversation::Condition};
use user::{End, User};

use super::{
    judge::{Judged, judge},
    next_line::{Next, Place, next_line},
    say::say,
    stage::Stage,
    user_check, user_tools,
};
use crate::{compiled::StepChecks, simulator::misconfigured, termination};

/// Holds a conversation and judges it.
pub(super) async fn hold(
    stage: &mut Stage,
    step: u32,
    written: &Conversation,
    checks: &StepChecks,
) -> Result<(), Failure> {
    stage.progress.conversations += 1;
    let first_turn = stage.transcript.len();
    let clock = Clock { total: Duration::from_millis(written.total_timeout_ms), first_turn };
    let stop = turns(stage, step, written, checks, &clock).await?;
    stage.progress.stop = Some(stop);
    user_check::check(stage, step, &written.simulator, first_turn).await;
    let transcript = record::turn::transcript(&stage.transcript.turns()[first_turn..]);
    let what = Judged {
        scope: Scope::Conversation { step },
        reply: &transcript,
        said: &transcript,
        first_turn,
        conversation: true,
        duration_ms: u64::try_from(stage.transcript.agents_time(first_turn).as_millis()).ok(),
        turn: None,
    };
    let last = u32::try_from(stage.transcript.len() - first_turn).unwrap_or(u32::MAX);
    for check in checks.each_turn.iter().filter(|check| check.at_turn().is_some_and(|turn| turn > last)) {
        stage.judgments.push(check.not_reached(Scope::Conversation { step }, last));
    }
    judge(stage, &checks.at_the_end, what).await;
    Ok(())
}

/// Plays the turns of a conversation. Returns how it ended.
async fn turns(
    stage: &mut Stage,
    step: u32,
    written: &Conversation,
    checks: &StepChecks,
    clock: &Clock,
) -> Result<Stop, Failure> {
    let tools = user_tools::of(stage, &written.simulator)?;
    let user = User::new(&written.simulator, true).map_err(|error| misconfigured(&error))?;
    let mut user = user.with_tools(tools);
    let most = written.most_turns();
    let mut line = Message::user(written.opening_line.clone());
    let mut speaker = Origin::Scripted;
    let mut farewell = None;
    for turn in 1..=most {
        let left = clock.left(stage)?;
        let whole = Duration::from_millis(written.turn_timeout_ms);
        if let Err(failure) = say(stage, step, slice::from_ref(&line), speaker, whole.min(left), None).await {
            // A timeout that the conversation's limit had cut short has used up the conversation.
            let cut_short = failure.kind == FailureKind::AgentTimeout && left < whole;
            return Err(clock.left(stage).err().filter(|_| cut_short).unwrap_or(failure));
        }
        judge_turn(stage, step, turn, checks).await;
        if let Some(lines) = &stage.recorded_lines {
            match lines.next(step, turn) {
                Some(words) => line = Message::user(words),
                None => return Ok(lines.end(stage.transcript.number())),
            }
            speaker = Origin::Simulated;
            continue;
        }
        if let Some(end) = farewell {
            return Ok(ended_by_user(stage, end));
        }
        match is_over(stage, written, clock.first_turn).await? {
            Some(fired) => return Ok(stopped(stage, Stopper::Condition, fired)),
            None if turn == most => break,
            None => {}
        }
        clock.left(stage)?;
        user.hear();
        let place = Place {
            first_seen: 0,
            opening: true,
            exchanges: turn,
            lines_left: most - turn,
            debug: written.debug.log_user_simulation,
        };
        let said = match next_line(stage, &mut user, place).await? {
            Next::Stop(end) => return Ok(ended_by_user(stage, end)),
            Next::Say(said) => said,
        };
        line = Message::user(said.words);
        (speaker, farewell) = (said.speaker, said.farewell);
    }
    Ok(stopped(stage, Stopper::Limit, Condition::MaxTurnsReached.name().to_owned()))
}

fn ended_by_user(stage: &Stage, end: End) -> Stop {
    stopped(stage, end.who, end.signal.name().to_owned())
}

fn stopped(stage: &Stage, who: Stopper, signal: String) -> Stop {
    Stop { who, signal, turn: stage.transcript.number() }
}

/// Applies the checks of each turn to the last turn, which is `turn` of the conversation.
async fn judge_turn(stage: &mut Stage, step: u32, turn: u32, checks: &StepChecks) {
    let (reply, said) = (stage.transcript.last_reply().to_owned(), stage.transcript.last_said());
    let what = Judged {
        scope: Scope::Turn { step, turn: stage.transcript.number() },
        reply: &reply,
        said: &said,
        first_turn: stage.transcript.len() - 1,
        conversation: true,
        duration_ms: stage.transcript.last().map(|turn| turn.duration_micros / 1_000),
        turn: Some(turn),
    };
    judge(stage, &checks.each_turn, what).await;
}

/// The name of the condition that ends the conversation, if any.
async fn is_over(stage: &mut Stage, written: &Conversation, first_turn: usize) -> Result<Option<String>, Failure> {
    let decisions = termination::decide(
        &written.stops,
        &stage.transcript.turns()[first_turn..],
        &stage.resources.hooks,
        &stage.judges(),
        stage.ticket.trial.id.as_str(),
    )
    .await;
    let decisions = match decisions {
        Ok(decisions) => decisions,
        Err(failure) => {
            stage.settle();
            return Err(failure.in_turn(stage.transcript.number()));
        }
    };
    if written.debug.log_turn_decisions {
        for asked in &decisions.asked {
            tracing::info!(trial = %stage.ticket.trial.id, decision = asked, "termination");
            stage.transcript.note("termination", asked.clone());
        }
    }
    stage.settle();
    Ok(decisions.fired)
}

/// The total time of a conversation. It runs only while the agent or one of its tools works: the simulated user,
/// judges, rate-limit waits and retries do not count.
struct Clock {
    total: Duration,
    /// Index of the conversation's first turn.
    first_turn: usize,
}

impl Clock {
    fn left(&self, stage: &Stage) -> Result<Duration, Failure> {
        let left = self.total.saturating_sub(stage.transcript.agents_time(self.first_turn));
        if left.is_zero() { Err(self.over(stage)) } else { Ok(left) }
    }

    fn over(&self, stage: &Stage) -> Failure {
        let turns = stage.transcript.len() - self.first_turn;
        let message = format!(
            "the agent took {} ms for {turns} turns; the conversation's limit is {} ms",
            stage.transcript.agents_time(self.first_turn).as_millis(),
            self.total.as_millis(),
        );
        Failure::new(FailureKind::ConversationTimeout, message).in_turn(stage.transcript.number())
    }
}
