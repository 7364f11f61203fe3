//! Doubts about a draft: it may be the other side's line, but people write such lines too.
//!
//! A doubt is no fault. It costs one more draft, so its rules may be wider than those of [`role_flip`](super::role_flip) and
//! [`invented_fact`](super::invented_fact), which decide a trial.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::{Regex, RegexSet};

use super::{
    borrowed, fold, mention, role_flip,
    scene::{Line, Scene},
};
use crate::history;

/// Shorter sentences, such as `The train is late.`, inform about nothing.
const SHORTEST_LESSON: usize = 6;
/// Shorter words, such as `back`, are in most lines.
const SHORTEST_TOPIC: usize = 4;
/// Digits of a number that nobody makes up in passing.
const LONG_NUMBER: usize = 4;

/// Why a draft is in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// It regrets, offers, informs or instructs.
    OtherSide(String),
    /// It states a time or a number that nobody has said.
    Unheard(String),
}

/// `Sorry` at the beginning of a sentence.
static REGRETS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        "^ (?:(?:oh|ah|no|ok|okay|nein|ja|ay) )*(?:(?:im |i am )?(?:so |very |really |truly )*sorry|my apologies|i apologi[sz]e",
        "|(?:es )?tut (?:mir|uns) (?:sehr |wirklich )?leid|(?:lo )?siento(?: mucho)?|lo lamento|lamento) ",
    ))
});

/// What people are sorry about: what they do not know, have not done or still want.
static OF_ONESELF: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        " (?:dont|do not|(?:cant|cannot|could not|couldnt) (?:find|see|read|open|remember|hear|make|come|tell|follow|say)|didnt",
        "|did not|havent|have no|having no|no idea|not sure|to me|forgot|lost|late|confus[a-z]+|my|meant|mistake|typo|again|pardon|being",
        "|bother|want|need|id like|still|too much|nicht|kein[a-z]*|weiss|zu viel|no (?:lo )?(?:se|tengo|entiendo|recuerdo)",
        "|olvide|perdi|demasiado) ",
    ))
});

/// What helpers do.
static OFFERS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        concat!(
            " (?:i|we) (?:can|could|will|would|may|shall) (?:also |then |now )?(?:send|give|offer|refund|reimburse|provide|issue|arrange",
            "|grant|credit|confirm|process|show|explain|teach|prepare) ",
        ),
        " (?:ill|well) (?:send|give|offer|refund|reimburse|provide|arrange|confirm|process|show|explain|prepare) ",
        " (?:can|could|shall|may|should) (?:i|we) (?:send|give|offer|show|explain) ",
        " (?:ich|wir) (?:kann|konnen|werde|werden) (?:[a-z0-9]+ ){0,6}(?:schicken|senden|geben|anbieten|erstatten|erklaren|zeigen) ",
        " (?:puedo|podemos|voy a|vamos a) (?:enviar|dar|ofrecer|reembolsar|devolver|explicar|mostrar)(?:te|le|les|os|lo|la)? ",
    ])
});

/// What only the other side knows: whether there is something.
static STATES_SUPPLY: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        " there (?:is|are) (?:no|none|not) ",
        " (?:is|are|isnt|arent) (?:(?:not|no longer|currently|now|all) )*(?:available|unavailable|sold out|in stock|out of stock|ready) ",
        " (?:ist|sind) (?:[a-z]+ ){0,2}(?:verfugbar|ausverkauft|vorratig|lieferbar) ",
        " (?:esta|estan) (?:[a-z]+ )?(?:disponibles?|agotad[oa]s?|listos?|listas?) ",
    ])
});

/// `The common denominator is …`, `A penguin has …`.
static INFORMS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        "^ (?:the|an?|this|these|der|die|das|eine?|el|la|los|las|una?) (?:[a-z0-9]+ ){1,9}(?:is|are|was|has|have|leaves?|arrives?|costs?",
        "|takes?|needs?|means?|contains?|ist|sind|hat|haben|kostet|dauert|fahrt|bedeutet|es|son|tiene|cuesta|sale|llega|significa) ",
    ))
});

/// What helpers wish at the end: `Have fun cooking!`
static WISHES_WELL: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        " (?:have fun|have a (?:good|great|nice|safe) (?:trip|journey|meal|flight|stay)|enjoy (?:your|the|it)|good luck",
        "|viel spass|viel erfolg|guten appetit|gute (?:reise|fahrt)|buena suerte|buen provecho|buen viaje|disfrut[ae]) ",
    ))
});

/// `To add fractions, …`
static INSTRUCTS: LazyLock<Regex> = LazyLock::new(|| regex("^ (?:to|um|para) [a-z0-9]+ "));

/// `The train that leaves at 12:00`: what is there, also in a sentence of the user.
static TIMETABLE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        " (?:that|which|it|der|die|das|que) (?:[a-z]+ ){0,2}(?:leaves?|leaving|departs?|arrives?|starts?|opens?|closes?|sale|llega|empieza|abre",
        "|cierra) | (?:der|die|das) (?:[a-z0-9]+ ){0,5}(?:abfahrt|fahrt|ankommt|losgeht|beginnt|offnet|schliesst) ",
    ))
});

/// `I'd like`; `id` alone can be an ID.
static WOULD_LIKE: LazyLock<Regex> = LazyLock::new(|| regex(" id (?:like|rather|prefer|love|need|want|take) "));

/// `9:30`, `9 am`.
static TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\b\d{1,2}:\d{2}\b|\b\d{1,2} ?(?:am|pm)\b"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\b\d{4,}\b"));

fn regex(expression: &str) -> Regex {
    Regex::new(expression).expect("the expressions are fixed, and a test compiles them")
}

fn set(expressions: &[&str]) -> RegexSet {
    RegexSet::new(expressions).expect("the expressions are fixed, and a test compiles them")
}

pub(super) fn find(line: &Line<'_>, scene: &Scene<'_>) -> Option<Doubt> {
    let folded = fold::sentences(line.say);
    if let Some(offered) = offer(scene, &folded) {
        return Some(Doubt::OtherSide(offered));
    }
    let sentences = history::sentences(line.say);
    let all: Vec<Sentence<'_>> = sentences.into_iter().map(Sentence::new).collect();
    if let Some(regret) = all.iter().find(|sentence| sentence.regrets()) {
        return Some(Doubt::OtherSide(regret.words.to_owned()));
    }
    let states = |sentence: &&Sentence<'_>| !sentence.asks && !is_of_user(&sentence.folded);
    let mut claims =
        all.iter().filter(|sentence| states(sentence) || !sentence.asks && TIMETABLE.is_match(&sentence.folded));
    if let Some(unheard) = claims.find_map(|sentence| unheard(sentence.words, scene)) {
        return Some(Doubt::Unheard(unheard));
    }
    let mut impersonal = all.iter().filter(states);
    let is_alone = !folded.contains('?') && !is_of_user(&folded);
    if is_alone && role_flip::is_likely(&folded) {
        return Some(Doubt::OtherSide(line.say.to_owned()));
    }
    let is_helpers = |sentence: &&Sentence<'_>| {
        STATES_SUPPLY.is_match(&sentence.folded)
            || sentence.instructs()
            || WISHES_WELL.is_match(&sentence.folded)
            || is_alone && sentence.informs() && !tells_a_fact(line.say, scene)
    };
    impersonal.find(is_helpers).map(|sentence| Doubt::OtherSide(sentence.words.to_owned()))
}

fn is_of_user(folded: &str) -> bool {
    borrowed::is_of_speaker(folded) || WOULD_LIKE.is_match(folded)
}

/// A sentence of the draft.
#[derive(Debug, Clone)]
struct Sentence<'a> {
    words: &'a str,
    folded: String,
    asks: bool,
}

impl<'a> Sentence<'a> {
    fn new(words: &'a str) -> Self {
        let folded = fold::sentences(words);
        let asks = folded.contains('?');
        Self { words, folded, asks }
    }

    fn is_long(&self) -> bool {
        // The end of the sentence is a word of its own.
        self.folded.split_whitespace().nth(SHORTEST_LESSON).is_some()
    }

    fn regrets(&self) -> bool {
        !self.asks && REGRETS.is_match(&self.folded) && !OF_ONESELF.is_match(&self.folded)
    }

    fn instructs(&self) -> bool {
        self.is_long() && INSTRUCTS.is_match(&self.folded)
    }

    fn informs(&self) -> bool {
        self.is_long() && INFORMS.is_match(&self.folded)
    }
}

/// The offer to do what the user wants from the other side: it shares a word with the wishes that is no word of a fact.
fn offer(scene: &Scene<'_>, folded: &str) -> Option<String> {
    if !OFFERS.is_match(folded) {
        return None;
    }
    let topics = |text: &str| -> BTreeSet<String> {
        let is_topic = |word: &&str| word.len() >= SHORTEST_TOPIC || word.bytes().all(|byte| byte.is_ascii_digit());
        fold::words(text).split_whitespace().filter(is_topic).map(str::to_owned).collect()
    };
    let wished: BTreeSet<String> = scene.wishes.iter().flat_map(|wish| topics(wish)).collect();
    let own: BTreeSet<String> =
        scene.facts.iter().flat_map(|fact| topics(fact.name).into_iter().chain(topics(fact.value))).collect();
    let is_wished = |word: &String| wished.contains(word) && !own.contains(word);
    topics(folded).iter().any(is_wished).then(|| folded.trim().to_owned())
}

/// A time or number that neither the scenario nor the conversation has.
fn unheard(words: &str, scene: &Scene<'_>) -> Option<String> {
    let is_known = |said: &str| {
        let said = fold::squashed(said);
        scene.sources().any(|source| fold::squashed(source).contains(&said))
    };
    let is_year = |number: &str| number.len() == LONG_NUMBER && (number.starts_with("19") || number.starts_with("20"));
    let times = TIME.find_iter(words).map(|found| found.as_str());
    let numbers = NUMBER.find_iter(words).map(|found| found.as_str()).filter(|number| !is_year(number));
    times.chain(numbers).find(|said| !is_known(said)).map(str::to_owned)
}

fn tells_a_fact(say: &str, scene: &Scene<'_>) -> bool {
    scene.facts.iter().any(|fact| mention::names(say, fact.value))
}

impl Doubt {
    /// The instruction for the model, which writes the draft again.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::OtherSide(_) => {
                "It reads like a message of the other side. You are the one who wants something: say what you \
                 want, or answer what you know."
                    .to_owned()
            }
            Self::Unheard(said) => format!("\"{said}\" was neither given to you nor said. Leave it out, or ask."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::scene::{Exchange, Fact, Tell},
        *,
    };

    fn doubted(say: &str, heard: &str) -> Option<Doubt> {
        let facts = [Fact { name: "order number", value: "W-4711", tell: Tell::First }];
        let earlier = [Exchange { user: "".into(), agent: heard.into() }];
        let wishes = [
            "get 30 EUR back for order W-4711",
            "a train to Bergen before noon",
            "to know how both fractions are added",
        ];
        find(
            &Line { say, done: false },
            &Scene { wishes: &wishes, facts: &facts, earlier: &earlier, ..Scene::default() },
        )
    }

    #[test]
    fn lines_of_a_helper_are_in_doubt_and_near_misses_are_not() {
        for (say, is_doubted) in [
            ("I can send you a voucher of 30 EUR.", true),
            ("Can I send you a voucher of 30 EUR?", true),
            ("Ich kann Ihnen gerne 30 EUR erstatten.", true),
            ("Puedo enviarle los 30 euros.", true),
            ("I can send you a photo.", false),
            ("I can give you the order number.", false),
            ("I want 30 EUR.", false),
            ("Sorry, I can't do that.", true),
            ("Oh no, sorry! How can we get it back?", true),
            ("I'm very sorry, the item is not here.", true),
            ("Tut mir leid, das geht hier so.", true),
            ("Sorry, I don't know.", false),
            ("Sorry, what do you mean?", false),
            ("Sorry, but I still want my money.", false),
            ("Lo siento, no lo sé.", false),
            ("No, there are no other trains available.", true),
            ("The voucher is ready, please send it.", true),
            ("Die Lampe ist leider ausverkauft.", true),
            ("I see that it is not available.", false),
            ("Is it available?", false),
            ("To know how both are added, find a number for below.", true),
            ("To Bergen, please.", false),
            ("You can add them like this.", true),
            ("Great! Have fun cooking!", true),
            ("Ich wünsche dir viel Spaß!", false),
            ("Gute Reise!", true),
            ("¡Buen provecho!", true),
            ("I want to have fun there.", false),
            ("So I think you can add them like this?", false),
            ("The common denominator of both is the six.", true),
            ("The order number of this is W-4711.", false),
            ("The lamp is broken.", false),
            ("The lamp that you sent me is broken.", false),
            ("Yes.", false),
        ] {
            let found = doubted(say, "Hello!");
            assert_eq!(matches!(found, Some(Doubt::OtherSide(_))), is_doubted, "{say:?}: {found:?}");
        }
    }

    #[test]
    fn a_time_or_number_that_nobody_has_said_is_in_doubt() {
        for (say, unheard) in [
            ("The train leaves Oslo at 9:30.", Some("9:30")),
            ("It leaves at 9 am.", Some("9 am")),
            ("It leaves at 8:25.", None),
            ("Train 1260.", Some("1260")),
            ("I'd like to take the one at 9:30.", None),
            ("I'll choose the train that leaves Oslo at 9:30.", Some("9:30")),
            ("I'll take the one that leaves at 8:25.", None),
            ("Is there one that leaves at 9:30?", None),
            ("Ich nehme den Zug, der um 9:30 abfährt.", Some("9:30")),
            ("Tomo el tren que sale a las 9:30.", Some("9:30")),
            ("Is there one at 9:30?", None),
            ("From 1998, that one.", None),
        ] {
            let found = doubted(say, "One leaves at 8:25.");
            assert_eq!(found, unheard.map(|said| Doubt::Unheard(said.to_owned())), "{say:?}");
        }
    }
}
