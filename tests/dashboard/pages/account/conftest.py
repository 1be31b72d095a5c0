"""A provider of OpenID Connect, and a lab whose people sign in."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from benchmarks.models import Lab, Membership, Study
from config import env
from tests.dashboard import serving

PASSWORD = "sesame-open-now"


class IdentityProvider:
    """A real one, of the package oidc-provider-mock, in a process of its own."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, method: str, path: str, document: Any) -> Any:
        body = json.dumps(document).encode()
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(
            self.address + path, body, headers, method=method
        )
        with urllib.request.urlopen(asked, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def knows(self, sub: str, **claims: Any) -> None:
        """Let somebody sign in there, of whom it says this."""
        self.ask("PUT", f"/users/{sub}", claims)

    def serves(self, settings: Any, site: str, **options: str) -> None:
        """Register a site as its client, and configure the site so."""
        back = [f"{site}/login/callback/"]
        client = self.ask("POST", "/oauth2/clients", {"redirect_uris": back})
        oidc = env.Oidc(
            issuer=self.address,
            client_id=client["client_id"],
            secret=client["client_secret"],
            name="Uni login",
            **{"accounts": "invited", "lab": "", **options},
        )
        settings.OIDC = oidc
        # A machine that does much else takes its time.
        settings.SOCIALACCOUNT_REQUESTS_TIMEOUT = 60
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [oidc.app]}}


@pytest.fixture(scope="module")
def identity_provider() -> Iterator[IdentityProvider]:
    """Start the provider on loopback; it ends with the tests of a module."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    started = subprocess.Popen(
        [*command, "--require-registration"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    provider = IdentityProvider(f"http://localhost:{port}")
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(provider.address, timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        else:
            raise AssertionError("The provider did not start.")
        yield provider
    finally:
        started.terminate()
        started.wait(timeout=20)


@pytest.fixture
def site(transactional_db: None) -> Iterator[str]:
    """Serve a lab with a private study and one person; by a name, as passkeys want."""
    connection.close()  # another module's site may have ended it
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    Study.objects.create(lab=lab, slug="secret", title="A private study")
    carol = get_user_model().objects.create_user("carol", password=PASSWORD)
    Membership.objects.create(lab=lab, user=carol, role="maintainer")
    with serving.served() as address:
        yield address.replace("127.0.0.1", "localhost")
