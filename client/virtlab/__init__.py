"""Virtlab from Python: read results and verdicts, and upload runs.

    import virtlab
    cells = virtlab.read_cells("lmu-2010-xen")

Public data need only the server's URL, in ``$VIRTLAB_SERVER`` or as ``server=``.
Private data and uploads also need a token, in ``$VIRTLAB_TOKEN`` or as ``token=``.
Tables are pandas DataFrames if pandas is installed (faster with pyarrow), otherwise
lists of dictionaries. Each downloaded file is checked against the SHA-256 that the
server states. ``Client`` is the agent's client, which retries temporary failures.

``filters`` are those of /api/v1/data/: ``study``, ``host``, ``hypervisor``, ``tool``,
``metric``, ``case``, ``scenario``, and the days ``since`` and ``until``.
/api/v1/data/schema/ describes the columns. Each parameter, option and fact has its own
column, for example ``parameters.block_size``.

If a request fails, functions raise RefusedError or UnreachableError.
"""

import hashlib
import http.client
import json
import os
import shutil
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from virtlab.client import TEMPORARY_STATUSES, Client, RefusedError, UnreachableError

__all__ = [
    "Client",
    "RefusedError",
    "UnreachableError",
    "connect",
    "read_cells",
    "read_comparisons",
    "read_runs",
    "read_samples",
    "read_studies",
    "read_systems",
    "upload",
    "wait",
]

SERVER_VARIABLE, TOKEN_VARIABLE = "VIRTLAB_SERVER", "VIRTLAB_TOKEN"
POLL_S = 0.5
# The server completes a file before it sends the first byte.
READ_TIMEOUT_S = 900
JSON_COLUMNS = ("factors", "options", "parameters", "facts", "host_facts")


def connect(server="", token="", retry_for_s=60):
    """Return a client of a server; the environment has the default values."""
    server = server or os.environ.get(SERVER_VARIABLE, "")
    if not server:
        raise ValueError(f"Name the server: server=..., or set ${SERVER_VARIABLE}.")
    return Client(server, token or os.environ.get(TOKEN_VARIABLE, ""), retry_for_s)


def read_studies(server="", token="", **filters):
    return _read("studies", server, token, filters)


def read_systems(study=None, server="", token="", **filters):
    """Return the systems of one study, or of all visible studies."""
    return _read("systems", server, token, dict(filters, study=study))


def read_cells(study=None, server="", token="", **filters):
    """Return the cells (results): statistics over the means of runs."""
    return _read("cells", server, token, dict(filters, study=study))


def read_runs(study=None, server="", token="", **filters):
    return _read("runs", server, token, dict(filters, study=study))


def read_samples(study=None, server="", token="", **filters):
    """Return samples, ordered by run."""
    return _read("samples", server, token, dict(filters, study=study))


def read_comparisons(study, server="", token="", **filters):
    """Return the ratio, 95 % interval, verdict and reasons of each result."""
    rows = connect(server, token).get_all("comparisons/", study=study, **filters)
    return _table(map(_flatten, rows))


def upload(runs, server="", token=""):
    """Store runs (docs/api.md describes the format); return their number.

    Each run needs a ``key``, a UUID. The server stores each key only once, so an
    interrupted upload can be repeated. State failed work with ``failed`` (the reason),
    or ``errors`` of ``operations``; such runs do not count.
    """
    stored = 0
    for stored in connect(server, token).upload(runs):  # noqa: B007 - needs the last
        pass
    return stored


def wait(study, server="", token="", timeout_s=300):
    """Wait until all runs of a study are processed and checked.

    Return the study's counts, or raise TimeoutError.
    """
    client, deadline = connect(server, token), time.monotonic() + timeout_s
    while True:
        counts = client.get(f"studies/{study}/")["counts"]
        if not counts["waiting_runs"] and not counts["unchecked_runs"]:
            return counts
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{study} is not complete after {timeout_s:g} s: "
                f"{counts['waiting_runs']} runs are waiting, "
                f"{counts['unchecked_runs']} runs are not checked."
            )
        time.sleep(POLL_S)


def _read(table, server, token, filters):
    client = connect(server, token)
    query = {name: value for name, value in filters.items() if value is not None}
    pandas, has_arrow = _import("pandas"), _import("pyarrow") is not None
    file_format = "parquet" if pandas and has_arrow else "ndjson"
    path = f"data/{table}/{file_format}/?{urllib.parse.urlencode(query)}"
    with _download_with_retries(client, path) as file:
        if file_format == "parquet":
            return _expand_objects(pandas.read_parquet(file))
        return _table(_flatten(json.loads(line.decode())) for line in file)


def _download_with_retries(client, path):
    deadline = time.monotonic() + client.retry_for_s
    while True:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        try:
            _download(client, path, file)
            file.seek(0)
            return file
        except (OSError, EOFError, http.client.HTTPException) as error:
            file.close()
            wait_s = POLL_S
            if isinstance(error, urllib.error.HTTPError):
                wait_s = _retry_pause_s(error)
            if time.monotonic() + wait_s > deadline:
                raise UnreachableError(f"{client.url}: {error}") from None
            time.sleep(wait_s)


def _download(client, path, file):
    """Download a response; raise EOFError if it is damaged."""
    headers = {"User-Agent": "virtlab-client"}
    if client.token:
        headers["Authorization"] = "Token " + client.token
    request = urllib.request.Request(client.url + path, headers=headers)
    opener = urllib.request.build_opener(_NoRedirects)
    with opener.open(request, timeout=READ_TIMEOUT_S) as response:
        shutil.copyfileobj(response, file, 1 << 20)
    file.seek(0)
    digest = hashlib.sha256()
    for chunk in iter(lambda: file.read(1 << 20), b""):
        digest.update(chunk)
    if digest.hexdigest() != response.headers.get("X-SHA256"):
        raise EOFError("the file was damaged during the download")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Handler that refuses redirects, so that only this server gets the token."""

    def redirect_request(self, *_):
        return None


def _retry_pause_s(error):
    """Return the pause before the next attempt; raise RefusedError if none can help."""
    with error:
        try:
            answer = json.loads(error.read(1 << 20).decode())
        except ValueError:
            answer = {}
    answer = answer if isinstance(answer, dict) else {}
    # After a query time-out, another attempt would take as long.
    if error.code not in TEMPORARY_STATUSES or answer.get("code") == "query_timeout":
        raise RefusedError(error.code, answer) from None
    try:
        return min(float(error.headers.get("Retry-After", POLL_S)), 60)
    except ValueError:
        return POLL_S


def _expand_objects(frame):
    """Replace each column of JSON objects by one column per key."""
    for name in JSON_COLUMNS:
        if name not in frame:
            continue
        # Parse each text once, because many rows have equal objects.
        objects = {text: json.loads(text) for text in frame[name].dropna().unique()}
        keys = dict.fromkeys(key for item in objects.values() for key in item)
        for key in keys:
            values = {text: item.get(key) for text, item in objects.items()}
            frame[f"{name}.{key}"] = frame[name].map(values)
        del frame[name]
    return frame


def _import(name):
    try:
        return __import__(name)
    except ImportError:
        return None


def _flatten(row):
    """Replace objects by their values, named like ``parameters.block_size``."""
    flat = {}
    for name, value in row.items():
        if isinstance(value, dict):
            for key, item in value.items():
                flat[f"{name}.{key}"] = item
        else:
            flat[name] = value
    return flat


def _table(rows):
    pandas, rows = _import("pandas"), list(rows)
    return pandas.DataFrame(rows) if pandas else rows
