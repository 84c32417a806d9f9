-- All tables. Commented in ../schema.sql.

CREATE TABLE discreet.migrations (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    version text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE discreet.identity_key (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    fingerprint uuid NOT NULL
);

CREATE TABLE discreet.embedding_space (
    space_key smallint PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    dims integer NOT NULL,
    cosine_zero double precision NOT NULL,
    cosine_one double precision NOT NULL,
    activated_at timestamptz NOT NULL,
    used_at timestamptz NOT NULL
);

CREATE TABLE discreet.users (
    user_key uuid PRIMARY KEY,
    epoch bigint NOT NULL DEFAULT 1,
    expires_at timestamptz
) WITH (fillfactor = 90);

CREATE INDEX users_expires ON discreet.users (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE discreet.user_memories (
    user_key uuid PRIMARY KEY REFERENCES discreet.users ON DELETE CASCADE,
    memories bigint NOT NULL DEFAULT 0,
    space_key smallint REFERENCES discreet.embedding_space,
    entries bytea
) WITH (fillfactor = 70);

CREATE INDEX user_memories_space ON discreet.user_memories (space_key);

CREATE TYPE discreet.memory_type AS ENUM (
    'user_fact',
    'preference',
    'event',
    'conversation_insight',
    'conversation_summary',
    'important_moment',
    'turn',
    'reasoning',
    'item'
);

CREATE TABLE discreet.memory (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    entry_id uuid NOT NULL,
    app_key uuid NOT NULL,
    space_key smallint NOT NULL REFERENCES discreet.embedding_space,
    type discreet.memory_type NOT NULL,
    created_at timestamptz NOT NULL,
    valid_from timestamptz,
    valid_to timestamptz,
    embedding halfvec NOT NULL,
    sketch bit varying NOT NULL,
    lexical sparsevec,
    app_name text COLLATE "C" NOT NULL,
    text text,
    request_id text,
    thread_id text,
    thread_key uuid,
    position bigint,
    agent_id text,
    importance smallint NOT NULL,
    confidence double precision NOT NULL,
    tags text[],
    conflict_flags text[],
    turns text[],
    loop_flag boolean NOT NULL,
    provenance jsonb,
    feedback jsonb,
    sealed_text bytea,
    sealed_feedback bytea,
    reasoning text,
    sealed_reasoning bytea,
    sealed_provenance bytea,
    CONSTRAINT memory_feedback_is_plain_or_sealed CHECK (feedback IS NULL OR sealed_feedback IS NULL),
    CONSTRAINT memory_provenance_is_plain_or_sealed CHECK (provenance IS NULL OR sealed_provenance IS NULL),
    CONSTRAINT memory_reasoning_is_plain_or_sealed CHECK (reasoning IS NULL OR sealed_reasoning IS NULL),
    CONSTRAINT memory_text_is_plain_or_sealed CHECK ((text IS NULL) <> (sealed_text IS NULL))
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.02,
    fillfactor = 100,
    toast_tuple_target = 8160
);

ALTER TABLE discreet.memory
    ALTER COLUMN embedding SET STORAGE MAIN,
    ALTER COLUMN sketch SET STORAGE PLAIN,
    ALTER COLUMN lexical SET STORAGE PLAIN;

ALTER TABLE discreet.memory
    ADD CONSTRAINT memory_pkey PRIMARY KEY (user_key, entry_id)
    INCLUDE (app_key, space_key, type, created_at, valid_to, thread_key, sketch, lexical);

CREATE UNIQUE INDEX memory_place ON discreet.memory (
    user_key,
    thread_key,
    position,
    (CASE WHEN type = 'turn' THEN '00000000-0000-0000-0000-000000000000' ELSE entry_id END)
) WHERE thread_key IS NOT NULL AND position IS NOT NULL;

CREATE INDEX memory_end ON discreet.memory (user_key, valid_to) WHERE valid_to IS NOT NULL;

CREATE INDEX memory_request ON discreet.memory (user_key, request_id) WHERE length(request_id) <= 200;

CREATE INDEX memory_time ON discreet.memory (user_key, created_at, entry_id);
CREATE INDEX memory_session ON discreet.memory (user_key, thread_key, created_at, entry_id) WHERE thread_key IS NOT NULL;

CREATE INDEX memory_turn_age ON discreet.memory (created_at) WHERE type = 'turn';
CREATE INDEX memory_reasoning_age ON discreet.memory (created_at)
    WHERE type = 'reasoning' OR reasoning IS NOT NULL OR sealed_reasoning IS NOT NULL;
CREATE INDEX memory_moment ON discreet.memory (user_key) WHERE type = 'important_moment';

CREATE TABLE discreet.memory_conflict (
    user_key uuid NOT NULL,
    older uuid NOT NULL,
    newer uuid NOT NULL,
    PRIMARY KEY (user_key, older, newer),
    FOREIGN KEY (user_key, older) REFERENCES discreet.memory ON DELETE CASCADE,
    FOREIGN KEY (user_key, newer) REFERENCES discreet.memory ON DELETE CASCADE
);

CREATE INDEX memory_conflict_newer ON discreet.memory_conflict (user_key, newer);

CREATE TABLE discreet.memory_stats (
    user_key uuid NOT NULL,
    entry_id uuid NOT NULL,
    hits bigint NOT NULL DEFAULT 0,
    last_hit timestamptz,
    PRIMARY KEY (user_key, entry_id),
    FOREIGN KEY (user_key, entry_id) REFERENCES discreet.memory ON DELETE CASCADE
) WITH (fillfactor = 50);

CREATE TABLE discreet.user_token (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    change_key uuid NOT NULL,
    tokens integer[] NOT NULL,
    documents integer[] NOT NULL,
    PRIMARY KEY (user_key, change_key)
);

ALTER TABLE discreet.user_token ALTER COLUMN tokens SET STORAGE EXTERNAL;

CREATE TABLE discreet.token_frequency (
    token integer PRIMARY KEY,
    documents bigint NOT NULL
);

CREATE TABLE discreet.corpus (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    documents bigint NOT NULL,
    counted_at timestamptz NOT NULL
);

INSERT INTO discreet.corpus (documents, counted_at) VALUES (0, 'epoch');

CREATE TABLE discreet.session_record (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    thread_key uuid NOT NULL,
    thread_id text NOT NULL,
    locale text,
    intent text,
    sealed_intent bytea,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    rounds integer NOT NULL,
    app_name text NOT NULL,
    closed_at timestamptz,
    pending_since timestamptz,
    taken_at timestamptz,
    taken_rounds integer NOT NULL DEFAULT 0,
    compacted_rounds integer NOT NULL DEFAULT 0,
    PRIMARY KEY (user_key, thread_key),
    CONSTRAINT session_record_intent_is_plain_or_sealed CHECK (intent IS NULL OR sealed_intent IS NULL)
);

CREATE INDEX session_record_pending ON discreet.session_record (pending_since, user_key, thread_key)
    WHERE pending_since IS NOT NULL;

CREATE TABLE discreet.conversation_log (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    request_id text COLLATE "C" NOT NULL,
    thread_key uuid NOT NULL,
    app_name text NOT NULL,
    agent_id text,
    modality text NOT NULL,
    media jsonb,
    input_text text,
    output_text text,
    is_emergency boolean NOT NULL,
    loop_flag boolean NOT NULL,
    provenance jsonb NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    sealed_input bytea,
    sealed_output bytea,
    sealed_media bytea,
    sealed_provenance bytea,
    answer_id text,
    extraction_key uuid,
    PRIMARY KEY (user_key, request_id),
    CONSTRAINT conversation_log_input_is_plain_or_sealed CHECK ((input_text IS NULL) <> (sealed_input IS NULL)),
    CONSTRAINT conversation_log_output_is_plain_or_sealed CHECK ((output_text IS NULL) <> (sealed_output IS NULL)),
    CONSTRAINT conversation_log_media_is_plain_or_sealed CHECK (media IS NULL OR sealed_media IS NULL),
    CONSTRAINT conversation_log_provenance_is_plain_or_sealed CHECK (provenance = '{}' OR sealed_provenance IS NULL)
);

CREATE INDEX conversation_log_session ON discreet.conversation_log (user_key, thread_key, started_at);
CREATE INDEX conversation_log_user ON discreet.conversation_log (user_key, started_at);
CREATE INDEX conversation_log_age ON discreet.conversation_log (ended_at);

CREATE TABLE discreet.forgotten_round (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    thread_key uuid NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    forgotten_at timestamptz NOT NULL,
    PRIMARY KEY (user_key, thread_key, request_id)
);

CREATE TABLE discreet.batch_jobs (
    job_key uuid PRIMARY KEY,
    provider text NOT NULL,
    model text NOT NULL,
    state text NOT NULL,
    batch_id text,
    told text NOT NULL DEFAULT '',
    error text,
    requests integer NOT NULL DEFAULT 0,
    is_cancelled boolean NOT NULL DEFAULT false,
    is_withdrawn boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    submitted_at timestamptz,
    done_at timestamptz,
    due_at timestamptz NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    lease_token bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    figures jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT batch_jobs_state_is_known
        CHECK (state IN ('submitting', 'running', 'completed', 'failed', 'cancelled', 'vanished'))
);

CREATE INDEX batch_jobs_due ON discreet.batch_jobs (due_at) WHERE done_at IS NULL;
CREATE INDEX batch_jobs_time ON discreet.batch_jobs (created_at, job_key);
CREATE INDEX batch_jobs_done ON discreet.batch_jobs (done_at) WHERE done_at IS NOT NULL;

CREATE TABLE discreet.batch_requests (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    request_key uuid NOT NULL,
    kind text NOT NULL,
    thread_key uuid NOT NULL,
    thread_id text NOT NULL,
    app_name text NOT NULL,
    trigger text NOT NULL,
    epoch bigint NOT NULL,
    request_ids text[] NOT NULL,
    forgotten_rounds bigint NOT NULL DEFAULT 0,
    state text NOT NULL,
    job_key uuid,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    done_at timestamptz,
    input_tokens integer NOT NULL DEFAULT 0,
    output_tokens integer NOT NULL DEFAULT 0,
    outcome jsonb NOT NULL DEFAULT '{}',
    error text,
    PRIMARY KEY (user_key, request_key),
    CONSTRAINT batch_requests_kind_is_known CHECK (kind IN ('extraction', 'summary')),
    CONSTRAINT batch_requests_state_is_known
        CHECK (state IN ('pending', 'submitted', 'applied', 'failed', 'cancelled'))
);

CREATE INDEX batch_requests_pending ON discreet.batch_requests (due_at) WHERE state = 'pending';
CREATE INDEX batch_requests_job ON discreet.batch_requests (job_key) WHERE job_key IS NOT NULL;
CREATE INDEX batch_requests_done ON discreet.batch_requests (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX batch_requests_old ON discreet.batch_requests (created_at) WHERE state = 'pending';

CREATE TABLE discreet.session_summary (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    thread_key uuid NOT NULL,
    thread_id text NOT NULL,
    app_name text NOT NULL,
    said text,
    sealed_said bytea,
    event_count integer NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    PRIMARY KEY (user_key, thread_key),
    CONSTRAINT session_summary_is_plain_or_sealed CHECK ((said IS NULL) <> (sealed_said IS NULL))
);

CREATE TABLE discreet.memory_proposal (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    proposal_key uuid NOT NULL,
    created_at timestamptz NOT NULL,
    request_ids text[] NOT NULL,
    thread_key uuid,
    record text,
    sealed_record bytea,
    PRIMARY KEY (user_key, proposal_key),
    CONSTRAINT memory_proposal_is_plain_or_sealed CHECK ((record IS NULL) <> (sealed_record IS NULL))
);

CREATE INDEX memory_proposal_time ON discreet.memory_proposal (created_at, proposal_key);

CREATE TABLE discreet.worker (
    worker_key uuid PRIMARY KEY,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL
);

CREATE TABLE discreet.store_namespace (
    user_key uuid PRIMARY KEY,
    path text COLLATE "C" NOT NULL
);

CREATE INDEX store_namespace_path ON discreet.store_namespace (path);

CREATE FUNCTION discreet.store_paths(low text, high text) RETURNS SETOF text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN QUERY SELECT n.path FROM discreet.store_namespace n WHERE n.path >= low AND n.path < high;
END
$$;

CREATE TABLE discreet.store_item (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
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

CREATE UNLOGGED TABLE discreet.short_term_session (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    thread_key uuid NOT NULL,
    began_at timestamptz NOT NULL,
    active_until timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    purge_at timestamptz NOT NULL,
    rounds bigint NOT NULL,
    PRIMARY KEY (user_key, thread_key)
) WITH (fillfactor = 70);

CREATE INDEX short_term_session_purge ON discreet.short_term_session (purge_at);

CREATE UNLOGGED TABLE discreet.short_term_round (
    user_key uuid NOT NULL,
    thread_key uuid NOT NULL,
    began_at timestamptz NOT NULL,
    request_key uuid NOT NULL,
    round_number bigint NOT NULL,
    request_id text NOT NULL,
    input_text text,
    output_text text,
    sealed_input bytea,
    sealed_output bytea,
    said_at timestamptz NOT NULL,
    is_emergency boolean NOT NULL,
    PRIMARY KEY (user_key, thread_key, began_at, request_key),
    FOREIGN KEY (user_key, thread_key) REFERENCES discreet.short_term_session ON DELETE CASCADE,
    CONSTRAINT short_term_round_input_is_plain_or_sealed CHECK ((input_text IS NULL) <> (sealed_input IS NULL)),
    CONSTRAINT short_term_round_output_is_plain_or_sealed CHECK ((output_text IS NULL) <> (sealed_output IS NULL))
);

CREATE INDEX short_term_round_order ON discreet.short_term_round (user_key, thread_key, began_at, round_number);

CREATE UNLOGGED TABLE discreet.short_term_work (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    work_key uuid NOT NULL,
    claimed_at timestamptz NOT NULL,
    token uuid,
    answer text,
    sealed_answer bytea,
    expires_at timestamptz NOT NULL,
    purge_at timestamptz NOT NULL,
    PRIMARY KEY (user_key, work_key),
    CONSTRAINT short_term_work_is_running_or_done CHECK (num_nonnulls(token, answer, sealed_answer) = 1)
) WITH (fillfactor = 70);

CREATE INDEX short_term_work_purge ON discreet.short_term_work (purge_at);

CREATE TABLE discreet.rolling_summary (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    thread_key uuid NOT NULL,
    thread_id text NOT NULL,
    text text,
    sealed_text bytea,
    rounds integer NOT NULL,
    last_message_id text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (user_key, thread_key),
    CONSTRAINT rolling_summary_text_is_plain_or_sealed CHECK ((text IS NULL) <> (sealed_text IS NULL))
);

CREATE UNLOGGED TABLE discreet.vault_turn (
    turn_key uuid PRIMARY KEY,
    expires_at timestamptz NOT NULL
);

CREATE INDEX vault_turn_expires ON discreet.vault_turn (expires_at);

CREATE UNLOGGED TABLE discreet.vault_value (
    turn_key uuid NOT NULL REFERENCES discreet.vault_turn ON DELETE CASCADE,
    value_key uuid NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (turn_key, value_key)
);

ALTER TABLE discreet.vault_value ALTER COLUMN sealed SET STORAGE EXTERNAL;

CREATE TABLE discreet.setting (
    name text PRIMARY KEY,
    value jsonb NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL
);

CREATE TABLE discreet.setting_change (
    change_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    old jsonb,
    new jsonb,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL
);

CREATE INDEX setting_change_name ON discreet.setting_change (name, change_id);

CREATE FUNCTION discreet.refuse_to_rewrite() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '%.% is only ever added to', TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER setting_change_is_only_added_to
BEFORE UPDATE OR DELETE OR TRUNCATE ON discreet.setting_change
FOR EACH STATEMENT EXECUTE FUNCTION discreet.refuse_to_rewrite();

CREATE TABLE discreet.erasure (
    erasure_key uuid PRIMARY KEY,
    user_key uuid NOT NULL,
    scope text NOT NULL,
    asked_at timestamptz NOT NULL,
    asked_by text,
    done_at timestamptz,
    lease_until timestamptz NOT NULL,
    plan bytea,
    threads uuid[] NOT NULL DEFAULT '{}',
    turns text[] NOT NULL DEFAULT '{}',
    counts jsonb NOT NULL DEFAULT '{}',
    receipt jsonb,
    CONSTRAINT erasure_scope_is_known CHECK (scope IN ('all', 'recent', 'memory', 'thread', 'said'))
);

CREATE INDEX erasure_asked ON discreet.erasure (asked_at);
CREATE INDEX erasure_done ON discreet.erasure (done_at);
CREATE INDEX erasure_user ON discreet.erasure (user_key, asked_at);

CREATE FUNCTION discreet.erasures_since(since timestamptz)
RETURNS TABLE (erasure_key uuid, done_at timestamptz, person uuid, threads uuid[], turns text[])
LANGUAGE sql STABLE
AS $$
    SELECT e.erasure_key, e.done_at, substr(encode(sha256(uuid_send(e.user_key)), 'hex'), 1, 32)::uuid,
        ARRAY(SELECT substr(encode(sha256(uuid_send(t)), 'hex'), 1, 32)::uuid FROM unnest(e.threads) t),
        ARRAY(SELECT encode(sha256(convert_to(t, 'UTF8')), 'hex') FROM unnest(e.turns) t)
    FROM discreet.erasure e
    WHERE greatest(e.asked_at, e.done_at) > since
$$;

CREATE TABLE discreet.audit_chain (
    user_key uuid PRIMARY KEY,
    last_number bigint NOT NULL,
    last_hash bytea NOT NULL,
    first_number bigint NOT NULL,
    hash_before bytea NOT NULL,
    beginning bytea,
    first_at timestamptz,
    is_sealed boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);

CREATE INDEX audit_chain_unsealed ON discreet.audit_chain (user_key) WHERE NOT is_sealed;
CREATE INDEX audit_chain_first ON discreet.audit_chain (first_at, user_key);

CREATE TABLE discreet.audit_entry (
    user_key uuid NOT NULL,
    number bigint NOT NULL,
    at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor text,
    action text NOT NULL,
    success boolean NOT NULL,
    data text NOT NULL,
    counts jsonb NOT NULL,
    request_id text,
    ip_address text,
    user_agent text,
    hash bytea NOT NULL,
    PRIMARY KEY (user_key, number)
);

CREATE TABLE discreet.audit_seal (
    seal_number bigint PRIMARY KEY,
    at timestamptz NOT NULL,
    heads integer NOT NULL,
    previous_hash bytea NOT NULL,
    hash bytea NOT NULL
);

CREATE INDEX audit_seal_time ON discreet.audit_seal (at);

CREATE TABLE discreet.audit_sealed_head (
    user_key uuid NOT NULL,
    seal_number bigint NOT NULL,
    number bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (user_key, seal_number)
);

CREATE INDEX audit_sealed_head_seal ON discreet.audit_sealed_head (seal_number, user_key);

CREATE TABLE discreet.audit_mark (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    seal_number bigint NOT NULL,
    seal_hash bytea NOT NULL,
    hash bytea NOT NULL
);

CREATE TRIGGER audit_entry_is_only_added_to
BEFORE UPDATE OR TRUNCATE ON discreet.audit_entry
FOR EACH STATEMENT EXECUTE FUNCTION discreet.refuse_to_rewrite();

CREATE TRIGGER audit_entry_is_not_deleted
BEFORE DELETE ON discreet.audit_entry
FOR EACH STATEMENT
WHEN (current_setting('discreet_audit.trimming', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION discreet.refuse_to_rewrite();

CREATE TRIGGER audit_seal_is_only_added_to
BEFORE UPDATE OR TRUNCATE ON discreet.audit_seal
FOR EACH STATEMENT EXECUTE FUNCTION discreet.refuse_to_rewrite();

CREATE TRIGGER audit_seal_is_not_deleted
BEFORE DELETE ON discreet.audit_seal
FOR EACH STATEMENT
WHEN (current_setting('discreet_audit.trimming', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION discreet.refuse_to_rewrite();

CREATE TRIGGER audit_mark_only_rises
BEFORE UPDATE ON discreet.audit_mark
FOR EACH ROW
WHEN (NEW.seal_number <= OLD.seal_number)
EXECUTE FUNCTION discreet.refuse_to_rewrite();

CREATE TRIGGER audit_mark_is_not_deleted
BEFORE DELETE OR TRUNCATE ON discreet.audit_mark
FOR EACH STATEMENT
WHEN (current_setting('discreet_audit.trimming', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION discreet.refuse_to_rewrite();

CREATE TABLE discreet.delegation (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    delegate_key uuid NOT NULL,
    granted_at timestamptz NOT NULL,
    expires_at timestamptz,
    granted_by text NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (user_key, delegate_key)
);

DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT c.oid::regclass AS name, string_agg(format('ALTER COLUMN %I SET STATISTICS 0', a.attname), ', ') AS columns
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = 'discreet'::regnamespace AND c.relkind = 'r' AND (a.attlen = -1 OR a.atttypid = 'uuid'::regtype)
        GROUP BY c.oid
    LOOP
        EXECUTE format('ALTER TABLE %s %s', said.name, said.columns);
    END LOOP;
END
$$;

ALTER INDEX discreet.memory_place ALTER COLUMN 4 SET STATISTICS 0;
