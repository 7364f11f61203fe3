-- A run, its leases and its results. Times are unix milliseconds, money is nano-dollars.
-- "gabf": tells a store from any other SQLite file.
pragma application_id = 1734435430;

create table plan (
    digest text primary key not null,
    body blob not null
) strict;

create table run (
    key integer primary key,
    id text not null unique,
    name text not null,
    plan_digest text not null references plan,
    -- Seed and planned are unsigned; their 64 bits are kept as they are.
    seed integer not null,
    planned integer not null,
    state text not null check (state in ('running', 'finished', 'interrupted', 'cancelled')),
    started_at integer not null,
    ended_at integer,
    version text not null,
    unsettled_nanos integer not null default 0
) strict;

-- The life of a worker; one that comes back after it was given up gets a new row.
create table session (
    -- An id is never used again: it is half of every segment's name.
    id integer primary key autoincrement,
    worker text not null,
    opened_at integer not null,
    -- The highest sequence that is committed.
    watermark integer not null default 0,
    unsettled_nanos integer not null default 0,
    ended_at integer,
    end_reason text
) strict;

-- Trials first <= number < past, lent. Gone with its session, or when given back, or some time after all are done.
create table lease (
    session integer not null references session,
    id integer not null,
    first integer not null,
    past integer not null,
    run integer not null references run,
    epoch integer not null,
    granted_at integer not null,
    primary key (session, id, first)
) strict, without rowid;

create index lease_of_run on lease (run);

-- A batch of turns as the worker encoded them. No foreign keys here and below: a commit has looked already.
create table segment (
    session integer not null,
    sequence integer not null,
    run integer not null,
    turns integer not null,
    -- record::call::Spend as JSON.
    spend text not null,
    payload blob not null,
    committed_at integer not null,
    primary key (session, sequence)
) strict;

-- A trial that is counted: written once, never changed.
create table trial (
    run integer not null,
    number integer not null,
    epoch integer not null,
    session integer not null,
    -- The segments of the session that hold its turns, both included.
    first_sequence integer not null,
    last_sequence integer not null,
    -- record::Trial as JSON.
    body text not null,
    primary key (run, number)
) strict;

-- An attempt that was lost with its session. The winning attempt is the trial's row.
create table attempt (
    run integer not null,
    number integer not null,
    epoch integer not null,
    session integer not null,
    -- It was lent to be played alone.
    solo integer not null,
    lost_at integer not null,
    primary key (run, number, epoch)
) strict, without rowid;

-- The sum over the run's segments.
create table spend (
    run integer not null,
    role text not null,
    model text not null,
    calls integer not null,
    input_tokens integer not null,
    output_tokens integer not null,
    cost_nanos integer not null,
    unpriced_calls integer not null,
    primary key (run, role, model)
) strict, without rowid;
