#!/bin/sh
# Run once, by the PostgreSQL image, on an empty data folder: the product's own role,
# which is no superuser, and its database.
set -eu
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username=postgres --dbname=postgres <<'SQL'
\getenv password DATABASE_PASSWORD
create role virtlab login password :'password';
create database virtlab owner virtlab;
SQL
