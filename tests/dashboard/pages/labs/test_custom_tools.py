"""Custom tools of a lab: declare, change, retire, delete, visibility."""

import re

import pytest

from benchmarks.models import AuditEntry, CustomTool
from tests.custom_tools import DECLARED, boot_sample, declare

TOOLS = "/labs/alpha-lab/custom-tools/"
NEW = "/labs/alpha-lab/new-custom-tool/"
TOOL = f"{TOOLS}boot-time/"

METRIC = {
    "metric-0-name": "boot time",
    "metric-0-unit": "s",
    "metric-0-better": "lower",
    "metric-0-component": "application",
    "metric-0-work_class": "system-process-creation",
    "metric-0-traits": ["is_primary"],
}
FORM = {
    "slug": "boot-time",
    "title": DECLARED["title"],
    "homepage": DECLARED["homepage"],
    "description": DECLARED["description"],
    "metrics": "1",
    **METRIC,
}


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


@pytest.fixture
def tool(lab, agent):
    return declare(lab)


@pytest.fixture
def measured(tool, submit, run_document):
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    return tool


def test_maintainer_declares_tool_like_api(keeper, lab):
    page = keeper.post(NEW, {**FORM, "metric-0-kind": "setting"}, follow=True)

    version = CustomTool.objects.get().versions.get()
    assert page.redirect_chain == [(TOOL, 302)]
    assert (version.title, version.declared_by) == ("Boot stopwatch", "carol")
    assert version.metrics[0]["work_class"] == "system-process-creation"
    assert version.metrics[0]["is_primary"] is True
    assert version.metrics[0]["kind"] == "setting"
    assert "set before the test, so it is not a speed" in page.text
    assert "System: process creation" in page.text
    entry = AuditEntry.objects.get(lab=lab)
    assert (entry.kind, entry.actor) == ("declared_tool", "carol")


def test_error_is_at_field_and_input_is_kept(keeper, lab):
    page = keeper.post(NEW, {**FORM, "metric-0-unit": "parsec"})

    assert page.status_code == 422
    assert "The unit &quot;parsec&quot; is unknown." in page.text
    assert 'value="parsec"' in page.text
    assert 'aria-invalid="true"' in page.text
    assert not CustomTool.objects.exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"slug": "fio"}, "built-in tool"),
        ({"slug": "Boot time"}, "lowercase letters"),
        ({"homepage": "javascript:alert(1)"}, "begins with https://"),
        ({"metric-0-traits": []}, "at least one metric as primary"),
        ({"metric-0-name": ""}, "A metric needs a name."),
        ({"metric-0-better": "best"}, "Select a valid choice"),
        ({"title": "a\u202eb"}, "RIGHT-TO-LEFT OVERRIDE"),
    ],
)
def test_invalid_form_has_message(keeper, lab, changes, sentence):
    page = keeper.post(NEW, {**FORM, **changes})

    assert page.status_code == 422
    assert sentence in page.text
    assert not CustomTool.objects.exists()


def test_page_links_to_upload_with_tool(keeper, tool):
    [address] = re.findall(r'href="(/upload/[^"]+)"', keeper.get(TOOL).text)

    page = keeper.get(address.replace("&amp;", "&")).text

    assert '<option value="alpha-lab:boot-time" selected>' in page


def test_adding_metric_keeps_input(keeper, lab):
    page = keeper.post(NEW, {**FORM, "title": "", "more": "1"})

    assert page.status_code == 200
    assert 'value="boot time"' in page.text
    assert 'name="metric-1-name"' in page.text
    assert '<input type="hidden" name="metrics" value="2">' in page.text
    assert "aria-invalid" not in page.text
    assert not CustomTool.objects.exists()


def test_metric_without_name_is_ignored(keeper, lab):
    second = {name.replace("-0-", "-1-"): text for name, text in METRIC.items()}
    third = {name.replace("-0-", "-2-"): text for name, text in METRIC.items()}
    named = {"metric-1-name": "", "metric-2-name": "kernel time"}

    keeper.post(NEW, {**FORM, **second, **third, **named, "metrics": "3"})

    metrics = CustomTool.objects.get().versions.get().metrics
    assert [each["name"] for each in metrics] == ["boot time", "kernel time"]


@pytest.mark.parametrize("count", ["", "-1", "9" * 30, "x"])
def test_invalid_metric_count_is_one(keeper, lab, count):
    assert keeper.post(NEW, {**FORM, "metrics": count}).status_code == 302


def test_change_is_prefilled_and_becomes_version(keeper, tool):
    page = keeper.get(f"{TOOL}new-version/")
    assert 'value="boot time"' in page.text
    assert 'name="slug"' not in page.text

    changed = keeper.post(
        f"{TOOL}new-version/", {**FORM, "title": "Watch"}, follow=True
    )

    assert tool.versions.order_by("-number")[0].title == "Watch"
    assert "Version 2, created by carol" in changed.text
    assert "Earlier versions" in changed.text
    assert "Version 1, created by alice" in changed.text


def test_unchanged_declaration_makes_no_version(keeper, tool):
    page = keeper.post(f"{TOOL}new-version/", FORM, follow=True)

    assert "Nothing changed: version 1 has the same content." in page.text
    assert tool.versions.count() == 1


def test_form_cannot_change_meaning_of_results(keeper, measured):
    page = keeper.post(f"{TOOL}new-version/", {**FORM, "metric-0-unit": "ms"})

    assert page.status_code == 422
    assert "Declare a new metric under another name." in page.text
    assert "These metrics have results: boot time." in page.text
    assert measured.versions.count() == 1


def test_tool_is_retired_and_reactivated(keeper, tool):
    page = keeper.post(f"{TOOL}retire/", follow=True)
    assert "Retired on" in page.text
    assert "retired" in keeper.get(TOOLS).text

    keeper.post(f"{TOOL}retire/", {"reactivate": "1"})

    assert CustomTool.objects.get().retired_at is None


def test_tool_without_results_is_deleted(keeper, tool):
    page = keeper.post(f"{TOOL}delete/", follow=True)

    assert page.redirect_chain == [(TOOLS, 302)]
    assert not CustomTool.objects.exists()


def test_tool_with_results_cannot_be_deleted(keeper, measured):
    assert f"{TOOL}delete/" not in keeper.get(TOOL).text

    page = keeper.post(f"{TOOL}delete/", follow=True)

    assert "You can retire it instead" in page.text
    assert CustomTool.objects.get() == measured


def test_public_result_makes_tool_visible(client, measured):
    page = client.get(TOOL)

    assert page.status_code == 200
    assert "Boot stopwatch" in page.text
    assert "Change it" not in page.text
    assert "Custom tools of this lab" in client.get("/labs/alpha-lab/").text


def test_tool_without_public_results_is_private(client, tool, study):
    assert client.get(TOOL).status_code == 404
    assert "boot-time" not in client.get(TOOLS).text
    assert "Custom tools of this lab" not in client.get("/labs/alpha-lab/").text


def test_run_links_to_tool_version(client, measured, study):
    run = study.runs.get()

    page = client.get(f"/runs/{run.pk}/").text

    assert f'href="{TOOL}"' in page
    assert "Boot stopwatch, version 1" in " ".join(page.split())


def test_comparison_shows_tool_title(client, measured, study):
    page = client.get(f"/studies/alpha-lab/{study.slug}/compare/").text

    assert "Boot stopwatch" in page
    assert 'value="alpha-lab:boot-time"' in page


def test_title_is_escaped(client, lab, agent, submit, run_document):
    declare(lab, title="<b>Boot</b>", description="<script>1</script>")
    submit(run_document(tool="boot-time", samples=[boot_sample()]))

    for address in (TOOL, TOOLS, "/studies/alpha-lab/study/compare/"):
        text = client.get(address).text
        assert "<b>Boot" not in text
        assert "<script>1" not in text
