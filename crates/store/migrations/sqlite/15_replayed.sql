-- Few trials are played again. Without these, each look for them reads the bodies of all trials.
create index trial_again on trial (run, number, epoch, again) where again;
create index trial_replaced on trial (run, replaced, replaced_failed) where replaced > 0;
