-- The most that a run may cost, in nano-dollars; null: it has no budget.
alter table run add column max_cost_nanos integer;

-- The part of a run's money that a session holds. All sums only grow. What was granted and not given back counts as spent.
create table slice (
    run integer not null references run,
    session integer not null references session,
    granted_nanos integer not null,
    returned_nanos integer not null,
    -- All that its calls cost, or may have cost.
    charged_nanos integer not null,
    -- The cost of the calls in its committed batches.
    settled_nanos integer not null,
    primary key (run, session)
) without rowid;
