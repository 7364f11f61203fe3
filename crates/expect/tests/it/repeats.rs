//! `times` and `required`.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use gabfest::expect::{self, Agent, Error, Outcome, Required, Run};

/// An agent whose every nth answer is wrong, counted over all conversations.
fn wrong_every(nth: u32) -> Agent {
    let asked = Arc::new(AtomicU32::new(0));
    Agent::from_fn(move |_| {
        let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
        async move { if number.is_multiple_of(nth) { Err("wrong".into()) } else { Ok("right") } }
    })
}

fn asked(agent: Agent) -> Run {
    expect::conversation("c").user("?").agent("right").against(agent)
}

#[tokio::test]
async fn so_many_must_pass() {
    // Two of eight answers are wrong.
    type Row = (Option<Required>, Result<(u32, u32), (u32, u32)>);
    let rows: [Row; 5] = [
        (None, Err((6, 8))),
        (Some(7.into()), Err((6, 7))),
        (Some(6.into()), Ok((6, 6))),
        (Some(0.75.into()), Ok((6, 6))),
        (Some(0.76.into()), Err((6, 7))),
    ];
    for (required, expected) in rows {
        let run = asked(wrong_every(4)).times(8);
        let run = match required {
            Some(required) => run.required(required),
            None => run,
        };
        let came = match run.try_run().await {
            Ok(Outcome::Passed(report)) => Ok((report.passed, report.required)),
            Err(Error::Failed(report)) => Err((report.passed, report.required)),
            other => panic!("{other:?}"),
        };
        assert_eq!(came, expected, "{required:?}");
    }
}

#[tokio::test]
async fn repeats_are_held_at_the_same_time_up_to_a_bound() {
    for (at_once, expected) in [(None, 12), (Some(3), 3), (Some(0), 1)] {
        let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let seen = Arc::clone(&most);
        let agent = Agent::from_fn(move |_| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok("right")
            }
        });
        let run = asked(agent).times(12);
        match at_once {
            Some(bound) => run.at_once(bound),
            None => run,
        }
        .run()
        .await;
        assert_eq!(seen.load(Ordering::SeqCst), expected, "{at_once:?}");
    }
}

#[tokio::test]
#[should_panic(expected = "conversation \"c\" failed: 3 of 4 repeats passed, 4 must")]
async fn too_few_panic() {
    asked(wrong_every(4)).times(4).run().await;
}

#[tokio::test]
async fn a_negative_control_passes_if_the_agent_fails() {
    let conversation = || expect::conversation("c").user("?").agent("").must_fail();
    conversation().against(Agent::from_fn(|_| async { Ok("something") })).run().await;
    let failed = conversation().against(Agent::from_fn(|_| async { Ok("") })).try_run().await;
    assert!(matches!(failed, Err(Error::Failed(_))), "{failed:?}");
}

#[tokio::test]
async fn each_repeat_has_a_seed_that_derives_from_the_test_s() {
    let seeds = async |seed: u64| -> Vec<u64> {
        let outcome = asked(wrong_every(100)).times(3).seed(seed).run().await;
        outcome.report().unwrap().trials.iter().map(|played| played.trial.seed).collect()
    };
    let (first, again, other) = (seeds(1).await, seeds(1).await, seeds(2).await);
    assert_eq!(first, again);
    assert!(first.iter().all(|seed| !other.contains(seed)) && first[0] != first[1], "{first:?} {other:?}");
}
