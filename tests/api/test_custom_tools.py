"""/custom-tools/: benchmark tools that a lab declares."""

import pytest

from benchmarks.models import AuditEntry, CustomTool, Run
from tests.custom_tools import boot_sample, declaration, declare, metric

DECLARED = {"slug": "boot-time", **declaration()}


@pytest.fixture
def tool(lab, agent):
    return declare(lab)


def test_tools_can_be_declared(api, lab):
    answer = api.post("custom-tools/", DECLARED)

    tool = CustomTool.objects.get()
    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == body["url"]
    assert body["url"] == f"http://testserver/api/v1/custom-tools/{tool.pk}/"
    assert (body["lab"], body["name"]) == ("alpha-lab", "alpha-lab:boot-time")
    assert (body["title"], body["version"]) == ("Boot stopwatch", 1)
    [version] = body["versions"]
    assert (version["declared_by"], version["homepage"]) == (
        "alice",
        DECLARED["homepage"],
    )
    assert version["metrics"] == [
        {
            **metric(),
            "title": "",
            "kind": "",
            "fixed_by_parameter": "",
            "allows_zero": False,
        }
    ]


def test_identical_tools_are_200(api):
    first = api.post("custom-tools/", DECLARED)

    again = api.post("custom-tools/", DECLARED)

    assert (again.status_code, again.json()) == (200, first.json())


def test_existing_slugs_with_another_declaration_are_409(api, tool):
    answer = api.post("custom-tools/", {**DECLARED, "title": "Another"})

    assert (answer.status_code, answer.json()["code"]) == (409, "custom_tool_exists")


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"slug": "boot time"}, 400, "slug"),
        ({"slug": "Boot"}, 422, "slug"),
        ({"slug": "fio"}, 422, "slug"),
        ({"title": "Iometer"}, 422, "title"),
        ({"homepage": "ftp://example.org"}, 422, "homepage"),
        ({"metrics": []}, 400, "metrics"),
        ({"metrics": [metric(unit="parsec")]}, 422, "metrics[0].unit"),
        ({"metrics": [metric(better="best")]}, 400, "metrics[0].better"),
        ({"metrics": [metric(work_class="x")]}, 400, "metrics[0].work_class"),
        ({"metrics": [metric(kind="pace")]}, 400, "metrics[0].kind"),
        ({"metrics": [metric(is_primary=1)]}, 400, "metrics[0].is_primary"),
        ({"metrics": [metric(is_primary=False)]}, 422, "metrics"),
        ({"aliases": []}, 400, "aliases"),
    ],
)
def test_invalid_declarations_are_rejected(api, changes, status, field):
    answer = api.post("custom-tools/", {**DECLARED, **changes})

    assert answer.status_code == status
    assert list(answer.json()["fields"]) == [field]
    assert not CustomTool.objects.exists()


def test_newest_version_is_first(api, tool):
    answer = api.post(f"custom-tools/{tool.pk}/versions/", declaration(title="Watch"))

    body = answer.json()
    assert (answer.status_code, body["title"], body["version"]) == (201, "Watch", 2)
    assert [item["number"] for item in body["versions"]] == [2, 1]
    again = api.post(f"custom-tools/{tool.pk}/versions/", declaration(title="Watch"))
    assert (again.status_code, again.json()) == (200, body)


def test_metrics_with_results_cannot_change(api, tool, submit, run_document):
    submit(run_document(tool="boot-time", samples=[boot_sample()]))

    changed = declaration(metrics=[metric(better="higher")])
    answer = api.post(f"custom-tools/{tool.pk}/versions/", changed)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_declaration")
    assert "Declare a new metric" in answer.json()["detail"]


def test_retired_tools_accept_no_uploads(api, tool, run_document):
    answer = api.patch(f"custom-tools/{tool.pk}/", {"is_retired": True})
    assert answer.json()["retired_at"]

    refused = api.post("runs/", run_document(tool="boot-time", samples=[boot_sample()]))

    assert (refused.status_code, refused.json()["code"]) == (422, "tool_retired")
    back = api.patch(f"custom-tools/{tool.pk}/", {"is_retired": False})
    assert back.json()["retired_at"] is None


def test_runs_have_the_tool_and_its_version(api, anyone, tool, submit, run_document):
    submit(run_document(tool="boot-time", samples=[boot_sample()]))

    [run] = anyone.get("runs/", tool="alpha-lab:boot-time").json()["results"]
    assert (run["tool"], run["custom_tool_version"]) == ("alpha-lab:boot-time", 1)
    [case] = anyone.get("cases/", tool="alpha-lab:boot-time").json()["results"]
    assert case["label"] == "Boot time"
    assert anyone.get("runs/", tool="beta-lab:boot-time").json()["results"] == []


def test_comparisons_have_the_title_of_the_tool(
    anyone, tool, submit, run_document, study, xen
):
    for value, system in ((2.0, {}), (4.0, xen)):
        samples = [boot_sample(value)]
        submit(run_document(tool="boot-time", samples=samples, system=system))

    rows = anyone.get("comparisons/", study=study.slug).json()["results"]

    assert {row["tool"] for row in rows} == {"alpha-lab:boot-time"}


def test_other_labs_cannot_change_tools(stranger, tool):
    url = f"custom-tools/{tool.pk}/"

    answers = [
        stranger.patch(url, {"is_retired": True}),
        stranger.post(f"{url}versions/", declaration(title="Theirs")),
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert CustomTool.objects.get().retired_at is None


def test_other_labs_cannot_change_visible_tools(stranger, tool, submit, run_document):
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    url = f"custom-tools/{tool.pk}/"
    assert stranger.get(url).status_code == 200

    answer = stranger.patch(url, {"is_retired": True})

    assert answer.status_code == 404
    assert CustomTool.objects.get().retired_at is None


@pytest.mark.parametrize("secret", ["", "read_token"])
def test_only_upload_tokens_can_declare(anyone, request, tool, secret):
    token = request.getfixturevalue(secret) if secret else ""

    answer = anyone.post("custom-tools/", {**DECLARED, "slug": "new"}, token=token)

    assert answer.status_code in (401, 403)
    assert CustomTool.objects.get() == tool


def test_audit_log_has_the_agent(api, lab):
    api.post("custom-tools/", DECLARED)

    entry = AuditEntry.objects.get(lab=lab)
    assert (entry.kind, entry.actor, entry.person) == ("declared_tool", "alice", None)


def test_files_of_samples_become_runs(api, tool, run_document):
    document = run_document(tool="boot-time", output="metric,value\nboot time,3.2\n")
    del document["samples"]

    answer = api.post("runs/", document)

    assert answer.status_code == 202
    assert Run.objects.get().tool == "alpha-lab:boot-time"
