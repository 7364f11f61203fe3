-- Those of `replaced` that were held against the agent, and that somebody had played again.
alter table trial add column replaced_failed integer not null default 0;
-- Those that our side broke, before the first that was held against the agent.
alter table trial add column replaced_broken integer not null default 0;
-- Nothing kept which they were: with these a replay that failed is doubtful, and no gate fails because of it alone.
update trial set replaced_broken = replaced;
