//! Takes a chat completion into a reply: a whole one, or a piece of a stream.

use crate::{
    chat::Finish,
    gather::{Gather, Piece, Trouble},
    http::rejection::Fault,
};

use super::reply::{CallPiece, Completion, Content, Said};

/// Adds the content of a completion.
pub(super) fn take(gather: &mut Gather, completion: Completion<'_>) -> Result<(), Trouble> {
    if let Some(error) = &completion.error {
        return Err(Fault::of(error).trouble());
    }
    if let Some(usage) = completion.usage {
        gather.counts.update(usage.into());
    }
    if let Some(model) = completion.model {
        gather.name_model(&model.0);
    }
    if let Some(fingerprint) = completion.system_fingerprint {
        gather.name_build(&fingerprint.0);
    }
    let Some(choice) = completion.choices.0 else { return Ok(()) };
    if let Some(reason) = choice.finish_reason {
        gather.end(Finish::of_word(&reason.0));
    }
    if let Some(said) = choice.message.or(choice.delta) {
        gather.begin();
        hear(gather, said)?;
    }
    Ok(())
}

/// Adds a message or a piece of one.
fn hear(gather: &mut Gather, said: Said<'_>) -> Result<(), Trouble> {
    let content = said.content.map(|Content(text)| text).filter(|text| !text.is_empty());
    if let Some(Content(reasoning)) = said.reasoning_content.or(said.reasoning) {
        gather.think(&reasoning);
    }
    let refusal = said.refusal.map(|refusal| refusal.0).filter(|text| !text.is_empty());
    if refusal.is_some() {
        gather.refuse();
    }
    if let Some(text) = content.or(refusal) {
        gather.say(&text);
    }
    for piece in said.tool_calls.0 {
        hear_call(gather, piece)?;
    }
    for action in said.actions.0.into_iter().filter_map(|action| action.0) {
        gather.act(action.into_owned());
    }
    Ok(())
}

fn hear_call(gather: &mut Gather, piece: CallPiece<'_>) -> Result<(), Trouble> {
    let (name, arguments) = piece.function.map_or((None, None), |function| (function.name, function.arguments));
    gather.call(&Piece {
        index: piece.index,
        id: piece.id.as_ref().map_or("", |id| &id.0),
        name: name.as_ref().map_or("", |name| &name.0),
        arguments: arguments.as_ref().map_or("", |arguments| &arguments.0),
    })
}

#[cfg(test)]
mod tests;
