#!/bin/sh
# cluster.sh COORDINATOR WORKER... makes the database discreet on every node, adds the workers, and makes the role discreet, which
# owns the database and nothing else. PGPASSWORD is the superuser's, DISCREET_DB_PASSWORD the new role's. It may be run again.
set -eu
coordinator=$1
shift
at() { # at NODE DATABASE: run what comes by standard input there, as the superuser
    psql --host "$1" --username postgres --dbname "$2" --quiet --no-psqlrc -v ON_ERROR_STOP=1 \
        -v superuser="password=$PGPASSWORD" -v role="password=$DISCREET_DB_PASSWORD" -v password="$DISCREET_DB_PASSWORD" \
        -v coordinator="$coordinator" -v worker="${3:-}"
}
for node in "$coordinator" "$@"; do
    # Citus warns that a database is made on one node only: that is what this loop is for.
    at "$node" postgres <<'SQL'
SET client_min_messages = error;
SELECT 'CREATE DATABASE discreet' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'discreet') \gexec
REVOKE ALL ON DATABASE discreet FROM PUBLIC;
SQL
    # With what the superuser logs in from node to node.
    at "$node" discreet <<'SQL'
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS citus;
SET citus.enable_ddl_propagation TO off; -- each node by itself: a worker of a cluster refuses it otherwise
CREATE EXTENSION IF NOT EXISTS vector;
DELETE FROM pg_dist_authinfo WHERE nodeid = 0 AND rolename = 'postgres';
INSERT INTO pg_dist_authinfo (nodeid, rolename, authinfo) VALUES (0, 'postgres', :'superuser');
SQL
done
at "$coordinator" discreet <<'SQL'
SELECT citus_set_coordinator_host(:'coordinator', 5432);
SQL
for worker in "$@"; do
    at "$coordinator" discreet "$worker" <<'SQL'
SELECT citus_add_node(:'worker', 5432);
SQL
done
# On the coordinator and after the workers: so Citus makes it on all nodes, and knows it.
at "$coordinator" discreet <<'SQL'
SELECT 'CREATE ROLE discreet LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'discreet') \gexec
ALTER ROLE discreet PASSWORD :'password';
SQL
for node in "$coordinator" "$@"; do
    at "$node" postgres <<'SQL'
ALTER DATABASE discreet OWNER TO discreet;
SQL
    at "$node" discreet <<'SQL'
DELETE FROM pg_dist_authinfo WHERE nodeid = 0 AND rolename = 'discreet';
INSERT INTO pg_dist_authinfo (nodeid, rolename, authinfo) VALUES (0, 'discreet', :'role');
SQL
done
