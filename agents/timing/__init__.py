"""Clocks, the time server, and stamps that compare clocks."""
