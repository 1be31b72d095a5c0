"""What a lab declares of a tool of its own. PURE.

A declaration says of each metric what a file of ``benchmarks/tools/`` says of a tool
that everybody has, so that results of both are judged alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, cast

from benchmarks.parsing.contract import (
    NO_CLASS,
    Better,
    Component,
    Kind,
    Metric,
    Tool,
    Work,
    always,
)

BETWEEN: Final = ":"
"""Stands between lab and slug in the name of an own tool; in no other tool's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMetric:
    """One metric as it is stored and sent.

    ``work_class`` is a slug of the vocabulary, "" for work of none. ``kind`` is what
    sort of number it is (`Metric.kind`), "" what its unit and direction say: a time
    that is always of one length is a "setting". ``fixed_by`` is the parameter that
    fixes the value (a test told to run for 60 s takes 60 s). Neither has a speed. Only
    ``primary`` ones enter profiles and corrections.
    """

    name: str
    unit: str
    better: str
    component: str
    title: str = ""
    work_class: str = ""
    kind: str = ""
    fixed_by: str = ""
    zero_allowed: bool = False
    primary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The content of a version of an own tool."""

    title: str
    metrics: tuple[DeclaredMetric, ...]
    homepage: str = ""
    description: str = ""

    @property
    def stored(self) -> dict[str, Any]:
        """The fields of a row of `OwnToolVersion`."""
        return {
            "title": self.title,
            "homepage": self.homepage,
            "description": self.description,
            "metrics": [asdict(metric) for metric in self.metrics],
        }


def stored_declaration(row: Mapping[str, Any]) -> Declaration:
    """Return the declaration of a stored version, with defaults for absent fields."""
    known = {each.name for each in fields(DeclaredMetric)}
    metrics = tuple(
        DeclaredMetric(**{name: metric[name] for name in known & metric.keys()})
        for metric in row["metrics"]
    )
    texts = {name: row[name] for name in ("title", "homepage", "description")}
    return Declaration(metrics=metrics, **texts)


def tool_of(name: str, declaration: Declaration) -> Tool:
    """Return the tool for analyses; ``name`` is the stored one, ``lab:slug``."""
    return Tool(
        slug=name,
        title=declaration.title,
        homepage=declaration.homepage,
        metrics=tuple(
            Metric(
                metric.name,
                metric.unit,
                cast(Better, metric.better),
                cast(Component, metric.component),
                title=metric.title,
                zero_allowed=metric.zero_allowed,
                kind=cast(Kind, metric.kind) if metric.kind else None,
                fixed_by=(metric.fixed_by,) if metric.fixed_by else (),
                work=_work_of(metric),
            )
            for metric in declaration.metrics
        ),
    )


def _work_of(metric: DeclaredMetric) -> Work | None:
    if not metric.primary:
        return None
    return always(metric.work_class) if metric.work_class else NO_CLASS
