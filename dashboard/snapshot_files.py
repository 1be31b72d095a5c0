"""The forms of a snapshot: what is written when a campaign is frozen."""

import json
from collections.abc import Mapping
from dataclasses import replace

from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks.models import Snapshot
from benchmarks.selectors.comparison_rows import comparison_rows
from benchmarks.selectors.comparison_table import ComparisonTable, comparison_table
from benchmarks.selectors.facets import facets
from benchmarks.selectors.verdicts import campaign_verdicts
from benchmarks.viewer import Viewer
from dashboard.citing import citation_at
from dashboard.exports.citation import Citation, bibtex
from dashboard.exports.delimited import csv_text
from dashboard.exports.latex import Source, latex
from dashboard.exports.records import FIELDS, records
from dashboard.report.building import Making, report
from dashboard.report.document import Document

KINDS: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "tex": "application/x-tex; charset=utf-8",
    "pdf": "application/pdf",
    "bib": "application/x-bibtex; charset=utf-8",
}


def snapshot_texts(snapshot: Snapshot, site: str) -> dict[str, bytes]:
    """Return the forms of a snapshot that are texts, each with its address in it."""
    table = _whole_table(snapshot)
    citation = snapshot_citation(snapshot, site)
    texts = {
        "csv": csv_text(FIELDS, records(table)),
        "json": _json(snapshot, table, citation.address),
        "tex": latex(table, _source(snapshot, citation.address)),
        "bib": bibtex(citation),
    }
    return {form: text.encode() for form, text in texts.items()}


def snapshot_report(snapshot: Snapshot, site: str) -> Document:
    """Return the report that a snapshot keeps as a PDF, still to be typeset."""
    lab = Viewer(frozenset({snapshot.lab_id}))
    making = Making(snapshot.created_at, snapshot.version, snapshot.who)
    citation = snapshot_citation(snapshot, site)
    return report(lab, snapshot.campaign, citation, making)


def snapshot_citation(snapshot: Snapshot, site: str) -> Citation:
    """Return a snapshot as a publication: its address and day stay what they are."""
    campaign = snapshot.campaign
    page = reverse("dashboard:snapshot", args=[snapshot.pk])
    name = f"{campaign.lab.slug}/{campaign.slug}"
    return replace(
        citation_at(site, campaign),
        key=f"{campaign.slug}-{snapshot.number}",
        address=f"{site}{page}",
        note=f"Snapshot {snapshot.number} of campaign {name}, "
        f"Virtlab {snapshot.version}",
        read_on=snapshot.created_at.date(),
    )


def _whole_table(snapshot: Snapshot) -> ComparisonTable:
    """Return all cells of the campaign, in every scenario, with their verdicts."""
    campaign = snapshot.campaign
    rows = comparison_rows(
        campaign,
        systems=facets(campaign).systems,
        filters={},
        verdicts=campaign_verdicts(campaign),
    )
    return comparison_table(rows)


def _source(snapshot: Snapshot, address: str) -> Source:
    return Source(
        title=snapshot.title,
        slug=f"{snapshot.campaign.slug}-{snapshot.number}",
        address=address,
        against=_("set against native"),
        made_on=snapshot.created_at.date().isoformat(),
    )


def _json(snapshot: Snapshot, table: ComparisonTable, address: str) -> str:
    campaign = snapshot.campaign
    said = {
        "title": snapshot.title,
        "campaign": f"{campaign.lab.slug}/{campaign.slug}",
        "snapshot": snapshot.number,
        "address": address,
        "frozen_at": snapshot.created_at.isoformat(),
        "frozen_by": snapshot.who,
        "version": snapshot.version,
        "rule_set": snapshot.rule_set,
        "level": snapshot.judged,
        "undisclosed": snapshot.undisclosed,
        "author": campaign.author,
        "institution": campaign.institution,
        "note": campaign.note,
        "cells": list(records(table)),
    }
    return json.dumps(said, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
