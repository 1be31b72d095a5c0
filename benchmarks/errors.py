"""Errors of requests: what is wrong, where, and what to do.

Each class has one HTTP status; ``code`` identifies the error. The API returns
``{"code", "detail", "fields"}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Self

from benchmarks.sentences import (
    Sentence,
    join_sentences,
    join_with_or,
    template,
    to_sentence,
)

# SQLSTATEs: statement canceled, lock not available.
TIMEOUT_SQLSTATES = ("57014", "55P03")


class BenchmarksError(Exception):
    """An error with a message for people and a ``code`` for programs.

    ``text`` is a Sentence, or a template with ``values``.
    """

    status = 422
    code = "benchmarks_error"
    field = ""  # the invalid part of the request, such as "samples[3]"
    fields: Mapping[str, Any] | None = None  # errors by part of the request
    retry_after_s: int | None = None

    def __init__(self, code: str, text: str, /, **values: Any) -> None:
        self.code, self.sentence = code, to_sentence(text, values)
        super().__init__(code, self.sentence)

    def __str__(self) -> str:
        return str(self.sentence)

    def for_field(self, field: str) -> Self:
        self.field = field
        return self

    def with_fields(self, fields: Mapping[str, Any]) -> Self:
        self.fields = fields
        return self


class InvalidError(BenchmarksError):
    """A value or action that is not acceptable."""


class ParseError(BenchmarksError):
    """Output that a parser cannot read."""

    def __init__(self, text: str, /, **values: Any) -> None:
        super().__init__("unreadable_output", text, **values)


class MalformedError(BenchmarksError):
    """An unreadable or ambiguous request."""

    status = 400


class UnauthenticatedError(BenchmarksError):
    """An unknown, wrong, expired or revoked token; the message does not say which."""

    status = 401

    def __init__(self) -> None:
        super().__init__(
            "wrong_token",
            template(
                'This token is wrong, expired or revoked. Send "Authorization: '
                'Token vl_..." with a token of your lab.'
            ),
        )


class ForbiddenError(BenchmarksError):
    """An action for which the client has no permission in this installation."""

    status = 403


class ConflictError(BenchmarksError):
    """A name or key that is already in use, or a state that forbids the action."""

    status = 409


class TooLargeError(BenchmarksError):
    status = 413


class UnavailableError(BenchmarksError):
    status = 503


class StorageFullError(UnavailableError):
    status = 507


class UnknownNameError(BenchmarksError):
    """An unknown name; the message suggests similar names.

    ``kind`` is a key of ``NAME_KINDS`` or, if a ``code`` is given, any noun. In this
    case, ``remedy`` says what to do.
    """

    def __init__(
        self,
        kind: str,
        name: object,
        known_names: Iterable[str] = (),
        *,
        code: str = "",
        remedy: str = "",
    ) -> None:
        self.name = str(name)
        if not code:
            code, (kind, remedy) = f"unknown_{kind}", NAME_KINDS[kind]
        none = Sentence('No {kind} "{name}" found.', kind=kind, name=shorten(self.name))
        hint = did_you_mean(closest_names(self.name, known_names))
        super().__init__(code, join_sentences([none, hint, remedy]))


class NotFoundError(UnknownNameError):
    """An object that does not exist or that the viewer may not see."""

    status = 404

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(kind, name, code="not_found")


class TooManyAttemptsError(BenchmarksError):
    status = 429

    def __init__(self, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(
            "too_many_attempts",
            template("Too many attempts. Try again in {wait} min."),
            # rounded up
            wait=-(-retry_after_s // 60),
        )


class RateLimitError(BenchmarksError):
    """An exceeded quota; nothing was stored."""

    status = 429

    def __init__(self, problem: Sentence, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        retry = Sentence(
            "Nothing was stored. Try again in {wait} s.", wait=retry_after_s
        )
        super().__init__("too_fast", join_sentences([problem, retry]))


class BusyError(RateLimitError):
    """Too many passwords are being checked.

    ``is_own_share`` is true if the same network or account causes this.
    """

    def __init__(self, is_own_share: bool, retry_after_s: int) -> None:
        self.is_own_share = is_own_share
        super().__init__(
            Sentence("Too many people are signing in right now."), retry_after_s
        )


class BatchRejectedError(BenchmarksError):
    """Rejected uploads of a batch; nothing was stored.

    ``problems`` has the error of each rejected upload by its index.
    """

    def __init__(self, problems: dict[int, BenchmarksError]) -> None:
        self.problems = problems
        statuses = {problem.status for problem in problems.values()}
        # The status that all problems have in common, such as 409 for reused keys.
        self.status = statuses.pop() if len(statuses) == 1 else self.status
        super().__init__(
            "batch_refused",
            template(
                "{n} of the runs cannot be accepted, so no run was stored: {first}"
            ),
            n=len(problems),
            first=next(iter(problems.values())).sentence,
        )


def unconfirmed_native_error() -> InvalidError:
    return InvalidError(
        "native_not_confirmed",
        template(
            "The agent found a hypervisor or a container, or no certain evidence of a "
            "native machine. If the machine is native, repeat the upload with "
            "--confirm-native."
        ),
    )


NAME_KINDS: Final = {
    "tool": (
        Sentence("tool"),
        Sentence(
            "Known tools are listed in docs/tools.md. A lab can declare custom "
            "tools: POST /api/v1/custom-tools/."
        ),
    ),
    "study": (
        Sentence("study"),
        Sentence("Create the study first: POST /api/v1/studies/."),
    ),
    "lab": (
        Sentence("lab"),
        Sentence(
            "Ask a member of the lab for its short name; it is part of the lab's URLs."
        ),
    ),
    "host": (
        Sentence("host"),
        Sentence("Register the host first: POST /api/v1/hosts/."),
    ),
    "system": (
        Sentence("system"),
        Sentence(
            "Send the system as an object, or register it: POST /api/v1/systems/."
        ),
    ),
}


def key_reused_error(key: object) -> ConflictError:
    return ConflictError(
        "key_reused",
        "The upload key {key} was already used for a run with different content. "
        "Send the same body to repeat an upload, or a new key for a new run.",
        key=str(key),
    )


def already_exists_error(
    code: str, kind: str, name: str, differing: Iterable[str], remedy: str
) -> ConflictError:
    return ConflictError(
        code,
        'The {kind} "{name}" already exists and differs in {fields}. {remedy}',
        kind=kind,
        name=shorten(name),
        fields=", ".join(differing),
        remedy=remedy,
    )


def closest_names(name: str, known_names: Iterable[str]) -> list[str]:
    """Return up to three names."""
    spellings = {name.casefold(): name for name in known_names}
    # difflib takes quadratic time, and the name is untrusted.
    matches = get_close_matches(name.casefold()[:100], spellings, n=3, cutoff=0.6)
    return [spellings[name] for name in matches]


def did_you_mean(names: Sequence[str]) -> str:
    return Sentence("Did you mean {names}?", names=join_with_or(names)) if names else ""


def shorten(text: str, limit: int = 60) -> str:
    """Return a printable text of at most ``limit`` characters."""
    printable = text[: limit + 1]
    if not printable.isprintable():
        printable = "".join(
            character
            if character.isprintable()
            else character.encode("unicode_escape").decode()
            for character in printable
        )
    return printable if len(printable) <= limit else f"{printable[: limit - 1]}…"
