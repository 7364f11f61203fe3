-- For exports, checks and the deletion of runs. From here on pieces are zstd frames; older ones stay as they are.

-- PostgreSQL need not try to compress them again.
alter table piece alter column payload set storage external;

-- Ends of trials that a later attempt replaced.
create table replaced (
    run bigint not null,
    number bigint not null,
    epoch bigint not null,
    session bigint not null,
    -- record::Trial as JSON.
    body text not null,
    primary key (run, number, epoch)
);

-- Only a later attempt changes the epoch of a trial's row.
create function keep_replaced() returns trigger language plpgsql as $$
begin
    insert into replaced (run, number, epoch, session, body)
    values (old.run, old.number, old.epoch, old.session, old.body)
    on conflict do nothing;
    return new;
end $$;

create trigger keep_replaced before update of epoch on trial
    for each row when (old.epoch <> new.epoch) execute function keep_replaced();

-- Nobody sees the run any more, and its rows are being removed.
alter table run add column deleted boolean not null default false;
