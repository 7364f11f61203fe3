-- What of a run's spend is estimated, and how its calls were held up.
alter table spend add column estimated_calls integer not null default 0;
alter table spend add column tries integer not null default 0;
alter table spend add column throttled_tries integer not null default 0;
alter table spend add column wait_micros integer not null default 0;
