"""The page of factor effects."""
