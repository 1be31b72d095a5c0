"""Django's PostgreSQL backend with row-level security."""
