"""Which rows of a comparison a search leaves; `row-search.js` does the same at once."""

from dataclasses import replace

from benchmarks.comparing.table import CaseGroup, CaseRow, ComparisonTable
from dashboard import wording


def is_found(q: str, group: CaseGroup, row: CaseRow) -> bool:
    """Whether every word that is searched for stands in a row's or group's heading."""
    if not q:
        return True
    facts = [wording.fact_text(fact) for fact in (*group.facts, *row.facts)]
    component = wording.component_name(group.component)
    said = " ".join([component, group.tool, group.label, row.label, *facts]).casefold()
    return all(word in said for word in q.casefold().split())


def searched(table: ComparisonTable, q: str) -> ComparisonTable:
    """Return a table without the rows in which the words of a search do not stand."""
    groups = (_with_words(group, q) for group in table.groups)
    return replace(table, groups=tuple(each for each in groups if each.rows))


def _with_words(group: CaseGroup, q: str) -> CaseGroup:
    return replace(
        group, rows=tuple(row for row in group.rows if is_found(q, group, row))
    )
