"""Stored uploads as text. PURE."""

from dataclasses import dataclass

import orjson

MAX_SHOWN_CHARACTERS = 100_000
CONTEXT_LINES = 20


@dataclass(frozen=True)
class ReadableUpload:
    lines: str
    before: str = ""
    after: str = ""
    is_truncated: bool = False
    is_raw: bool = False


def readable_upload(text: str, first: int | None, last: int | None) -> ReadableUpload:
    """Return lines ``first`` to ``last`` of an upload, counted from 1.

    None means the first or last line. Long texts are cut; samples are complete.
    """
    document = _parse_document(text)
    if document is None:
        return ReadableUpload(
            lines=text[:MAX_SHOWN_CHARACTERS],
            is_truncated=len(text) > MAX_SHOWN_CHARACTERS,
        )
    if "output" not in document:
        text_shown = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
        return ReadableUpload(
            lines=text_shown[:MAX_SHOWN_CHARACTERS],
            is_truncated=len(text_shown) > MAX_SHOWN_CHARACTERS,
        )
    # A lone carriage return starts a new line, as it does in parsers.
    output = str(document["output"]).replace("\r\n", "\n").replace("\r", "\n")
    rows = [f"{row}\n" for row in output.split("\n")]
    start, end = (first or 1) - 1, last or len(rows)
    context_start = max(start - CONTEXT_LINES, 0)
    selected = "".join(rows[start:end])
    return ReadableUpload(
        before="".join(rows[context_start:start]),
        lines=selected[:MAX_SHOWN_CHARACTERS],
        after="".join(rows[end : end + CONTEXT_LINES]),
        is_truncated=context_start > 0
        or len(selected) > MAX_SHOWN_CHARACTERS
        or end + CONTEXT_LINES < len(rows),
        is_raw=True,
    )


def stored_output(text: str) -> str | None:
    output = (_parse_document(text) or {}).get("output")
    return None if output is None else str(output)


def _parse_document(text: str) -> dict[str, object] | None:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None
