"""Citations of a study: BibTeX, CSL-JSON, and schema.org's Dataset.

Cells may be added later, so a citation has the day on which its numbers were read.
"""

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from benchmarks.models import Study, Version
from dashboard.exports.escaping import OTHER_CHARACTER, tex

DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
# A comma stands within a name ("Doe, Jane"), so it never parts two of them.
BETWEEN_AUTHORS = re.compile(r"\s*;\s*|\s+(?:and|&)\s+")
MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)


@dataclass(frozen=True)
class Citation:
    """The bibliographic fields of a study, version or review; "" is not stated."""

    key: str
    title: str
    author: str
    institution: str
    published: str
    language: str
    address: str
    note: str
    read_on: date

    @property
    def authors(self) -> list[str]:
        """The names, split at semicolons, "and" and "&"."""
        return [name for name in BETWEEN_AUTHORS.split(self.author.strip()) if name]

    @property
    def day(self) -> list[int]:
        """The stated ones of year, month and day of publication."""
        day = DAY.fullmatch(self.published.strip())
        return [int(part) for part in day.groups() if part] if day else []


def site_of(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")


def citation_of(request: HttpRequest, study: Study) -> Citation:
    """Return the citation of a study, read today."""
    return citation_at(site_of(request), study)


def citation_at(site: str, study: Study) -> Citation:
    """Return the citation of a study at a site, read today."""
    page = reverse("dashboard:study", args=[study.lab.slug, study.slug])
    name = f"{study.lab.slug}/{study.slug}"
    return Citation(
        key=study.slug,
        title=study.title,
        author=study.author,
        institution=study.institution,
        published=study.published,
        language=study.language,
        address=f"{site}{page}",
        note=f"Study {name} in Virtlab {settings.VERSION}",
        read_on=timezone.now().date(),
    )


def dataset_script(citation: Citation, study: Study) -> SafeString:
    """Return a public study as a script element with JSON-LD."""
    stated = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": citation.title,
        "description": study.note or citation.title,
        "url": citation.address,
        "identifier": citation.address,
        "creator": [{"@type": "Person", "name": name} for name in citation.authors],
        "publisher": {"@type": "Organization", "name": study.lab.name},
        "datePublished": "-".join(f"{part:02}" for part in citation.day),
        "license": study.data_licence,
        "inLanguage": citation.language,
        "distribution": {
            "@type": "DataDownload",
            "encodingFormat": "text/csv",
            "contentUrl": f"{citation.address}compare.csv",
        },
    }
    return _ld_script(stated)


def version_script(request: HttpRequest, version: Version) -> SafeString:
    """Return a public version as JSON-LD, without the study's changeable fields."""
    page = f"{site_of(request)}{reverse('dashboard:version', args=[version.pk])}"
    doi = f"https://doi.org/{version.doi}" if version.doi else ""
    stated = {
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
        "isPartOf": citation_of(request, version.study).address,
        "distribution": [
            {
                "@type": "DataDownload",
                "encodingFormat": kind,
                "contentUrl": f"{page.rstrip('/')}.{form}",
            }
            for form, kind in (("csv", "text/csv"), ("json", "application/json"))
        ],
    }
    return _ld_script(stated)


def _ld_script(stated: dict[str, Any]) -> SafeString:
    text = json.dumps({name: value for name, value in stated.items() if value})
    # No text may end the element or start another one.
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return mark_safe(f'<script type="application/ld+json">{text}</script>')


def bibtex(citation: Citation) -> str:
    """Return a BibTeX entry: a ``techreport`` where an institution is stated."""
    kind = "techreport" if citation.institution else "misc"
    year, month = (*citation.day, None, None)[:2]
    read_on = citation.read_on.isoformat()
    # BibTeX splits names; protect other texts with braces.
    people = (
        tex(name) if re.fullmatch(r"[\w.' -]+(, [\w.' -]+)?", name) else _whole(name)
        for name in citation.authors
    )
    fields = {
        "author": " and ".join(people) or _whole(citation.institution),
        "title": _whole(citation.title),
        "institution": tex(citation.institution),
        "year": str(year) if year else tex(citation.published),
        "language": tex(citation.language),
        "howpublished": tex(citation.address) if kind == "misc" else "",
        "note": tex(f"{citation.note}, {citation.address}, {read_on}"),
        # The url package takes every character but braces, percents and backslashes.
        "url": re.sub(r"[{}\\%\s]", "", citation.address),
        "urldate": read_on,
    }
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items() if text]
    if month and 1 <= month <= len(MONTHS):
        lines.append(f"  month = {MONTHS[month - 1]},")
    entry = "\n".join([f"@{kind}{{{citation.key},", *lines, "}"]) + "\n"
    if r"\virtlabchar" in entry:
        return f'@preamble{{ "{OTHER_CHARACTER}" }}\n{entry}'
    return entry


def with_doi(entry: str, doi: str) -> str:
    """Return a BibTeX entry with a DOI, which a version gets after its files."""
    if not doi:
        return entry
    before = entry.rstrip().removesuffix("}").rstrip().removesuffix(",")
    return f"{before},\n  doi = {{{doi}}},\n}}\n"


def _whole(text: str) -> str:
    """Protect capitals and the word "and"."""
    return f"{{{tex(text)}}}" if text else ""


def csl_json(citation: Citation) -> str:
    """Return a citation as CSL-JSON, the format of citation managers."""
    read_on = citation.read_on
    item: dict[str, Any] = {
        "id": citation.key,
        "type": "report",
        "title": citation.title,
        "author": [_csl_name(name) for name in citation.authors],
        "publisher": citation.institution,
        "language": citation.language,
        "URL": citation.address,
        "note": citation.note,
        "accessed": {"date-parts": [[read_on.year, read_on.month, read_on.day]]},
    }
    if citation.day:
        item["issued"] = {"date-parts": [citation.day]}
    elif citation.published:
        item["issued"] = {"raw": citation.published}
    stated = {name: value for name, value in item.items() if value}
    return json.dumps([stated], ensure_ascii=False, indent=2) + "\n"


def _csl_name(name: str) -> dict[str, str]:
    """Split a name at its comma or before its last word."""
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    if first.strip() and last.strip():
        return {"family": last.strip(), "given": first.strip()}
    return {"literal": name}
