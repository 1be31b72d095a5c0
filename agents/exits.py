"""Exit codes, the same for every command; docs/agents.md explains them."""

DONE = 0
FAILED = 1
USAGE = 2
NOT_ENROLLED = 3
REFUSED = 4
LATER = 5
NO_ROOM = 6
UNWELL = 7
INTERRUPTED = 130
