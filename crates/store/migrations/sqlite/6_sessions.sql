-- Sessions that outlive their coordinator, and which trials of a lease have begun.

-- When its worker was last heard, in unix milliseconds.
alter table session add column last_seen integer not null default 0;
update session set last_seen = opened_at;
-- The digest of the secret that its worker was given. Null in sessions of before: their workers join again.
alter table session add column token text;

-- Of its trials those below this number have begun. A lease of before does not say it: all may have.
alter table lease add column begun integer not null default 0;
update lease set begun = past;

-- 0: it was lent, and was lost before it began.
alter table attempt add column begun integer not null default 1;
-- From here on `attempt.solo` says that nothing but the trial can have brought its worker down.
