-- What was spent before the run began: record::call::Spend as JSON. The table spend has it too.
alter table run add column preflight text not null default '[]';
