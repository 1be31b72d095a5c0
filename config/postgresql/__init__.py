"""Django's PostgreSQL, with sessions that know whose rows they may show."""
