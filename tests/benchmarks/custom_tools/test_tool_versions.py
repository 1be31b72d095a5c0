import pytest

from benchmarks.custom_tools.lookup import require_tool
from benchmarks.custom_tools.registration import (
    change_tool,
    delete_tool,
    measured_metrics,
    read_declaration,
    retire_tool,
)
from benchmarks.errors import ConflictError, InvalidError
from benchmarks.labs.lab_queries import lab_audit_log
from benchmarks.models import Case, CustomTool
from tests.custom_tools import boot_sample, declaration, declare, metric


@pytest.fixture
def tool(lab, agent):
    return declare(lab)


@pytest.fixture
def measured(tool, submit, run_document):
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    return tool


def changed(tool, by, **changes):
    return change_tool(
        tool=tool, declaration=read_declaration(declaration(**changes)), actor=by
    )


def test_a_new_tool_has_version_1_and_its_author(tool, lab, agent):
    version = tool.versions.get()

    assert tool.name == "alpha-lab:boot-time"
    assert (version.number, version.declared_by, version.person) == (
        1,
        agent.name,
        None,
    )
    [line] = lab_audit_log(lab)
    assert (line.actor, line.kind) == (agent.name, "declared_tool")
    assert line.about == "Boot stopwatch (alpha-lab:boot-time)"


def test_an_identical_declaration_changes_nothing(tool, lab):
    assert declare(lab) == tool
    assert tool.versions.count() == 1
    assert len(lab_audit_log(lab)) == 1


def test_another_declaration_of_a_slug_must_be_sent_as_a_version(tool, lab):
    with pytest.raises(ConflictError, match="new version"):
        declare(lab, title="Another")


def test_two_labs_may_use_one_slug_for_different_tools(tool, other_lab, other_agent):
    theirs = declare(other_lab, title="Theirs", metrics=[metric(unit="ms")])

    assert require_tool(tool.name).metrics[0].unit == "s"
    assert require_tool(theirs.name).metrics[0].unit == "ms"


@pytest.mark.parametrize("slug", ["stopwatch", "boot-stopwatch"])
def test_a_lab_cannot_have_two_tools_with_one_title(tool, lab, slug):
    with pytest.raises(InvalidError, match="already") as caught:
        declare(lab, slug=slug)

    assert caught.value.field == "title"


def test_a_change_is_a_version_with_its_author(tool, person, lab):
    version, is_new = changed(tool, person, title="Boot watch")

    assert (version.number, version.declared_by, is_new) == (2, "carol", True)
    assert [each.title for each in tool.versions.order_by("number")] == [
        "Boot stopwatch",
        "Boot watch",
    ]
    assert require_tool(tool.name).title == "Boot watch"
    assert lab_audit_log(lab)[0].kind == "changed_tool"


def test_an_unchanged_declaration_is_not_a_new_version(tool, person):
    version, is_new = changed(tool, person)

    assert (version.number, is_new) == (1, False)


def test_the_meaning_of_results_cannot_change(measured, person):
    with pytest.raises(InvalidError, match="Declare a new metric"):
        changed(measured, person, metrics=[metric(unit="ms")])

    assert measured.versions.count() == 1


def test_a_metric_without_results_may_change(measured, person):
    metrics = [metric(), metric(name="shutdown time")]
    changed(measured, person, metrics=metrics)

    metrics[1]["unit"] = "ms"
    version, _ = changed(measured, person, metrics=metrics)

    assert version.number == 3


def test_cases_follow_the_current_declaration(measured, person):
    changes = metric(title="Time to boot", component="disk")

    changed(measured, person, metrics=[changes])

    case = Case.objects.get(tool=measured.name)
    assert (case.label, case.component) == ("Time to boot", "disk")


def test_a_retired_tool_can_be_revived(tool, person, lab):
    assert retire_tool(tool=tool, actor=person).retired_at is not None
    retire_tool(tool=tool, actor=person)
    assert retire_tool(tool=tool, actor=person, is_retired=False).retired_at is None

    kinds = [line.kind for line in lab_audit_log(lab)]
    assert kinds == ["revived_tool", "retired_tool", "declared_tool"]


def test_a_tool_without_results_can_be_deleted(tool, person, lab):
    delete_tool(tool=tool, actor=person)

    assert not CustomTool.objects.exists()
    assert lab_audit_log(lab)[0].kind == "deleted_tool"


def test_a_tool_with_results_cannot_be_deleted(measured, person):
    with pytest.raises(InvalidError, match="You can retire it instead"):
        delete_tool(tool=measured, actor=person)

    assert CustomTool.objects.get() == measured


def test_only_metrics_with_results_count_as_measured(measured):
    assert measured_metrics(measured) == {"boot time"}
