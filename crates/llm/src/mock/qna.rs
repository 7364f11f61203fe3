//! A knowledge base that answers questions as the QnA Maker service does: always the same for the same question.
//!
//! A question that matches a pair except for case and punctuation scores 100; exact matches come first. Any other
//! question scores by the words that it shares with the nearest question of a pair (Dice's coefficient), and below
//! [`LEAST_SCORE`] there is no match.

use std::collections::{BTreeMap, BTreeSet};

/// A lower score is no match.
pub const LEAST_SCORE: f64 = 30.0;

/// One pair of the knowledge base.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pair {
    pub id: u32,
    pub questions: Vec<String>,
    pub answer: String,
    pub source: String,
    /// (name, value).
    pub metadata: Vec<(String, String)>,
    pub prompts: Vec<Prompt>,
    pub is_context_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub display: String,
    /// Of the pair that it leads to.
    pub id: u32,
}

/// The request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    pub question: String,
    /// Only pairs with all of these, by name and value without regard to capitals.
    pub filters: Vec<(String, String)>,
    /// 0 to 100; answers below it are no match.
    pub threshold: f64,
    pub top: usize,
}

/// A knowledge base, ready to be asked.
#[derive(Debug, Default)]
pub struct Service {
    pairs: Vec<Pair>,
    /// Pairs by their questions' words.
    exact: BTreeMap<String, Vec<usize>>,
    /// Questions (pair, number of different words) by the words in them.
    words: BTreeMap<String, Vec<usize>>,
    questions: Vec<(usize, usize)>,
}

impl Service {
    #[must_use]
    pub fn new(pairs: Vec<Pair>) -> Self {
        let mut service = Self { pairs, ..Self::default() };
        for (index, pair) in service.pairs.iter().enumerate() {
            for question in &pair.questions {
                let words = words(question);
                let places = service.exact.entry(words.join(" ")).or_default();
                if places.last() != Some(&index) {
                    places.push(index);
                }
                let different: BTreeSet<String> = words.into_iter().collect();
                service.questions.push((index, different.len()));
                for word in different {
                    service.words.entry(word).or_default().push(service.questions.len() - 1);
                }
            }
        }
        service
    }

    /// The best answers with their scores, best first. Among equal scores, exact matches come first, then the order of
    /// the pairs. Empty: no match.
    #[must_use]
    pub fn answers(&self, query: &Query) -> Vec<(&Pair, f64)> {
        let words = words(&query.question);
        let wanted = |index: &usize| has_all(&self.pairs[*index], &query.filters);
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        for index in self.exact.get(&words.join(" ")).into_iter().flatten().filter(|index| wanted(index)) {
            scores.insert(*index, 100.0);
        }
        if scores.len() < query.top.max(1) {
            for (index, score) in self.near(words.into_iter().collect()) {
                if wanted(&index) {
                    let known = scores.entry(index).or_default();
                    *known = known.max(score);
                }
            }
        }
        let mut found: Vec<(usize, f64)> = scores
            .into_iter()
            .filter(|(index, score)| {
                // Follow-ups match only after their prompt.
                let reached = !self.pairs[*index].is_context_only || *score >= 100.0;
                reached && *score >= query.threshold.max(LEAST_SCORE)
            })
            .collect();
        let question = query.question.trim();
        let differs = |index: usize| !self.pairs[index].questions.iter().any(|known| known.trim() == question);
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| (differs(a.0), a.0).cmp(&(differs(b.0), b.0))));
        found.truncate(query.top.max(1));
        found.into_iter().map(|(index, score)| (&self.pairs[index], score)).collect()
    }

    /// The best score of each pair that shares a word, below 100.
    fn near(&self, asked: BTreeSet<String>) -> BTreeMap<usize, f64> {
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        for question in asked.iter().filter_map(|word| self.words.get(word)).flatten() {
            *shared.entry(*question).or_default() += 1;
        }
        let mut best: BTreeMap<usize, f64> = BTreeMap::new();
        for (question, shared) in shared {
            let (pair, length) = self.questions[question];
            let score = 200.0 * shared as f64 / (asked.len() + length) as f64;
            // As the service reports it: two decimals, and 100 only for the same words in the same order.
            let score = ((score * 100.0).round() / 100.0).min(99.99);
            let known = best.entry(pair).or_default();
            *known = known.max(score);
        }
        best
    }
}

fn has_all(pair: &Pair, filters: &[(String, String)]) -> bool {
    let same = |a: &str, b: &str| a.trim().to_lowercase() == b.trim().to_lowercase();
    filters.iter().all(|(name, value)| pair.metadata.iter().any(|(known, has)| same(known, name) && same(has, value)))
}

/// Letters and digits in lower case; a script without spaces is one long word.
fn words(text: &str) -> Vec<String> {
    let split = text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
    let words: Vec<String> = split.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    // If there is only punctuation, use it as it is.
    if words.is_empty() { vec![text.trim().to_owned()] } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        let pair = |id: u32, questions: &[&str], place: Option<&str>| Pair {
            id,
            questions: questions.iter().map(|question| (*question).to_owned()).collect(),
            answer: format!("answer {id}"),
            metadata: place.map(|place| ("Place".to_owned(), place.to_owned())).into_iter().collect(),
            ..Pair::default()
        };
        Service::new(vec![
            pair(1, &["Where is my bicycle mended?", "bicycle"], Some("Tartu")),
            pair(2, &["Where is my bicycle mended?"], Some("Bergen")),
            pair(3, &["How tall is it?"], None),
            pair(4, &["???"], None),
            pair(5, &["How tall is it"], None),
            pair(6, &["how tall is it"], None),
        ])
    }

    #[test]
    fn the_same_question_scores_100_and_others_by_shared_words() {
        let service = service();
        let place = |place: &str| vec![("place".to_owned(), place.to_owned())];
        for (question, filters, threshold, expected) in [
            ("where is my bicycle MENDED", vec![], 0.0, vec![(1, 100.0)]),
            ("Where is my bicycle mended?", place("bergen"), 0.0, vec![(2, 100.0)]),
            ("Where is my bicycle mended?", place("rome"), 0.0, vec![]),
            ("where was your bicycle mended", vec![], 0.0, vec![(1, 60.0)]),
            ("where was your bicycle mended", vec![], 60.01, vec![]),
            ("how tall am I", vec![], 0.0, vec![(3, 50.0)]),
            ("How tall is it?", vec![], 0.0, vec![(3, 100.0)]),
            ("How tall is it", vec![], 0.0, vec![(5, 100.0)]),
            (" how tall is it ", vec![], 0.0, vec![(6, 100.0)]),
            ("HOW TALL IS IT", vec![], 0.0, vec![(3, 100.0)]),
            ("mended bicycle my is where", vec![], 0.0, vec![(1, 99.99)]),
            ("what a fine day", vec![], 0.0, vec![]),
            ("???", vec![], 0.0, vec![(4, 100.0)]),
            ("", vec![], 0.0, vec![]),
        ] {
            let query = Query { question: question.to_owned(), filters, threshold, top: 1 };
            let found: Vec<(u32, f64)> =
                service.answers(&query).iter().map(|(pair, score)| (pair.id, *score)).collect();
            assert_eq!(found, expected, "{question}");
        }
        let query = Query { question: "bicycle mended".to_owned(), top: 3, ..Query::default() };
        let found: Vec<u32> = service.answers(&query).iter().map(|(pair, _)| pair.id).collect();
        assert_eq!(found, [1, 2]);
    }
}
