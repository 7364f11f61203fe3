//! Why a draft goes back to the model before it is sent.

use record::{Turn, stop::Signal};

use crate::{draft::Draft, handover, questions};

/// Why a draft is refused, as an instruction for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    pub reason: String,
}

/// What is wrong with the draft's signal. `exchanges`: their number in this conversation.
pub(crate) fn to_signal(draft: &Draft, turns: &[Turn], exchanges: u32, min_turns: u32) -> Option<Objection> {
    let reason = match draft.signal? {
        Signal::Done if exchanges < min_turns => {
            format!(
                "You end the talk after {exchanges} of at least {min_turns} exchanges. Is everything that you want done?"
            )
        }
        Signal::GaveUp if exchanges < min_turns => {
            format!("You give up after {exchanges} of at least {min_turns} exchanges. Is there nothing left to try?")
        }
        Signal::Done if questions::asks(&draft.say) => "You end the talk and ask a question.".to_owned(),
        Signal::Done if questions::consents(&draft.say) => {
            "You end the talk and agree to something that has not happened yet.".to_owned()
        }
        Signal::Done if turns.last().and_then(Turn::said).is_some_and(|said| questions::asks(&said)) => {
            "You end the talk, but they wait for your answer.".to_owned()
        }
        Signal::HandedOver if !handover::is_shown(turns) => "Nobody has passed you on.".to_owned(),
        _ => return None,
    };
    let rest = "Write your next message again. End the talk only if nothing is open.";
    Some(Objection { reason: format!("{reason} {rest}") })
}

#[cfg(test)]
mod tests {
    use record::turn::Origin;

    use super::*;

    fn objection(signal: Option<Signal>, say: &str, heard: &str, exchanges: u32) -> Option<String> {
        let turn = Turn {
            agent: Some(heard.to_owned()),
            ..Turn::new(1, 1, Origin::Simulated, "I want a refund.".to_owned(), 0)
        };
        let draft = Draft { say: say.to_owned(), signal, ..Draft::default() };
        to_signal(&draft, &[turn], exchanges, 2).map(|objection| objection.reason)
    }

    #[test]
    fn an_end_that_comes_too_early_goes_back() {
        let done = Some(Signal::Done);
        for (signal, say, heard, exchanges, expected) in [
            (None, "Yes?", "Shall I?", 1, None),
            (done, "Thanks, bye.", "It is refunded.", 2, None),
            (done, "Thanks.", "It is refunded.", 1, Some("You end the talk after 1 of at least 2 exchanges.")),
            (done, "Is it done?", "It is refunded.", 2, Some("You end the talk and ask a question.")),
            (done, "Yes, do it.", "I can refund it.", 2, Some("You end the talk and agree to something")),
            (done, "Thanks.", "Shall I refund it?", 2, Some("You end the talk, but they wait for your answer.")),
            (done, "Thanks.", "It is refunded. Anything else?", 2, None),
            (Some(Signal::HandedOver), "", "I cannot do it.", 2, Some("Nobody has passed you on.")),
            (Some(Signal::HandedOver), "", "I will connect you with a person.", 2, None),
            (Some(Signal::GaveUp), "Forget it, will you?", "Shall I?", 2, None),
            (Some(Signal::GaveUp), "Forget it.", "No.", 1, Some("You give up after 1 of at least 2 exchanges.")),
        ] {
            let found = objection(signal, say, heard, exchanges);
            let found = found.as_deref();
            assert_eq!(found.is_some(), expected.is_some(), "{signal:?} {say:?} {heard:?}: {found:?}");
            assert!(found.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{found:?}");
        }
    }
}
