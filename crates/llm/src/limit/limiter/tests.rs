use super::*;
use crate::named_limits::Window;

fn tokens(count: u64) -> Amount {
    Amount { input: count, uncached_input: count, output: 0 }
}

fn limit(requests: u32, tokens: u64, concurrency: u32, burst: u32) -> Arc<Limiter> {
    Limiter::new(
        "x",
        &Settings {
            requests_per_minute: NonZeroU32::new(requests),
            tokens_per_minute: NonZeroU64::new(tokens),
            concurrency: NonZeroU32::new(concurrency).map(Concurrency::Calls),
            burst: NonZeroU32::new(burst),
            learn: true,
            ..Settings::default()
        },
    )
}

/// Start times of `calls` simultaneous calls, each held for `held` and settled at `actual`.
async fn starts(limit: &Arc<Limiter>, calls: usize, estimate: u64, actual: u64, held: Duration) -> Vec<Duration> {
    let began = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..calls {
        let limit = Arc::clone(limit);
        tasks.push(tokio::spawn(async move {
            let permit = limit.acquire("", tokens(estimate)).await.unwrap();
            let at = began.elapsed();
            assert_eq!(permit.waited(), at);
            tokio::time::sleep(held).await;
            permit.settle(tokens(actual));
            at
        }));
    }
    let mut starts = Vec::new();
    for task in tasks {
        starts.push(task.await.expect("no panic"));
    }
    starts.sort();
    starts
}

fn most_in_a_minute(starts: &[Duration]) -> usize {
    let minute = Duration::from_secs(60);
    starts
        .iter()
        .map(|first| starts.iter().filter(|at| **at >= *first && **at < *first + minute).count())
        .max()
        .unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn no_minute_sees_more_requests_than_the_limit() {
    let starts = starts(&limit(60, 0, 0, 0), 600, 1, 1, Duration::ZERO).await;
    assert_eq!(most_in_a_minute(&starts), 60);
    let last = starts.last().expect("some").as_secs_f64();
    assert!((599.0..=600.0).contains(&last), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_burst_starts_at_once() {
    let starts = starts(&limit(60, 0, 0, 10), 30, 1, 1, Duration::ZERO).await;
    assert_eq!(starts.iter().filter(|at| at.is_zero()).count(), 10);
    assert!((19.0..=21.0).contains(&starts[29].as_secs_f64()), "{:?}", starts[29]);
}

#[tokio::test(start_paused = true)]
async fn tokens_are_owed_and_then_settled() {
    // A call may need more than a minute holds, and the next one waits for it.
    let starts_full = starts(&limit(0, 6_000, 0, 0), 3, 12_000, 12_000, Duration::ZERO).await;
    assert_eq!(starts_full.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 120, 240]);
    // Estimated at a minute each, but used a tenth: waiting calls start once that is known.
    let starts_less = starts(&limit(0, 6_000, 0, 0), 3, 6_000, 600, Duration::from_secs(1)).await;
    assert_eq!(starts_less.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 6, 12]);
    // Used ten times as much: the debt grows.
    let starts_more = starts(&limit(0, 6_000, 0, 0), 3, 600, 6_000, Duration::from_secs(1)).await;
    assert_eq!(starts_more.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 60, 120]);
}

#[tokio::test(start_paused = true)]
async fn an_absurd_estimate_is_bounded() {
    let limit = limit(0, 1, 0, 0);
    for _ in 0..3 {
        limit.acquire("", tokens(u64::MAX)).await.unwrap().settle(tokens(u64::MAX));
    }
    limit.acquire("", tokens(1)).await.unwrap().settle(tokens(0));
}

#[tokio::test(start_paused = true)]
async fn so_many_are_in_flight_and_no_more() {
    let starts = starts(&limit(0, 0, 2, 0), 6, 1, 1, Duration::from_secs(10)).await;
    assert_eq!(starts.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 0, 10, 10, 20, 20]);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_starts_nothing() {
    for limit in [limit(0, 0, 0, 0), limit(60_000, 0, 0, 0), limit(0, 0, 4, 0)] {
        limit.hold(true);
        limit.pause(Duration::from_secs(5));
        let releases = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            limit.hold(false);
        };
        let (starts, ()) = tokio::join!(starts(&limit, 2, 1, 1, Duration::ZERO), releases);
        assert!(starts.iter().all(|at| at.as_secs() == 20), "{starts:?}");
    }
}

/// Nothing of the process runs while its time is over.
#[tokio::test(start_paused = true)]
async fn nothing_starts_after_the_time_for_which_it_may() {
    for limit in [limit(0, 0, 0, 0), limit(60_000, 0, 0, 0), limit(0, 0, 4, 0)] {
        limit.lapse_at(Instant::now() + Duration::from_secs(20));
        assert_eq!(starts(&limit, 1, 1, 1, Duration::ZERO).await, [Duration::ZERO]);
        tokio::time::advance(Duration::from_secs(32)).await;
        let renews = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            limit.lapse_at(Instant::now() + Duration::from_secs(20));
        };
        let (starts, ()) = tokio::join!(starts(&limit, 2, 1, 1, Duration::ZERO), renews);
        assert!(starts.iter().all(|at| at.as_secs() == 3), "{starts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_everybody() {
    for limit in [limit(0, 0, 0, 0), limit(60_000, 0, 0, 0), limit(0, 60_000_000, 4, 0)] {
        assert_eq!(limit.paused_for(), None);
        limit.pause(Duration::from_secs(30));
        // A shorter pause does not end it.
        limit.pause(Duration::from_secs(5));
        assert_eq!(limit.paused_for(), Some(Duration::from_secs(30)));
        let starts = starts(&limit, 3, 1, 1, Duration::ZERO).await;
        assert!(starts.iter().all(|at| (30..=33).contains(&at.as_secs())), "{starts:?}");
        assert_eq!(limit.paused_for(), None);
    }
    // The first call after a pause meets another 429, while the other one waits for its turn.
    let again = limit(0, 0, 0, 0);
    again.pause(Duration::from_secs(30));
    let began = Instant::now();
    let call = || async {
        again.acquire("", tokens(1)).await.unwrap();
        let at = began.elapsed().as_secs();
        again.pause(Duration::from_secs(30));
        at
    };
    let (one, other) = tokio::join!(call(), call());
    assert_eq!((one.min(other), one.max(other) / 10), (30, 6));
    let endless = limit(0, 0, 0, 0);
    endless.pause(Duration::MAX);
    let waited = tokio::time::timeout(Duration::from_secs(100_000), endless.acquire("", tokens(1))).await;
    assert!(waited.is_err());
}

#[tokio::test(start_paused = true)]
async fn who_stops_waiting_takes_nothing() {
    let limit = limit(0, 6_000, 1, 0);
    let first = limit.acquire("", tokens(6_000)).await.unwrap();
    let gave_up = tokio::time::timeout(Duration::from_secs(1), limit.acquire("", tokens(6_000))).await;
    assert!(gave_up.is_err());
    first.settle(tokens(0));
    let next = limit.acquire("", tokens(1)).await.unwrap();
    assert_eq!(next.waited(), Duration::ZERO);
}

/// Start times of calls that start as soon as possible, while the share changes.
async fn starts_while(limit: &Arc<Limiter>, lasts: Duration, changes: &[(u64, Share)]) -> Vec<Duration> {
    let began = Instant::now();
    let mut starts = Vec::new();
    let mut changes = changes.iter().peekable();
    loop {
        let change_at = changes.peek().map_or(lasts, |(at, _)| Duration::from_secs(*at));
        tokio::select! {
            biased;
            () = sleep_until(began + change_at) => match changes.next() {
                Some((_, share)) => limit.set_share(*share),
                None => return starts,
            },
            permit = limit.acquire("", tokens(10)) => {
                let permit = permit.unwrap();
                permit.settle(tokens(10));
                starts.push(began.elapsed());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_share_slows_requests_and_tokens_down() {
    let minutes = Duration::from_secs(120);
    for limit in [limit(120, 0, 0, 0), limit(0, 1_200, 0, 0)] {
        limit.set_share(Share::new(1, 3));
        let starts = starts_while(&limit, minutes, &[]).await;
        assert_eq!((starts.len(), most_in_a_minute(&starts)), (80, 40), "{limit:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_change_of_the_share_grants_a_burst() {
    let changes: Vec<(u64, Share)> =
        (1..60).map(|second| (second, Share::new(1 + u32::try_from(second % 2).unwrap(), 4))).collect();
    for limit in [limit(240, 0, 0, 40), limit(0, 2_400, 0, 0)] {
        limit.set_share(Share::new(1, 4));
        // The burst is used up.
        let first = starts_while(&limit, Duration::from_secs(60), &[]).await;
        assert!(first.len() <= 70, "{}", first.len());
        let starts = starts_while(&limit, Duration::from_secs(60), &changes).await;
        // Half the minute at a quarter, half at two quarters; a larger share has a larger burst, but only once.
        assert!((85..=101).contains(&starts.len()), "{limit:?} {}", starts.len());
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_share_nothing_starts_until_there_is_one() {
    for limit in [limit(60, 0, 0, 0), limit(0, 600, 0, 0), limit(0, 0, 3, 0)] {
        limit.set_share(Share::NONE);
        let began = Instant::now();
        let waits = tokio::spawn({
            let limit = Arc::clone(&limit);
            async move { limit.acquire("", tokens(1)).await.unwrap().waited() }
        });
        tokio::time::sleep(Duration::from_secs(5)).await;
        limit.set_share(Share::WHOLE);
        assert_eq!(waits.await.expect("no panic"), Duration::from_secs(5), "{limit:?}");
        assert_eq!(began.elapsed(), Duration::from_secs(5));
    }
    let unlimited = limit(0, 0, 0, 0);
    unlimited.set_share(Share::NONE);
    assert_eq!(unlimited.acquire("", tokens(1)).await.unwrap().waited(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_are_finished_when_a_share_shrinks() {
    let limit = limit(0, 0, 9, 0);
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(limit.acquire("", tokens(1)).await.unwrap());
    }
    limit.set_share(Share::new(1, 3));
    assert!(!limit.is_settled());
    held.truncate(4);
    assert!(!limit.is_settled());
    held.truncate(3);
    assert!(limit.is_settled());
    let soon = |limit: Arc<Limiter>| async move {
        tokio::time::timeout(Duration::from_secs(1), async { limit.acquire("", tokens(1)).await.unwrap() }).await
    };
    assert!(soon(Arc::clone(&limit)).await.is_err(), "three are in flight");
    held.truncate(2);
    held.push(soon(Arc::clone(&limit)).await.expect("a slot is free"));
    // It grows while more are in flight than it had, and shrinks below them again.
    limit.set_share(Share::NONE);
    limit.set_share(Share::new(2, 3));
    assert!(limit.is_settled());
    for _ in 0..3 {
        held.push(soon(Arc::clone(&limit)).await.expect("six of nine"));
    }
    assert!(soon(Arc::clone(&limit)).await.is_err());
    held.clear();
    limit.set_share(Share::WHOLE);
    for _ in 0..9 {
        held.push(soon(Arc::clone(&limit)).await.expect("all nine"));
    }
    assert!(soon(Arc::clone(&limit)).await.is_err());
}

fn minutes(requests: u64, tokens: u64, input_tokens: u64, output_tokens: u64) -> Windows {
    let [requests, tokens, input_tokens, output_tokens] =
        [requests, tokens, input_tokens, output_tokens].map(|limit| NonZeroU64::new(limit).map(Window::Minute));
    Windows { requests, tokens, input_tokens, output_tokens }
}

#[tokio::test(start_paused = true)]
async fn the_lower_of_the_own_and_the_provider_s_limit_holds() {
    let rows = [
        // Own limit, the provider's, and the calls of five minutes.
        (60, minutes(30, 0, 0, 0), 150),
        (60, minutes(90, 0, 0, 0), 300),
        (0, minutes(30, 0, 0, 0), 156),
        (0, minutes(0, 300, 0, 0), 156),
        (0, minutes(0, 0, 300, 0), 156),
        (0, minutes(0, 0, 0, 300), 100_000),
    ];
    for (own, named, calls) in rows {
        let limit = limit(own, 0, 0, 0);
        assert!(limit.learn(&named), "news");
        assert!(!limit.learn(&named) && !limit.learn(&Windows::default()), "no news");
        assert_eq!(limit.learned(), named.of_about_a_minute());
        let within = Duration::from_secs(300);
        let began = Instant::now();
        let mut count = 0;
        while count < 100_000 && tokio::time::timeout_at(began + within, limit.acquire("", tokens(10))).await.is_ok() {
            count += 1;
        }
        let most = calls + calls / 100 + 1;
        assert!((calls..=most).contains(&count), "{own} {named:?}: {count}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_raises_its_limit_is_believed_up_to_the_own_one() {
    let limit = limit(60, 0, 0, 0);
    for (named, seconds) in [(6, 10), (600, 1), (30, 2)] {
        assert!(limit.learn(&minutes(named, 0, 0, 0)));
        limit.acquire("", tokens(1)).await.unwrap();
        assert_eq!(limit.acquire("", tokens(1)).await.unwrap().waited(), Duration::from_secs(seconds), "{named}");
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn learned_limits_are_shared_like_configured_ones() {
    let limit = limit(0, 0, 0, 0);
    limit.set_share(Share::new(1, 2));
    limit.learn(&minutes(60, 0, 0, 0));
    let starts = starts_while(&limit, Duration::from_secs(120), &[]).await;
    assert!((60..=68).contains(&starts.len()), "{}", starts.len());
    limit.set_share(Share::NONE);
    assert!(tokio::time::timeout(Duration::from_secs(600), limit.acquire("", tokens(1))).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn settings_can_say_that_nothing_is_learned() {
    let limit = Limiter::new("x", &Settings { learn: false, ..Settings::default() });
    let told = minutes(1, 1, 1, 1);
    assert!(!limit.learn(&told));
    assert_eq!((limit.learned(), limit.reported()), (Allowed::default(), told));
    for _ in 0..100 {
        assert_eq!(limit.acquire("", tokens(10)).await.unwrap().waited(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn cached_input_does_not_count_for_a_limit_of_input() {
    let cached = Amount { input: 10_000, uncached_input: 10, output: 5 };
    for (named, waits) in [(minutes(0, 0, 60, 0), 0), (minutes(0, 60, 0, 0), 9_990)] {
        let limit = limit(0, 0, 0, 0);
        limit.learn(&named);
        limit.acquire("", Amount { input: 10_000, uncached_input: 10_000, output: 5 }).await.unwrap().settle(cached);
        let waited = limit.acquire("", tokens(1)).await.unwrap().waited().as_secs();
        assert!(waited >= waits && waited < waits + 30, "{named:?} {waited}");
    }
}

#[tokio::test(start_paused = true)]
async fn input_and_output_have_limits_of_their_own() {
    let sixty = NonZeroU64::new(60);
    let input = Settings { input_tokens_per_minute: sixty, ..Settings::default() };
    let output = Settings { output_tokens_per_minute: sixty, ..Settings::default() };
    // A call of 30 tokens that count is followed by another one 30 s later. Cached input does not count.
    for (settings, amount, seconds) in [
        (input, Amount { input: 90, uncached_input: 30, output: 600 }, 30),
        (output, Amount { input: 600, uncached_input: 600, output: 30 }, 30),
        (input, Amount { input: 90, uncached_input: 0, output: 600 }, 0),
    ] {
        let limit = Limiter::new("x", &settings);
        let began = Instant::now();
        for _ in 0..3 {
            limit.acquire("", amount).await.expect("in time").settle(amount);
        }
        assert_eq!(began.elapsed().as_secs(), 2 * seconds, "{settings:?}");
    }
}
