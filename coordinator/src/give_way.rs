//! Lets other tasks of the thread run in the middle of a long computation, such as starts of a load that are due.

/// How many trials are computed at a time: about 0.05 ms.
const AT_A_TIME: usize = 4;

/// Call it before each trial, with the number of those before.
pub(crate) async fn after(done: usize) {
    if done > 0 && done.is_multiple_of(AT_A_TIME) {
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[tokio::test]
    async fn another_task_runs_after_every_fourth_trial() {
        let ran = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&ran);
        // It is ready at every yield.
        let other = tokio::spawn(async move {
            loop {
                seen.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let mut runs = Vec::new();
        for done in 0..32 {
            after(done).await;
            runs.push(ran.load(Ordering::Relaxed));
        }
        other.abort();
        let expected: Vec<usize> = (0..32).map(|done| done / AT_A_TIME).collect();
        assert_eq!(runs, expected, "not before the first, and once after each four");
    }
}
