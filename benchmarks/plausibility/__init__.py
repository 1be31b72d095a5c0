"""Plausibility flags: impossible or unlikely numbers in a study (``docs/flags.md``)."""
