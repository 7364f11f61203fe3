-- What the tokens of a run were, how its calls were priced, and how many replies a token limit cut.
alter table spend add column cached_input_tokens integer not null default 0;
alter table spend add column cache_write_tokens integer not null default 0;
alter table spend add column reasoning_tokens integer not null default 0;
alter table spend add column plain_priced_calls integer not null default 0;
alter table spend add column cut_calls integer not null default 0;
alter table spend add column reported_cost_nanos integer not null default 0;
