"""Errors of requests: each says what is wrong, where, and what to do.

Each class has one HTTP status; ``code`` identifies the error. The API answers
``{"code", "detail", "fields"}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Self

from benchmarks.sentences import Sentence, either, joined, sentence_of, template

# SQLSTATE of PostgreSQL: the statement was cancelled; a lock was not available.
TOOK_TOO_LONG = ("57014", "55P03")


class BenchmarksError(Exception):
    """An error with a sentence for people and a ``code`` for programs.

    ``text`` is a Sentence, or the template of one with its ``values``.
    """

    status = 422
    code = "benchmarks_error"
    field = ""  # the part of the request that is wrong: "samples[3]"
    fields: Mapping[str, Any] | None = None  # several parts, with what is wrong
    wait_s: int | None = None  # when to send it again

    def __init__(self, code: str, text: str, /, **values: Any) -> None:
        self.code, self.sentence = code, sentence_of(text, values)
        super().__init__(code, self.sentence)

    def __str__(self) -> str:
        return str(self.sentence)

    def at(self, field: str) -> Self:
        """Return the error with the part of the request that it is about."""
        self.field = field
        return self

    def with_fields(self, fields: Mapping[str, Any]) -> Self:
        """Return the error with what is wrong with each part of the request."""
        self.fields = fields
        return self


class InvalidError(BenchmarksError):
    """A value or an action that cannot be accepted."""


class ParseError(BenchmarksError):
    """A tool's output that cannot be read."""

    def __init__(self, text: str, /, **values: Any) -> None:
        super().__init__("parse", text, **values)


class MalformedError(BenchmarksError):
    """A request that cannot be read, or whose meaning is not clear."""

    status = 400


class UnauthenticatedError(BenchmarksError):
    """A token that is unknown, wrong, expired or revoked: one answer for all."""

    status = 401

    def __init__(self) -> None:
        super().__init__(
            "wrong_token",
            template(
                "This token is not valid: it is wrong, expired or revoked. Send "
                '"Authorization: Token vl_..." with a token of your lab.'
            ),
        )


class ForbiddenError(BenchmarksError):
    """An action that this installation does not allow to the client."""

    status = 403


class ConflictError(BenchmarksError):
    """A name, key or state that is taken or that excludes the action."""

    status = 409


class TooLargeError(BenchmarksError):
    """A file or a body that is larger than the limit."""

    status = 413


class UnavailableError(BenchmarksError):
    """An action that is not possible at the moment."""

    status = 503


class StorageFullError(UnavailableError):
    """The disk is nearly full."""

    status = 507


class UnknownNameError(BenchmarksError):
    """A name that nobody registered; the sentence has the closest known ones.

    ``kind`` is a key of ``REGISTERED``, or a noun with a ``remedy`` and a ``code``.
    """

    def __init__(
        self,
        kind: str,
        name: object,
        known: Iterable[str] = (),
        *,
        code: str = "",
        remedy: str = "",
    ) -> None:
        self.name = str(name)
        if not code:
            code, (kind, remedy) = f"unknown_{kind}", REGISTERED[kind]
        none = Sentence(
            'There is no {kind} "{name}".', kind=kind, name=shorten(self.name)
        )
        hint = did_you_mean(closest(self.name, known))
        super().__init__(code, joined([none, hint, remedy]))


class NotFoundError(UnknownNameError):
    """Something that does not exist, or that this viewer may not know of."""

    status = 404

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(kind, name, code="not_found")


class TooManyAttemptsError(BenchmarksError):
    """More attempts to sign in than a person makes."""

    status = 429

    def __init__(self, wait_s: int) -> None:
        self.wait_s = wait_s
        super().__init__(
            "too_many_attempts",
            template("Too many attempts. Wait {wait} min, then try again."),
            # Rounded up, or the next attempt would come too early.
            wait=-(-wait_s // 60),
        )


class TooFastError(BenchmarksError):
    """More than a client gets at a time; nothing was done."""

    status = 429

    def __init__(self, problem: Sentence, wait_s: int) -> None:
        self.wait_s = wait_s
        again = Sentence("Send it again in {wait} s; nothing was stored.", wait=wait_s)
        super().__init__("too_fast", joined([problem, again]))


class BatchRefusedError(BenchmarksError):
    """Refused uploads by their place (from 0); none of the batch was stored."""

    def __init__(self, problems: dict[int, BenchmarksError]) -> None:
        self.problems = problems
        statuses = {problem.status for problem in problems.values()}
        # A status that all problems share says more than 422: a reused key is a 409.
        self.status = statuses.pop() if len(statuses) == 1 else self.status
        super().__init__(
            "batch_refused",
            template("{n} of the runs cannot be accepted, so none was stored: {first}"),
            n=len(problems),
            first=next(iter(problems.values())).sentence,
        )


REGISTERED: Final = {
    "tool": (
        Sentence("tool"),
        Sentence(
            "The list of tools is in docs/tools.md; a lab declares its own:"
            " POST /api/v1/own-tools/."
        ),
    ),
    "study": (
        Sentence("study"),
        Sentence("Create the study first: POST /api/v1/studies/."),
    ),
    "lab": (
        Sentence("lab"),
        Sentence("Ask its people for its short name: it is in their addresses."),
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


def key_reused(key: object) -> ConflictError:
    """Return the error of an upload key that came back with another body."""
    return ConflictError(
        "key_reused",
        "The upload key {key} was already used for a run with other content. "
        "Send the same body to repeat an upload, or a new key for a new run.",
        key=str(key),
    )


def exists_otherwise(
    code: str, kind: str, name: str, differing: Iterable[str], remedy: str
) -> ConflictError:
    """Return the error of a name that is taken by something with other properties."""
    return ConflictError(
        code,
        'The {kind} "{name}" exists with another {fields}. {remedy}',
        kind=kind,
        name=shorten(name),
        fields=", ".join(differing),
        remedy=remedy,
    )


def closest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that ``name`` may have meant, in their own spelling."""
    spellings = {name.casefold(): name for name in known}
    # Cut short, for difflib takes quadratic time and the name is a stranger's.
    close = get_close_matches(name.casefold()[:100], spellings, n=3, cutoff=0.6)
    return [spellings[name] for name in close]


def did_you_mean(names: Sequence[str]) -> str:
    """Ask whether one of these names was meant; nothing if there is none."""
    return Sentence("Did you mean {names}?", names=either(names)) if names else ""


def shorten(text: str, limit: int = 60) -> str:
    """A text that may have come from a stranger, fit to be quoted in a sentence."""
    # One character more than is shown tells whether the text goes on.
    shown = "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text[: limit + 1]
    )
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
