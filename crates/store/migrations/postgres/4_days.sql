-- How many requests of a limit of `requests_per_day` were given to workers, and not given back. Days are counted in UTC from 1970.
create table day_requests (
    limit_name text not null,
    day bigint not null,
    requests bigint not null,
    primary key (limit_name, day)
);
