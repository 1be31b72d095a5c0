"""The network page."""
