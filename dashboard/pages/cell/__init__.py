"""The page of one cell."""
