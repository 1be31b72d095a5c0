"""Measurement plans."""
