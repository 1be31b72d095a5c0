"""Search over visible studies, systems, hosts, benchmarks and labs.

PostgreSQL's text search on word prefixes. pg_trgm is not available with `make run`, so
`nearest_words` suggests spellings.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector
from django.db.models import Func, OuterRef, QuerySet, Subquery, TextField, Value

from benchmarks.labs.pages import labs_with_counts
from benchmarks.models import Case, Cell, Host, Study, System
from benchmarks.studies.lookup import visible
from benchmarks.viewer import Viewer

MOST_ROWS: Final = 20
MOST_WORDS: Final = 8
LONGEST_WORD: Final = 60
MOST_KNOWN: Final = 20_000
"""Of so many rows of a kind the words are known."""
NEAR: Final = 0.75
"""So alike, by `difflib`, are "bandwidht" and "bandwidth"."""
_WORD = re.compile(r"[^\W_]+")
STUDY: Final = ("title", "slug", "author", "institution", "published", "lab__name")
SYSTEM: Final = (
    *("hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("host__slug", "host__title", "options"),
)
HOST: Final = ("slug", "title", "lab__name")
CASE: Final = ("tool", "metric", "label")
LAB: Final = ("name", "slug")


@dataclass(frozen=True)
class Found:
    """Results of each kind, best first; ``has_more``: kinds cut at MOST_ROWS."""

    studies: list[Study]
    systems: list[tuple[System, Study]]
    hosts: list[Host]
    benchmarks: list[tuple[Case, Study]]
    labs: list[Any]
    has_more: frozenset[str]

    @property
    def n(self) -> int:
        """How many rows are shown."""
        return (
            len(self.studies)
            + len(self.systems)
            + len(self.hosts)
            + len(self.benchmarks)
            + len(self.labs)
        )


def found(viewer: Viewer, text: str) -> Found | None:
    """Return what has all these words, or words that begin so; None without a word."""
    words = [word[:LONGEST_WORD] for word in _WORD.findall(text.casefold())]
    if not words:
        return None
    words = words[:MOST_WORDS]
    query = _all_of(words)
    rows: dict[str, list[Any]] = {
        "studies": _best(visible(viewer), query, *STUDY),
        "systems": _best(
            _measured(System.objects.select_related("host"), "system", viewer),
            query,
            *SYSTEM,
        ),
        "hosts": _best(
            Host.objects.visible_to(viewer).select_related("lab"), query, *HOST
        ),
        "benchmarks": _benchmarks(viewer, words),
        "labs": _best(labs_with_counts(viewer), query, *LAB),
    }
    has_more = frozenset(name for name, them in rows.items() if len(them) > MOST_ROWS)
    shown = {name: them[:MOST_ROWS] for name, them in rows.items()}
    ids = {it.study_id for name in ("systems", "benchmarks") for it in shown[name]}
    studies = visible(viewer).in_bulk(ids)
    for name in ("systems", "benchmarks"):
        shown[name] = [(it, studies[it.study_id]) for it in shown[name]]
    return Found(**shown, has_more=has_more)


def _all_of(words: Sequence[str]) -> SearchQuery:
    asked = " & ".join(f"{word}:*" for word in words)
    return SearchQuery(asked, config="simple", search_type="raw")


def _benchmarks(viewer: Viewer, words: Sequence[str]) -> list[Any]:
    """Return benchmarks with all words, or that ran on systems with the rest."""
    cases = Case.objects.all()
    best = _best(_measured(cases, "case", viewer), _all_of(words), *CASE)
    if best or len(words) < 2:
        return best
    measured = Cell.objects.visible_to(viewer).filter(n__gt=0).values("system")
    about = ("pk", "hypervisor", "hypervisor_version", "virtualization", "guest_os")
    systems: dict[frozenset[str], list[int]] = {}
    for pk, *texts in System.objects.filter(pk__in=measured).values_list(*about):
        told = _WORD.findall(" ".join(texts).casefold())
        theirs = {word for word in words if any(it.startswith(word) for it in told)}
        systems.setdefault(frozenset(theirs), []).append(pk)
    most = max(systems, key=len, default=frozenset())
    rest = [word for word in words if word not in most]
    if not most or not rest:
        return []
    there = _measured(cases, "case", viewer, system__in=systems[most])
    return _best(there, _all_of(rest), *CASE)


def nearest_words(viewer: Viewer, text: str) -> str:
    """Return the words with unknown ones replaced by similar visible ones, else ""."""
    asked = [word[:LONGEST_WORD] for word in _WORD.findall(text.casefold())]
    asked = asked[:MOST_WORDS]
    measured = Cell.objects.visible_to(viewer).filter(n__gt=0)
    kinds: tuple[tuple[QuerySet[Any], Sequence[str]], ...] = (
        (visible(viewer), STUDY),
        (System.objects.filter(pk__in=measured.values("system")), SYSTEM),
        (Host.objects.visible_to(viewer), HOST),
        (Case.objects.filter(pk__in=measured.values("case")), CASE),
        (labs_with_counts(viewer), LAB),
    )
    known: set[str] = set()
    for rows, names in kinds:
        for row in rows.order_by().values_list(*names)[:MOST_KNOWN]:
            for value in row:
                known.update(_WORD.findall(str(value).casefold()))
    words = []
    for word in asked:
        near = [word]
        if not any(it.startswith(word) for it in known):
            near = get_close_matches(word, known, n=1, cutoff=NEAR)
        words += near
    return " ".join(words) if len(words) == len(asked) and words != asked else ""


def _measured(
    rows: QuerySet[Any], name: str, viewer: Viewer, **which: Any
) -> QuerySet[Any]:
    """Return what a visible cell is about, with the study of the newest one."""
    which[name] = OuterRef("pk")
    cells = Cell.objects.visible_to(viewer).filter(n__gt=0, **which)
    newest = cells.order_by("-study_id").values("study_id")[:1]
    measured: QuerySet[Any] = rows.annotate(study_id=Subquery(newest))
    return measured.filter(study_id__isnull=False)


def _best(rows: QuerySet[Any], query: SearchQuery, *names: str) -> list[Any]:
    """Return the rows whose columns have the words, and one more than is shown."""
    text = Func(Value(" "), *names, function="concat_ws", output_field=TextField())
    # PostgreSQL takes "lmu-2010-xen" for one word and a negative number.
    words = Func(
        *(text, Value("[^[:alnum:]]+"), Value(" "), Value("g")),
        function="regexp_replace",
        output_field=TextField(),
    )
    vector = SearchVector(words, config="simple")
    matching = rows.annotate(found_in=vector).filter(found_in=query)
    ranked = matching.annotate(rank=SearchRank(vector, query)).order_by("-rank", "-pk")
    return list(ranked[: MOST_ROWS + 1])
