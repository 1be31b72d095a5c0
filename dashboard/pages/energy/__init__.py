"""The energy page."""
