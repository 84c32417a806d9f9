-- What the migrations add up to, with the reasons. Never run: tests/migration compares it with a migrated database.
-- pgvector must be there before. Everything of ours is in a schema of its own.

CREATE SCHEMA discreet;

-- Which migrations were applied. checksum: SHA-256 of the released file. version: of the package that applied it, so that
-- an older process can say which one it would have to be.
CREATE TABLE discreet.migrations (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    version text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- With which identity key the keys of users were made: a fingerprint, from which nothing of the key follows. A process with
-- another one would find nobody's memories, and refuses to start.
CREATE TABLE discreet.identity_key (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    fingerprint uuid NOT NULL
);

-- Embedding models at a size, as provider:model:dims. Vectors of different spaces are never compared. A cosine of
-- cosine_zero reads as similarity 0, one of cosine_one as 1. Memories move to the space that was activated last.
-- used_at: when a process last said that it works in this space, which it does about once a minute.
CREATE TABLE discreet.embedding_space (
    space_key smallint PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    dims integer NOT NULL,
    cosine_zero double precision NOT NULL,
    cosine_one double precision NOT NULL,
    activated_at timestamptz NOT NULL,
    used_at timestamptz NOT NULL
);

-- Whose rows there are. user_key is a digest of the user_id under DISCREET_IDENTITY_KEY, which is not in the database; it
-- comes first in every key, so that all of a user's rows lie together, on one node of a cluster. Who speaks in a thread
-- without a user_id has a key made of the thread, and a day on which all of theirs is deleted (expires_at). A namespace of
-- the LangGraph store has a key too.
-- epoch: erasing a user adds 1 to it. Whatever is written for a user holds this row FOR SHARE, and may say under which epoch
-- its work began: what an erased user's work still stores is refused.
CREATE TABLE discreet.users (
    user_key uuid PRIMARY KEY,
    epoch bigint NOT NULL DEFAULT 1,
    expires_at timestamptz
) WITH (fillfactor = 90);

CREATE INDEX users_expires ON discreet.users (expires_at) WHERE expires_at IS NOT NULL;

-- A user's memories as a whole. Who saves or deletes some locks this row, FOR NO KEY UPDATE: one writer a user.
-- memories: how many rows of discreet.memory; entries: a keyed sum of their ids, and a keyed digest of both, by which rows that are missing are
-- found. NULL: there never were any.
-- space_key: the space that all of them are in; NULL if they are in several.
CREATE TABLE discreet.user_memories (
    user_key uuid PRIMARY KEY REFERENCES discreet.users ON DELETE CASCADE,
    memories bigint NOT NULL DEFAULT 0,
    space_key smallint REFERENCES discreet.embedding_space,
    entries bytea
) WITH (fillfactor = 70);

-- Who is still to be moved to another space.
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
    'item' -- indexed text of an item of the store
);

-- One thing worth remembering. text, tags and feedback hold redacted text only.
-- Vectors have unit length, so that the inner product (<#>, which pgvector negates) is the cosine. The columns have no
-- fixed size: the space decides. `sketch` has the signs of the vector, one bit a dimension: the index holds these, and a
-- search compares the vectors of the few rows that they let through.
-- `lexical` holds the BM25 impacts of the text's own words under keyed token ids, and in the upper half of its dimensions
-- those of words that only the turns right before and after have; together at most 180.
-- NULL stands for no tags, flags, turns, provenance or feedback.
-- `valid_to` in the past means superseded: kept, and found as of then only.
-- With a key, text, feedback and provenance are in `sealed_text` and its like (AES-256-GCM, bound to column, user and entry).
-- `reasoning`: how an entry was arrived at, where a caller posts that; redacted, sealed likewise, and not searched.
-- The text of an item of the store has the item's key as thread_key, and as position which of the item's texts it is.
CREATE TABLE discreet.memory (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    entry_id uuid NOT NULL,
    app_key uuid NOT NULL, -- digest of app_name
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
    thread_key uuid, -- digest of thread_id
    position bigint,
    agent_id text,
    importance smallint NOT NULL,
    confidence double precision NOT NULL,
    tags text[],
    conflict_flags text[],
    turns text[], -- request ids of those that state it; what keeps and erases turns looks here
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
    -- Searching rows that vacuum has not seen takes 1.3 to 2.8 times as long.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.02,
    -- No room for updates: they change the index anyway. Two rows of 1536 dims then share a page.
    fillfactor = 100,
    toast_tuple_target = 8160
);

-- Vectors out of line (TOAST) made a search five times slower. One stays in the row while it fits.
ALTER TABLE discreet.memory
    ALTER COLUMN embedding SET STORAGE MAIN,
    ALTER COLUMN sketch SET STORAGE PLAIN,
    ALTER COLUMN lexical SET STORAGE PLAIN;

-- One user's memories, side by side, with all that a search compares: it reads nothing else.
ALTER TABLE discreet.memory
    ADD CONSTRAINT memory_pkey PRIMARY KEY (user_key, entry_id)
    INCLUDE (app_key, space_key, type, created_at, valid_to, thread_key, sketch, lexical);

-- One turn a place; other memories of a place (facts said in that turn) as many as there are.
CREATE UNIQUE INDEX memory_place ON discreet.memory (
    user_key,
    thread_key,
    position,
    (CASE WHEN type = 'turn' THEN '00000000-0000-0000-0000-000000000000' ELSE entry_id END)
) WHERE thread_key IS NOT NULL AND position IS NOT NULL;

-- What ends, or has ended.
CREATE INDEX memory_end ON discreet.memory (user_key, valid_to) WHERE valid_to IS NOT NULL;

-- What was said in one turn. Longer ids, which an index entry might not hold, are not found by.
CREATE INDEX memory_request ON discreet.memory (user_key, request_id) WHERE length(request_id) <= 200;

-- A user's entries by time, and those of one session: what is listed newest first, page by page. Without them a page of
-- 50,000 entries took 50 to 110 ms instead of 0.1.
CREATE INDEX memory_time ON discreet.memory (user_key, created_at, entry_id);
CREATE INDEX memory_session ON discreet.memory (user_key, thread_key, created_at, entry_id) WHERE thread_key IS NOT NULL;

-- What is kept for a time, and important moments, which keep what they were said in.
CREATE INDEX memory_turn_age ON discreet.memory (created_at) WHERE type = 'turn';
CREATE INDEX memory_reasoning_age ON discreet.memory (created_at)
    WHERE type = 'reasoning' OR reasoning IS NOT NULL OR sealed_reasoning IS NOT NULL;
CREATE INDEX memory_moment ON discreet.memory (user_key) WHERE type = 'important_moment';

-- Of two memories that can't both hold, or may not: which was said later. A search that finds the older one puts the
-- newer one above it.
CREATE TABLE discreet.memory_conflict (
    user_key uuid NOT NULL,
    older uuid NOT NULL,
    newer uuid NOT NULL,
    PRIMARY KEY (user_key, older, newer),
    FOREIGN KEY (user_key, older) REFERENCES discreet.memory ON DELETE CASCADE,
    FOREIGN KEY (user_key, newer) REFERENCES discreet.memory ON DELETE CASCADE
);

CREATE INDEX memory_conflict_newer ON discreet.memory_conflict (user_key, newer);

-- How often a memory was found, apart from it: a search must not write into the covering index.
CREATE TABLE discreet.memory_stats (
    user_key uuid NOT NULL,
    entry_id uuid NOT NULL,
    hits bigint NOT NULL DEFAULT 0,
    last_hit timestamptz,
    PRIMARY KEY (user_key, entry_id),
    FOREIGN KEY (user_key, entry_id) REFERENCES discreet.memory ON DELETE CASCADE
) WITH (fillfactor = 50);

-- In how many of a user's memories each token is: a row for each save and deletion, with the tokens whose number of
-- documents it changed and by how much. They are merged when there are many, and when something is deleted. A row for
-- each token took 12 ms of a save of 100 memories instead of 1, and eight times the room. Tokens, here and in
-- discreet.memory, are digests under the identity key, so that nobody without it can tell which words those are.
CREATE TABLE discreet.user_token (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    change_key uuid NOT NULL, -- any
    tokens integer[] NOT NULL,
    documents integer[] NOT NULL,
    PRIMARY KEY (user_key, change_key)
);

-- There is nothing in digests to compress.
ALTER TABLE discreet.user_token ALTER COLUMN tokens SET STORAGE EXTERNAL;

-- The sums of it over all users, as of the last count, and of how many memories.
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

-- One user's conversation in one thread. thread_key is a digest of thread_id, which may be too long for an index.
-- app_name: of its last turn. closed_at: the user ended it, and has said nothing since. pending_since: when the first of the
-- rounds came that extraction has not taken yet, which is when a trigger begins to look at it; NULL without a user. taken_at,
-- taken_rounds: when a trigger last fired, and how many rounds it had taken by then. compacted_rounds: how many rounds the
-- rolling summary covered when it last was a trigger.
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

-- The turns, redacted, and sealed if there is a key, with what is known of their media and provenance. A request of a user is logged once. answer_id: id of the message that ends
-- the answer, by which rolling summaries say how far they go. extraction_key: the request of a batch that has taken the turn.
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

-- Rounds that their user had forgotten: no prompt tells them any more, though log and checkpoints still have them. Nothing here
-- says what they were about. They stay as long as their user does: a thread may outlive the log.
CREATE TABLE discreet.forgotten_round (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    thread_key uuid NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    forgotten_at timestamptz NOT NULL,
    PRIMARY KEY (user_key, thread_key, request_id)
);

-- Batches of prompts that a model provider works on, and where they stand: docs/extraction.md has the states. batch_id is the
-- provider's, NULL until it is known that there is one; told its own word for the state; error a code. A worker holds a job until
-- lease_until; lease_token grows with each holder, and who has an older one changes nothing any more. failures: calls of the
-- provider that failed in a row. figures: what came of it, numbers only. On a cluster these rows are the coordinator's: what
-- is spread can't be claimed with SKIP LOCKED. is_withdrawn: the provider's copy is to go, as somebody whose prompts are in it was erased;
-- what of it is others' is handed in anew.
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

-- What a trigger took of one user's session: the turns, by their request_ids in their order, and never their text, which is read
-- from the log when it is handed in. request_key is random, and all that a provider learns of whose it is. A result is
-- applied and its row marked in one transaction. epoch: the user's when it was taken. outcome: numbers only.
-- forgotten_rounds: how many rounds of the thread its user had had forgotten when its summary was begun.
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

-- What a session came to: summary, topics and key facts as JSON, redacted, and sealed if there is a key.
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

-- Memories that wait until somebody accepts them, where a setting asks for that: records as JSON, redacted, sealed likewise.
-- request_ids: of the turns that state it. thread_key: the session that a summary tells; NULL for what is none.
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

-- Workers that run, or were killed: those not seen for a while are gone.
CREATE TABLE discreet.worker (
    worker_key uuid PRIMARY KEY,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL
);

-- Namespaces of the LangGraph store that hold items; on a cluster, on every node. path: the labels, with the character U+001F before each and at the
-- end, which no label may hold; so those below one are found by its path.
CREATE TABLE discreet.store_namespace (
    user_key uuid PRIMARY KEY,
    path text COLLATE "C" NOT NULL
);

CREATE INDEX store_namespace_path ON discreet.store_namespace (path);

-- The labels of namespaces in a span, without their keys: `discreet roles` has it look at those of all (roles/functions.py).
CREATE FUNCTION discreet.store_paths(low text, high text) RETURNS SETOF text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN QUERY SELECT n.path FROM discreet.store_namespace n WHERE n.path >= low AND n.path < high;
END
$$;

-- Items of the LangGraph store, redacted, and sealed if there is a key. user_key is that of the namespace, item_key a
-- digest of the key. What an item is searched by are rows of discreet.memory.
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

-- What a conversation needs for minutes up to a day. UNLOGGED: nothing of it reaches the write-ahead log, so no archive and no
-- standby has it, and a crash of the server empties it. Threads and works are digests; what has expired (expires_at) is
-- invisible at once and deleted from purge_at on.
-- began_at tells the rounds of a session from those of an expired one under the same key, which are deleted when the
-- session begins anew. purge_at is a multiple of ten minutes, so that most touches change no index.
-- rounds: how many there have been since it began; the number of the last.
CREATE UNLOGGED TABLE discreet.short_term_session (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    thread_key uuid NOT NULL,
    began_at timestamptz NOT NULL,
    active_until timestamptz NOT NULL, -- until then its state is ACTIVE
    expires_at timestamptz NOT NULL,
    purge_at timestamptz NOT NULL,
    rounds bigint NOT NULL,
    PRIMARY KEY (user_key, thread_key)
) WITH (fillfactor = 70);

CREATE INDEX short_term_session_purge ON discreet.short_term_session (purge_at);

-- The rounds of a session, redacted, and sealed if there is a key.
CREATE UNLOGGED TABLE discreet.short_term_round (
    user_key uuid NOT NULL,
    thread_key uuid NOT NULL,
    began_at timestamptz NOT NULL,
    request_key uuid NOT NULL, -- digest of request_id
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

-- Claims of work: a token while somebody is at it, then the answer. expires_at is the end of the lease, then of the
-- answer. A claim stays an hour past its lease, so that its holder may still finish if nobody took over.
CREATE UNLOGGED TABLE discreet.short_term_work (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    work_key uuid NOT NULL, -- digest of kind and ref
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

-- What the first rounds of a thread come to, redacted, and sealed if there is a key. rounds and last_message_id are the
-- cursor that a new text is compared and swapped on.
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

-- The turn vault, where several processes share it: what running turns really said. UNLOGGED, as above. turn_key is a digest
-- of the turn's name; all that is known of a turn is invisible from expires_at on, and deleted soon after. The row is
-- locked by whoever adds to the turn.
CREATE UNLOGGED TABLE discreet.vault_turn (
    turn_key uuid PRIMARY KEY,
    expires_at timestamptz NOT NULL
);

CREATE INDEX vault_turn_expires ON discreet.vault_turn (expires_at);

-- One value of a turn with its name, sealed together; value_key is a digest of the name that only holds within the turn.
-- There is nothing in a sealed value to compress.
CREATE UNLOGGED TABLE discreet.vault_value (
    turn_key uuid NOT NULL REFERENCES discreet.vault_turn ON DELETE CASCADE,
    value_key uuid NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (turn_key, value_key)
);

ALTER TABLE discreet.vault_value ALTER COLUMN sealed SET STORAGE EXTERNAL;

-- Settings of memory that are changed while servers run: those that have a value here. The others come from the
-- environment of each process. Processes look every few seconds; a change locks ('discreet.settings', 4), so that what
-- is checked together is written together.
CREATE TABLE discreet.setting (
    name text PRIMARY KEY,
    value jsonb NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL -- pseudonym
);

-- Who changed what when. SQL's null: not set here. change_id grows with time: it is given under the lock.
CREATE TABLE discreet.setting_change (
    change_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    old jsonb,
    new jsonb,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL -- pseudonym
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

-- Erasures of what is kept of users: docs/erasure.md. A process that finds one that nobody works on (lease_until) goes on with it.
-- plan: what is to go, sealed under a key that is not in the database; NULL when all is done. threads, turns: digests of what goes, by
-- which other processes know it in their memory; they look for rows that were asked for, or done, a moment ago. asked_by: pseudonym.
-- counts: by place and kind. receipt: signed, with no content. No foreign key: they outlive their user.
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

-- Which erasures have begun or ended since a time. Every process has to learn of them: by digests, so that it knows again what it
-- holds, and nobody whom it doesn't know. `discreet roles` has it look at the rows of all users (roles/functions.py).
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

-- The audit trail: who did what to whose data (docs/audit.md). Rows survive the erasure of whom they are about, so nothing refers to
-- discreet.users; they name nobody, and hold nothing that was said. user_key of zeros: nobody in particular.
-- One chain of entries a person, and this is its head: whoever adds an entry locks it. last_hash: of the last entry.
-- Entries before first_number were kept as long as they are kept; hash_before: of the last of them, or a constant; beginning: a
-- keyed digest which says that they went that way, NULL while none did. first_at: of the first entry there is, NULL if
-- there is none. is_sealed: whether a seal covers the last entry; a note for who seals next, which proves nothing.
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

-- An entry. hash: SHA-256 of the hash before it, its number, and a keyed digest of all else, which is stored nowhere.
CREATE TABLE discreet.audit_entry (
    user_key uuid NOT NULL,
    number bigint NOT NULL,
    at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor text, -- pseudonym
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

-- Now and then the heads that have changed are sealed together: hash is a keyed digest of them and of previous_hash, that of
-- the seal before. Seals are the coordinator's on a cluster.
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

-- Which seal is the last one, 0 while there is none; hash: a keyed digest that says so. It comes with discreet.identity_key, and is
-- written with each seal. So that seals which are missing at the end are found.
CREATE TABLE discreet.audit_mark (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    seal_number bigint NOT NULL,
    seal_hash bytea NOT NULL,
    hash bytea NOT NULL
);

-- Against mistakes, and a mark that only rises against whoever has no rights but the worker's; against those who have more there are
-- the digests. Entries and seals that were kept as long as they are kept go with discreet_audit.trimming on. Tables that a cluster
-- spreads have no such triggers.
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

-- Who may read what is a user's, until when; docs/access.md. Rows that have ended stay a while, to be shown.
CREATE TABLE discreet.delegation (
    user_key uuid NOT NULL REFERENCES discreet.users ON DELETE CASCADE,
    delegate_key uuid NOT NULL, -- what stands for their key, see shown_keys.py
    granted_at timestamptz NOT NULL,
    expires_at timestamptz,
    granted_by text NOT NULL, -- pseudonym
    revoked_at timestamptz,
    PRIMARY KEY (user_key, delegate_key)
);

-- ANALYZE copies values of columns into the catalog, where an erasure does not find them and where those of a table that is emptied stay. So it
-- keeps none of those that have no fixed size: texts, sealed or not, tags, JSON, vectors. Nor of keys: row security hides rows, and EXPLAIN
-- tells how many the planner expects before any key that is asked for. Times and numbers do for all plans. A migration that adds such a
-- column says so of it.
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
