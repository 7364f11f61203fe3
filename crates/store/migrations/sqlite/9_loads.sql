-- When the load of a run began, in unix milliseconds; null before it did, and for a run without a load.
alter table run add column load_began_at integer;
-- How loaded the machines of its workers were, as JSON.
alter table run add column runner text;
