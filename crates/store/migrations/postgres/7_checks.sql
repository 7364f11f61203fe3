-- For checks: how many pieces the segment has, and record::call::Spend as JSON. Null in older segments.
alter table segment add column pieces integer;
alter table segment add column spend text;
