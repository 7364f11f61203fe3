//! `tool_calls`: the agent called the expected tools with the expected arguments.

mod call;
mod pairing;

use record::turn::ToolCall;
use scenario::check::{CallBy, CallOrder, CallPick, ToolCallsRule};

use self::{
    call::Expected,
    pairing::{Fit, Pairs},
};
use crate::{
    error::Error,
    evaluator::{Behaviour, Compile, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::Subject,
};

/// With more calls than this the check is undecided: comparing takes rows times columns.
const MOST_CALLS: usize = 1_000;
/// How many calls a judge sees at most.
const MOST_JUDGED: usize = 32;
const NAMES_SHOWN: usize = 8;

#[derive(Debug)]
pub(crate) struct ToolCalls {
    expected: Vec<Expected>,
    order: CallOrder,
    pick: CallPick,
    by: CallBy,
}

impl ToolCalls {
    pub(crate) fn new(rule: &ToolCallsRule, compile: Compile) -> Result<Self, Error> {
        // With these orders an empty list means "no calls". With any other it would always hold.
        if rule.calls.is_empty()
            && !matches!(rule.order, CallOrder::Exact | CallOrder::ExactAnyOrder | CallOrder::Subset)
        {
            return Err(Error::Empty { field: "calls" });
        }
        let expected = rule.calls.iter().map(|call| Expected::new(call, compile)).collect::<Result<_, _>>()?;
        Ok(Self { expected, order: rule.order, pick: rule.pick, by: rule.by })
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let made: Vec<&ToolCall> = match self.by {
            CallBy::Agent => subject.turns.iter().flat_map(|turn| &turn.tool_calls).collect(),
            CallBy::User => subject.turns.iter().flat_map(record::Turn::user_calls).collect(),
        };
        let evidence = if made.is_empty() { String::new() } else { listed(&made) };
        let outcome = self.compare(&made, subject, pool).await;
        if evidence.is_empty() { outcome } else { outcome.with_evidence(&evidence) }
    }

    async fn compare(&self, made: &[&ToolCall], subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        if made.len() > MOST_CALLS {
            return Outcome::undecided(format!("{} made {} calls, too many to compare", self.who(), made.len()));
        }
        if matches!(self.order, CallOrder::Exact | CallOrder::ExactAnyOrder) && made.len() != self.expected.len() {
            return Outcome::fail(format!(
                "expected exactly {} calls, {} made {}{}",
                self.expected.len(),
                self.who(),
                made.len(),
                names(made)
            ));
        }
        let mut pairs = Pairs::new(self.expected.len(), made.len());
        let outcome = match self.fill(&mut pairs, made, subject, pool).await {
            Ok(()) => self.conclude(&pairs, made),
            Err(outcome) => outcome,
        };
        outcome.with_ballots(pairs.ballots)
    }

    /// Compares all pairs; `Err`: the outcome no longer depends on them.
    async fn fill(
        &self,
        pairs: &mut Pairs,
        made: &[&ToolCall],
        subject: &Subject<'_>,
        pool: &dyn JudgePool,
    ) -> Result<(), Outcome> {
        let mut judged = 0;
        for (row, expected) in self.expected.iter().enumerate() {
            for column in self.candidates(row, expected, made)? {
                judged += usize::from(expected.asks_a_model);
                if judged > MOST_JUDGED {
                    return Err(Outcome::undecided(format!("more than {MOST_JUDGED} calls would have to be judged")));
                }
                pairs.set(row, column, expected.compare(made[column], subject, pool).await);
            }
        }
        Ok(())
    }

    /// The calls that can answer an expected one.
    fn candidates(&self, row: usize, expected: &Expected, made: &[&ToolCall]) -> Result<Vec<usize>, Outcome> {
        let same = |column: &usize| made[*column].name == expected.name;
        if self.order == CallOrder::Exact {
            return Ok(Some(row).filter(same).into_iter().collect());
        }
        let mut all: Vec<usize> = (0..made.len()).filter(same).collect();
        match self.pick {
            CallPick::Any => {}
            CallPick::Last => all = all.split_off(all.len().saturating_sub(1)),
            // A forbidden call is not required to occur once.
            CallPick::Single if all.len() != 1 && !matches!(self.order, CallOrder::Forbidden | CallOrder::Subset) => {
                return Err(Outcome::fail(format!(
                    "expected exactly one call of {}, {} made {}{}",
                    expected.shown(),
                    self.who(),
                    all.len(),
                    names(made)
                )));
            }
            CallPick::Single => {}
        }
        Ok(all)
    }

    fn who(&self) -> &'static str {
        match self.by {
            CallBy::Agent => "the agent",
            CallBy::User => "the user",
        }
    }

    /// If the pairs that judges decided who only inform matter, the outcome only informs too.
    fn conclude(&self, pairs: &Pairs, made: &[&ToolCall]) -> Outcome {
        let outcome = self.verdict(pairs, made);
        if !outcome.is_decided() {
            return outcome;
        }
        let Some(uncalibrated) = pairs.uncalibrated() else { return outcome };
        let without = self.verdict(&pairs.without_uncalibrated(), made);
        if without.is_decided() { without } else { Outcome { uncalibrated: Some(uncalibrated.into()), ..outcome } }
    }

    fn verdict(&self, pairs: &Pairs, made: &[&ToolCall]) -> Outcome {
        let verdict = match self.order {
            CallOrder::Exact => pairs.diagonal(),
            CallOrder::InOrder => pairs.in_order(),
            CallOrder::AnyOrder | CallOrder::ExactAnyOrder => pairs.any_order(),
            CallOrder::Subset => pairs.covered(),
            CallOrder::Forbidden => pairs.none(),
        };
        match verdict {
            Fit::Holds => Outcome::pass(match self.order {
                CallOrder::Subset => format!("no other calls than those expected{}", names(made)),
                CallOrder::Forbidden => "none of the forbidden calls was made".to_owned(),
                _ if self.expected.is_empty() => format!("{} called no tools", self.who()),
                _ => format!("{} of {} expected calls were made", self.expected.len(), self.expected.len()),
            }),
            Fit::Missing(row) => {
                let why = match pairs.reasons(row) {
                    Some(reason) => reason,
                    None => match made.iter().any(|call| call.name == self.expected[row].name) {
                        true if self.order == CallOrder::InOrder => "not after the calls before it".to_owned(),
                        true => "each of its calls answers another expected one".to_owned(),
                        false => format!("there is none{}", names(made)),
                    },
                };
                Outcome::fail(format!("no call of {} as expected: {why}", self.expected[row].shown()))
            }
            Fit::Unexpected(column) => {
                let name = excerpt(&made[column].name, SHORT_BYTES).into_owned();
                let verb = if self.order == CallOrder::Forbidden { "is forbidden" } else { "was not expected" };
                Outcome::fail(format!("the call of {name:?} {verb}: call {} of {}", column + 1, made.len()))
            }
            Fit::Undecided(outcome) => outcome,
        }
    }
}

impl Behaviour for ToolCalls {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

/// `; it called a, b`.
fn names(made: &[&ToolCall]) -> String {
    if made.is_empty() {
        return "; it called no tools".to_owned();
    }
    let shown: Vec<_> = made.iter().take(NAMES_SHOWN).map(|call| excerpt(&call.name, SHORT_BYTES)).collect();
    let more = if made.len() > NAMES_SHOWN { ", …" } else { "" };
    format!("; it called {}{more}", shown.join(", "))
}

/// One line per call, for the evidence.
fn listed(made: &[&ToolCall]) -> String {
    let mut text = String::new();
    for call in made.iter().take(2 * NAMES_SHOWN) {
        text.push_str(&format!("{}({})", excerpt(&call.name, SHORT_BYTES), excerpt(&call.arguments, 4 * SHORT_BYTES)));
        if let Some(result) = &call.result {
            text.push_str(&format!(" = {}", excerpt(result, 2 * SHORT_BYTES)));
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}
