import pytest

from benchmarks.errors import ConflictError, InvalidError
from benchmarks.labs.pages import lab_audit_log
from benchmarks.models import Case, OwnTool
from benchmarks.own_tools.declaring import (
    change_tool,
    declared,
    delete_tool,
    measured_metrics,
    retire_tool,
)
from benchmarks.own_tools.lookup import known_tool
from tests.own_tools import boot_sample, declaration, declare, metric


@pytest.fixture
def tool(lab, agent):
    return declare(lab)


@pytest.fixture
def measured(tool, submit, run_document):
    """The tool with one run."""
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    return tool


def changed(tool, by, **changes):
    return change_tool(tool=tool, declaration=declared(declaration(**changes)), by=by)


def test_a_tool_begins_with_version_1_and_says_who_declared_it(tool, lab, agent):
    version = tool.versions.get()

    assert tool.name == "alpha-lab:boot-time"
    assert (version.number, version.who, version.person) == (1, agent.name, None)
    [line] = lab_audit_log(lab)
    assert (line.who, line.kind) == (agent.name, "declared_tool")
    assert line.about == "Boot stopwatch (alpha-lab:boot-time)"


def test_declaring_the_same_again_changes_nothing(tool, lab):
    assert declare(lab) == tool
    assert tool.versions.count() == 1
    assert len(lab_audit_log(lab)) == 1


def test_another_declaration_of_one_slug_is_asked_for_as_a_version(tool, lab):
    with pytest.raises(ConflictError, match="new version"):
        declare(lab, title="Another")


def test_two_labs_may_have_one_slug_and_mean_different_things(
    tool, other_lab, other_agent
):
    theirs = declare(other_lab, title="Theirs", metrics=[metric(unit="ms")])

    assert known_tool(tool.name).metrics[0].unit == "s"
    assert known_tool(theirs.name).metrics[0].unit == "ms"


@pytest.mark.parametrize("slug", ["stopwatch", "boot-stopwatch"])
def test_a_lab_has_no_two_tools_of_one_title(tool, lab, slug):
    with pytest.raises(InvalidError, match="already") as caught:
        declare(lab, slug=slug)

    assert caught.value.field == "title"


def test_a_change_is_a_version_by_whoever_made_it(tool, person, lab):
    version, is_new = changed(tool, person, title="Boot watch")

    assert (version.number, version.who, is_new) == (2, "carol", True)
    assert [each.title for each in tool.versions.order_by("number")] == [
        "Boot stopwatch",
        "Boot watch",
    ]
    assert known_tool(tool.name).title == "Boot watch"
    assert lab_audit_log(lab)[0].kind == "changed_tool"


def test_saying_the_same_is_no_new_version(tool, person):
    version, is_new = changed(tool, person)

    assert (version.number, is_new) == (1, False)


def test_what_results_mean_cannot_change(measured, person):
    with pytest.raises(InvalidError, match="Declare a new metric"):
        changed(measured, person, metrics=[metric(unit="ms")])

    assert measured.versions.count() == 1


def test_a_metric_nobody_measured_may_change(measured, person):
    metrics = [metric(), metric(name="shutdown time")]
    changed(measured, person, metrics=metrics)

    metrics[1]["unit"] = "ms"
    version, _ = changed(measured, person, metrics=metrics)

    assert version.number == 3


def test_cases_say_what_is_declared_now(measured, person):
    changes = metric(title="Time to boot", component="disk")

    changed(measured, person, metrics=[changes])

    case = Case.objects.get(tool=measured.name)
    assert (case.label, case.component) == ("Time to boot", "disk")


def test_a_tool_that_is_retired_can_come_back(tool, person, lab):
    assert retire_tool(tool=tool, by=person).retired_at is not None
    retire_tool(tool=tool, by=person)
    assert retire_tool(tool=tool, by=person, is_retired=False).retired_at is None

    kinds = [line.kind for line in lab_audit_log(lab)]
    assert kinds == ["revived_tool", "retired_tool", "declared_tool"]


def test_a_tool_without_results_can_be_deleted(tool, person, lab):
    delete_tool(tool=tool, by=person)

    assert not OwnTool.objects.exists()
    assert lab_audit_log(lab)[0].kind == "deleted_tool"


def test_a_tool_with_results_stays(measured, person):
    with pytest.raises(InvalidError, match="retired, not deleted"):
        delete_tool(tool=measured, by=person)

    assert OwnTool.objects.get() == measured


def test_only_what_was_measured_counts_as_such(measured):
    assert measured_metrics(measured) == {"boot time"}
