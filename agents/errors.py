"""Exit codes, and errors whose text tells the user what is wrong and what to do."""

DONE = 0
FAILED = 1
USAGE = 2
NOT_ENROLLED = 3
REFUSED = 4
LATER = 5
NO_ROOM = 6
UNWELL = 7
INTERRUPTED = 130


class AgentError(Exception):
    """The command failed."""

    exit_code = FAILED


class UsageError(AgentError):
    """The arguments make no sense."""

    exit_code = USAGE


class NotEnrolledError(AgentError):
    """There is no server, or its settings cannot be read."""

    exit_code = NOT_ENROLLED


class SpoolFullError(AgentError):
    """The run was not saved; older ones are untouched."""

    exit_code = NO_ROOM


class ServerRefusedError(AgentError):
    """The server refuses permanently."""

    exit_code = REFUSED


class ServerAwayError(AgentError):
    """The server does not answer now."""

    exit_code = LATER
