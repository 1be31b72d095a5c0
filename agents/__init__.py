"""The agent. Its version is that of Virtlab (the file VERSION)."""

VERSION = "0.1.0"
