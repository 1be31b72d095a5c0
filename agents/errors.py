"""Exit codes, and errors whose messages state the problem and the remedy."""

DONE = 0
FAILED = 1
USAGE = 2
NOT_ENROLLED = 3
REFUSED = 4
SERVER_UNAVAILABLE = 5
SPOOL_FULL = 6
CHECK_FAILED = 7
NOT_READ = 8  # everything was sent, but the server has not read it yet
INTERRUPTED = 130


class AgentError(Exception):
    exit_code = FAILED


class UsageError(AgentError):
    exit_code = USAGE


class NotEnrolledError(AgentError):
    exit_code = NOT_ENROLLED


class SpoolFullError(AgentError):
    """The spool is full or not writable; runs that were saved before are unchanged."""

    exit_code = SPOOL_FULL


class ServerRefusedError(AgentError):
    exit_code = REFUSED


class ServerUnavailableError(AgentError):
    exit_code = SERVER_UNAVAILABLE
