//! The mock as the user: wants something, answers what it is asked, and is content after a few good replies.

use crate::{Request, model::Speaker};

use super::{UNHELPFUL, chance::Key, words};

/// What the user says next.
pub(crate) fn speak(request: &Request, key: Key) -> String {
    let profile = Profile::read(request);
    let heard = Heard::read(request);
    let Some(last) = heard.last else {
        return format!("Hello, I need help. {}", profile.wish(key));
    };
    if last.contains(UNHELPFUL) {
        return format!("{} {}", profile.mood.complaint(key), profile.wish(key));
    }
    if heard.was_thanked {
        return key.text("leave").pick(&["Thank you again, that is all I needed.", "Thank you, goodbye."]).to_owned();
    }
    if heard.helpful >= patience(request) {
        return profile.contentment(key).to_owned();
    }
    let answer = if last.trim_end().ends_with('?') { profile.detail(last, key) } else { profile.follow_up(key) };
    match profile.mood.opener(key) {
        Some(opener) => format!("{opener} {answer}"),
        None => answer,
    }
}

/// What the agent has said to this user.
#[derive(Debug, Default)]
struct Heard<'a> {
    last: Option<&'a str>,
    /// Replies that were not refusals.
    helpful: usize,
    was_thanked: bool,
}

impl<'a> Heard<'a> {
    /// The roles are turned round: the agent speaks as `user`. What stands before the user's own first words is
    /// an instruction; the turns before the ones that are shown stand in the system message, a line each.
    fn read(request: &'a Request) -> Self {
        let mut heard = Self::default();
        let (mut earlier, mut refused) = (0, 0);
        for line in said_by(request, Speaker::System).flat_map(str::lines) {
            let number = line.strip_prefix("Turn ").and_then(|rest| rest.split_once('.')?.0.parse::<usize>().ok());
            // The number counts the turns that are left out of the summary, too.
            earlier = earlier.max(number.unwrap_or(0));
            refused += usize::from(number.is_some() && line.contains(UNHELPFUL));
        }
        heard.helpful = earlier.saturating_sub(refused);
        let mut begun = false;
        for message in &request.messages {
            match message.role {
                Speaker::Assistant => {
                    begun = true;
                    heard.was_thanked |= words::mentions(&message.content, &["thank"]);
                }
                Speaker::User if begun => {
                    heard.last = Some(&message.content);
                    heard.helpful += usize::from(!message.content.contains(UNHELPFUL));
                }
                _ => {}
            }
        }
        heard
    }
}

/// How many good replies make this user content: 2 to 4, the same all through a conversation, though each call
/// of it has a seed of its own.
fn patience(request: &Request) -> usize {
    let key = match request.context.conversation.as_str() {
        "" => super::answer::seed_of(request),
        conversation => Key::new(0).text(conversation),
    };
    2 + (key.text("patience").value() % 3) as usize
}

/// Who the user is, from the lines of the simulator's prompt.
#[derive(Debug, Default)]
struct Profile {
    objective: String,
    learns: bool,
    mood: Mood,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Mood {
    #[default]
    Calm,
    Upset,
    Unsure,
    Curt,
    Polite,
}

impl Profile {
    fn read(request: &Request) -> Self {
        let mut persona = String::new();
        let mut objective = "";
        for line in said_by(request, Speaker::System).flat_map(str::lines) {
            let Some((name, value)) = line.split_once(':') else { continue };
            match name.trim().to_ascii_lowercase().as_str() {
                "objective" | "goal" if objective.is_empty() => objective = value.trim(),
                "persona" | "style" | "mood" | "knowledge" => {
                    persona.push_str(value);
                    persona.push(' ');
                }
                _ => {}
            }
        }
        Self { objective: plain(objective), learns: super::topics::wants_to_learn(objective), mood: Mood::of(&persona) }
    }

    /// The objective as this user would say it.
    fn wish(&self, key: Key) -> String {
        if self.objective.is_empty() {
            return "Could you help me with my question?".to_owned();
        }
        let lead = key.text("wish").pick(match self.mood {
            Mood::Upset => &["I have to", "All I need is to", "I really need to"],
            Mood::Unsure => &["I think I need to", "I am trying to", "I would like to"],
            Mood::Curt => &["I want to", "I need to", "I have to"],
            Mood::Calm | Mood::Polite => &["I would like to", "I am trying to", "What I need is to"],
        });
        format!("{lead} {}.", self.objective)
    }

    /// An answer to a question of the agent.
    fn detail(&self, question: &str, key: Key) -> String {
        let asked = words::salient(words::sentences(question).last().unwrap_or(question), 3).join(" and ");
        let lead = key.text("detail").pick(match self.mood {
            Mood::Upset => &["As I said:", "Once more:", "Yes, and it is urgent:"],
            Mood::Unsure => {
                &["I am not quite sure, but I think so.", "I hope this is what you mean:", "Let me try to say it:"]
            }
            Mood::Curt => &["Yes.", "Details:", "Correct."],
            Mood::Calm | Mood::Polite => &["Yes, of course.", "Good question.", "Let me tell you more."],
        });
        if asked.is_empty() {
            format!("{lead} {}", self.wish(key))
        } else {
            format!("{lead} {} It began this week, and about {asked} I know only what is on my screen.", self.wish(key))
        }
    }

    fn follow_up(&self, key: Key) -> String {
        let next = key.text("next").pick(if self.learns {
            &[
                "Could you give me an example from everyday life?",
                "How would I use this in practice?",
                "What is the difference from what you said before?",
                "Could you say that in simpler words?",
            ]
        } else {
            &[
                "I have tried the first step. What comes next?",
                "How long will that take?",
                "What should I do if that does not work?",
                "Is there anything else that I have to look at?",
            ]
        });
        format!("{} {next}", self.wish(key))
    }

    fn contentment(&self, key: Key) -> &'static str {
        let key = key.text("content");
        if self.learns {
            return key.pick(&[
                "Thank you, that makes sense, I understand now!",
                "Thank you for the clear explanation, that helps a lot.",
                "Thank you, now I get it. Great examples!",
            ]);
        }
        key.pick(match self.mood {
            Mood::Upset => &[
                "Okay, thank you, that solved it. I feel less stressed now.",
                "Finally, it works. Thank you, that helps.",
                "Thank you, that solved it!",
            ],
            Mood::Curt => &["Thank you, that solved it!", "Works. Thank you.", "Perfect, thank you."],
            Mood::Calm | Mood::Unsure | Mood::Polite => &[
                "Thank you, that solved it!",
                "Thank you so much, that works.",
                "Perfect, thank you for your help, that helps a lot.",
            ],
        })
    }
}

impl Mood {
    fn of(persona: &str) -> Self {
        const MOODS: [(&[&str], Mood); 4] = [
            (&["angry", "frustrat", "stress", "anxi", "impatient", "annoy", "upset", "panic", "furious"], Mood::Upset),
            (&["confus", "unsure", "beginner", "novice", "elder", "non-technical", "shy"], Mood::Unsure),
            (&["expert", "technical", "terse", "curt", "brief", "busy", "power"], Mood::Curt),
            (&["polite", "friendly", "patient", "formal", "kind"], Mood::Polite),
        ];
        MOODS.iter().find(|(starts, _)| words::mentions(persona, starts)).map_or(Mood::Calm, |(_, mood)| *mood)
    }

    fn opener(self, key: Key) -> Option<&'static str> {
        let choices: &[&str] = match self {
            Self::Calm => return None,
            Self::Upset => {
                &["This is really frustrating.", "I do not have much time.", "I am quite stressed about this."]
            }
            Self::Unsure => &["I am not sure that I follow.", "Sorry, this is new to me.", "I am a little lost."],
            Self::Curt => &["Understood.", "Okay.", "Noted."],
            Self::Polite => &["I appreciate your patience.", "That is kind of you.", "I see."],
        };
        Some(key.text("opener").pick(choices))
    }

    fn complaint(self, key: Key) -> &'static str {
        key.text("complaint").pick(match self {
            Self::Upset => &["That is not an answer.", "You are not helping me at all.", "This is unacceptable."],
            Self::Unsure => {
                &["I do not understand why not.", "Oh. Is there another way?", "Did I ask the wrong thing?"]
            }
            Self::Curt => &["Not acceptable.", "Try again.", "That does not answer my question."],
            Self::Calm | Self::Polite => &[
                "That is a pity, could you try once more?",
                "I had hoped for more.",
                "Could you look at it again, please?",
            ],
        })
    }
}

/// An objective as a wish, without the words by which conversations are found to be over.
fn plain(objective: &str) -> String {
    const CLOSING: [&str; 11] = [
        "thank",
        "perfect",
        "great",
        "solved",
        "fixed",
        "resolved",
        "done",
        "complete",
        "finished",
        "achieved",
        "accomplished",
    ];
    let kept: Vec<&str> = objective
        .split_whitespace()
        .filter(|word| !CLOSING.iter().any(|closing| words::contains_ignoring_case(word, closing)))
        .collect();
    let text = kept.join(" ");
    let text = text.trim_end_matches(['.', '!', ' ']);
    let text = ["I want to ", "to ", "To ", "The user wants to ", "You want to "]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .unwrap_or(text);
    words::lower_first(&words::shorten(text, 160))
}

fn said_by(request: &Request, speaker: Speaker) -> impl Iterator<Item = &str> {
    request.messages.iter().filter(move |message| message.role == speaker).map(|message| message.content.as_str())
}
