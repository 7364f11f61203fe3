-- Runs, leases and results. Times are Unix milliseconds, money is nano-dollars. The 64 bits of unsigned numbers are kept as
-- they are.

create table plan (
    digest text primary key,
    body bytea not null
);

create table run (
    key bigint generated always as identity primary key,
    id text not null unique,
    name text not null,
    plan_digest text not null references plan,
    seed bigint not null,
    planned bigint not null,
    state text not null check (state in ('running', 'finished', 'interrupted', 'cancelled')),
    started_at bigint not null,
    ended_at bigint,
    version text not null,
    -- A provider's quota is used up.
    exhausted boolean not null default false,
    -- The most that calls in flight of lost sessions may have cost.
    unsettled_nanos bigint not null default 0,
    -- record::call::Spend as JSON. The table spend includes it.
    preflight text not null,
    load_began_at bigint,
    -- record::runner::Runner as JSON.
    runner text
);

-- record::decision::Decision as JSON, in order. Rows are only added.
create table decision (
    key bigint generated always as identity primary key,
    run bigint not null references run,
    body text not null
);

create index decision_of_run on decision (run);

-- The life of a worker. A worker that comes back after its session ended gets a new row.
create table session (
    id bigint generated always as identity primary key,
    worker text not null,
    -- The digest of the worker's secret.
    token text not null,
    opened_at bigint not null,
    last_seen bigint not null,
    -- The highest sequence that is committed.
    watermark bigint not null default 0,
    unsettled_nanos bigint not null default 0,
    ended_at bigint,
    end_reason text
);

-- Trials first <= number < past; those below `begun` have begun. Gone with its session, when released, or some time after all
-- are done.
create table lease (
    session bigint not null references session,
    id bigint not null,
    first bigint not null,
    past bigint not null,
    run bigint not null references run,
    epoch bigint not null,
    granted_at bigint not null,
    begun bigint not null,
    primary key (session, id, first)
);

create index lease_of_run on lease (run);

-- A batch of turns. No foreign keys here and below: the commit has checked them.
create table segment (
    session bigint not null,
    sequence bigint not null,
    run bigint not null,
    turns bigint not null,
    committed_at bigint not null,
    primary key (session, sequence)
);

-- The turns of one attempt in a segment, as the worker encoded them.
create table piece (
    session bigint not null,
    sequence bigint not null,
    place integer not null,
    payload bytea not null,
    primary key (session, sequence, place)
);

-- The latest ended attempt of a trial.
create table trial (
    run bigint not null,
    number bigint not null,
    epoch bigint not null,
    session bigint not null,
    -- JSON: a row [sequence, place, bytes] for each piece with turns of the trial, in order.
    pieces text not null,
    -- record::Trial as JSON.
    body text not null,
    -- Whether another attempt follows such an end: 0 never, 1 as often as the plan says, 2 on resume.
    replay smallint not null,
    -- It will be replayed.
    again boolean not null,
    -- How often it may still be replayed before a user resumes the run.
    replays_left bigint not null,
    -- The ends that this one replaced: all, those that counted against the agent, those of our side before them.
    replaced bigint not null default 0,
    replaced_failed bigint not null default 0,
    replaced_broken bigint not null default 0,
    primary key (run, number)
);

-- An attempt that was lost with its session, or released after it had begun.
create table attempt (
    run bigint not null,
    number bigint not null,
    epoch bigint not null,
    session bigint not null,
    begun boolean not null,
    -- Only the trial can have crashed its worker.
    solo boolean not null,
    given_up boolean not null,
    lost_at bigint not null,
    primary key (run, number, epoch)
);

create index attempt_of_session on attempt (session);

-- The usage of all attempts.
create table spend (
    run bigint not null,
    role text not null,
    model text not null,
    calls bigint not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    cost_nanos bigint not null,
    unpriced_calls bigint not null,
    estimated_calls bigint not null,
    tries bigint not null,
    throttled_tries bigint not null,
    wait_micros bigint not null,
    cached_input_tokens bigint not null,
    cache_write_tokens bigint not null,
    reasoning_tokens bigint not null,
    plain_priced_calls bigint not null,
    cut_calls bigint not null,
    reported_cost_nanos bigint not null,
    primary key (run, role, model)
);

-- What one coordinator does at a time, and which. The epoch rises with each change of the holder; writes of an earlier holder
-- are refused by it.
create table duty (
    name text primary key,
    holder text not null,
    epoch bigint not null,
    lease_until timestamptz not null
);
