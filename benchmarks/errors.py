"""What can be wrong with a request: each error says what, where and what to do.

The API answers with the error's ``status`` and ``{"code", "detail", "fields"}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from benchmarks.sentences import Sentence, either, joined

# PostgreSQL's words for a statement that was cut, and a lock that did not come.
TOOK_TOO_LONG = ("57014", "55P03")


class BenchmarksError(Exception):
    """A sentence for people (``str(error)``) and a ``code`` for programs."""

    code = "benchmarks_error"
    status = 422  # the HTTP status the API answers with
    field = ""  # where in the request, when it is known: "samples[3]"

    @property
    def sentence(self) -> str:
        """What is wrong, as it was said: a Sentence keeps its parts."""
        return str(self) if len(self.args) != 1 else self.args[0]


class TextError(BenchmarksError):
    """A text holds characters that are invisible or reorder what is shown."""

    code = "unclean_text"


class UnitError(BenchmarksError):
    """A unit is unknown, ambiguous or of another dimension."""

    code = "unit"


class ParameterError(BenchmarksError):
    """A parameter or option cannot be part of a case or a system."""

    code = "parameter"


class ParseError(BenchmarksError):
    """A tool's output cannot be read."""

    code = "parse"


class ValueRefusedError(BenchmarksError):
    """A number cannot be a reading of its metric."""

    code = "value_refused"


class ZeroReadingError(BenchmarksError):
    """A ratio was asked for of a reading that is zero."""

    code = "zero_reading"


class UndirectedMetricError(BenchmarksError):
    """An efficiency was asked for of a metric that has no better direction."""

    code = "undirected_metric"


class KeyReusedError(BenchmarksError):
    """An upload key came back with another body."""

    code = "key_reused"
    status = 409

    def __init__(self, key: object) -> None:
        super().__init__(
            Sentence(
                "The upload key {key} was already used for a run with other content. "
                "Send the same body to repeat an upload, or a new key for a new run.",
                key=str(key),
            )
        )


class UnknownNameError(BenchmarksError):
    """A name that nobody registered; names the closest known ones."""

    code = "unknown_name"
    kind: str = Sentence("thing")
    remedy: str = ""

    def __init__(self, name: object, known: Iterable[str] = ()) -> None:
        self.name = str(name)
        shown = shorten(self.name)
        none = Sentence('There is no {kind} "{name}".', kind=self.kind, name=shown)
        hint = did_you_mean(closest(self.name, known))
        super().__init__(joined([none, hint, self.remedy]))


class UnknownToolError(UnknownNameError):
    code = "unknown_tool"
    kind = Sentence("tool")
    remedy = Sentence(
        "The list of tools is in docs/tools.md; a lab declares its own:"
        " POST /api/v1/own-tools/."
    )


class UnknownStudyError(UnknownNameError):
    code = "unknown_study"
    kind = Sentence("study")
    remedy = Sentence("Create the study first: POST /api/v1/studies/.")


class UnknownLabError(UnknownNameError):
    code = "unknown_lab"
    kind = Sentence("lab")
    remedy = Sentence("Ask its people for its short name: it is in their addresses.")


class UnknownHostError(UnknownNameError):
    code = "unknown_host"
    kind = Sentence("host")
    remedy = Sentence("Register the host first: POST /api/v1/hosts/.")


class UnknownSystemError(UnknownNameError):
    code = "unknown_system"
    kind = Sentence("system")
    remedy = Sentence(
        "Send the system as an object, or register it: POST /api/v1/systems/."
    )


class UnknownMetricError(UnknownNameError):
    """A metric that the named tool does not have; names all that it has."""

    code = "unknown_metric"

    def __init__(self, name: object, tool: str, known: Iterable[str] = ()) -> None:
        known = tuple(known)
        # Set before the base class makes its sentence from them.
        self.kind = Sentence("metric of {tool} called", tool=tool)
        self.remedy = Sentence(
            "The metrics of {tool} are: {names}.", tool=tool, names=", ".join(known)
        )
        super().__init__(name, known)


class DecisionError(BenchmarksError):
    """A decision about a flag that others could not follow."""

    code = "decision"


class VersionError(BenchmarksError):
    """A study that cannot be published now, or a version that cannot be changed so."""

    code = "version"


class ReviewError(BenchmarksError):
    """A review that cannot be published so, or not be changed so."""

    code = "review"


class WrongTokenError(BenchmarksError):
    """A token that is unknown, wrong, expired or revoked: one answer for all."""

    code = "wrong_token"
    status = 401

    def __init__(self) -> None:
        super().__init__(
            Sentence(
                "This token is not valid: it is wrong, expired or revoked. Send "
                '"Authorization: Token vl_..." with a token of your lab.'
            )
        )


class NotFoundError(UnknownNameError):
    """Something that does not exist, or that this viewer may not know of."""

    code = "not_found"
    status = 404

    def __init__(self, kind: str, name: object) -> None:
        self.kind = kind
        super().__init__(name)


class AmbiguousStudyError(BenchmarksError):
    """A study's name that several labs use."""

    code = "ambiguous_study"
    status = 400

    def __init__(self, slug: str, labs: Iterable[str]) -> None:
        choices = either([f'"{lab}/{slug}"' for lab in sorted(labs)])
        super().__init__(
            Sentence(
                'Several labs have a study "{slug}". Say {choices}.',
                slug=slug,
                choices=choices,
            )
        )


class AlreadyExistsError(BenchmarksError):
    """A name that is taken by something with other properties."""

    status = 409
    kind: str = Sentence("thing")
    remedy: str = ""

    def __init__(self, name: str, differing: Iterable[str]) -> None:
        super().__init__(
            Sentence(
                'The {kind} "{name}" exists with another {fields}. {remedy}',
                kind=self.kind,
                name=shorten(name),
                fields=", ".join(differing),
                remedy=self.remedy,
            )
        )


class StudyExistsError(AlreadyExistsError):
    code = "study_exists"
    kind = Sentence("study")
    remedy = Sentence(
        "Change it with PATCH /api/v1/studies/<slug>/, or choose another slug."
    )


class UncheckedStudyError(BenchmarksError):
    """A study cannot be published, for its check fails."""

    code = "study_unchecked"
    status = 409

    def __init__(self, slug: str) -> None:
        super().__init__(
            Sentence(
                'The check of study "{slug}" fails, so it stays private: unchecked '
                "numbers are not shown to others. The page of the study says what "
                "failed once the check was tried again.",
                slug=slug,
            )
        )


class SharingError(BenchmarksError):
    """A study is shared with nobody, or with labs while it is not shared."""

    code = "sharing"
    field = "shared_with"


class StudyArchivedError(BenchmarksError):
    """Something was to be added to a study that lies in the archive."""

    code = "study_archived"
    status = 409

    def __init__(self, slug: str) -> None:
        super().__init__(
            Sentence(
                'The study "{study}" is archived: nothing is added to it. Take it out '
                "of the archive first, in its settings.",
                study=shorten(slug),
            )
        )


class LabExistsError(BenchmarksError):
    """The short name of a new lab is taken."""

    code = "lab_exists"
    status = 409
    field = "slug"

    def __init__(self, slug: str) -> None:
        super().__init__(
            Sentence(
                'The short name "{slug}" is taken. Choose another one.',
                slug=shorten(slug),
            )
        )


class NotAllowedError(BenchmarksError):
    """This installation lets others do it, not whoever asks."""

    code = "not_allowed"
    status = 403


class HostExistsError(AlreadyExistsError):
    code = "host_exists"
    kind = Sentence("host")
    remedy = Sentence("A changed machine is another host: give it another slug.")


class MeterExistsError(AlreadyExistsError):
    code = "meter_exists"
    kind = Sentence("power meter")
    remedy = Sentence("Another meter at this machine needs another name.")


class DeclarationError(BenchmarksError):
    """A lab's own tool cannot be declared, changed or deleted like that."""

    code = "declaration"


class OwnToolExistsError(AlreadyExistsError):
    code = "own_tool_exists"
    kind = Sentence("tool")
    remedy = Sentence(
        "Send what changed as a new version: POST /api/v1/own-tools/<id>/versions/."
    )


class RetiredToolError(BenchmarksError):
    """An upload names a tool that its lab has retired."""

    code = "tool_retired"

    def __init__(self, name: str) -> None:
        super().__init__(
            Sentence(
                'Your lab has retired the tool "{name}": its results stay, new ones are'
                " not taken. Reactivate it on its page, or declare another.",
                name=name,
            )
        )


class BatchRefusedError(BenchmarksError):
    """Uploads of which at least one is bad; none of them was stored.

    ``problems`` maps the place of a bad document (from 0) to what is wrong with it.
    """

    code = "batch_refused"

    def __init__(self, problems: dict[int, BenchmarksError]) -> None:
        self.problems = problems
        statuses = {problem.status for problem in problems.values()}
        # A status that all problems share says more than 422: a reused key is a 409.
        self.status = statuses.pop() if len(statuses) == 1 else self.status
        super().__init__(
            Sentence(
                "{n} of the runs cannot be accepted, so none was stored: {first}",
                n=len(problems),
                first=next(iter(problems.values())).sentence,
            )
        )


class SessionError(BenchmarksError):
    """Runs that cannot be put into a session, or a session without a name."""

    code = "session"


class PlaceError(BenchmarksError):
    """A change of a lab's people that the lab or the person's role does not allow."""

    code = "place"


class CommentError(BenchmarksError):
    """A comment that says nothing, or that somebody else wrote or removed."""

    code = "comment"


class WebhookError(BenchmarksError):
    """An address that is not posted to, or a webhook that is told nothing."""

    code = "webhook"


class SavedViewError(BenchmarksError):
    """A view without a name, of no page that shows a choice, or one too many."""

    code = "saved_view"


class DeletionError(BenchmarksError):
    """A deletion without a reason, or of what is gone already."""

    code = "deletion"


class InvitationError(BenchmarksError):
    """An invitation that cannot be accepted any more, or not by this person."""

    code = "invitation"


class TokenRefusedError(BenchmarksError):
    """A token that would be good for nothing, or for nobody."""

    code = "token_refused"


class SealError(BenchmarksError):
    """Something that was sealed with another key: nobody can read it any more."""

    code = "sealed"


class TooManyAttemptsError(BenchmarksError):
    """Somebody tries passwords faster than a person does."""

    code = "too_many_attempts"
    status = 429

    def __init__(self, wait_s: int) -> None:
        self.wait_s = wait_s
        super().__init__(
            Sentence(
                "Too many attempts. Wait {wait} min, then try again.",
                # Rounded up, or the next attempt would come too early.
                wait=-(-wait_s // 60),
            )
        )


class TooFastError(BenchmarksError):
    """Somebody asks for more than is given at a time; nothing was done."""

    code = "too_fast"
    status = 429

    def __init__(self, problem: Sentence, wait_s: int) -> None:
        self.wait_s = wait_s
        again = Sentence("Send it again in {wait} s; nothing was stored.", wait=wait_s)
        super().__init__(joined([problem, again]))


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
