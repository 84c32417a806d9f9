-- The reasoning of an entry, and what entries are listed by. Commented in ../schema.sql.

ALTER TABLE discreet.memory
    ADD COLUMN reasoning text,
    ADD COLUMN sealed_reasoning bytea,
    ADD CONSTRAINT memory_reasoning_is_plain_or_sealed CHECK (reasoning IS NULL OR sealed_reasoning IS NULL);

CREATE INDEX memory_request ON discreet.memory (user_key, request_id) WHERE length(request_id) <= 200;

CREATE INDEX memory_time ON discreet.memory (user_key, created_at, entry_id);
CREATE INDEX memory_session ON discreet.memory (user_key, thread_key, created_at, entry_id) WHERE thread_key IS NOT NULL;
