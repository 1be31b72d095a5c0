"""Virtlab from Python: read results and verdicts, and upload runs.

    import virtlab
    cells = virtlab.read_cells("lmu-2010-xen")

Public data need only the address of the server, in ``$VIRTLAB_SERVER`` or as
``server=``; private data and uploads also need a token of the lab, in
``$VIRTLAB_TOKEN`` or as ``token=``. Tables are pandas DataFrames if pandas is installed
(pyarrow makes large ones faster), else lists of dictionaries, one per row. Each table
is checked against the SHA-256 from the server. ``Client`` is the client of Virtlab's
agent; it retries temporary failures.

``filters`` are those of /api/v1/data/: ``study``, ``host``, ``hypervisor``, ``tool``,
``metric``, ``case``, ``scenario``, and the days ``since`` and ``until``. Columns are
described at /api/v1/data/schema/; each parameter, option and fact is a column, for
example ``parameters.block_size``.

Raises RefusedError with the server's sentence, and UnreachableError.
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

from virtlab.client import PASSING, Client, RefusedError, UnreachableError

__all__ = [
    "Client",
    "RefusedError",
    "UnreachableError",
    "connect",
    "read_cells",
    "read_runs",
    "read_samples",
    "read_studies",
    "read_systems",
    "upload",
    "verdicts",
    "wait",
]

SERVER, TOKEN = "VIRTLAB_SERVER", "VIRTLAB_TOKEN"
PAUSE_S = 0.5
# The server completes a file before it sends the first byte.
SILENCE_S = 900
OBJECTS = ("factors", "options", "parameters", "facts", "host_facts")


def connect(server="", token="", patience_s=60):
    """Return a client; server and token default to the environment."""
    server = server or os.environ.get(SERVER, "")
    if not server:
        raise ValueError(f"Say which server: server=..., or set ${SERVER}.")
    return Client(server, token or os.environ.get(TOKEN, ""), patience_s)


def read_studies(server="", token="", **filters):
    """Return the visible studies."""
    return _read("studies", server, token, filters)


def read_systems(study=None, server="", token="", **filters):
    """Return the systems of a study, or of all studies."""
    return _read("systems", server, token, dict(filters, study=study))


def read_cells(study=None, server="", token="", **filters):
    """Return the cells of a study: statistics over run means."""
    return _read("cells", server, token, dict(filters, study=study))


def read_runs(study=None, server="", token="", **filters):
    """Return the runs of a study."""
    return _read("runs", server, token, dict(filters, study=study))


def read_samples(study=None, server="", token="", **filters):
    """Return the samples of a study, in the order of its runs."""
    return _read("samples", server, token, dict(filters, study=study))


def verdicts(study, server="", token="", **filters):
    """Return each cell's comparison: ratio, 95 % interval, verdict, reasons."""
    rows = connect(server, token).get_all("comparisons/", study=study, **filters)
    return _table(map(_flat, rows))


def upload(runs, server="", token=""):
    """Store runs (format: docs/api.md) and return how many are stored.

    Each needs a ``key``, a UUID. The same key is the same run, so an interrupted upload
    can be repeated.
    """
    stored = 0
    for stored in connect(server, token).upload(runs):  # noqa: B007 - the last counts
        pass
    return stored


def wait(study, server="", token="", timeout_s=300):
    """Wait until all runs of a study are processed and checked; return its counts.

    Raises TimeoutError.
    """
    client, deadline = connect(server, token), time.monotonic() + timeout_s
    while True:
        counts = client.get(f"studies/{study}/")["counts"]
        if not counts["waiting"] and not counts["unchecked"]:
            return counts
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{study} after {timeout_s:g} s: {counts['waiting']} runs wait, "
                f"{counts['unchecked']} checks are due."
            )
        time.sleep(PAUSE_S)


def _read(table, server, token, filters):
    client = connect(server, token)
    query = {name: value for name, value in filters.items() if value is not None}
    pandas, has_arrow = _import("pandas"), _import("pyarrow") is not None
    form = "parquet" if pandas and has_arrow else "ndjson"
    path = f"data/{table}/{form}/?{urllib.parse.urlencode(query)}"
    with _fetched(client, path) as file:
        if form == "parquet":
            return _unfolded(pandas.read_parquet(file))
        return _table(_flat(json.loads(line.decode())) for line in file)


def _fetched(client, path):
    """Download a path into a temporary file."""
    deadline = time.monotonic() + client.patience_s
    while True:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        try:
            _download(client, path, file)
            file.seek(0)
            return file
        except (OSError, EOFError, http.client.HTTPException) as error:
            file.close()
            wait_s = PAUSE_S
            if isinstance(error, urllib.error.HTTPError):
                wait_s = _wait_after(error)
            if time.monotonic() + wait_s > deadline:
                raise UnreachableError(f"{client.url}: {error}") from None
            time.sleep(wait_s)


def _download(client, path, file):
    """Read an answer into a file; raise EOFError if it is incomplete."""
    headers = {"User-Agent": "virtlab-client"}
    if client.token:
        headers["Authorization"] = "Token " + client.token
    request = urllib.request.Request(client.url + path, headers=headers)
    opener = urllib.request.build_opener(_NoDetours)
    with opener.open(request, timeout=SILENCE_S) as answer:
        shutil.copyfileobj(answer, file, 1 << 20)
    file.seek(0)
    digest = hashlib.sha256()
    for piece in iter(lambda: file.read(1 << 20), b""):
        digest.update(piece)
    if digest.hexdigest() != answer.headers.get("X-SHA256"):
        raise EOFError("the file did not come as the server made it")


class _NoDetours(urllib.request.HTTPRedirectHandler):
    """Follow no redirection: the token is for this server."""

    def redirect_request(self, *_):
        return None


def _wait_after(error):
    """Return the pause before a retry; raise RefusedError for permanent errors."""
    with error:
        try:
            answer = json.loads(error.read(1 << 20).decode())
        except ValueError:
            answer = {}
    answer = answer if isinstance(answer, dict) else {}
    # Another attempt would take as long.
    if error.code not in PASSING or answer.get("code") == "took_too_long":
        raise RefusedError(error.code, answer) from None
    try:
        return min(float(error.headers.get("Retry-After", PAUSE_S)), 60)
    except ValueError:
        return PAUSE_S


def _unfolded(frame):
    """Return a frame with the values of JSON objects as columns."""
    for name in OBJECTS:
        if name not in frame:
            continue
        # Many rows have equal objects: parse each once.
        objects = {text: json.loads(text) for text in frame[name].dropna().unique()}
        keys = dict.fromkeys(key for each in objects.values() for key in each)
        for key in keys:
            values = {text: each.get(key) for text, each in objects.items()}
            frame[f"{name}.{key}"] = frame[name].map(values)
        del frame[name]
    return frame


def _import(name):
    try:
        return __import__(name)
    except ImportError:
        return None


def _flat(row):
    """Return a row with the values of objects as columns: ``parameters.block``."""
    flat = {}
    for name, value in row.items():
        if isinstance(value, dict):
            for inner, text in value.items():
                flat[f"{name}.{inner}"] = text
        else:
            flat[name] = value
    return flat


def _table(rows):
    pandas, rows = _import("pandas"), list(rows)
    return pandas.DataFrame(rows) if pandas else rows
