"""A stored upload as a page shows it: the lines of a run and their context. PURE."""

from dataclasses import dataclass

import orjson

SHOWN = 100_000
AROUND = 20


@dataclass(frozen=True)
class UploadText:
    """The lines of a run; ``before`` and ``after`` surround it in a larger upload."""

    lines: str
    before: str = ""
    after: str = ""
    is_cut: bool = False
    is_raw: bool = False


def upload_text(text: str, first: int | None, last: int | None) -> UploadText:
    """Return a kept upload made readable; lines count from 1, None means all of it."""
    document = _document(text)
    if document is None:
        return UploadText(lines=text[:SHOWN], is_cut=len(text) > SHOWN)
    if "output" not in document:
        shown = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
        return UploadText(lines=shown[:SHOWN], is_cut=len(shown) > SHOWN)
    # The reader counts lines as terminals show them: a lone return ends one too.
    output = str(document["output"]).replace("\r\n", "\n").replace("\r", "\n")
    rows = [f"{row}\n" for row in output.split("\n")]
    start, end = (first or 1) - 1, last or len(rows)
    begin = max(start - AROUND, 0)
    own = "".join(rows[start:end])
    return UploadText(
        before="".join(rows[begin:start]),
        lines=own[:SHOWN],
        after="".join(rows[end : end + AROUND]),
        is_cut=begin > 0 or len(own) > SHOWN or end + AROUND < len(rows),
        is_raw=True,
    )


def kept_output(text: str) -> str | None:
    """Return the raw output of a kept upload, or None if samples were sent."""
    output = (_document(text) or {}).get("output")
    return None if output is None else str(output)


def _document(text: str) -> dict[str, object] | None:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None
