"""A client of the API, and fixtures for the tests of several endpoints."""

import gzip
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from django.test import Client

from benchmarks.models import Study

ROOT = "/api/v1/"


class Api:
    """Sends requests below /api/v1/, with a token if there is one."""

    def __init__(self, token: str = "") -> None:
        self.client = Client(raise_request_exception=False)
        self.token = token

    def get(self, path: str, token: str | None = None, **query: Any) -> Any:
        address = f"{ROOT}{path}?{urlencode(query)}" if query else ROOT + path
        return self.client.get(address, headers=self._headers(token))

    def post(self, path: str, body: Any, token: str | None = None, **extra: Any) -> Any:
        return self.send("post", path, body, token, **extra)

    def patch(self, path: str, body: Any, token: str | None = None) -> Any:
        return self.send("patch", path, body, token)

    def send(
        self,
        method: str,
        path: str,
        body: Any,
        token: str | None = None,
        content_type: str = "application/json",
        **headers: str,
    ) -> Any:
        """Send bytes unchanged, and other bodies as JSON."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        call = getattr(self.client, method)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return call(
            ROOT + path,
            raw,
            content_type=content_type,
            headers={
                # The test client omits it if there is no body.
                "Content-Type": content_type,
                **self._headers(token),
                **headers,
            },
        )

    def packed(self, path: str, raw: bytes, **extra: Any) -> Any:
        """Post a body compressed with gzip."""
        return self.post(path, gzip.compress(raw), Content_Encoding="gzip", **extra)

    def bulk(self, documents: list[Any], token: str | None = None) -> Any:
        """Post one document per line; bytes are sent unchanged."""
        lines = [
            document if isinstance(document, bytes) else orjson.dumps(document)
            for document in documents
        ]
        return self.post(
            "runs/bulk/",
            b"\n".join(lines),
            token,
            content_type="application/x-ndjson",
        )

    def _headers(self, token: str | None) -> dict[str, str]:
        secret = self.token if token is None else token
        return {"Authorization": f"Token {secret}"} if secret else {}


@pytest.fixture
def anyone() -> Api:
    """A client without a token."""
    return Api()


@pytest.fixture
def api(token: str) -> Api:
    """A client with a token of the lab that may upload."""
    return Api(token)


@pytest.fixture
def reader(read_token: str) -> Api:
    """A client that may read the lab's private data."""
    return Api(read_token)


@pytest.fixture
def stranger(other_token: str) -> Api:
    """A client with a token of the other lab that may upload."""
    return Api(other_token)


@pytest.fixture
def foreign_study(other_lab: Any) -> Study:
    return Study.objects.create(lab=other_lab, slug="theirs", title="Their study")


@pytest.fixture
def measured(
    submit: Callable[..., list[Any]],
    run_document: Callable[..., dict[str, Any]],
    xen: dict[str, Any],
) -> list[Any]:
    """Submit and process one native run and one run on Xen."""
    return submit(run_document(), run_document(13.08, system=xen))
