-- For exports, checks and the deletion of runs. From here on pieces are zstd frames; older ones stay as they are.

-- Ends of trials that a later attempt replaced.
create table replaced (
    run integer not null,
    number integer not null,
    epoch integer not null,
    session integer not null,
    -- record::Trial as JSON.
    body text not null,
    primary key (run, number, epoch)
) strict, without rowid;

-- Only a later attempt changes the epoch of a trial's row.
create trigger keep_replaced before update of epoch on trial when old.epoch <> new.epoch
begin
    insert or ignore into replaced (run, number, epoch, session, body)
    values (old.run, old.number, old.epoch, old.session, old.body);
end;

-- 1: nobody sees the run any more, and its rows are being removed.
alter table run add column deleted integer not null default 0;
