"""Citations of a study: BibTeX, CSL-JSON, and schema.org Dataset."""

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
    accessed_on: date

    @property
    def authors(self) -> list[str]:
        return [name for name in AUTHOR_SEPARATOR.split(self.author.strip()) if name]

    @property
    def day(self) -> list[int]:
        """Year, month and day of publication, as far as they are known."""
        day = DAY.fullmatch(self.published.strip())
        return [int(part) for part in day.groups() if part] if day else []


def site_url(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")


def citation_of(request: HttpRequest, study: Study) -> Citation:
    return citation_at(site_url(request), study)


def citation_at(site: str, study: Study) -> Citation:
    page = reverse("dashboard:study", args=[study.lab.slug, study.slug])
    name = f"{study.lab.slug}/{study.slug}"
    return Citation(
        key=study.slug,
        title=study.title,
        author=study.author,
        institution=study.institution,
        published=study.published,
        language=study.language,
        url=f"{site}{page}",
        note=f"Study {name} in Virtlab {settings.VERSION}",
        accessed_on=timezone.now().date(),
    )


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


def bibtex(citation: Citation) -> str:
    kind = "techreport" if citation.institution else "misc"
    year, month = (*citation.day, None, None)[:2]
    accessed_on = citation.accessed_on.isoformat()
    # BibTeX splits names into parts. Braces protect texts that are not personal names.
    authors = (
        escape_latex(name)
        if re.fullmatch(r"[\w.' -]+(, [\w.' -]+)?", name)
        else _braced(name)
        for name in citation.authors
    )
    fields = {
        "author": " and ".join(authors) or _braced(citation.institution),
        "title": _braced(citation.title),
        "institution": escape_latex(citation.institution),
        "year": str(year) if year else escape_latex(citation.published),
        "language": escape_latex(citation.language),
        "howpublished": escape_latex(citation.url) if kind == "misc" else "",
        "note": escape_latex(f"{citation.note}, {citation.url}, {accessed_on}"),
        # The url package accepts all other characters.
        "url": re.sub(r"[{}\\%\s]", "", citation.url),
        "urldate": accessed_on,
    }
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items() if text]
    if month and 1 <= month <= len(MONTHS):
        lines.append(f"  month = {MONTHS[month - 1]},")
    entry = "\n".join([f"@{kind}{{{citation.key},", *lines, "}"]) + "\n"
    if r"\virtlabchar" in entry:
        return f'@preamble{{ "{CHARACTER_COMMAND}" }}\n{entry}'
    return entry


def add_doi(entry: str, doi: str) -> str:
    if not doi:
        return entry
    before = entry.rstrip().removesuffix("}").rstrip().removesuffix(",")
    return f"{before},\n  doi = {{{doi}}},\n}}\n"


def _braced(text: str) -> str:
    return f"{{{escape_latex(text)}}}" if text else ""


def csl_json(citation: Citation) -> str:
    accessed_on = citation.accessed_on
    item: dict[str, Any] = {
        "id": citation.key,
        "type": "report",
        "title": citation.title,
        "author": [_csl_name(name) for name in citation.authors],
        "publisher": citation.institution,
        "language": citation.language,
        "URL": citation.url,
        "note": citation.note,
        "accessed": {
            "date-parts": [[accessed_on.year, accessed_on.month, accessed_on.day]]
        },
    }
    if citation.day:
        item["issued"] = {"date-parts": [citation.day]}
    elif citation.published:
        item["issued"] = {"raw": citation.published}
    values = {name: value for name, value in item.items() if value}
    return json.dumps([values], ensure_ascii=False, indent=2) + "\n"


def _csl_name(name: str) -> dict[str, str]:
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    if first.strip() and last.strip():
        return {"family": last.strip(), "given": first.strip()}
    return {"literal": name}
