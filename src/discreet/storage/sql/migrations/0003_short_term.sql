-- Sessions, their last rounds and claims of work for up to a day; rolling summaries. Commented in ../schema.sql.

CREATE UNLOGGED TABLE discreet.short_term_session (
    session_key uuid PRIMARY KEY,
    user_digest uuid NOT NULL,
    began_at timestamptz NOT NULL,
    active_until timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    purge_at timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX short_term_session_user ON discreet.short_term_session (user_digest);
CREATE INDEX short_term_session_purge ON discreet.short_term_session (purge_at);

CREATE UNLOGGED TABLE discreet.short_term_round (
    session_key uuid NOT NULL REFERENCES discreet.short_term_session ON DELETE CASCADE,
    began_at timestamptz NOT NULL,
    request_key uuid NOT NULL,
    round_number bigint GENERATED ALWAYS AS IDENTITY,
    request_id text NOT NULL,
    input_text text,
    output_text text,
    sealed_input bytea,
    sealed_output bytea,
    said_at timestamptz NOT NULL,
    is_emergency boolean NOT NULL,
    PRIMARY KEY (session_key, began_at, request_key),
    CONSTRAINT short_term_round_input_is_plain_or_sealed CHECK ((input_text IS NULL) <> (sealed_input IS NULL)),
    CONSTRAINT short_term_round_output_is_plain_or_sealed CHECK ((output_text IS NULL) <> (sealed_output IS NULL))
);

CREATE UNIQUE INDEX short_term_round_order ON discreet.short_term_round (session_key, began_at, round_number);

CREATE UNLOGGED TABLE discreet.short_term_work (
    work_key uuid PRIMARY KEY,
    user_digest uuid NOT NULL,
    token uuid,
    answer text,
    sealed_answer bytea,
    expires_at timestamptz NOT NULL,
    purge_at timestamptz NOT NULL,
    CONSTRAINT short_term_work_is_running_or_done CHECK (num_nonnulls(token, answer, sealed_answer) = 1)
) WITH (fillfactor = 70);

CREATE INDEX short_term_work_user ON discreet.short_term_work (user_digest);
CREATE INDEX short_term_work_purge ON discreet.short_term_work (purge_at);

CREATE TABLE discreet.rolling_summary (
    summary_key uuid PRIMARY KEY,
    user_key bigint REFERENCES discreet.person ON DELETE CASCADE,
    thread_id text NOT NULL,
    text text,
    sealed_text bytea,
    rounds integer NOT NULL,
    last_message_id text,
    updated_at timestamptz NOT NULL,
    CONSTRAINT rolling_summary_text_is_plain_or_sealed CHECK ((text IS NULL) <> (sealed_text IS NULL))
);

CREATE INDEX rolling_summary_user ON discreet.rolling_summary (user_key);
