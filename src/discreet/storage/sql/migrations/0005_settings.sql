-- Settings of memory that are changed while servers run: those that have a value here.
CREATE TABLE discreet.setting (
    name text PRIMARY KEY,
    value jsonb NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL
);

-- Who changed what when. SQL's null: not set here.
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
