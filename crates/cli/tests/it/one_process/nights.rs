//! Nights of one agent through the real runner: each scenario has better and worse nights, and failures take three times as long. How often
//! two nights are called worse, and how often a planted fall is found.

use serde_json::json;
use statistics::compare::{
    compare,
    found::{CompareVerdict, Comparison},
    played::{Played, PlayedTrial},
};

use scenario::{Plan, plan::Group};

use super::{
    house::{self, House},
    mock,
};

const SCENARIOS: usize = 12;
const REPEATS: u32 = 8;
const MARGIN: f64 = 0.03;
/// Of the logit of a scenario's success rate, from night to night.
const NIGHT: f64 = 0.5;
const FALL: f64 = 0.15;

/// Uniform, from 0 to less than 1 (SplitMix64).
struct Chance(u64);

impl Chance {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A sum of twelve uniform draws is nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

fn plan(seed: u64) -> Plan {
    let greets = json!([{ "type": "string_contains", "value": "hello" }]);
    let plan = house::plan(&json!([{ "name": "greets", "input": "Hi!", "evaluations": greets }]), REPEATS);
    let named = |number: usize| {
        let group = plan.groups[0].clone();
        Group { key: format!("night/{number}"), name: format!("greets {number}"), ..group }
    };
    Plan { seed, groups: (0..SCENARIOS).map(named).collect(), ..plan.clone() }
}

/// The agent in one night. `fall`: the mean rate is lower by so much.
fn agent(rates: &[f64], fall: f64, chance: &mut Chance) -> llm::endpoint::Settings {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let of = |(number, rate): (usize, &f64)| {
        let rate = rate * (1.0 - fall / mean);
        let tonight = 1.0 / (1.0 + (1.0 - rate) / rate * (-chance.normal() * NIGHT).exp());
        json!({ "scenario": format!("greets {number}"), "probability": tonight })
    };
    let pass: Vec<_> = rates.iter().enumerate().map(of).collect();
    let latency = json!({ "kind": "lognormal", "ms": 1_000, "sigma": 0.5 });
    mock(json!({ "pass": pass, "latency": latency, "failure_delay": 2.0 }))
}

async fn night(house: &mut House, agent: &llm::endpoint::Settings, seed: u64) -> Played {
    let worker = house.hire(agent, 20);
    let run = house.submit(&plan(seed)).await;
    house.followed(&run).await;
    let mut played = Played::of(&house.summary(&run).await);
    for trial in house.trials(&run).await {
        let blame = trial.failure.as_ref().map(|failure| failure.blame);
        let passed = PlayedTrial::outcome(trial.verdict, blame, trial.past.failed);
        let of = PlayedTrial { repeat: trial.repeat, seed: trial.seed, passed, ..PlayedTrial::default() };
        played.add(trial.case_id.as_str(), of);
    }
    worker.drained().await;
    played
}

/// `cargo xtask calibrate` sets the number of experiments and reads the last line.
#[tokio::test(start_paused = true)]
async fn two_nights_of_one_agent_are_rarely_called_worse() {
    let experiments = std::env::var("GABFEST_EXPERIMENTS").map_or(4, |number| number.parse().unwrap());
    let (mut worse, mut better, mut listed, mut found) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut house = House::open().await;
    for experiment in 0..experiments {
        let mut chance = Chance(experiment + 1);
        let rates: Vec<f64> = (0..SCENARIOS).map(|_| 0.6 + 0.35 * chance.share()).collect();
        let mut nights = Vec::new();
        for (number, fall) in [(0, 0.0), (1, 0.0), (2, FALL)] {
            let agent = agent(&rates, fall, &mut chance);
            nights.push(night(&mut house, &agent, experiment * 3 + number).await);
        }
        let again = compare(&nights[0], &nights[1], MARGIN);
        let rate_fell = |found: &Comparison| found.rate.within == statistics::compare::rate::Within::Worse;
        assert_eq!((again.rate.cells, again.rate.clustered), (SCENARIOS as u64, true));
        worse += u64::from(rate_fell(&again));
        better += u64::from(again.verdict == CompareVerdict::Better);
        listed += u64::from(again.worse_cases > 0);
        found += u64::from(rate_fell(&compare(&nights[0], &nights[2], MARGIN)));
    }
    house.close().await;
    // More happens in fewer than one of a thousand sheets.
    let most = |chance: f64| {
        let n = experiments as f64;
        (chance * n + 3.1 * (chance * (1.0 - chance) * n).sqrt()).ceil() as u64
    };
    assert!(worse <= most(0.05) && better <= most(0.025) && listed <= most(0.05), "{worse} {better} {listed}");
    println!("calibrated: {experiments} {worse} {better} {listed} {found}");
}
