"""A lab's own tools in the browser: declared, changed, retired, deleted, seen."""

import re

import pytest

from benchmarks.models import AuditEntry, OwnTool
from tests.own_tools import DECLARED, boot_sample, declare

TOOLS = "/labs/alpha-lab/tools/"
NEW = "/labs/alpha-lab/declare-tool/"
TOOL = f"{TOOLS}boot-time/"

METRIC = {
    "metric-0-name": "boot time",
    "metric-0-unit": "s",
    "metric-0-better": "lower",
    "metric-0-component": "application",
    "metric-0-work_class": "system-process-creation",
    "metric-0-traits": ["primary"],
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


def test_a_maintainer_declares_a_tool_as_the_api_does(keeper, lab):
    page = keeper.post(NEW, {**FORM, "metric-0-kind": "setting"}, follow=True)

    version = OwnTool.objects.get().versions.get()
    assert page.redirect_chain == [(TOOL, 302)]
    assert (version.title, version.who) == ("Boot stopwatch", "carol")
    assert version.metrics[0]["work_class"] == "system-process-creation"
    assert version.metrics[0]["primary"] is True
    assert version.metrics[0]["kind"] == "setting"
    assert "fixed before the test: no speed" in page.text
    assert "System: process creation" in page.text
    entry = AuditEntry.objects.get(lab=lab)
    assert (entry.kind, entry.who) == ("declared_tool", "carol")


def test_what_is_wrong_stands_at_its_field_and_nothing_is_lost(keeper, lab):
    page = keeper.post(NEW, {**FORM, "metric-0-unit": "parsec"})

    assert page.status_code == 422
    assert "The unit &quot;parsec&quot; is unknown." in page.text
    assert 'value="parsec"' in page.text
    assert 'aria-invalid="true"' in page.text
    assert not OwnTool.objects.exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"slug": "fio"}, "that Virtlab knows"),
        ({"slug": "Boot time"}, "small letters"),
        ({"homepage": "javascript:alert(1)"}, "begins with https://"),
        ({"metric-0-traits": []}, "at least one metric as primary"),
        ({"metric-0-name": ""}, "A metric needs a name."),
        ({"metric-0-better": "best"}, "Select a valid choice"),
        ({"title": "a\u202eb"}, "RIGHT-TO-LEFT OVERRIDE"),
    ],
)
def test_a_form_is_refused_with_a_sentence(keeper, lab, changes, sentence):
    page = keeper.post(NEW, {**FORM, **changes})

    assert page.status_code == 422
    assert sentence in page.text
    assert not OwnTool.objects.exists()


def test_its_page_leads_to_the_upload_page_with_the_tool_chosen(keeper, tool):
    [address] = re.findall(r'href="(/upload/[^"]+)"', keeper.get(TOOL).text)

    page = keeper.get(address.replace("&amp;", "&")).text

    assert '<option value="alpha-lab:boot-time" selected>' in page


def test_one_metric_more_keeps_what_was_filled_in(keeper, lab):
    page = keeper.post(NEW, {**FORM, "title": "", "more": "1"})

    assert page.status_code == 200
    assert 'value="boot time"' in page.text
    assert 'name="metric-1-name"' in page.text
    assert '<input type="hidden" name="metrics" value="2">' in page.text
    assert "aria-invalid" not in page.text
    assert not OwnTool.objects.exists()


def test_a_metric_without_a_name_is_left_out(keeper, lab):
    second = {name.replace("-0-", "-1-"): text for name, text in METRIC.items()}
    third = {name.replace("-0-", "-2-"): text for name, text in METRIC.items()}
    named = {"metric-1-name": "", "metric-2-name": "kernel time"}

    keeper.post(NEW, {**FORM, **second, **third, **named, "metrics": "3"})

    metrics = OwnTool.objects.get().versions.get().metrics
    assert [each["name"] for each in metrics] == ["boot time", "kernel time"]


@pytest.mark.parametrize("count", ["", "-1", "9" * 30, "x"])
def test_a_made_up_count_of_metrics_is_one(keeper, lab, count):
    assert keeper.post(NEW, {**FORM, "metrics": count}).status_code == 302


def test_a_change_begins_with_what_is_declared_and_becomes_a_version(keeper, tool):
    page = keeper.get(f"{TOOL}change/")
    assert 'value="boot time"' in page.text
    assert 'name="slug"' not in page.text

    changed = keeper.post(f"{TOOL}change/", {**FORM, "title": "Watch"}, follow=True)

    assert tool.versions.order_by("-number")[0].title == "Watch"
    assert "Version 2, declared by carol" in changed.text
    assert "Earlier versions" in changed.text
    assert "Version 1, declared by alice" in changed.text


def test_saying_the_same_makes_no_version(keeper, tool):
    page = keeper.post(f"{TOOL}change/", FORM, follow=True)

    assert "Version 1 says this already." in page.text
    assert tool.versions.count() == 1


def test_what_results_mean_is_not_changed_by_a_form(keeper, measured):
    page = keeper.post(f"{TOOL}change/", {**FORM, "metric-0-unit": "ms"})

    assert page.status_code == 422
    assert "Declare a new metric under another name." in page.text
    assert "These have results: boot time." in page.text
    assert measured.versions.count() == 1


def test_a_tool_is_retired_and_taken_into_use_again(keeper, tool):
    page = keeper.post(f"{TOOL}retire/", follow=True)
    assert "Retired on" in page.text
    assert "retired" in keeper.get(TOOLS).text

    keeper.post(f"{TOOL}retire/", {"again": "1"})

    assert OwnTool.objects.get().retired_at is None


def test_a_tool_without_results_is_deleted(keeper, tool):
    page = keeper.post(f"{TOOL}delete/", follow=True)

    assert page.redirect_chain == [(TOOLS, 302)]
    assert not OwnTool.objects.exists()


def test_a_tool_with_results_offers_no_deletion_and_refuses_it(keeper, measured):
    assert f"{TOOL}delete/" not in keeper.get(TOOL).text

    page = keeper.post(f"{TOOL}delete/", follow=True)

    assert "it can be retired, not deleted" in page.text
    assert OwnTool.objects.get() == measured


def test_a_public_result_opens_the_tool_to_everybody(client, measured):
    page = client.get(TOOL)

    assert page.status_code == 200
    assert "Boot stopwatch" in page.text
    assert "Change it" not in page.text
    assert "Tools this lab declared" in client.get("/labs/alpha-lab/").text


def test_a_tool_without_public_results_is_its_labs_alone(client, tool, study):
    assert client.get(TOOL).status_code == 404
    assert "boot-time" not in client.get(TOOLS).text
    assert "Tools this lab declared" not in client.get("/labs/alpha-lab/").text


def test_a_run_says_the_version_that_read_it_and_leads_to_it(client, measured, study):
    run = study.runs.get()

    page = client.get(f"/runs/{run.pk}/").text

    assert f'href="{TOOL}"' in page
    assert "Boot stopwatch, version 1" in " ".join(page.split())


def test_a_comparison_names_it_by_its_title(client, measured, study):
    page = client.get(f"/studies/alpha-lab/{study.slug}/compare/").text

    assert "Boot stopwatch" in page
    assert 'value="alpha-lab:boot-time"' in page


def test_no_title_becomes_markup(client, lab, agent, submit, run_document):
    declare(lab, title="<b>Boot</b>", description="<script>1</script>")
    submit(run_document(tool="boot-time", samples=[boot_sample()]))

    for address in (TOOL, TOOLS, "/studies/alpha-lab/study/compare/"):
        text = client.get(address).text
        assert "<b>Boot" not in text
        assert "<script>1" not in text
