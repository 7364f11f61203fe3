//! Judges that nobody can ask, because a key is not there: said loudly before anything is played.

use std::collections::BTreeMap;

use anyhow::anyhow;
use record::FailureKind;
use scenario::{Asks, Plan};
use worker::Models;

use crate::{diagnostics, exit::usage, stdout::plural};

/// Cases of a plan that are looked at; of more, as many at even distances.
const LOOKED_AT: u64 = 10_000;
const HINT: &str = "put the key there, or name another endpoint in `roles.judge`, `models` or `scores`";

/// Warns of the cases of a plan that will be skipped.
///
/// # Errors
/// When the simulated user of a case cannot be asked either: of such a conversation nothing would come.
pub(crate) fn announce(plan: &Plan, models: &Models) -> anyhow::Result<()> {
    if models.absent().is_empty() {
        return Ok(());
    }
    let all = plan.case_count();
    let distance = all.div_ceil(LOOKED_AT).max(1);
    let (mut looked_at, mut skipped) = (0_u64, BTreeMap::<String, u64>::new());
    for number in (0..all).step_by(usize::try_from(distance).unwrap_or(usize::MAX)) {
        looked_at += 1;
        let scenario = plan.case(number).and_then(|case| plan.scenario(&case).ok());
        let Some(failure) = scenario.and_then(|scenario| models.missing(&Asks::of(&scenario))) else { continue };
        if failure.kind != FailureKind::JudgeMissing {
            let hint = "put the key there, or name another endpoint in `roles.user_sim` or `models`";
            return Err(usage(anyhow!("{}\nhint: {hint}", failure.message)));
        }
        *skipped.entry(failure.message).or_default() += 1;
    }
    if skipped.is_empty() {
        for absent in models.absent() {
            diagnostics::note(&format!("{absent}; no case of this run needs it for its verdict"));
        }
    }
    for (message, cases) in skipped {
        let share = if distance == 1 {
            format!("{cases} of {}", plural(usize::try_from(all).unwrap_or(usize::MAX), "case", "cases"))
        } else {
            format!("about {:.0}% of {all} cases", cases as f64 / looked_at as f64 * 100.0)
        };
        diagnostics::warn(&format!(
            "{message}\n  skipped: {share}; they count as not judged, so the run cannot pass (exit code 3 at best)\n  hint: {HINT}"
        ));
    }
    Ok(())
}

/// Warns of what a worker will send back as skipped.
///
/// # Errors
/// When nobody can play the user: this worker would spoil conversations that another could hold.
pub(crate) fn announce_worker(models: &Models) -> anyhow::Result<()> {
    if let Some(reason) = models.user_sim.absence() {
        let endpoint = models.user_sim.endpoint();
        return Err(usage(anyhow!("nobody can play the user: endpoint {endpoint:?} has no key, {reason}")));
    }
    for absent in models.absent() {
        diagnostics::warn(&format!("{absent}\n  trials that ask it come back as SKIPPED\n  hint: {HINT}"));
    }
    Ok(())
}
