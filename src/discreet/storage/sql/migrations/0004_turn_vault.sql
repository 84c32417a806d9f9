-- The real values of running turns, sealed, for minutes. Commented in ../schema.sql.

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
