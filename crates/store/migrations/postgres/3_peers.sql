-- Where other coordinators reach the holder: `http://HOST:PORT`, or `https://` with certificates; empty: nowhere.
alter table duty add column address text not null default '';
