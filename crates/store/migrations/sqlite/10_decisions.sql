-- What is decided about a run while it plays, in order: record::decision::Decision as JSON. Rows are only added.
create table decision (
    key integer primary key,
    run integer not null references run,
    body text not null
) strict;

create index decision_of_run on decision (run);
