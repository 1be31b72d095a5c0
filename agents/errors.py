"""What a command says when it cannot do its work, each with its exit code."""

from agents import exits


class AgentError(Exception):
    """A sentence for the user: what is wrong and what to do."""

    exit_code = exits.FAILED


class UsageError(AgentError):
    """The command was given something that makes no sense."""

    exit_code = exits.USAGE


class NotEnrolledError(AgentError):
    """There is no server, or what is written of it cannot be read."""

    exit_code = exits.NOT_ENROLLED


class SpoolFullError(AgentError):
    """The run was not saved; nothing that was saved before is touched."""

    exit_code = exits.NO_ROOM


class ServerRefusedError(AgentError):
    """The server will not have it, however often it is sent."""

    exit_code = exits.REFUSED


class ServerAwayError(AgentError):
    """The server does not answer now."""

    exit_code = exits.LATER
