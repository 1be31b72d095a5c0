"""The OpenAPI document, the page that shows it, and docs/api.md."""

import io
import re
from pathlib import Path

import yaml
from django.contrib.staticfiles import finders
from django.core.management import call_command

from api.kit.errors import MESSAGES_BY_EXCEPTION
from api.kit.schema import ERROR_RESPONSES, openapi_document
from api.urls import urlpatterns
from tests.for_each import for_each

GOLDEN = Path(__file__).with_name("openapi.yaml")
API_DOCS = Path(__file__).parents[2] / "docs" / "api.md"
REBUILD = "Check the differences. If they are intended, run: make golden"

OPERATIONS = [
    (path, method, operation)
    for path, methods in openapi_document()["paths"].items()
    for method, operation in methods.items()
]
NAMES = [f"{method} {path}" for path, method, _ in OPERATIONS]


def test_document_equals_the_saved_one():
    made = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=made)

    assert made.getvalue().strip() == GOLDEN.read_text().strip(), REBUILD


def test_document_is_served_as_json_and_yaml(anyone):
    as_json = anyone.get("schema/")
    as_yaml = anyone.client.get(
        "/api/v1/schema/", headers={"Accept": "application/vnd.oai.openapi"}
    )

    assert as_json.json()["openapi"].startswith("3.")
    assert yaml.safe_load(as_yaml.content) == as_json.json()


WITHOUT_TOKEN = {
    *("/api/v1/parse/", "/api/v1/parse/machine/"),
    "/api/v1/enrolments/",
}
WITHOUT_BODY = {"/api/v1/webhooks/{id}/test/"}


@for_each(("path", "method", "operation"), OPERATIONS)
def test_every_operation_is_described(path, method, operation):
    assert operation["summary"]
    assert operation["security"], "it must state whether a token is needed"
    assert operation["responses"].keys() >= {"400", "406", "500", "503"}
    if method in {"post", "patch"} and path not in WITHOUT_TOKEN:
        assert operation["security"] == [{"token": []}]
        assert operation["responses"].keys() >= {"401", "403", "413", "415", "422"}
        if path not in WITHOUT_BODY:
            (content,) = operation["requestBody"]["content"].values()
            assert content["examples"]


def test_every_url_is_in_the_document():
    paths = {re.sub(r"{\w+}", "*", path) for path in openapi_document()["paths"]}
    hidden = {"schema", "docs", "unknown"}

    for pattern in urlpatterns:
        if pattern.name not in hidden:
            address = re.sub(r"<\w+:\w+>", "*", str(pattern.pattern))
            assert f"/api/v1/{address}" in paths


def test_request_schemas_allow_no_other_keys():
    shapes = openapi_document()["components"]["schemas"]

    for name, shape in shapes.items():
        if name.endswith("Request"):
            assert shape["additionalProperties"] is False, name


def test_docs_page_loads_scripts_from_this_server(anyone, settings):
    page = anyone.get("docs/")
    text = page.content.decode()

    sources = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert page.status_code == 200
    assert len(sources) >= 5
    assert all(source.startswith("/") for source in sources)
    assert not re.search(r"<script>|<style|style=|onload=", text)
    for source in sources:
        if source.startswith(settings.STATIC_URL):
            assert finders.find(source.removeprefix(settings.STATIC_URL)), source


def test_docs_page_fits_the_content_security_policy(anyone):
    policy = anyone.get("docs/").headers["Content-Security-Policy"]

    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_docs_page_shows_this_document(anyone):
    script = anyone.get("docs/", script="")

    assert script.headers["Content-Type"].startswith("application/javascript")
    assert "/api/v1/schema/" in script.content.decode()


@for_each(
    "address",
    [str(pattern.pattern) for pattern in urlpatterns if pattern.name != "unknown"],
)
def test_api_docs_mention_every_url(address):
    shown = re.sub(r"<\w+:pk>", "<id>", address).replace("<study:slug>", "<slug>")
    shown = shown.replace("<slug:file_format>", "<file_format>")
    shown = shown.replace("<slug:table>", "<table>").replace("<str:name>", "<name>")

    assert f"/api/v1/{shown}`" in API_DOCS.read_text()


@for_each(("path", "method", "operation"), OPERATIONS)
def test_api_docs_mention_every_parameter(path, method, operation):
    text = API_DOCS.read_text()

    for parameter in operation.get("parameters", []):
        assert f"`{parameter['name']}`" in text or parameter["in"] == "path"


def test_api_docs_mention_every_request_field():
    text = API_DOCS.read_text()

    for name, shape in openapi_document()["components"]["schemas"].items():
        if name.endswith("Request"):
            for field in shape["properties"]:
                assert f"`{field}`" in text, (name, field)


def test_api_docs_mention_every_status_and_code():
    text = API_DOCS.read_text()

    for status in ERROR_RESPONSES:
        assert f"| {status} |" in text
    for code, _ in MESSAGES_BY_EXCEPTION.values():
        assert f"`{code}`" in text
