//! `user_satisfaction`: how satisfied the user is, by keywords or according to a judge.

mod keywords;

use record::Turn;
use scenario::check::{self, SatisfactionMethod};

use self::keywords::Keywords;
use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{Material, Question, number},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct UserSatisfaction {
    /// 0 to 1.
    threshold: f64,
    method: Method,
}

#[derive(Debug)]
enum Method {
    Keywords(Keywords),
    /// A judge answers this with a number.
    Judge(&'static str),
}

const SENTIMENT: &str = "How does the user's mood develop over the conversation and where does it end? Judge the \
    user's own words only. Give 0 for a mood that is or becomes clearly negative, 0.5 for a neutral one, 1 for one \
    that ends clearly positive, and numbers between for what lies between.";

const SATISFACTION: &str = "How satisfied is the user at the end of the conversation? Consider whether the user's \
    need was met, how much effort it took, and how the user speaks. Give 0 for not at all satisfied, 0.5 for neither \
    satisfied nor dissatisfied, 1 for entirely satisfied, and numbers between for what lies between.";

impl UserSatisfaction {
    pub(crate) fn new(rule: &check::UserSatisfaction) -> Result<Self, Error> {
        let method = match rule.method {
            SatisfactionMethod::KeywordAnalysis => {
                Method::Keywords(Keywords::new(rule.positive.as_deref(), rule.negative.as_deref())?)
            }
            SatisfactionMethod::SentimentAnalysis => Method::Judge(SENTIMENT),
            SatisfactionMethod::LlmJudge => Method::Judge(SATISFACTION),
        };
        Ok(Self { threshold: rule.satisfaction_threshold, method })
    }

    fn count(&self, keywords: &Keywords, turns: &[Turn]) -> Outcome {
        let counts = keywords.count(turns);
        let why = format!("{} positive and {} negative words of the user", counts.positive, counts.negative);
        self.decide(counts.score(), &why)
    }

    async fn ask(&self, text: &str, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let material = Material::of_turns(subject.turns, subject.steps);
        match number(&Question::about(subject, text, &material), pool).await {
            Ok(rating) => match rating.said {
                Ok(score) => {
                    let outcome = self.decide(score, &excerpt(&rating.reasoning, 4 * SHORT_BYTES));
                    outcome.with_ballots(rating.ballots)
                }
                Err(open) => Outcome::open_with(open, &rating.reasoning, rating.ballots),
            },
            Err(error) => error.into(),
        }
    }

    fn decide(&self, score: f64, why: &str) -> Outcome {
        let reason = format!("user satisfaction {:.1}%, required {:.1}%: {why}", score * 100.0, self.threshold * 100.0);
        Outcome::decided(score >= self.threshold, reason).with_score(score)
    }
}

impl Behaviour for UserSatisfaction {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        if subject.turns.is_empty() {
            return Found::Now(Outcome::nothing_said());
        }
        match &self.method {
            Method::Keywords(keywords) => Found::Now(self.count(keywords, subject.turns)),
            Method::Judge(text) => Found::asking(self.ask(text, subject, pool)),
        }
    }
}
