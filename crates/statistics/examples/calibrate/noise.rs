//! Parts of the variance that are planted: whether `gabfest noise` recovers them, and how often their intervals hold them.

use statistics::noise::{
    Case, Conversation,
    parts::{self, Layer, Parts},
};

use crate::{
    chance::Chance,
    sheet::{Required, Share, Sheet, percent},
};

/// The mean of the estimates may differ from the planted part by this, and by four standard errors.
const BIAS: f64 = 0.002;
/// How often a jackknife interval of 95 % holds at least, with so few cases.
const LEAST: f64 = 0.93;

/// How alike two conversations with the same user turns are, and two judgings of one transcript.
#[derive(Debug, Clone, Copy)]
struct Planted {
    cases: usize,
    repeats: usize,
    rate: f64,
    user: f64,
    transcript: f64,
    replays: usize,
}

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("Whose noise it is: planted parts of the variance");
    let usual = Planted { cases: 20, repeats: 6, rate: 0.75, user: 0.25, transcript: 0.6, replays: 2 };
    for (planted, called) in [
        (usual, "20 cases × 6"),
        (Planted { cases: 4, repeats: 15, ..usual }, "4 cases × 15"),
        (Planted { transcript: 0.9, rate: 0.9, ..usual }, "20 cases × 6, a judge that rarely differs"),
        (Planted { replays: 0, ..usual }, "20 cases × 6, nothing replayed"),
    ] {
        let found: Vec<Parts> = sheet.play(|chance| parts::of(&planted.draw(chance))).into_iter().flatten().collect();
        for (layer, share) in planted.shares() {
            line(sheet, planted, called, layer, share, &found);
        }
    }
}

fn line(sheet: &mut Sheet, planted: Planted, called: &str, layer: Layer, share: f64, found: &[Parts]) {
    let name = match layer {
        Layer::Judge => "judge",
        Layer::Agent => "agent",
        Layer::User => "user",
        Layer::Remaining => "agent and user",
    };
    let of_layer: Vec<_> =
        found.iter().filter_map(|parts| parts.parts.iter().find(|part| part.layer == layer)).collect();
    let number = of_layer.len().max(1) as f64;
    let found: Vec<f64> = of_layer.iter().map(|part| part.unlimited / planted.variance()).collect();
    let mean = found.iter().sum::<f64>() / number;
    let error = (found.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / number / number).sqrt();
    let what = format!("{name}: error of the mean estimate, {called}");
    let note = format!("planted {}, found {}", percent(share), percent(mean));
    sheet.line(what, Required::AtMost(BIAS + 4.0 * error), Share::Exact((mean - share).abs()), note);
    let held = of_layer.iter().filter(|part| (part.low..=part.high).contains(&share)).count() as u64;
    let held = Share::Found { count: held, of: of_layer.len() as u64 };
    sheet.line(format!("{name}: 95 % interval holds the planted share, {called}"), Required::AtLeast(LEAST), held, "");
}

impl Planted {
    /// Within a case.
    fn variance(self) -> f64 {
        self.rate * (1.0 - self.rate)
    }

    fn shares(self) -> Vec<(Layer, f64)> {
        let Self { user, transcript, .. } = self;
        let judge = (1.0 - user) * (1.0 - transcript);
        if self.replays == 0 {
            return vec![(Layer::Judge, judge), (Layer::Remaining, 1.0 - judge)];
        }
        vec![(Layer::Judge, judge), (Layer::Agent, (1.0 - user) * transcript), (Layer::User, user)]
    }

    fn draw(self, chance: &mut Chance) -> Vec<Case> {
        let conversations = |chance: &mut Chance| (0..self.repeats).map(|_| self.conversation(chance)).collect();
        (0..self.cases).map(|_| Case { name: String::new(), conversations: conversations(chance) }).collect()
    }

    /// Each transcript is judged three times, and each replay once.
    fn conversation(self, chance: &mut Chance) -> Conversation {
        let said = alike(chance, self.rate, self.user);
        let transcript = |chance: &mut Chance, judgings: usize| -> Vec<f64> {
            let passes = alike(chance, said, self.transcript);
            (0..judgings).map(|_| f64::from(u8::from(chance.is(passes)))).collect()
        };
        let judged = transcript(chance, 3);
        Conversation { judged, replays: (0..self.replays).map(|_| transcript(chance, 1)).collect() }
    }
}

/// A chance to pass, so that two draws with it correlate by `alike`.
fn alike(chance: &mut Chance, mean: f64, alike: f64) -> f64 {
    let mean = mean.clamp(1e-6, 1.0 - 1e-6);
    chance.rate(mean, 1.0 / alike - 1.0)
}
