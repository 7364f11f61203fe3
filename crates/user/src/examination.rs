//! The faults of a draft, as the scenario and the conversation show them.

use std::borrow::Cow;

use record::{Turn, stop::Signal, turn::Origin};
use scenario::{Message, conversation::Simulator, message::Speaker, user::Tell};

use crate::{
    draft::Draft,
    faults::{self, Exchange, Fact, Found, Line, Scene},
    length::Limits,
    situation::Situation,
};

/// `instructions`: the first message that the model got.
pub(crate) fn faults(
    draft: &Draft,
    simulator: &Simulator,
    limits: Limits,
    instructions: &str,
    situation: &Situation<'_>,
) -> Vec<Found> {
    read(draft, simulator, limits, instructions, situation, faults::examine)
}

/// Whether the draft is in doubt.
pub(crate) fn doubt(
    draft: &Draft,
    simulator: &Simulator,
    limits: Limits,
    situation: &Situation<'_>,
) -> Option<faults::Doubt> {
    read(draft, simulator, limits, "", situation, faults::doubt)
}

/// Reads a draft in its scene.
fn read<R>(
    draft: &Draft,
    simulator: &Simulator,
    limits: Limits,
    instructions: &str,
    situation: &Situation<'_>,
    reads: impl FnOnce(&Line<'_>, &Scene<'_>) -> R,
) -> R {
    let extras = &simulator.extras;
    let given: Vec<&str> =
        [&*simulator.persona].into_iter().chain(simulator.constraints.iter().map(String::as_str)).collect();
    let instructions: Vec<&str> = [instructions].into_iter().chain(given.iter().copied()).collect();
    let parts = extras.goal.iter().map(|part| part.text.as_str());
    let wishes: Vec<&str> = [&*simulator.objective].into_iter().chain(parts).collect();
    let facts: Vec<Fact<'_>> = extras
        .facts
        .iter()
        .map(|(name, fact)| Fact {
            name,
            value: &fact.value,
            tell: match fact.tell {
                Tell::First => faults::Tell::First,
                Tell::Asked => faults::Tell::Asked(&fact.asked_by),
                Tell::Never => faults::Tell::Never,
            },
        })
        .collect();
    let results = situation.turns.iter().flat_map(Turn::user_calls).chain(situation.calls);
    let results = results.filter_map(|call| call.result.as_deref());
    let known: Vec<&str> = given.iter().copied().chain(results).collect();
    let earlier = exchanges(situation.opening, situation.turns);
    let scene = Scene {
        instructions: &instructions,
        wishes: &wishes,
        known: &known,
        facts: &facts,
        earlier: &earlier,
        most_words: Some(limits.most_words),
        most_sentences: limits.sentences,
        language: extras.language.as_deref(),
    };
    reads(&Line { say: &draft.say, done: draft.signal == Some(Signal::Done) }, &scene)
}

/// What was said, in pairs.
fn exchanges<'a>(opening: &'a [Message], turns: &'a [Turn]) -> Vec<Exchange<'a>> {
    let mut exchanges: Vec<Exchange<'a>> = Vec::with_capacity(opening.len() + turns.len());
    for message in opening {
        let text = message.text();
        match (message.speaker, exchanges.last_mut()) {
            (Speaker::User, _) => exchanges.push(Exchange { user: text.into(), agent: "".into() }),
            (Speaker::Agent, Some(last)) if last.agent.is_empty() => last.agent = text.into(),
            (Speaker::Agent, _) => exchanges.push(Exchange { user: "".into(), agent: text.into() }),
            _ => {}
        }
    }
    let said = turns.iter().filter(|turn| turn.speaker != Origin::Program);
    exchanges.extend(
        said.map(|turn| Exchange { user: Cow::Borrowed(turn.meant()), agent: turn.said().unwrap_or_default() }),
    );
    exchanges
}

#[cfg(test)]
mod tests {
    use record::user_fault::FaultKind;
    use serde_json::json;

    use super::*;

    fn kinds(say: &str, opening: &[Message], heard: &str) -> Vec<FaultKind> {
        let simulator: Simulator = serde_json::from_value(json!({
            "model_type": "large", "temperature": 0.7, "max_tokens": 200, "persona": "a man in a hurry on a train",
            "objective": "get 30 EUR back", "style": "terse", "constraints": [], "emotional_state": null,
            "knowledge_level": "beginner",
            "gabfest": {
                "facts": {
                    "order": { "value": "W-4711" },
                    "card": { "value": "4242", "tell": "never" },
                },
                "goal": [{ "id": "a", "text": "the voucher for 12 EUR" }],
                "language": "en",
            },
        }))
        .unwrap();
        let turn = Turn { agent: Some(heard.to_owned()), ..Turn::new(1, 1, Origin::Scripted, "Hi.".to_owned(), 0) };
        let situation = Situation {
            opening,
            turns: &[turn],
            steps: &[],
            calls: &[],
            exchanges: 1,
            line: 2,
            lines_left: 3,
            seed: 1,
        };
        let draft = Draft { say: say.to_owned(), signal: Some(Signal::Done), ..Draft::default() };
        let instructions = "Write only your own next words and nothing else at all.";
        let limits = Limits::of(&simulator);
        faults(&draft, &simulator, limits, instructions, &situation).into_iter().map(|fault| fault.kind).collect()
    }

    #[test]
    fn what_the_scenario_and_the_conversation_say_is_known() {
        use FaultKind::{InventedFact, Leak, PrematureEnd, RoleFlip, ToldEarly, TooLong, WrongLanguage};
        let opening = [Message::user("My account is 55667788.".to_owned())];
        for (say, heard, expected) in [
            ("I want 30 EUR back.", "Hello!", &[][..]),
            ("And the voucher for 12 EUR.", "Hello!", &[]),
            ("It is 55667788.", "Hello!", &[]),
            ("It is 99887766.", "Hello!", &[InventedFact]),
            ("W-4711", "Your order number?", &[]),
            ("W-4711", "Hello!", &[ToldEarly]),
            ("4242", "Your card?", &[Leak]),
            ("I was told to write only your own next words and nothing else.", "Hello!", &[Leak]),
            ("Yes, please.", "Shall I refund it?", &[PrematureEnd]),
            ("How can I help you?", "Hello!", &[RoleFlip]),
            ("Das weiß ich leider alles nicht mehr so genau.", "Hello!", &[WrongLanguage]),
        ] {
            assert_eq!(kinds(say, &opening, heard), expected, "{say:?} after {heard:?}");
        }
        assert_eq!(kinds(&"so ".repeat(40), &[], "Hello!"), [TooLong]);
    }
}
