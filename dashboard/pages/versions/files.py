"""The forms of a snapshot: what is written when a campaign is frozen."""

import json
from collections.abc import Mapping
from dataclasses import replace

from django.urls import reverse

from benchmarks.comparing.facets import facets
from benchmarks.comparing.rows import comparison_rows
from benchmarks.comparing.table import ComparisonTable, comparison_table
from benchmarks.comparing.verdicts import Verdicts, campaign_verdicts
from benchmarks.models import Snapshot
from benchmarks.viewer import Viewer
from dashboard.exports.citation import Citation, bibtex
from dashboard.exports.citing import citation_at
from dashboard.exports.delimited import csv_text
from dashboard.exports.latex import Source, latex
from dashboard.exports.records import FIELDS, SOURCED, records, sourced
from dashboard.pages.report.building import Making, report
from dashboard.pages.report.document import Document
from dashboard.wording import against_text

KINDS: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "tex": "application/x-tex; charset=utf-8",
    "pdf": "application/pdf",
    "bib": "application/x-bibtex; charset=utf-8",
}


def snapshot_texts(snapshot: Snapshot, site: str) -> dict[str, bytes]:
    """Return the forms of a snapshot that are texts, each with its address in it."""
    verdicts = campaign_verdicts(snapshot.campaign)
    table = _whole_table(snapshot, verdicts)
    citation = snapshot_citation(snapshot, site)
    source = _source(snapshot, citation.address, verdicts.tested)
    texts = {
        "csv": _csv(table, source),
        "json": _json(snapshot, table, source),
        "tex": latex(table, source),
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


def _whole_table(snapshot: Snapshot, verdicts: Verdicts) -> ComparisonTable:
    """Return all cells of the campaign, in every scenario, with their verdicts."""
    campaign = snapshot.campaign
    rows = comparison_rows(
        campaign,
        systems=facets(campaign).systems,
        filters={},
        verdicts=verdicts,
    )
    return comparison_table(rows)


def _source(snapshot: Snapshot, address: str, tested: int) -> Source:
    campaign = snapshot.campaign
    return Source(
        title=snapshot.title,
        slug=f"{campaign.slug}-{snapshot.number}",
        address=address,
        against=against_text(campaign.reference_system),
        made_on=snapshot.created_at.date().isoformat(),
        band_percent=campaign.band_percent,
        tested=tested,
    )


def _csv(table: ComparisonTable, source: Source) -> str:
    lines = sourced(
        records(table),
        against=source.against,
        address=source.address,
        made_on=source.made_on,
    )
    return csv_text([*FIELDS, *SOURCED], lines)


def _json(snapshot: Snapshot, table: ComparisonTable, source: Source) -> str:
    campaign = snapshot.campaign
    said = {
        "title": snapshot.title,
        "campaign": f"{campaign.lab.slug}/{campaign.slug}",
        "snapshot": snapshot.number,
        "address": source.address,
        "against": source.against,
        "band_percent": source.band_percent,
        "tested": source.tested,
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
