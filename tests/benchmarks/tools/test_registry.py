from dataclasses import FrozenInstanceError, replace

import pytest

from benchmarks import tools
from benchmarks.errors import UnknownNameError
from benchmarks.reference.data_files import published_studies, read_rows
from benchmarks.tools import TOOLS, Metric, Tool
from benchmarks.tools.libvirt_domstats import COUNTERS
from benchmarks.units import UNITS
from tests.for_each import for_each

RATE = Metric("rate", "MB/s", "higher", "disk")
DD = Tool(slug="dd", title="dd (GNU)", homepage="https://gnu.org/", metrics=(RATE,))

METRICS = [metric for tool in TOOLS.values() for metric in tool.metrics]
every_metric = for_each("metric", METRICS)


def test_every_tool_of_the_studies_exists():
    assert set(TOOLS) >= {
        "b_eff_io",
        "hdparm",
        "httperf",
        "iometer",
        "iperf",
        "linpack",
        "mpi-io-test",
        "netperf",
        "partdiff",
        "ramspeed",
        "sysbench",
        "tiotest",
        "watts-up",
    }


# The others are raw logs with their own terms (`test_replicated_studies.py`).
PRINTED = list(published_studies()["studies"])[:5]


@pytest.mark.parametrize("study", PRINTED)
def test_every_metric_of_the_studies_exists_with_its_exact_unit(study):
    for row in read_rows(study):
        tool = tools.get(row.tool)
        assert tool.title == row.tool
        assert tool.metric(row.metric).name == row.metric
        assert tool.metric(row.metric).unit == row.unit


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("linpack", "linpack"),
        ("LINPACK", "linpack"),
        ("Watts up? Pro", "watts-up"),
        ("watts  UP? pro", "watts-up"),
        ("mpi-io-test (PVFS2)", "mpi-io-test"),
        ("mpi_io_test", "mpi-io-test"),
        ("B_EFF_IO", "b_eff_io"),
        ("iperf2", "iperf"),
    ],
)
def test_a_tool_is_found_by_any_of_its_names(name, slug):
    assert tools.get(name) is TOOLS[slug]


def test_similar_tools_are_suggested():
    with pytest.raises(UnknownNameError) as refused:
        tools.get("netperv")

    assert 'No tool "netperv" found. Did you mean netperf' in str(refused.value)


def test_the_metrics_of_a_tool_are_listed():
    with pytest.raises(UnknownNameError) as refused:
        tools.get("ramspeed").metric("bandwith")

    assert str(refused.value) == (
        'No RAMspeed metric "bandwith" found. Did you mean bandwidth? '
        "The metrics of RAMspeed are: bandwidth."
    )


def test_a_metric_is_found_in_any_case():
    netperf = tools.get("netperf")
    assert netperf.metric("cpu  Utilization local").name == "CPU utilization local"


@pytest.mark.parametrize(
    "double",
    [
        replace(DD, title="other"),
        replace(DD, slug="dd2", title="DD"),
        replace(DD, slug="dd2", title="other", aliases=("dd (gnu)",)),
    ],
)
def test_two_tools_with_the_same_name_are_rejected(double):
    with pytest.raises(ValueError, match="are both"):
        tools.register([DD, double])


def test_a_tool_may_repeat_its_own_name():
    assert set(tools.register([replace(DD, title="dd")])) == {"dd"}


def test_neither_tools_nor_metrics_can_be_changed():
    with pytest.raises(FrozenInstanceError):
        DD.slug = "other"
    with pytest.raises(FrozenInstanceError):
        RATE.better = "lower"
    with pytest.raises(TypeError):
        TOOLS["dd"] = DD


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"better": "best"}, 'better is "best", not one of higher, lower, neither'),
        ({"component": "GPU"}, 'component is "GPU"'),
    ],
)
def test_a_metric_outside_the_vocabulary_is_rejected(changes, problem):
    with pytest.raises(ValueError, match=problem):
        replace(RATE, **changes)


@pytest.mark.parametrize("slug", ["DD", "d d", "", "dd-"])
def test_an_invalid_slug_is_rejected(slug):
    with pytest.raises(ValueError, match="is not a valid slug"):
        replace(DD, slug=slug)


def test_a_tool_with_two_metrics_of_the_same_name_is_rejected():
    with pytest.raises(ValueError, match="two metrics with the same name"):
        replace(DD, metrics=(RATE, replace(RATE, name="Rate")))


@every_metric
def test_the_direction_follows_from_the_kind_of_metric(metric):
    dimension = UNITS[metric.unit].dimension
    if dimension in {"data rate", "rate", "floating-point rate"}:
        assert metric.better == "higher"
    elif metric.kind == "speed" and dimension == "count":
        # A score; its direction is part of its name.
        assert metric.better == ("lower" if "lower" in metric.name else "higher")
    elif dimension == "count" or metric.name in {
        "meter time",
        "client CPU user",
        "client CPU system",
    }:
        assert metric.better == "neither"
    else:
        assert metric.better == "lower"


@every_metric
def test_only_counts_shares_and_idle_clients_may_read_zero(metric):
    counted = UNITS[metric.unit].dimension in {"count", "ratio"}
    counted &= metric.kind != "speed"  # a score is never 0
    may_idle = metric.name.startswith("client CPU") or metric.name == "jitter"
    # The increase of a counter in a log is 0 if a machine did nothing.
    may_idle |= metric in TOOLS["libvirt-domstats"].metrics[-len(COUNTERS) :]
    may_idle |= metric in (*TOOLS["sysstat"].metrics, *TOOLS["vmstat"].metrics)
    # Derived from a share of CPU time, which may be 0.
    may_idle |= any(metric.name in tool.derived_costs for tool in TOOLS.values())
    assert metric.allows_zero == (counted or may_idle)


def test_a_metric_has_its_name_as_title():
    assert RATE.title == "Rate"
    assert tools.get("b_eff_io").metric("b_eff_io").title == "b_eff_io"


@for_each("tool", TOOLS.values())
def test_every_tool_has_a_homepage(tool):
    assert tool.homepage.startswith(("http://", "https://"))
