-- Facts that replace or contradict each other, sealed texts, items of the store. Commented in ../schema.sql.

ALTER TYPE discreet.memory_type ADD VALUE 'item';

ALTER TABLE discreet.person
    ADD COLUMN memories bigint NOT NULL DEFAULT 0,
    ADD COLUMN space_key smallint REFERENCES discreet.embedding_space;

UPDATE discreet.person p SET memories = (SELECT count(*) FROM discreet.memory m WHERE m.user_key = p.user_key);

ALTER TABLE discreet.person SET (fillfactor = 70);

CREATE INDEX person_space ON discreet.person (space_key);

ALTER TABLE discreet.embedding_space
    ADD COLUMN activated_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN used_at timestamptz NOT NULL DEFAULT now();

DROP INDEX discreet.memory_same_text;

ALTER TABLE discreet.memory
    DROP COLUMN text_key,
    ALTER COLUMN text DROP NOT NULL,
    ADD COLUMN sealed_text bytea,
    ADD COLUMN sealed_feedback bytea,
    ADD CONSTRAINT memory_text_is_plain_or_sealed CHECK ((text IS NULL) <> (sealed_text IS NULL));

ALTER TABLE discreet.memory ALTER COLUMN wide_embedding SET STORAGE MAIN;

ALTER TABLE discreet.memory SET (fillfactor = 100, toast_tuple_target = 8160);

CREATE INDEX memory_end ON discreet.memory (user_key, valid_to) WHERE valid_to IS NOT NULL;

CREATE FUNCTION discreet.token_places(own sparsevec, context sparsevec) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('{' || concat_ws(
    ',',
    nullif(regexp_replace(own::text, '^\{|:[^,}]*|\}.*$', '', 'g'), ''),
    nullif(regexp_replace(context::text, '^\{|:[^,}]*|\}.*$', '', 'g'), '')
) || '}')::integer[];

CREATE TABLE discreet.memory_conflict (
    user_key bigint NOT NULL,
    older uuid NOT NULL,
    newer uuid NOT NULL,
    PRIMARY KEY (user_key, older, newer),
    FOREIGN KEY (user_key, older) REFERENCES discreet.memory ON DELETE CASCADE,
    FOREIGN KEY (user_key, newer) REFERENCES discreet.memory ON DELETE CASCADE
);

CREATE INDEX memory_conflict_newer ON discreet.memory_conflict (user_key, newer);

ALTER TABLE discreet.conversation_log
    ALTER COLUMN input_text DROP NOT NULL,
    ALTER COLUMN output_text DROP NOT NULL,
    ADD COLUMN sealed_input bytea,
    ADD COLUMN sealed_output bytea,
    ADD CONSTRAINT conversation_log_input_is_plain_or_sealed CHECK ((input_text IS NULL) <> (sealed_input IS NULL)),
    ADD CONSTRAINT conversation_log_output_is_plain_or_sealed CHECK ((output_text IS NULL) <> (sealed_output IS NULL));

CREATE TABLE discreet.store_item (
    user_key bigint NOT NULL REFERENCES discreet.person ON DELETE CASCADE,
    item_key uuid NOT NULL,
    key text NOT NULL,
    value jsonb,
    sealed_value bytea,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    ttl_minutes double precision,
    expires_at timestamptz,
    PRIMARY KEY (user_key, item_key),
    CONSTRAINT store_item_value_is_plain_or_sealed CHECK ((value IS NULL) <> (sealed_value IS NULL))
);

CREATE INDEX store_item_expires ON discreet.store_item (expires_at) WHERE expires_at IS NOT NULL;
