"""Tools that labs declare themselves."""
