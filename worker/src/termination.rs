//! Decides after each turn whether the conversation is over. The first condition that holds ends it.
//!
//! A condition is decided by what the scenario gives it: keywords, a question to the judge, a hook. The cheapest is
//! tried first, and one yes is enough. Without a question and a hook, the condition's default keywords decide. Two
//! exceptions follow ElizaOS: with a question, the judge alone decides `goal_achieved`, and `max_turns_reached` never
//! ends a conversation by itself. The user's messages before the agent's first reply are scripted, so they end nothing.
//!
//! A condition that cannot be decided is our fault and ends the trial. Otherwise the conversation would continue or
//! stop for the wrong reason.

pub mod hook;
mod keywords;

use std::collections::{BTreeMap, BTreeSet};

use evaluate::{
    JudgePool,
    question::{Material, Open, Question, how_sure},
};
use record::{Failure, FailureKind, Scope, Turn, turn::Origin};
use scenario::conversation::{Condition, Stop, StopJudge};

use self::hook::Hook;

/// Two replies that share more of their words than this count as the same.
const STUCK_ABOVE: f64 = 0.8;
/// No conversation counts as stuck before this turn.
const STUCK_FROM_TURNS: usize = 3;

/// What the conditions of one turn answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Decisions {
    /// One line a condition that was asked, in order; the last one fired, if any did.
    pub(crate) asked: Vec<String>,
    /// The name of the condition that ends the conversation.
    pub(crate) fired: Option<String>,
}

/// Asks the conditions in order, after the last of `turns` (the conversation's own, oldest first).
pub(crate) async fn decide(
    stops: &[Stop],
    turns: &[Turn],
    hooks: &BTreeMap<String, Hook>,
    pool: &dyn JudgePool,
    trial: &str,
) -> Result<Decisions, Failure> {
    let mut decisions = Decisions::default();
    let Some(last) = turns.last() else { return Ok(decisions) };
    let evidence = Evidence { turns, last, hooks, pool, trial };
    for stop in stops {
        let name = stop.condition.name();
        let decision = evidence.decide(stop).await?;
        let answer = if decision.holds { "yes" } else { "no" };
        decisions.asked.push(format!("{name}: {answer}, {}", decision.why));
        if decision.holds {
            decisions.fired = Some(name.to_owned());
            break;
        }
    }
    Ok(decisions)
}

struct Evidence<'a> {
    turns: &'a [Turn],
    last: &'a Turn,
    hooks: &'a BTreeMap<String, Hook>,
    pool: &'a dyn JudgePool,
    trial: &'a str,
}

struct Decision {
    holds: bool,
    why: String,
}

impl Evidence<'_> {
    async fn decide(&self, stop: &Stop) -> Result<Decision, Failure> {
        if stop.condition == Condition::MaxTurnsReached {
            return Ok(Decision { holds: false, why: "the number of turns is counted elsewhere".to_owned() });
        }
        if stop.condition == Condition::UserExpressesSatisfaction && answer_of_the_user(self.last).is_none() {
            return Ok(Decision { holds: false, why: "the user has not answered the agent yet".to_owned() });
        }
        let mut reasons = Vec::new();
        if stop.condition == Condition::ConversationStuck {
            let decision = self.stuck();
            if decision.holds {
                return Ok(decision);
            }
            reasons.push(decision.why);
        } else if let Some(keywords) = keywords_of(stop) {
            match keywords::first_in(&self.words_that_count(stop.condition), keywords) {
                Some(keyword) => return Ok(Decision { holds: true, why: format!("{keyword:?} was found") }),
                None => reasons.push("no keyword was found".to_owned()),
            }
        }
        if let Some(judge) = &stop.judge {
            let decision = self.ask_judge(judge).await?;
            if decision.holds {
                return Ok(decision);
            }
            reasons.push(decision.why);
        }
        if let Some(name) = &stop.hook {
            let decision = self.ask_hook(name).await?;
            if decision.holds {
                return Ok(decision);
            }
            reasons.push(decision.why);
        }
        if reasons.is_empty() {
            reasons.push("nothing decides it: it has no keywords, no llm_judge and no hook".to_owned());
        }
        Ok(Decision { holds: false, why: reasons.join("; ") })
    }

    /// The text that a condition looks at: an agent that says "perfect" does not show that the user is satisfied.
    fn words_that_count(&self, condition: Condition) -> String {
        let agent = self.last.said().unwrap_or_default();
        match condition {
            Condition::UserExpressesSatisfaction => answer_of_the_user(self.last).unwrap_or_default().to_owned(),
            Condition::AgentProvidesSolution | Condition::EscalationNeeded => agent.into_owned(),
            Condition::GoalAchieved => self.turns.iter().map(words_of).collect::<Vec<_>>().join("\n"),
            Condition::CustomCondition => words_of(self.last),
            Condition::ConversationStuck | Condition::MaxTurnsReached => String::new(),
        }
    }

    fn stuck(&self) -> Decision {
        let [.., before, last] = self.turns else {
            return Decision { holds: false, why: "there is one turn".to_owned() };
        };
        let likeness = jaccard(before.agent.as_deref().unwrap_or_default(), last.agent.as_deref().unwrap_or_default());
        let why = format!("the last two replies of the agent have a similarity of {likeness:.2}");
        Decision { holds: self.turns.len() >= STUCK_FROM_TURNS && likeness > STUCK_ABOVE, why }
    }

    async fn ask_judge(&self, judge: &StopJudge) -> Result<Decision, Failure> {
        let material = Material::of_turns(self.turns, &[]);
        let question = Question::new(&judge.prompt, &material, self.scope());
        let answer = how_sure(&question, self.pool).await.map_err(|error| {
            Failure::new(error.kind(), format!("a termination condition cannot be decided, failed to {error}"))
        })?;
        let why = match answer.said {
            // It is not over as long as nothing shows it.
            Err(Open::NotApplicable) => "the judge says that the question does not apply".to_owned(),
            Err(Open::CannotTell) => "the judge cannot tell".to_owned(),
            Ok(yes) => format!(
                "the judge says {} with confidence {:.2}, required is at least {:.2}",
                if yes { "yes" } else { "no" },
                answer.confidence,
                judge.threshold
            ),
        };
        Ok(Decision { holds: answer.holds(judge.threshold), why })
    }

    async fn ask_hook(&self, name: &str) -> Result<Decision, Failure> {
        let hook = self.hooks.get(name).ok_or_else(|| {
            Failure::new(FailureKind::Misconfigured, format!("the worker's settings have no hook {name:?}"))
        })?;
        // A hook is a question like another: it is counted, and its key is its own.
        let (context, _) = self.pool.context(self.scope());
        let answer = hook
            .ask(&context, self.trial, self.turns)
            .await
            .map_err(|error| Failure::new(FailureKind::HookFailed, format!("hook {name:?} failed to {error}")))?;
        let verb = if answer.stop { "ends it" } else { "continues" };
        let why = match answer.reason {
            Some(reason) => format!("hook {name:?} {verb}: {reason}"),
            None => format!("hook {name:?} {verb}"),
        };
        Ok(Decision { holds: answer.stop, why })
    }

    fn scope(&self) -> Scope {
        Scope::Turn { step: self.last.step, turn: self.last.number }
    }
}

/// The simulated user's answer to a reply of the agent; `None` for a scripted line before the first reply.
fn answer_of_the_user(turn: &Turn) -> Option<&str> {
    (turn.speaker == Origin::Simulated).then_some(turn.user.as_str())
}

/// The words of a turn that may end a conversation.
fn words_of(turn: &Turn) -> String {
    let agent = turn.said().unwrap_or_default();
    format!("{}\n{agent}", answer_of_the_user(turn).unwrap_or_default())
}

/// `None`: the condition ignores keywords.
fn keywords_of(stop: &Stop) -> Option<keywords::List<'_>> {
    if stop.condition == Condition::GoalAchieved && stop.judge.is_some() {
        return None;
    }
    match &stop.keywords {
        Some(written) => Some(keywords::List::Written(written)),
        None if stop.judge.is_none() && stop.hook.is_none() => keywords::usual(stop.condition),
        None => None,
    }
}

/// The share of words that two texts have in common, 0 to 1; 0 if both are empty.
fn jaccard(one: &str, other: &str) -> f64 {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    let one: BTreeSet<&str> = one.split_whitespace().collect();
    let other: BTreeSet<&str> = other.split_whitespace().collect();
    let all = one.union(&other).count();
    if all == 0 { 0.0 } else { one.intersection(&other).count() as f64 / all as f64 }
}

#[cfg(test)]
mod tests;
