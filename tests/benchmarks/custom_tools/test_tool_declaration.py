import pytest

from benchmarks.custom_tools.declaration import (
    declaration_from_row,
    tool_from_declaration,
)
from benchmarks.custom_tools.registration import (
    check_compatible,
    read_declaration,
    validate_tool_slug,
)
from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.parsing.no_ratio_reasons import RunRange, no_ratio_reason
from benchmarks.tools import TOOLS
from tests.custom_tools import declaration, metric


def rejection(**changes):
    with pytest.raises(BenchmarksError) as caught:
        read_declaration(declaration(**changes))
    return caught.value.field, str(caught.value)


def test_a_declaration_is_stored_in_canonical_form():
    stored = read_declaration(
        declaration(
            title="  Boot   stopwatch ",
            metrics=[
                metric(
                    unit="sec",
                    work_class="System: Process creation",
                    fixed_by_parameter="Run-Time",
                )
            ],
        )
    )

    assert stored.title == "Boot stopwatch"
    assert stored.metrics[0].unit == "s"
    assert stored.metrics[0].work_class == "system-process-creation"
    assert stored.metrics[0].fixed_by_parameter == "run_time"


def test_a_stored_declaration_is_read_unchanged():
    original = read_declaration(
        declaration(metrics=[metric(), metric(name="kernel time")])
    )

    assert declaration_from_row(original.row_fields) == original


def test_an_old_version_has_defaults_for_new_fields():
    stored = read_declaration(declaration()).row_fields
    del stored["metrics"][0]["work_class"]

    assert declaration_from_row(stored).metrics[0].work_class == ""


def test_the_tool_has_the_form_that_analyses_use():
    tool = tool_from_declaration("alpha-lab:boot-time", read_declaration(declaration()))

    assert (tool.slug, tool.title) == ("alpha-lab:boot-time", "Boot stopwatch")
    assert tool.metric("Boot Time").better == "lower"
    assert tool.parse is None


def test_primary_metrics_have_their_work_class():
    plain = metric(name="kernel time", work_class="")
    detail = metric(name="boots", is_primary=False)
    document = declaration(metrics=[metric(), plain, detail])

    tool = tool_from_declaration("alpha-lab:boot-time", read_declaration(document))

    assert list(tool.primary_metrics) == ["boot time", "kernel time"]
    assert tool.work_class_of("boot time", {}) == "system-process-creation"
    assert (
        tool.work_class_of("kernel time", {}) == tool.work_class_of("boots", {}) == ""
    )


@pytest.mark.parametrize(
    ("kind", "word"),
    [("setting", "set before"), ("share", "share"), ("count", "count"), ("", None)],
)
def test_a_kind_marks_metrics_that_are_not_speeds(kind, word):
    """A soak test that always lasts an hour is not slower because of that."""
    tool = tool_from_declaration(
        "alpha-lab:soak", read_declaration(declaration(metrics=[metric(kind=kind)]))
    )

    reason = no_ratio_reason(tool.metric("boot time"), {}, RunRange(3599.0, 3601.5))

    assert (word in reason) if word else (reason is None)


def test_old_declarations_without_kinds_use_the_default_of_the_unit():
    stored = read_declaration(declaration()).row_fields
    del stored["metrics"][0]["kind"]

    (read,) = declaration_from_row(stored).metrics

    assert read.kind == ""


@pytest.mark.parametrize("name", ["fio", "FIO", "Iometer", "netperf"])
def test_no_tool_has_the_name_of_a_built_in_tool(name):
    field, sentence = rejection(title=name)

    assert field == "title"
    assert "built-in tool" in sentence


def test_no_slug_hides_the_name_of_a_known_tool():
    for tool in TOOLS.values():
        with pytest.raises(InvalidError):
            validate_tool_slug(tool.slug)


@pytest.mark.parametrize(
    "slug", ["", "Boot", "boot time", "a:b", "-a", "a--b", "x" * 51]
)
def test_a_slug_fits_into_a_url_and_never_contains_a_lab(slug):
    with pytest.raises(InvalidError, match="slug"):
        validate_tool_slug(slug)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "alpha: boot"}, "title"),
        ({"homepage": "javascript:alert(1)"}, "homepage"),
        ({"metrics": []}, "metrics"),
        ({"metrics": [metric(is_primary=False)]}, "metrics"),
        ({"metrics": [metric(unit="parsec")]}, "metrics[0].unit"),
        ({"metrics": [metric(better="best")]}, "metrics[0].better"),
        ({"metrics": [metric(component="soul")]}, "metrics[0].component"),
        ({"metrics": [metric(work_class="gaming")]}, "metrics[0].work_class"),
        ({"metrics": [metric(kind="pace")]}, "metrics[0].kind"),
        ({"metrics": [metric(name="")]}, "metrics[0].name"),
        ({"metrics": [metric(), metric(name="Boot  Time")]}, "metrics[1].name"),
        ({"metrics": [metric(name=f"m{n}") for n in range(51)]}, "metrics"),
    ],
)
def test_invalid_declarations_are_rejected_with_the_field(changes, field):
    assert rejection(**changes)[0] == field


def incompatibility(old, new, measured):
    """Return why a declaration cannot replace another; "" if it can."""
    try:
        check_compatible(old, new, measured)
    except InvalidError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"unit": "ms"}, "its unit cannot change"),
        ({"better": "higher"}, "its direction cannot change"),
        (
            {"fixed_by_parameter": "seconds"},
            "its parameter that fixes the value cannot change",
        ),
        ({"kind": "setting"}, "its kind of number cannot change"),
        ({"name": "boot duration"}, "must keep it under this name"),
    ],
)
def test_a_metric_with_results_cannot_change(change, word):
    old = read_declaration(declaration())
    new = read_declaration(declaration(metrics=[metric(**change)]))

    assert word in incompatibility(old, new, {"boot time"})


def test_zero_remains_allowed_if_results_may_contain_it():
    old = read_declaration(declaration(metrics=[metric(allows_zero=True)]))
    new = read_declaration(declaration())

    assert "must remain allowed" in incompatibility(old, new, {"boot time"})


@pytest.mark.parametrize(
    "change", [{"unit": "ms"}, {"better": "higher"}, {"name": "boot duration"}]
)
def test_a_metric_without_results_may_change(change):
    old = read_declaration(declaration())
    new = read_declaration(declaration(metrics=[metric(**change)]))

    assert incompatibility(old, new, set()) == ""


def test_other_fields_may_always_change():
    old = read_declaration(declaration())
    new = read_declaration(
        declaration(
            title="Boot watch",
            metrics=[
                metric(title="Time to boot", component="disk", work_class=""),
                metric(name="kernel time"),
            ],
        )
    )

    assert incompatibility(old, new, {"boot time"}) == ""
