#!/bin/sh
# Create the database and its roles: the owner, the product's role with row-level security,
# and the role that sees all rows. None is a superuser. The PostgreSQL image runs this on an
# empty data folder. Run it once by hand after an upgrade from a version with a single role
# (docs/containers.md).
set -eu
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username=postgres --dbname=postgres <<'SQL'
\getenv owner OWNER_DATABASE_PASSWORD
\getenv password DATABASE_PASSWORD
select format('create role %I login', name)
from unnest(array['virtlab_owner', 'virtlab']) as name
where not exists (select from pg_roles where rolname = name) \gexec
alter role virtlab_owner login nosuperuser nocreatedb nobypassrls password :'owner';
alter role virtlab login nosuperuser nocreatedb nobypassrls password :'password';
select 'create role virtlab_all nologin'
where not exists (select from pg_roles where rolname = 'virtlab_all') \gexec
alter role virtlab_all nologin nosuperuser nocreatedb bypassrls;
grant virtlab_all to virtlab;
select 'create database virtlab owner virtlab_owner'
where not exists (select from pg_database where datname = 'virtlab') \gexec
\connect virtlab
reassign owned by virtlab to virtlab_owner;
SQL
