"""Uploads of a lab's own tool are processed like all others."""

import pytest

from benchmarks.comparison.row_queries import study_facets
from benchmarks.custom_tools import lookup
from benchmarks.custom_tools.lookup import find_declared_tool, find_tool, require_tool
from benchmarks.custom_tools.registration import (
    change_tool,
    read_declaration,
    retire_tool,
)
from benchmarks.errors import BatchRejectedError
from benchmarks.models import Case, Cell, CustomTool, Efficiency, Run
from benchmarks.uploads.processing import process_runs
from benchmarks.viewer import ANYONE, Viewer
from tests.custom_tools import boot_sample, declaration, declare, metric

NAME = "alpha-lab:boot-time"


@pytest.fixture
def tool(lab, agent):
    return declare(lab)


@pytest.fixture
def boot_run(run_document):
    def document(value=3.2, **changes):
        samples = [boot_sample(value)]
        return run_document(**{"tool": "boot-time", "samples": samples, **changes})

    return document


@pytest.mark.parametrize("name", ["boot-time", "Boot Stopwatch", NAME])
def test_a_lab_may_name_its_tool_by_slug_title_or_full_name(
    tool, submit, boot_run, name
):
    submit(boot_run(tool=name))

    run = Run.objects.get()
    assert (run.tool, run.status, run.custom_tool_version) == (NAME, "parsed", 1)
    assert run.parser_version is None


def test_a_guest_is_compared_with_native_as_with_every_tool(
    tool, submit, boot_run, xen
):
    submit(boot_run(2.0), boot_run(4.0, system=xen))

    efficiency = Efficiency.objects.get(cell__system__hypervisor="Xen")
    assert (efficiency.state, efficiency.ratio) == ("paired", 0.5)
    case = Case.objects.get()
    assert (case.tool, case.label, case.unit) == (NAME, "Boot time", "s")


def test_a_metric_fixed_by_a_parameter_has_no_relative_performance(
    lab, agent, submit, boot_run, xen
):
    declare(lab, metrics=[metric(fixed_by_parameter="seconds")])
    for value, system in ((60.2, {}), (60.9, xen)):
        sample = boot_sample(value, parameters={"seconds": 60})
        submit(boot_run(samples=[sample], system=system))

    efficiency = Efficiency.objects.get(cell__system__hypervisor="Xen")
    assert efficiency.ratio is None
    assert "set by its option seconds" in efficiency.reason


def test_samples_are_converted_and_checked_by_the_declaration(tool, submit, boot_run):
    submit(boot_run(samples=[boot_sample(3200, unit="ms")]))

    assert Cell.objects.get().mean == 3.2
    with pytest.raises(BatchRejectedError, match="never measures zero"):
        submit(boot_run(0))
    with pytest.raises(BatchRejectedError, match="No Boot stopwatch metric"):
        submit(boot_run(samples=[boot_sample(metric="boots")]))


@pytest.mark.parametrize("name", ["boot-time", NAME])
def test_another_labs_tool_is_unknown(other_lab, other_agent, submit, boot_run, name):
    declare(other_lab)

    with pytest.raises(BatchRejectedError, match="No tool"):
        submit(boot_run(tool=name))


def test_two_labs_with_the_same_slug_share_no_case(tool, other_lab, other_agent):
    theirs = declare(other_lab)

    assert theirs.name == "beta-lab:boot-time"
    assert find_tool(tool.name) != find_tool(theirs.name)


def test_a_retired_tool_accepts_no_uploads_and_keeps_its_results(
    tool, submit, boot_run, person
):
    first = boot_run()
    submit(first)
    retire_tool(tool=tool, actor=person)

    with pytest.raises(BatchRejectedError, match="has retired the tool"):
        submit(boot_run())
    [again] = submit(first)
    assert again.repeated
    assert Cell.objects.get().n == 1


def test_an_upload_stores_the_version_that_parsed_it(tool, submit, boot_run, person):
    submit(boot_run())
    metrics = [metric(), metric(name="shutdown time")]
    change_tool(
        tool=tool,
        declaration=read_declaration(declaration(metrics=metrics)),
        actor=person,
    )
    submit(boot_run(3.3))

    versions = Run.objects.order_by("pk").values_list("custom_tool_version", flat=True)
    assert list(versions) == [1, 2]


def test_an_upload_is_parsed_again_after_its_tool_was_renamed(
    tool, submit, boot_run, person
):
    submit(boot_run(tool="Boot stopwatch"))
    renamed = read_declaration(declaration(title="Boot watch"))
    change_tool(tool=tool, declaration=renamed, actor=person)

    process_runs(list(Run.objects.all()))

    run = Run.objects.get()
    assert (run.status, run.tool, run.custom_tool_version) == ("parsed", NAME, 2)


def test_a_sample_file_has_a_run_for_each_execution(tool, submit, run_document):
    document = run_document(
        tool="boot-time", output="run,metric,value\n1,boot time,3.2\n2,boot time,3.4\n"
    )
    del document["samples"]

    submit(document)

    runs = Run.objects.order_by("upload_position")
    assert [(run.tool, run.status, run.first_line) for run in runs] == [
        (NAME, "parsed", 2),
        (NAME, "parsed", 3),
    ]
    assert Cell.objects.get().n == 2


def test_an_unreadable_file_is_stored_with_the_reason(tool, submit, run_document):
    document = run_document(tool="boot-time", output="metric,value\nboot time,fast\n")
    del document["samples"]

    submit(document)

    run = Run.objects.get()
    assert (run.status, run.tool) == ("rejected", NAME)
    assert 'Line 2 "boot time,fast"' in run.reason


def test_a_study_lists_the_tool_by_its_title(tool, submit, boot_run, study):
    submit(boot_run())

    assert study_facets(study).tools == ((NAME, "Boot stopwatch"),)


def test_the_tools_of_a_lab_are_loaded_once_for_many_cells(
    tool, lab, django_assert_num_queries
):
    declare(lab, slug="other", title="Other")
    lookup.clear_tool_cache()

    with django_assert_num_queries(1):
        titles = {
            require_tool(f"alpha-lab:{slug}").title for slug in ("boot-time", "other")
        }
        for _ in range(100):
            require_tool(NAME)

    assert titles == {"Boot stopwatch", "Other"}


def test_the_cache_expires_after_a_second(tool, monkeypatch):
    assert require_tool(NAME).title == "Boot stopwatch"
    tool.versions.update(title="Renamed elsewhere")
    assert require_tool(NAME).title == "Boot stopwatch"

    monkeypatch.setattr(lookup, "CACHE_LIFETIME_S", -1.0)

    assert require_tool(NAME).title == "Renamed elsewhere"


def test_a_tool_declared_by_another_process_is_found_within_a_second(
    tool, lab, monkeypatch, django_assert_num_queries
):
    """A worker that had just processed runs of one tool did not find a second one."""
    require_tool(NAME)
    remembered = dict(lookup._cache)
    declare(lab, slug="other", title="Other")
    lookup._cache.update(remembered)
    monkeypatch.setattr(lookup, "MISS_LIFETIME_S", -1.0)

    assert require_tool("alpha-lab:other").title == "Other"
    monkeypatch.undo()
    with django_assert_num_queries(0):
        assert find_tool("alpha-lab:gone") is None


def test_a_deleted_name_is_not_a_tool(tool):
    assert find_tool("alpha-lab:gone") is None
    assert find_declared_tool("alpha-lab:gone") is None
    assert find_declared_tool("fio") is None


def test_others_see_a_tool_only_by_a_public_study(
    tool, lab, submit, boot_run, private_study, study
):
    def seen(viewer):
        return CustomTool.objects.visible_to(viewer).exists()

    submit(boot_run(study=private_study.slug))
    assert seen(Viewer(frozenset({lab.pk})))
    assert not seen(ANYONE)

    submit(boot_run(study=study.slug))
    assert seen(ANYONE)
