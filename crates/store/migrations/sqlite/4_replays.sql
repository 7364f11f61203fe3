-- Trials that are played again, and runs that stopped because a quota is used up.
alter table run add column exhausted integer not null default 0;

-- Whether an end like this one is followed by another attempt: 0 never, 1 so often as the plan says, 2 on resume.
alter table trial add column replay integer not null default 0;
-- 1: how it ended is kept, and it is to be played again.
alter table trial add column again integer not null default 0;
-- How often it may still be played again before somebody resumes the run.
alter table trial add column replays_left integer not null default 0;
-- Ends that this one took the place of.
alter table trial add column replaced integer not null default 0;

-- 1: its worker gave it up, and is not gone because of it.
alter table attempt add column given_up integer not null default 0;
