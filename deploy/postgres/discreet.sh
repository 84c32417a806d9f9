#!/bin/sh
# A database and a role of Discreet's own, made when the volume is new. The role owns its database and nothing else.
set -eu
psql --username "$POSTGRES_USER" --dbname postgres -v ON_ERROR_STOP=1 -v password="$DISCREET_DB_PASSWORD" <<'SQL'
CREATE ROLE discreet LOGIN PASSWORD :'password';
CREATE DATABASE discreet OWNER discreet;
REVOKE ALL ON DATABASE discreet FROM PUBLIC;
SQL
# pgvector's control file marks it as trusted since 0.5, but not in every packaging: the superuser makes it.
psql --username "$POSTGRES_USER" --dbname discreet -v ON_ERROR_STOP=1 <<'SQL'
CREATE EXTENSION IF NOT EXISTS vector;
SQL
