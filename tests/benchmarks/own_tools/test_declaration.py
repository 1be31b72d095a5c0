import pytest

from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.own_tools.declaration import stored_declaration, tool_of
from benchmarks.own_tools.declaring import checked_slug, declared, refuse_changes
from benchmarks.parsing.cases import Extremes, no_speed
from benchmarks.tools import TOOLS
from tests.own_tools import declaration, metric


def refused(**changes):
    with pytest.raises(BenchmarksError) as caught:
        declared(declaration(**changes))
    return caught.value.field, str(caught.value)


def test_what_is_declared_is_kept_in_one_spelling():
    kept = declared(
        declaration(
            title="  Boot   stopwatch ",
            metrics=[
                metric(
                    unit="sec",
                    work_class="System: Process creation",
                    fixed_by="Run-Time",
                )
            ],
        )
    )

    assert kept.title == "Boot stopwatch"
    assert kept.metrics[0].unit == "s"
    assert kept.metrics[0].work_class == "system-process-creation"
    assert kept.metrics[0].fixed_by == "run_time"


def test_what_is_stored_is_read_as_it_was_declared():
    kept = declared(declaration(metrics=[metric(), metric(name="kernel time")]))

    assert stored_declaration(kept.stored) == kept


def test_a_version_of_before_lacks_nothing_that_came_later():
    stored = declared(declaration()).stored
    del stored["metrics"][0]["work_class"]

    assert stored_declaration(stored).metrics[0].work_class == ""


def test_the_tool_is_what_analyses_know():
    tool = tool_of("alpha-lab:boot-time", declared(declaration()))

    assert (tool.slug, tool.title) == ("alpha-lab:boot-time", "Boot stopwatch")
    assert tool.metric("Boot Time").better == "lower"
    assert tool.parse is None


def test_its_primary_metrics_name_their_class_of_work():
    plain = metric(name="kernel time", work_class="")
    detail = metric(name="boots", primary=False)
    document = declaration(metrics=[metric(), plain, detail])

    tool = tool_of("alpha-lab:boot-time", declared(document))

    assert list(tool.primary) == ["boot time", "kernel time"]
    assert tool.work_of("boot time", {}) == "system-process-creation"
    assert tool.work_of("kernel time", {}) == tool.work_of("boots", {}) == ""


@pytest.mark.parametrize(
    ("kind", "word"),
    [("setting", "set before"), ("share", "share"), ("count", "count"), ("", None)],
)
def test_a_kind_says_what_has_no_speed(kind, word):
    """A soak test that always lasts an hour is no slower where it lasts an hour."""
    tool = tool_of("alpha-lab:soak", declared(declaration(metrics=[metric(kind=kind)])))

    said = no_speed(tool.metric("boot time"), {}, Extremes(3599.0, 3601.5))

    assert (word in said) if word else (said is None)


def test_what_was_declared_before_kinds_is_as_its_unit_says():
    stored = declared(declaration()).stored
    del stored["metrics"][0]["kind"]

    (found,) = stored_declaration(stored).metrics

    assert found.kind == ""


@pytest.mark.parametrize("name", ["fio", "FIO", "Iometer", "netperf"])
def test_no_tool_is_called_like_one_that_everybody_has(name):
    field, sentence = refused(title=name)

    assert field == "title"
    assert "that Virtlab knows" in sentence


def test_no_slug_hides_a_name_of_a_known_tool():
    for tool in TOOLS.values():
        with pytest.raises(InvalidError):
            checked_slug(tool.slug)


@pytest.mark.parametrize(
    "slug", ["", "Boot", "boot time", "a:b", "-a", "a--b", "x" * 51]
)
def test_a_slug_fits_an_address_and_never_names_a_lab(slug):
    with pytest.raises(InvalidError, match="slug"):
        checked_slug(slug)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "alpha: boot"}, "title"),
        ({"homepage": "javascript:alert(1)"}, "homepage"),
        ({"metrics": []}, "metrics"),
        ({"metrics": [metric(primary=False)]}, "metrics"),
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
def test_what_cannot_be_declared_is_refused_at_its_place(changes, field):
    assert refused(**changes)[0] == field


def refusal(old, new, measured):
    """Return why a declaration cannot take another's place; "" where it can."""
    try:
        refuse_changes(old, new, measured)
    except InvalidError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"unit": "ms"}, "its unit cannot change"),
        ({"better": "higher"}, "its direction cannot change"),
        ({"fixed_by": "seconds"}, "its parameter that fixes it cannot change"),
        ({"kind": "setting"}, "its kind of number cannot change"),
        ({"name": "boot duration"}, "it stays, under this name"),
    ],
)
def test_a_metric_that_has_results_stays_what_it_is(change, word):
    old = declared(declaration())
    new = declared(declaration(metrics=[metric(**change)]))

    assert word in refusal(old, new, {"boot time"})


def test_zero_stays_allowed_where_it_may_have_been_read():
    old = declared(declaration(metrics=[metric(zero_allowed=True)]))
    new = declared(declaration())

    assert "it stays allowed" in refusal(old, new, {"boot time"})


@pytest.mark.parametrize(
    "change", [{"unit": "ms"}, {"better": "higher"}, {"name": "boot duration"}]
)
def test_a_metric_without_results_may_become_anything(change):
    old = declared(declaration())
    new = declared(declaration(metrics=[metric(**change)]))

    assert refusal(old, new, set()) == ""


def test_everything_else_may_change_at_any_time():
    old = declared(declaration())
    new = declared(
        declaration(
            title="Boot watch",
            metrics=[
                metric(title="Time to boot", component="disk", work_class=""),
                metric(name="kernel time"),
            ],
        )
    )

    assert refusal(old, new, {"boot time"}) == ""
