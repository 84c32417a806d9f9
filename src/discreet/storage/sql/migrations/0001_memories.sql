-- People, their memories, and what searching them needs; the log of their conversations. Commented in ../schema.sql.

CREATE SCHEMA discreet;

CREATE TABLE discreet.migrations (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE discreet.person (
    user_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE discreet.app (
    app_key integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_name text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE discreet.embedding_space (
    space_key smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    dims integer NOT NULL,
    cosine_zero double precision NOT NULL,
    cosine_one double precision NOT NULL
);

CREATE TYPE discreet.memory_type AS ENUM (
    'user_fact',
    'preference',
    'event',
    'conversation_insight',
    'conversation_summary',
    'important_moment',
    'turn',
    'reasoning'
);

CREATE TABLE discreet.memory (
    user_key bigint NOT NULL REFERENCES discreet.person ON DELETE CASCADE,
    entry_id uuid NOT NULL,
    app_key integer NOT NULL REFERENCES discreet.app,
    space_key smallint NOT NULL REFERENCES discreet.embedding_space,
    type discreet.memory_type NOT NULL,
    created_at timestamptz NOT NULL,
    valid_from timestamptz,
    valid_to timestamptz,
    embedding halfvec,
    sketch bit varying,
    wide_embedding halfvec,
    lexical sparsevec,
    context sparsevec,
    text text NOT NULL,
    text_key uuid NOT NULL,
    request_id text,
    thread_id text,
    thread_key uuid,
    position bigint,
    agent_id text,
    importance smallint NOT NULL,
    confidence double precision NOT NULL,
    tags text[] NOT NULL,
    conflict_flags text[] NOT NULL,
    loop_flag boolean NOT NULL,
    provenance jsonb NOT NULL,
    feedback jsonb NOT NULL,
    CONSTRAINT memory_embedding_fits_the_index CHECK (vector_dims(embedding) <= 512),
    CONSTRAINT memory_wide_embedding_has_a_sketch CHECK ((sketch IS NULL) = (wide_embedding IS NULL))
) WITH (
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.02
);

ALTER TABLE discreet.memory
    ALTER COLUMN embedding SET STORAGE PLAIN,
    ALTER COLUMN lexical SET STORAGE PLAIN,
    ALTER COLUMN context SET STORAGE PLAIN,
    ALTER COLUMN wide_embedding SET STORAGE EXTERNAL;

ALTER TABLE discreet.memory
    ADD CONSTRAINT memory_pkey PRIMARY KEY (user_key, entry_id)
    INCLUDE (app_key, space_key, type, created_at, valid_to, thread_key, embedding, sketch, lexical, context);

CREATE UNIQUE INDEX memory_place ON discreet.memory (
    user_key,
    thread_key,
    position,
    (CASE WHEN type = 'turn' THEN '00000000-0000-0000-0000-000000000000' ELSE entry_id END)
) WHERE thread_key IS NOT NULL AND position IS NOT NULL;

CREATE INDEX memory_same_text ON discreet.memory (user_key, text_key) WHERE valid_to IS NULL AND type <> 'turn';

CREATE TABLE discreet.memory_stats (
    user_key bigint NOT NULL,
    entry_id uuid NOT NULL,
    hits bigint NOT NULL DEFAULT 0,
    last_hit timestamptz,
    PRIMARY KEY (user_key, entry_id),
    FOREIGN KEY (user_key, entry_id) REFERENCES discreet.memory ON DELETE CASCADE
) WITH (fillfactor = 50);

CREATE TABLE discreet.corpus (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    documents bigint NOT NULL
) WITH (fillfactor = 10);

INSERT INTO discreet.corpus (documents) VALUES (0);

CREATE TABLE discreet.token_frequency (
    token integer PRIMARY KEY,
    documents bigint NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE discreet.session_record (
    session_key uuid PRIMARY KEY,
    user_key bigint REFERENCES discreet.person ON DELETE CASCADE,
    thread_id text NOT NULL,
    locale text,
    intent text,
    sealed_intent bytea,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    rounds integer NOT NULL,
    CONSTRAINT session_record_intent_is_plain_or_sealed CHECK (intent IS NULL OR sealed_intent IS NULL)
);

CREATE INDEX session_record_user ON discreet.session_record (user_key);

CREATE TABLE discreet.conversation_log (
    log_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id text COLLATE "C" NOT NULL UNIQUE,
    session_key uuid NOT NULL REFERENCES discreet.session_record ON DELETE CASCADE,
    user_key bigint REFERENCES discreet.person ON DELETE CASCADE,
    app_name text NOT NULL,
    agent_id text,
    modality text NOT NULL,
    media jsonb,
    input_text text NOT NULL,
    output_text text NOT NULL,
    is_emergency boolean NOT NULL,
    loop_flag boolean NOT NULL,
    provenance jsonb NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL
);

CREATE INDEX conversation_log_session ON discreet.conversation_log (session_key, started_at);
CREATE INDEX conversation_log_user ON discreet.conversation_log (user_key, started_at);

CREATE TABLE discreet.forgotten_round (
    user_key bigint NOT NULL REFERENCES discreet.person ON DELETE CASCADE,
    thread_key uuid NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    forgotten_at timestamptz NOT NULL,
    PRIMARY KEY (user_key, thread_key, request_id)
);
