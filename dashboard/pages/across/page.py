"""What the page of systems side by side shows: menus, answers, columns and rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import exp
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from benchmarks.analysis.planning import PROGRAMS
from benchmarks.comparing.answers import Answer
from benchmarks.comparing.side_by_side import (
    ALL_HOSTS,
    Pair,
    Side,
    SideBySide,
    SideCell,
    SideRow,
)
from benchmarks.evidence.reading import Question
from benchmarks.models import Case, Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.work_classes import WORK_CLASSES
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.evidence_matrix import question_address
from dashboard.kit.filling import ENOUGH_RUNS, Filling, plannable
from dashboard.kit.selections import Menu
from dashboard.kit.table_cells import cell_view, row_decimals
from dashboard.wording import evidence
from dashboard.wording.comparability import LIGHTS
from dashboard.wording.evidence import answer_text, kept_text


@dataclass(frozen=True)
class AcrossPage:
    found: SideBySide
    person: User | None

    @property
    def answer(self) -> str:
        return answer_text(self.found.answer)

    @property
    def is_emulated(self) -> bool:
        return any(side.system.is_emulated for side in self.found.sides)

    @cached_property
    def query(self) -> Mapping[str, list[str]]:
        chosen = self.found.choice
        parts: dict[str, list[str]] = {"host": [chosen.host]}
        if chosen.work:
            parts["work"] = [chosen.work]
        if chosen.case:
            parts["benchmark"] = [str(chosen.case)]
        if chosen.hypervisors:
            parts["hypervisor"] = sorted(chosen.hypervisors)
        if chosen.guest:
            parts["guest"] = [chosen.guest]
        if chosen.against:
            parts["against"] = [str(chosen.against)]
        return parts

    def address(self, **changes: str) -> str:
        """Return the address with some parts changed; an empty one is left out."""
        parts = {**self.query, **{name: [text] for name, text in changes.items()}}
        pairs = [(name, it) for name, texts in parts.items() for it in texts if it]
        return f"?{urlencode(pairs)}"

    @property
    def menus(self) -> list[Menu]:
        chosen, facets = self.found.choice, self.found.facets
        hosts = {ALL_HOSTS: _("All machines")}
        for facet in facets.hosts:
            systems = ngettext("%(n)s system", "%(n)s systems", facet.systems)
            studies = ngettext("%(n)s study", "%(n)s studies", facet.studies)
            counts = (systems % {"n": facet.systems}, studies % {"n": facet.studies})
            hosts[facet.name] = f"{facet.host.slug} ({', '.join(counts)})"
        every = {"": _("All")}
        works = {
            work: evidence.work_name(work)
            for work in WORK_CLASSES
            if work in facets.works
        }
        cases = {
            str(pk): f"{known_tool(tool).title}: {label}"
            for pk, tool, label in facets.cases
        }
        guests = {guest: guest for guest in facets.guests}
        host = Menu.of("host", _("Machine"), hosts, chosen.host, is_wide=True)
        work, case = pgettext("class of work", "Work"), str(chosen.case or "")
        return [
            replace(host, is_changed=False),  # there is always a machine
            Menu.of("work", work, every | works, chosen.work),
            Menu.of("benchmark", _("Benchmark"), every | cases, case),
            Menu.of("guest", _("Guest"), every | guests, chosen.guest),
        ]

    @property
    def hypervisors(self) -> list[dict[str, Any]]:
        chosen = self.found.choice.hypervisors
        known = self.found.facets.hypervisors
        return [{"name": name, "is_chosen": name in chosen} for name in known]

    @cached_property
    def platforms(self) -> list[str]:
        counts: Counter[str] = Counter()
        for answer in self.found.answers.values():
            for each in answer.standings:
                counts[each.name] += each.systems
        return sorted(counts, key=lambda name: (-counts[name], name))

    @cached_property
    def works(self) -> list[dict[str, Any]]:
        found, platforms = self.found, self.platforms
        asked = found.answer.work if found.answer else ""
        hypervisors = {
            each.name: each.hypervisor
            for answer in found.answers.values()
            for each in answer.standings
        }
        return [
            {
                "name": evidence.work_name(work),
                "address": self.address(work=work, benchmark=""),
                "is_chosen": work == asked,
                "cells": tuple(
                    _work_cell(found.answers[work], name, hypervisors[name])
                    for name in platforms
                ),
            }
            for work in WORK_CLASSES
            if work in found.answers
        ]

    @property
    def spans(self) -> list[dict[str, Any]]:
        def place(side: Side) -> tuple[str, str]:
            return side.system.host.slug, side.guest

        return [
            {"host": host, "guest": guest, "width": len(list(members))}
            for (host, guest), members in groupby(self.found.sides, key=place)
        ]

    @cached_property
    def heads(self) -> list[dict[str, Any]]:
        """The systems, each with how far it may be compared with its neighbour."""
        chosen = self.found.choice.against
        places = [(side.system.host_id, side.guest) for side in self.found.sides]
        return [
            {
                "side": side,
                "light": _light(side, pair),
                "against": self.address(
                    against="" if side.key == chosen else str(side.key)
                ),
                "is_chosen": side.key == chosen,
                "is_edge": place != before,
            }
            for side, pair, place, before in zip(
                self.found.sides,
                self.found.pairs,
                places,
                [*places[:1], *places],
                strict=False,
            )
        ]

    @property
    def refused(self) -> list[dict[str, Any]]:
        return [light for light in self.lights if light["color"] == "red"]

    @cached_property
    def lights(self) -> list[dict[str, Any]]:
        counts = Counter(
            (pair.compared.light, wording.said(pair.compared.sentence))
            for pair in self.found.pairs
            if pair
        )
        order = ["red", "amber", "green"]
        ranked = sorted(
            counts.items(),
            key=lambda entry: (order.index(entry[0][0]), -entry[1], entry[0][1]),
        )
        return [
            {"color": color, "word": LIGHTS[color][0], "sentence": text, "count": n}
            for (color, text), n in ranked
        ]

    @property
    def groups(self) -> Iterator[dict[str, Any]]:
        for (component, tool), rows in groupby(
            self.found.rows,
            key=lambda row: (row.case.component, known_tool(row.case.tool).title),
        ):
            lines = [self._row(row) for row in rows]
            yield {"component": component, "tool": tool, "rows": lines}

    @figures.asked_once()
    def _row(self, row: SideRow) -> dict[str, Any]:
        better = str(wording.BETTER.get(row.better, ""))
        unit = figures.UNIT_NAMES.get(row.unit, row.unit)
        unit = wording.rate_unit(row.case.metric, unit)
        decimals = row_decimals(cell.row for cell in row.cells if cell)
        cells = []
        for cell, head in zip(row.cells, self.heads, strict=True):
            side = head["side"]
            entry = {"is_edge": head["is_edge"]}
            if cell:
                direct = cell.direct
                entry |= {
                    "view": cell_view(cell.row, cell.mark, decimals=decimals),
                    "place": (side.study.lab.slug, side.study.slug, cell.row.id),
                    "direct": "" if direct is None else figures.ratio(direct),
                }
            else:
                what = f"{side.platform}, {row.case.label}"
                entry |= {"what": what, "fill": self._fill(row.case, side, what)}
            cells.append(entry)
        more = " · ".join(filter(None, [unit, better]))
        return {"label": row.case.label, "more": more, "cells": cells}

    def _fill(self, case: Case, side: Side, what: str) -> str:
        """Return a plan if the study is of the reader's labs, else an upload."""
        if side.study.lab_id not in self.filling.labs:
            return self.filling.upload(
                hypervisor=side.system.hypervisor,
                version=side.system.hypervisor_version,
                tool=case.tool,
            )
        if case.tool in PROGRAMS:
            return self.filling.plan(
                side.study, what=what, systems=[side.system.pk], tools=[case.tool]
            )
        return self.filling.upload(
            lab=side.study.lab.slug,
            study=side.study.slug,
            system=str(side.system.pk),
            tool=case.tool,
        )

    @property
    def shown_text(self) -> str:
        found = self.found
        systems = ngettext("%(n)s system", "%(n)s systems", found.side_count)
        shared = ngettext(
            "%(n)s benchmark that several platforms ran",
            "%(n)s benchmarks that several platforms ran",
            found.shared,
        )
        counts = {"n": figures.number(found.side_count, "d")}
        parts = [
            systems % counts,
            shared % {"n": figures.number(found.shared, "d")},
        ]
        if found.side_count > len(found.sides):
            parts.append(
                _("the first %(n)s systems are shown: narrow the choice for others")
                % {"n": len(found.sides)}
            )
        return "; ".join(parts)

    @property
    def previous_page(self) -> str:
        number = self.found.choice.page
        return self.address(page=str(number - 1)) if number > 1 else ""

    @property
    def next_page(self) -> str:
        number = self.found.choice.page
        return self.address(page=str(number + 1)) if number < self.found.pages else ""

    @cached_property
    def filling(self) -> Filling:
        return Filling(self.person)

    @cached_property
    def plan(self) -> str:
        """Where the missing runs are planned: a form filled in for editors."""
        here = reverse("dashboard:across") + self.address()
        if self.person is None:
            return f"{reverse('dashboard:login')}?{urlencode({'next': here})}"
        labs = self.filling.labs
        own = [side for side in self.found.sides if side.study.lab_id in labs]
        study = own[0].study if own else self.filling.study
        work = self.found.choice.work
        return self.filling.plan(
            study,
            what=evidence.work_name(work) if work else _("every class of work"),
            systems=self._thin(study) if study else (),
            tools=plannable([work] if work else self.found.answers),
        )

    def _thin(self, study: Study) -> set[int]:
        """Return the systems of a study's lab of which too little was run."""
        return {
            side.system.pk
            for place, side in enumerate(self.found.sides)
            if side.system.lab_id == study.lab_id
            and any(_is_thin(row.cells[place]) for row in self.found.rows)
        }


def _is_thin(cell: SideCell | None) -> bool:
    return cell is None or cell.row.shown.n < ENOUGH_RUNS


def _work_cell(answer: Answer, platform: str, hypervisor: str) -> dict[str, Any]:
    left_out = answer.left_out.get(platform, 0)
    without = _("%(n)s impossible left out") % {"n": left_out} if left_out else ""
    cell = {
        "label": f"{platform}, {evidence.work_name(answer.work)}",
        "fill": question_address(Question(hypervisor, answer.work)) + "#fill",
        "beside": without,
    }
    for each in answer.standings:
        if each.name == platform:
            n = ngettext("%(n)s configuration", "%(n)s configurations", each.systems)
            flagged = _("%(n)s flagged") % {"n": each.flagged} if each.flagged else ""
            beside = filter(None, (n % {"n": each.systems}, flagged, without))
            return cell | {
                "kept": kept_text(each),
                "beside": ", ".join(beside),
                "shade": figures.heat(exp(each.mean)),
                "is_hollow": each.is_single_run,
            }
    return cell


def _light(side: Side, pair: Pair | None) -> dict[str, Any] | None:
    if pair is None:
        return None
    compared = pair.compared
    keys = {"one": str(side.key), "other": str(pair.other.key)}
    return {
        "color": compared.light,
        "word": LIGHTS[compared.light][0],
        "sentence": wording.said(compared.sentence),
        "address": f"{reverse('dashboard:across-pair')}?{urlencode(keys)}",
    }
