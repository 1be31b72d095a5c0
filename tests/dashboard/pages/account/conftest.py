"""An OpenID Connect provider, and a site with users."""

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
from tests.dashboard import served_studies

PASSWORD = "sesame-open-now"


class IdentityProvider:
    """A real provider (oidc-provider-mock) in its own process."""

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
        """Register a user with these claims at the provider."""
        self.ask("PUT", f"/users/{sub}", claims)

    def serves(self, settings: Any, site: str, **options: str) -> None:
        """Register a site as a client, and configure the site."""
        back = [f"{site}/login/callback/"]
        client = self.ask("POST", "/oauth2/clients", {"redirect_uris": back})
        oidc = env.OidcProvider(
            issuer=self.address,
            client_id=client["client_id"],
            secret=client["client_secret"],
            name="Uni login",
            **{"accounts": "invited", "lab": "", **options},
        )
        settings.OIDC_PROVIDER = oidc
        # Busy machines are slow.
        settings.SOCIALACCOUNT_REQUESTS_TIMEOUT = 60
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [oidc.app]}}


@pytest.fixture(scope="module")
def identity_provider() -> Iterator[IdentityProvider]:
    """Start the provider on loopback for the tests of a module."""
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
    """Serve a private study with one user, under a host name as passkeys require."""
    connection.close()  # the server of another module may have closed it
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    Study.objects.create(lab=lab, slug="secret", title="A private study")
    carol = get_user_model().objects.create_user("carol", password=PASSWORD)
    Membership.objects.create(lab=lab, user=carol, role="maintainer")
    with served_studies.served() as address:
        yield address.replace("127.0.0.1", "localhost")
