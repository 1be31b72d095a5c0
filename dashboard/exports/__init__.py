"""Export of comparisons, citations and reports as files."""

from collections.abc import Mapping

MEDIA_TYPES: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "tex": "application/x-tex; charset=utf-8",
    "pdf": "application/pdf",
    "md": "text/markdown; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "bib": "application/x-bibtex; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "pgf": "application/x-tex; charset=utf-8",
    "zip": "application/zip",
    "xml": "application/xml",
    "csl.json": "application/vnd.citationstyles.csl+json",
}
