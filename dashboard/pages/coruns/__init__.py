"""The page of co-runs."""
