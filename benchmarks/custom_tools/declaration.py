"""Declarations of tools by a lab. PURE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, cast

from benchmarks.parsing.tool import (
    NO_WORK_CLASS,
    Better,
    Component,
    Metric,
    MetricKind,
    Tool,
    WorkClassRules,
    always,
)

LAB_SEPARATOR: Final = ":"
"""Separates lab and slug in the stored name of a lab's tool; built-in tools have
none.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMetric:
    """One metric of a declaration, as it is stored and sent.

    ``work_class`` is the slug of a work class, or "". ``kind`` is `Metric.kind`, or ""
    for the default by unit and direction. ``fixed_by_parameter`` is the parameter that
    fixes the value (a test requested to run for 60 s takes 60 s). Only metrics with
    ``is_primary`` count in profiles and in corrections for multiple tests.
    """

    name: str
    unit: str
    better: str
    component: str
    title: str = ""
    work_class: str = ""
    kind: str = ""
    fixed_by_parameter: str = ""
    allows_zero: bool = False
    is_primary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    title: str
    metrics: tuple[DeclaredMetric, ...]
    homepage: str = ""
    description: str = ""

    @property
    def row_fields(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "homepage": self.homepage,
            "description": self.description,
            "metrics": [asdict(metric) for metric in self.metrics],
        }


def declaration_from_row(row: Mapping[str, Any]) -> Declaration:
    """Missing fields get their defaults."""
    field_names = {metric_field.name for metric_field in fields(DeclaredMetric)}
    metrics = tuple(
        DeclaredMetric(**{name: metric[name] for name in field_names & metric.keys()})
        for metric in row["metrics"]
    )
    texts = {name: row[name] for name in ("title", "homepage", "description")}
    return Declaration(metrics=metrics, **texts)


def tool_from_declaration(name: str, declaration: Declaration) -> Tool:
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
                allows_zero=metric.allows_zero,
                kind=cast(MetricKind, metric.kind) if metric.kind else None,
                fixed_by_parameters=(metric.fixed_by_parameter,)
                if metric.fixed_by_parameter
                else (),
                work_class=_work_class_rules(metric),
            )
            for metric in declaration.metrics
        ),
    )


def _work_class_rules(metric: DeclaredMetric) -> WorkClassRules | None:
    if not metric.is_primary:
        return None
    return always(metric.work_class) if metric.work_class else NO_WORK_CLASS
