-- Tokens that are exchanged for a certificate, each once, by any coordinator.
create table join_token (
    -- SHA-256 of the secret, in hexadecimal digits.
    digest text primary key,
    role text not null,
    -- Unix milliseconds.
    expires_at bigint not null,
    -- Null: it is unused.
    used_at bigint
);
