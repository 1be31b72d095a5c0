"""Clocks, the time server, and stamps of its time."""
