"""Citations of a study: BibTeX, CSL-JSON, and schema.org Dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from benchmarks.models import Study, Version
from benchmarks.study_sources import COPIED, Source
from dashboard.exports.latex_escaping import CHARACTER_COMMAND, escape_latex

DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
# A comma does not separate authors, because names may contain one ("Doe, Jane").
AUTHOR_SEPARATOR = re.compile(r"\s*;\s*|\s+(?:and|&)\s+")
MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)


@dataclass(frozen=True)
class Citation:
    """Bibliographic data. Fields that are not reported are empty."""

    key: str
    title: str
    author: str
    institution: str
    published: str
    language: str
    url: str
    note: str
    accessed_on: date | None
    kind: str = ""
    published_in: str = ""
    doi: str = ""
    originals: tuple[Citation, ...] = ()
    """The published works that the numbers come from, cited first."""

    @property
    def authors(self) -> list[str]:
        return [name for name in AUTHOR_SEPARATOR.split(self.author.strip()) if name]

    @property
    def day(self) -> list[int]:
        day = DAY.fullmatch(self.published.strip())
        return [int(part) for part in day.groups() if part] if day else []


def site_url(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")


def citation_of(request: HttpRequest, study: Study) -> Citation:
    return citation_at(site_url(request), study)


def citation_at(site: str, study: Study) -> Citation:
    page = reverse("dashboard:study", args=[study.lab.slug, study.slug])
    name = f"{study.lab.slug}/{study.slug}"
    originals = tuple(
        _original(f"{study.slug}-{number}" if number else study.slug, source)
        for number, source in enumerate(study.original_works)
    )
    return Citation(
        key=f"{study.slug}-virtlab" if originals else study.slug,
        title=study.title,
        author=study.author,
        institution=study.institution,
        published=study.published,
        language=study.language,
        url=f"{site}{page}",
        note=f"{_origin(study)}Study {name} in Virtlab {settings.VERSION}",
        accessed_on=timezone.now().date(),
        kind="dataset" if originals else "",
        originals=originals,
    )


def _original(key: str, source: Source) -> Citation:
    return Citation(
        key=key,
        title=source.title,
        author=source.authors,
        institution=source.institution,
        published=source.published,
        language=source.language,
        url=source.url,
        note="",
        accessed_on=None,
        kind=source.kind,
        published_in=source.published_in,
        doi=source.doi,
    )


def _origin(study: Study) -> str:
    if source := study.main_source:
        verb = "Copied" if source.relation == COPIED else "Transcribed"
        return f"{verb} from: {source.title}. "
    return ""


def dataset_script(citation: Citation, study: Study) -> SafeString:
    values = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": citation.title,
        "description": study.note or citation.title,
        "url": citation.url,
        "identifier": citation.url,
        "creator": [{"@type": "Person", "name": name} for name in citation.authors],
        "publisher": {"@type": "Organization", "name": study.lab.name},
        "datePublished": "-".join(f"{part:02}" for part in citation.day),
        "license": study.data_licence,
        "isBasedOn": [
            source.address or source.title for source in study.original_works
        ],
        "inLanguage": citation.language,
        "distribution": {
            "@type": "DataDownload",
            "encodingFormat": "text/csv",
            "contentUrl": f"{citation.url}compare.csv",
        },
    }
    return _ld_script(values)


def version_script(request: HttpRequest, version: Version) -> SafeString:
    """Return JSON-LD of a public version, without the study's editable texts."""
    page = f"{site_url(request)}{reverse('dashboard:version', args=[version.pk])}"
    doi = f"https://doi.org/{version.doi}" if version.doi else ""
    values = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": version.title,
        "url": page,
        "identifier": [doi, page] if doi else page,
        "sameAs": doi,
        "version": str(version.number),
        "publisher": {"@type": "Organization", "name": version.lab.name},
        "datePublished": version.published_at.date().isoformat(),
        "license": version.study.data_licence,
        "isPartOf": citation_of(request, version.study).url,
        "distribution": [
            {
                "@type": "DataDownload",
                "encodingFormat": kind,
                "contentUrl": f"{page.rstrip('/')}.{form}",
            }
            for form, kind in (("csv", "text/csv"), ("json", "application/json"))
        ],
    }
    return _ld_script(values)


def _ld_script(values: dict[str, Any]) -> SafeString:
    text = json.dumps({name: value for name, value in values.items() if value})
    # Prevent the text from ending the script element.
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return mark_safe(f'<script type="application/ld+json">{text}</script>')


# Types of entries by kind of work, and the field of BibTeX that names where it was
# published.
_BIBTEX_TYPES: Final[Mapping[str, tuple[str, str]]] = {
    "report": ("techreport", "number"),
    "thesis": ("mastersthesis", "note"),
    "paper": ("inproceedings", "booktitle"),
    "article": ("article", "journal"),
}
_CSL_TYPES: Final[Mapping[str, str]] = {
    "thesis": "thesis",
    "paper": "paper-conference",
    "article": "article-journal",
    "web page": "webpage",
    "talk": "speech",
    "dataset": "dataset",
}


def bibtex(citation: Citation) -> str:
    """Return an entry for each original work, and one for the study."""
    entries = "\n".join(map(_entry, (*citation.originals, citation)))
    if r"\virtlabchar" in entries:
        return f'@preamble{{ "{CHARACTER_COMMAND}" }}\n{entries}'
    return entries


def _entry(citation: Citation) -> str:
    work = citation.kind or ("report" if citation.institution else "")
    kind, place = _BIBTEX_TYPES.get(work, ("misc", "howpublished"))
    year, month = (*citation.day, None, None)[:2]
    accessed_on = citation.accessed_on.isoformat() if citation.accessed_on else ""
    # BibTeX splits names into parts. Braces protect texts that are not personal names.
    authors = (
        escape_latex(name)
        if re.fullmatch(r"[\w.' -]+(, [\w.' -]+)?", name)
        else _braced(name)
        for name in citation.authors
    )
    url = escape_latex(citation.url)
    note = f"{escape_latex(citation.note)}, {url}, {accessed_on}"
    institution = "school" if kind == "mastersthesis" else "institution"
    fields = {
        "author": " and ".join(authors) or _braced(citation.institution),
        "title": _braced(citation.title),
        institution: escape_latex(citation.institution),
        "year": str(year) if year else escape_latex(citation.published),
        "language": escape_latex(citation.language),
        "howpublished": url if kind == "misc" else "",
        "note": note if accessed_on else "",
        # The url package accepts all other characters.
        "url": re.sub(r"[{}\\%\s]", "", citation.url),
        "doi": citation.doi,
        "urldate": accessed_on,
    }
    if citation.published_in:
        fields[place] = escape_latex(citation.published_in)
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items() if text]
    if month and 1 <= month <= len(MONTHS):
        lines.append(f"  month = {MONTHS[month - 1]},")
    return "\n".join([f"@{kind}{{{citation.key},", *lines, "}"]) + "\n"


def add_doi(entry: str, doi: str) -> str:
    if not doi:
        return entry
    before = entry.rstrip().removesuffix("}").rstrip().removesuffix(",")
    return f"{before},\n  doi = {{{doi}}},\n}}\n"


def _braced(text: str) -> str:
    return f"{{{escape_latex(text)}}}" if text else ""


def csl_json(citation: Citation) -> str:
    items = [_csl_item(entry) for entry in (*citation.originals, citation)]
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"


def _csl_item(citation: Citation) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": citation.key,
        "type": _CSL_TYPES.get(citation.kind, "report"),
        "title": citation.title,
        "author": [_csl_name(name) for name in citation.authors],
        "publisher": citation.institution,
        "container-title": citation.published_in,
        "language": citation.language,
        "DOI": citation.doi,
        "URL": citation.url,
        "note": citation.note,
    }
    if citation.accessed_on:
        item["accessed"] = {"date-parts": [citation.accessed_on.timetuple()[:3]]}
    if citation.day:
        item["issued"] = {"date-parts": [citation.day]}
    elif citation.published:
        item["issued"] = {"raw": citation.published}
    return {name: value for name, value in item.items() if value}


def _csl_name(name: str) -> dict[str, str]:
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    if first.strip() and last.strip():
        return {"family": last.strip(), "given": first.strip()}
    return {"literal": name}
