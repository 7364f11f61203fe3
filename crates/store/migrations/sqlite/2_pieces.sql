-- The words of a segment, one row for each attempt in it: read one at a time, written one after the other.
create table piece (
    key integer primary key,
    payload blob not null
) strict;

-- The pieces of a segment have `pieces` keys from `first_piece` on, and its own payload is empty.
-- Null in segments of schema 1: all their words are in `payload`.
alter table segment add column first_piece integer;
alter table segment add column pieces integer not null default 0;

-- JSON: a row `[sequence, place in the segment, bytes]` for each piece with turns of the trial, in their order.
-- Null in trials of schema 1: segments `first_sequence` to `last_sequence`, which are 0 where there are pieces.
alter table trial add column pieces text;
