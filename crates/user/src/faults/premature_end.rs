//! `premature_end`: the user declares its goal reached while the agent waits for its consent.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{
    fold,
    scene::{Line, Scene},
};

/// Questions and requests for consent, in a folded sentence.
static ASKS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        // English
        r" (?:shall|should|may) (?:i|we) [^.?]*[?]",
        r" (?:can|could) i (?:go ahead|proceed|book|continue|confirm|charge|send|place|cancel)[^.?]*[?]",
        r" (?:would you like|do you want|are you ready|want) (?:me |us )?to (?:me )?(?:[a-z0-9]+ ){0,2}(?:proceed|continue|go ahead|book|confirm|process|complete|place|send|schedule|unlock|cancel|refund|do (?:that|this|it))[^.?]*[?]",
        r" do you (?:confirm|agree|accept|approve)[^.?]*[?]",
        r" (?:is|are|would|does|do) (?:that|this|it|these|those|you)(?: be)?(?: [a-z0-9]+)? (?:ok|okay|correct|right|alright|fine|agree|acceptable|work|suit)[^.?]*[?]",
        r" please (?:[a-z0-9]+ )?(?:confirm|approve|agree) ",
        r" let me know (?:if|whether) (?:i|we) (?:should|may|can) ",
        // German
        r" (?:soll|sollen|darf|durfen) (?:ich|wir) [^.?]*[?]",
        r" (?:mochten|wollen|wollt|mochtest|willst) (?:sie|du|ihr) (?:[a-z0-9]+ ){0,4}(?:fortfahren|buchen|bestatigen|abschicken|bestellen)[^.?]*[?]",
        r" (?:sind sie|bist du|seid ihr) (?:damit )?einverstanden[^.?]*[?]",
        r" (?:ist das|ware das|passt|stimmt|stimmen)(?: (?:ihnen|dir|sie|das|so|fur|es|richtig|korrekt|in|ordnung|okay|ok|recht))* [?]",
        r" bestatige(?:n sie)? ",
        // Spanish
        r" (?:lo |la |los |las |le |te )?(?:reservo|confirmo|envio|proceso|cancelo|apunto|compro|desbloqueo|hago|preparo)[^.?]*[?]",
        r" (?:quiere|quieres|desea|deseas) que (?:lo |la |le |te )?(?:[a-z0-9]+ ){0,2}(?:reserve|confirme|envie|proceda|continue|cancele|desbloquee|haga)[^.?]*[?]",
        r" (?:esta|estas) (?:usted )?de acuerdo[^.?]*[?]",
        r" (?:le|te|os) (?:viene bien|parece bien|va bien)[^.?]*[?]",
        r" (?:es|seria) correcto[^.?]*[?]",
        r" (?:confirme|confirma|confirmeme|confirmame) ",
    ])
});

/// Questions that close a conversation: nothing waits for their answer.
static CLOSES: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        " (?:any|some)thing else ",
        " (?:help|assist) (?:you )?(?:any )?(?:further|more) ",
        " (?:sonst|ansonsten) noch ",
        " noch (?:etwas|was|weitere) ",
        " algo mas ",
        " (?:otra|alguna otra) cosa ",
    ])
});

/// A user who refuses may leave.
static REFUSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^ (?:no|nope|nah|nein|nee|ne|lieber nicht|never mind|forget it|mejor no) ")
        .expect("the expression is fixed, and a test compiles it")
});

fn set(expressions: &[&str]) -> RegexSet {
    RegexSet::new(expressions).expect("the expressions are fixed, and a test compiles them")
}

/// The sentence in which the agent asks for consent.
pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>, folded: &str) -> Option<String> {
    if !line.done || REFUSES.is_match(folded) {
        return None;
    }
    let heard = fold::sentences(scene.heard());
    // Only the end of what the agent said still waits for an answer.
    let mut last = heard.split_inclusive(['.', '?']).filter(|sentence| sentence.len() > 2).rev().take(2);
    let asks = last.find(|sentence| {
        let sentence = format!("{sentence} ");
        ASKS.is_match(&sentence) && !CLOSES.is_match(&sentence)
    });
    asks.map(|sentence| sentence.trim().to_owned())
}
