//! Texts with labels from people, to test a threshold before you rely on it.
//!
//! A file is a CSV table ([`table`]), or a YAML or JSON list of the same rows, alone or under the key `samples`.

mod measure;
mod table;

use scenario::Diagnostic;
use schemars::JsonSchema;
use serde::Deserialize;
use yaml::{Findings, Part, suggest};

pub use self::measure::LabelledMeasure;
use crate::scorer::{Error, Score, Scorer};

/// The size limit of a file. For YAML and JSON it is [`yaml::MAX_BYTES`].
pub const MAX_BYTES: usize = 16 << 20;

/// Texts, and whether a person would accept them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// 1-based.
    pub line: u32,
    pub measure: LabelledMeasure,
    /// As many as [`LabelledMeasure::texts`].
    pub texts: Vec<String>,
    pub is_good: bool,
}

/// A row of the file.
#[derive(Debug, Deserialize, JsonSchema)]
struct Row {
    /// `similarity`, `next_sentence`, `answer`, or `toxicity.` and a kind such as `toxicity.insult`.
    measure: String,
    /// `pass` or `fail`, according to a person.
    label: Label,
    /// As many as the measure takes, in their order.
    texts: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Label {
    Pass,
    Fail,
}

/// Reads a file of labelled texts. A file with an error gives no samples.
#[must_use]
pub fn read(text: &str, path: &str) -> (Vec<Sample>, Vec<Diagnostic>) {
    let mut findings = Findings::new(path);
    let opened = if path.to_lowercase().ends_with(".csv") {
        table::open(text, path, &mut findings)
    } else {
        yaml::open(text, path)
    };
    let document = match opened {
        Ok(document) => document,
        Err(diagnostic) => return (Vec::new(), vec![diagnostic]),
    };
    let root = document.root();
    let list = root.get("samples").unwrap_or(root);
    let rows = list.items();
    if rows.is_empty() && !findings.has_errors() {
        findings.error(list.spot(), "expected a list of labelled texts, found none");
        findings.help("a row is `- {measure: similarity, label: pass, texts: [the right text, the text to judge]}`");
    }
    let samples: Vec<Sample> = rows.iter().filter_map(|row| sample(row, &mut findings)).collect();
    let samples = if findings.has_errors() { Vec::new() } else { samples };
    (samples, findings.into_sorted())
}

fn sample(part: &Part<'_>, findings: &mut Findings) -> Option<Sample> {
    let row: Row = part.decode(findings)?;
    let Some(measure) = LabelledMeasure::parse(&row.measure) else {
        findings.error(part.spot_of("measure"), format!("unknown measure `{}`", row.measure));
        let known: Vec<String> = LabelledMeasure::all().map(LabelledMeasure::name).collect();
        findings.help(suggest::known_names(&row.measure, known.iter().map(String::as_str)));
        return None;
    };
    let wanted = measure.texts();
    if row.texts.len() != wanted.len() {
        let message = format!("{} takes {}, found {}", measure.name(), counted(wanted.len()), counted(row.texts.len()));
        findings.error(part.spot_of("texts"), message);
        findings.help(format!("the texts are, in this order: {}", wanted.join(", ")));
        return None;
    }
    Some(Sample { line: part.line(), measure, texts: row.texts, is_good: row.label == Label::Pass })
}

fn counted(texts: usize) -> String {
    format!("{texts} text{}", if texts == 1 { "" } else { "s" })
}

impl Sample {
    /// Measures the texts. The score is finite.
    ///
    /// # Errors
    /// The model fails, or answers with no finite number.
    pub async fn score(&self, scorer: &dyn Scorer) -> Result<Score, Error> {
        let text = |index: usize| self.texts.get(index).map_or("", String::as_str);
        let score = match self.measure {
            LabelledMeasure::Similarity => scorer.similarity(text(0), text(1)).await?,
            LabelledMeasure::NextSentence => scorer.next_sentence(text(0), text(1)).await?,
            LabelledMeasure::Toxicity(kind) => {
                let toxicity = scorer.toxicity(text(0)).await?;
                Score { value: toxicity.scores[kind], model: toxicity.model, ballot: toxicity.ballot }
            }
            LabelledMeasure::Answer => {
                let answer = scorer.answer(text(0), text(1)).await?;
                let alike = scorer.similarity(text(2), &answer.text).await?;
                let same = answer.model == alike.model;
                let model = if same { answer.model } else { format!("{} and {}", answer.model, alike.model) };
                Score { model, ..alike }
            }
        };
        if score.value.is_finite() {
            Ok(score)
        } else {
            Err(Error::Malformed { model: score.model, reason: format!("the score is {}", score.value) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "\
- {measure: similarity, label: pass, texts: [my cat Tom, Tom the cat]}
- measure: toxicity.insult
  label: fail
  texts: [you idiot]
";

    fn faults(text: &str, path: &str) -> Vec<String> {
        let (samples, found) = read(text, path);
        assert!(samples.is_empty());
        found.iter().map(|fault| format!("{}:{} {}", fault.line, fault.column, fault.message)).collect()
    }

    #[test]
    fn a_list_and_a_table_say_the_same() {
        let json = r#"[{"measure": "similarity", "label": "pass", "texts": ["my cat Tom", "Tom the cat"]},

            {"measure": "toxicity.insult", "label": "fail", "texts": ["you idiot"]}]"#;
        let csv = "measure,label,text1,text2\r\nsimilarity,pass,my cat Tom,Tom the cat\r\ntoxicity.insult,fail,you idiot,\r\n";
        let (samples, found) = read(YAML, "a.yaml");
        assert!(found.is_empty(), "{found:?}");
        let insult = Sample {
            line: 2,
            measure: LabelledMeasure::Toxicity(4),
            texts: vec!["you idiot".to_owned()],
            is_good: false,
        };
        assert_eq!(samples[1], insult);
        assert_eq!(
            (samples[0].measure, samples[0].is_good, samples[0].texts.len()),
            (LabelledMeasure::Similarity, true, 2)
        );
        for (text, path) in [(json, "a.json"), (csv, "a.CSV")] {
            let (others, found) = read(text, path);
            assert!(found.is_empty(), "{found:?}");
            let lines: Vec<u32> = others.iter().map(|sample| sample.line).collect();
            assert_eq!(lines, if path == "a.json" { [1, 3] } else { [2, 3] });
            let others: Vec<_> =
                others.into_iter().map(|sample| (sample.measure, sample.texts, sample.is_good)).collect();
            let samples: Vec<_> =
                samples.iter().cloned().map(|sample| (sample.measure, sample.texts, sample.is_good)).collect();
            assert_eq!(others, samples);
        }
    }

    #[test]
    fn every_fault_has_its_line() {
        let rows = "- {measure: simlarity, label: pass, texts: [a, b]}\n- {measure: answer, label: pass, texts: [a, b]}\n- {measure: answer, label: yes, texts: [a, b, c]}\n- {label: pass, texts: [a]}\n";
        assert_eq!(
            faults(rows, "a.yaml"),
            [
                "1:13 unknown measure `simlarity`",
                "2:41 answer takes 3 texts, found 2 texts",
                "3:28 unknown word `yes`, expected `pass` or `fail`",
                "4:3 missing key `measure`"
            ]
        );
        for (text, path, fault) in [
            ("a: b\n", "a.yaml", "1:1 expected a list of labelled texts, found none"),
            ("[]\n", "a.yaml", "1:1 expected a list of labelled texts, found none"),
            ("measure,label,text1\n", "a.csv", "0:0 expected a list of labelled texts, found none"),
            ("measure,lable,text1\na,b,c\n", "a.csv", "1:0 unknown column `lable`"),
            ("measure,label,label,text1\na,b,c\n", "a.csv", "1:0 the column `label` is there twice"),
            ("measure,text1\na,b\n", "a.csv", "1:0 there is no column `label`"),
            ("", "a.csv", "1:0 there is no column `measure`"),
            (
                "measure,label,text1\ntoxicity.insult,pass,\"a\ntoxicity.insult,pass,b\n",
                "a.csv",
                "2:0 the quotes that open in this row are never closed",
            ),
        ] {
            assert_eq!(faults(text, path), [fault], "{text}");
        }
    }

    #[test]
    fn every_fault_of_a_table_has_its_line_too() {
        let table = "measure,label,text1,text2,text3\n\nsimilarity,pass,\"a\nb\",c,\n\nanswer,perhaps,a,b,c\nanswer,fail,a,b,\nanswer,fail\nsimilarity,pass,a,b,c\n";
        assert_eq!(
            faults(table, "a.csv"),
            [
                "6:0 unknown word `perhaps`, expected `pass` or `fail`",
                "8:0 this row has 2 columns, and the first has 5",
                "9:0 similarity takes 2 texts, found 3 texts",
            ]
        );
        let (samples, _) = read("label,text2,measure,text1\r\npass,\"a, \"\"b\"\"\",similarity,\r\n", "a.csv");
        assert_eq!((samples[0].line, &samples[0].texts), (2, &vec![String::new(), "a, \"b\"".to_owned()]));
    }
}
