//! Whose noise a run has, for `gabfest noise`.

use record::visible;
use statistics::noise::found::Noise;

use crate::{Screen, document, terminal};

/// Lines with their line ends.
#[must_use]
pub fn terminal(noise: &Noise, screen: Screen) -> String {
    terminal::draw(&document::noise::of(noise), &[], screen.color, screen.width)
}

/// Indented, with a final line end.
#[must_use]
pub fn json(noise: &Noise) -> String {
    let mut text = serde_json::to_string_pretty(noise).expect("noise has only string keys");
    text.push('\n');
    visible::json_owned(text)
}

#[cfg(test)]
mod tests {
    use statistics::noise::{
        Case, Conversation,
        found::{Asked, CostUnit, LeftOut, NoiseCosts},
        parts,
    };

    use super::*;

    fn noise(replays: bool) -> Noise {
        let conversation = |judged: [f64; 3], answers: [f64; 2]| Conversation {
            judged: judged.to_vec(),
            replays: if replays { answers.iter().map(|score| vec![*score]).collect() } else { Vec::new() },
        };
        let case = |name: &str| Case {
            name: name.to_owned(),
            conversations: vec![
                conversation([1.0, 1.0, 0.0], [1.0, 0.0]),
                conversation([1.0, 1.0, 1.0], [1.0, 1.0]),
                conversation([0.0, 0.0, 0.0], [0.0, 0.0]),
                conversation([1.0, 1.0, 1.0], [0.0, 1.0]),
            ],
        };
        let asked = Asked {
            run: "night-1".to_owned(),
            name: "shop".to_owned(),
            judge_rounds: 3,
            agent_rounds: if replays { 2 } else { 0 },
            trials_left_out: vec![LeftOut { trial: 7, reason: "its transcript was not kept".to_owned() }],
            majority: true,
            costs: NoiseCosts { unit: CostUnit::Usd, user: 0.004, agent: 0.01, judge: 0.001 },
        };
        Noise::of(&parts::of(&[case("refund"), case("cancel")]).unwrap(), asked)
    }

    #[test]
    fn the_page_says_whose_noise_it_is_and_what_to_do() {
        let screen = Screen { color: false, width: 160 };
        let page = terminal(&noise(true), screen);
        for part in [
            "NOISE",
            "most of the noise is",
            "judge: ",
            "agent: ",
            "user: ",
            "votes",
            "for the same money",
            "trial",
            "number 7",
        ] {
            assert!(page.contains(part), "no {part:?} in\n{page}");
        }
        let page = terminal(&noise(false), screen);
        assert!(page.contains("agent and user") && page.contains("--agent-rounds 2"), "{page}");
        for width in [48, 60, 100] {
            assert!(!terminal(&noise(true), Screen { color: false, width }).is_empty());
        }
    }

    #[test]
    fn the_json_fits_its_schema() {
        let schema = crate::schema::noise();
        let value: serde_json::Value = serde_json::from_str(&json(&noise(true))).unwrap();
        let required = schema["required"].as_array().unwrap();
        assert!(required.iter().all(|key| value.get(key.as_str().unwrap()).is_some()), "{value}");
        assert_eq!((&value["version"], &value["parts"][0]["layer"]), (&1.into(), &"judge".into()));
    }
}
