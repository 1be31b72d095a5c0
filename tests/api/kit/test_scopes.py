"""Every endpoint requires its scope of a token, and docs/api.md lists it."""

import re
from pathlib import Path

import pytest

from api.kit.scopes import MANAGE, SCOPES, UPLOAD
from api.urls import ROUTES
from benchmarks.labs.tokens import issue_token
from benchmarks.models import Study, Webhook
from benchmarks.models.lab import TOKEN_SCOPES

SAFE = {"GET", "HEAD", "OPTIONS"}
PATHS = {name: path for path, _view, name in ROUTES}
GUARDED = [
    (name, method, scope)
    for name, methods in SCOPES.items()
    for method, scope in methods.items()
]


def written_path(path):
    return re.sub(r"<[^>]+>", "1", path)


def test_the_table_has_every_method_that_writes():
    writing = {
        (name, method)
        for _path, view, name in ROUTES
        for method in view().allowed_methods
        if method not in SAFE
    }

    listed = {(name, method) for name, method, _scope in GUARDED}

    assert writing == {pair for pair in listed if pair[1] not in SAFE}


@pytest.mark.parametrize(("name", "method", "scope"), GUARDED)
def test_a_token_needs_exactly_the_scope(anyone, agent, name, method, scope):
    path = written_path(PATHS[name])
    for own in TOKEN_SCOPES:
        _, secret = issue_token(agent=agent, **{f"can_{own}": True})
        if method == "GET":
            hidden = anyone.get(path, token=secret)
            assert hidden.status_code == 404 or not hidden.json()["results"]
            continue
        answer = anyone.send(method.lower(), path, {"a": 1}, token=secret)

        is_refused = answer.status_code == 403
        assert is_refused is (scope not in ("", own)), (own, answer.content)
        if is_refused:
            assert answer.json()["code"] == "permission_denied"
            assert f"scope {scope}" in answer.json()["detail"]


def test_upload_tokens_change_no_study_and_see_no_webhook(
    anyone, lab, upload_token, private_study
):
    """Such a token published a private study and read the URLs of webhooks."""
    Webhook.objects.create(lab=lab, target_url="https://example.org/secret", kinds=[])
    path = f"studies/{private_study.slug}/"

    read = anyone.patch(path, {}, token=upload_token)
    changed = anyone.patch(path, {"visibility": "public"}, token=upload_token)
    created = anyone.post("studies/", {"slug": "a", "title": "a"}, token=upload_token)
    webhooks = anyone.get("webhooks/", token=upload_token)

    statuses = [answer.status_code for answer in (read, changed, created, webhooks)]
    assert statuses == [200, 403, 403, 200]
    assert webhooks.json()["results"] == []
    assert not Study.objects.filter(visibility="public").exists()


def test_the_documented_table_equals_the_code():
    rows = []
    for scope in (UPLOAD, MANAGE):
        requests = ", ".join(
            f"{method} `{PATHS[name]}`"
            for name, method, needed in GUARDED
            if needed == scope
        )
        rows.append(f"| `{scope}` | {requests} |")

    page = (Path(__file__).parents[3] / "docs" / "api.md").read_text()

    assert "\n".join(rows) in page
