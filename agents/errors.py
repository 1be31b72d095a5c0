"""What a command says when it cannot do its work, each with its exit code."""

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
    """A sentence for the user: what is wrong and what to do."""

    exit_code = FAILED


class UsageError(AgentError):
    """The command was given something that makes no sense."""

    exit_code = USAGE


class NotEnrolledError(AgentError):
    """There is no server, or what is written of it cannot be read."""

    exit_code = NOT_ENROLLED


class SpoolFullError(AgentError):
    """The run was not saved; nothing that was saved before is touched."""

    exit_code = NO_ROOM


class ServerRefusedError(AgentError):
    """The server will not have it, however often it is sent."""

    exit_code = REFUSED


class ServerAwayError(AgentError):
    """The server does not answer now."""

    exit_code = LATER
