"""Plausibility flags: impossible or unlikely numbers in a study (method, section 8)."""
