"""The search page: one box for all that somebody may see."""
