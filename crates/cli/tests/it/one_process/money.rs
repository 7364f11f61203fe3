//! A run with a budget, on a paused clock: slow calls, lost workers and a coordinator that is started again.

use std::time::Duration;

use proto::v1::RunState;
use record::{Blame, FailureKind, Summary, Verdict};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    failures, fallible,
    house::{self, House},
    questions, talks,
};

/// Slow, fallible, and a dollar for a million bytes of input, ten for a million tokens of output.
fn priced() -> llm::endpoint::Settings {
    let price = json!({ "input_per_million": 1, "output_per_million": 10 });
    llm::endpoint::Settings {
        price: serde_json::from_value(price).unwrap(),
        max_output_tokens: Some(400),
        ..fallible()
    }
}

/// In nano-dollars.
fn usd(dollars: f64) -> Option<i64> {
    Some((dollars * 1e9) as i64)
}

fn check(summary: &Summary, most: f64) {
    let budget = summary.summary.budget.expect("it has a budget");
    let sum = budget.spent_usd + budget.reserved_usd + budget.unsettled_usd + budget.left_usd;
    assert!((sum - most).abs() < 1e-9 && budget.left_usd >= 0.0, "{budget:?}");
    assert!((budget.max_cost_usd - most).abs() < 1e-9 && budget.reserved_usd == 0.0, "{budget:?}");
}

/// What the same plan costs without a budget, and what it blames on whom.
async fn unlimited(steps: &Value, repeats: u32) -> (f64, Vec<(FailureKind, Blame)>) {
    let mut house = House::open().await;
    let worker = house.hire(&priced(), 8);
    let run = house.submit(&house::plan(steps, repeats)).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let summary = house.summary(&run).await;
    assert!(summary.summary.budget.is_none());
    worker.drained().await;
    house.close().await;
    (summary.summary.cost.total_usd, failures(&summary).into_keys().collect())
}

#[tokio::test(start_paused = true)]
async fn a_run_that_its_budget_covers_is_as_without_one() {
    let (cost, _) = unlimited(&talks(), 30).await;
    let mut house = House::open().await;
    let plan = house::plan(&talks(), 30);
    let free = house.hire(&priced(), 8);
    let run = house.submit(&plan).await;
    house.followed(&run).await;
    let expected = house.view(&run).await;
    let run = house.submit_with(&plan, usd(cost * 20.0)).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    assert_eq!(house.view(&run).await, expected);
    let summary = house.summary(&run).await;
    check(&summary, cost * 20.0);
    assert!(!summary.summary.budget.unwrap().used_up);
    free.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn money_that_ends_is_nobodys_fault_and_a_larger_budget_goes_on() {
    for steps in [talks(), questions()] {
        let (cost, kinds) = unlimited(&steps, 120).await;
        for part in [0.0001, 0.1, 0.5] {
            let most = (cost * part * 1e9).round() / 1e9;
            let mut house = House::open().await;
            let workers = [house.hire(&priced(), 6), house.hire(&priced(), 3)];
            let run = house.submit_with(&house::plan(&steps, 120), usd(most)).await;
            let last = house.followed(&run).await;
            assert_eq!((last.state(), last.out_of_money, last.trouble.as_str()), (RunState::Interrupted, true, ""));
            let summary = house.summary(&run).await;
            check(&summary, most);
            let budget = summary.summary.budget.unwrap();
            assert!(budget.used_up && budget.trials_not_played > 0, "{budget:?}");
            for (kind, blame) in failures(&summary).into_keys() {
                assert!((kind, blame) == (FailureKind::BudgetUsedUp, Blame::Budget) || kinds.contains(&(kind, blame)));
            }
            for trial in house.trials(&run).await {
                let broke = trial.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::BudgetUsedUp);
                assert!(!broke || trial.verdict == Verdict::Error, "{trial:?}");
            }
            // A few of the dearest calls of each worker are left.
            if most > 0.3 {
                assert!(budget.spent_usd > most / 2.0, "{budget:?}");
                assert!(summary.summary.trials.pass > 0, "conversations are finished: {:?}", summary.summary.trials);
            }
            house.resume_with(&run, usd(cost * 20.0)).await;
            let last = house.followed(&run).await;
            assert_eq!((last.state(), last.out_of_money), (RunState::Finished, false));
            let summary = house.summary(&run).await;
            assert_eq!(summary.summary.trials.not_started, 0);
            assert_eq!(summary.summary.budget.unwrap().trials_not_played, 0);
            for worker in workers {
                worker.drained().await;
            }
            house.close().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn kills_and_restarts_cost_no_more_than_the_budget() {
    let (cost, _) = unlimited(&talks(), 120).await;
    let most = (cost * 0.6 * 1e9).round() / 1e9;
    for lost_after in [0.7, 20.3] {
        let mut house = House::open().await;
        let lost = [house.hire(&priced(), 3), house.hire(&priced(), 4)];
        let stays = house.hire(&priced(), 5);
        let run = house.submit_with(&house::plan(&talks(), 120), usd(most)).await;
        for worker in lost {
            sleep(Duration::from_secs_f64(lost_after)).await;
            worker.killed();
            sleep(Duration::from_secs_f64(lost_after / 3.0)).await;
            house.restart().await;
        }
        let last = house.followed(&run).await;
        assert_eq!((last.state(), last.out_of_money), (RunState::Interrupted, true), "after {lost_after}");
        house.restart().await;
        let last = house.followed(&run).await;
        assert_eq!((last.state(), last.out_of_money), (RunState::Interrupted, true), "as the store has it");
        let summary = house.summary(&run).await;
        check(&summary, most);
        let totals = &summary.summary;
        assert!(totals.attempts.lost > 0 && totals.unsettled_usd > 0.0, "{totals:?}");
        assert_eq!(totals.budget.unwrap().unsettled_usd, totals.unsettled_usd);
        stays.drained().await;
        house.close().await;
    }
}
