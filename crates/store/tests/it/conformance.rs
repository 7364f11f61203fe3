//! One list of scenarios, played on every store.

mod commits;
mod days;
mod deleting;
mod join_tokens;
mod leases;
mod money;
mod reading;
mod runs;

use store::{Committed, Store};

use crate::{
    samples::{PLAN, id, run, token},
    stand::{InMemory, OnDisk, OnServer, Stand},
};

macro_rules! on_every_store {
    ($($concern:ident: $($scenario:ident)*;)*) => {
        mod memory {
            $($(#[tokio::test] async fn $scenario() { super::$concern::$scenario::<super::InMemory>().await; })*)*
        }
        mod sqlite {
            $($(#[tokio::test] async fn $scenario() { super::$concern::$scenario::<super::OnDisk>().await; })*)*
        }
        mod postgres {
            $($(#[tokio::test] async fn $scenario() {
                if super::OnServer::server().is_some() {
                    super::$concern::$scenario::<super::OnServer>().await;
                }
            })*)*
        }
    };
}

on_every_store! {
    runs:
        a_run_is_created_once
        a_preflight_begins_the_spend
        runs_are_listed_newest_first
        a_run_changes_its_state
        a_load_begins_and_goes_on_later
        decisions_are_appended_in_order
        every_kind_of_decision_comes_back_after_a_restart
        what_is_unknown_is_said;
    commits:
        a_commit_counts_and_a_second_one_does_not
        a_gap_is_refused_and_changes_nothing
        a_stale_or_foreign_trial_is_fenced
        a_trial_counts_once_in_a_batch
        nothing_counts_after_the_session
        a_closed_run_counts_nothing_more
        a_thousand_trials_fit_one_batch
        what_our_side_broke_is_played_again_as_often_as_it_may
        a_replay_may_end_in_the_same_batch
        a_used_up_quota_waits_for_somebody_to_resume
        a_resumed_run_plays_again_what_is_named;
    deleting:
        attempts_that_do_not_count_are_kept
        a_deleted_run_is_gone_and_others_stay;
    leases:
        sessions_ascend_and_end_once
        grants_are_whole_or_nothing
        an_ended_session_loses_what_is_not_done
        proof_is_told_apart
        only_what_had_begun_is_lost
        what_begins_is_known_after_a_restart
        a_session_is_its_worker_s
        losses_of_before_an_end_say_nothing
        released_trials_are_not_lost
        what_was_begun_and_given_up_is_another_attempt
        a_lease_has_nothing_to_do_with_a_later_attempt
        a_lease_that_is_done_is_over
        unsettled_money_goes_to_the_runs_that_lost;
    money:
        grants_never_exceed_the_budget
        what_is_given_back_is_granted_again
        a_lost_session_leaves_what_it_held
        a_batch_settles_what_its_calls_cost
        a_budget_is_raised_and_counts_what_was_spent_before
        money_needs_a_budget_and_a_living_session;
    days:
        a_day_gives_no_more_than_its_limit
        what_goes_back_is_drawn_again
        many_draw_at_once;
    join_tokens:
        a_join_token_is_good_once_and_until_its_end
        a_join_token_that_is_added_twice_is_one
        of_many_that_redeem_a_join_token_at_once_one_succeeds
        an_expired_join_token_is_remembered_for_a_day;
    reading:
        all_comes_back_after_a_restart
        trials_come_in_pages
        pieces_come_one_by_one
        words_that_are_not_kept_leave_nothing_behind
        spend_adds_up
        absurd_bills_saturate;
}

/// A run named `run` and an open session.
async fn ready<S: Stand>() -> (S, u64) {
    let stand = S::new().await;
    stand.store().create_run(&run("run"), PLAN).await.unwrap();
    let session = stand.store().open_session("worker", &token(), 1).await.unwrap();
    (stand, session)
}

fn counted(numbers: &[u64]) -> Committed {
    Committed { counted: numbers.to_vec(), ..Committed::default() }
}

fn fenced(numbers: &[u64]) -> Committed {
    Committed { fenced: numbers.to_vec(), ..Committed::default() }
}

async fn numbers(store: &impl Store, name: &str) -> Vec<u64> {
    let trials = store.trials(&id(name), 0, u32::MAX).await.unwrap();
    trials.iter().map(|stored| stored.trial.number).collect()
}
