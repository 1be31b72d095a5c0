import pytest

from benchmarks import tools
from benchmarks.management.commands.write_docs import tools_page
from benchmarks.parsing.case_labels import case_details, case_label
from benchmarks.reference.study_documents import reference_studies
from benchmarks.tools import TOOLS
from tests.for_each import for_each


def label(tool, metric, **parameters):
    definition = tools.get(tool)
    return case_label(definition, definition.metric(metric), parameters)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (("iometer", "network throughput", "write", ""), "Network throughput · write"),
        (
            ("iometer", "disk throughput", "read", "random"),
            "Disk throughput · random read",
        ),
    ],
)
def test_a_label_contains_the_operation(case, expected):
    tool, metric, operation, access = case
    parameters = {"operation": operation, "access": access}
    given = {key: value for key, value in parameters.items() if value}
    assert label(tool, metric, **given) == expected


def test_a_label_contains_the_parameters_that_distinguish_cases():
    assert label("ramspeed", "bandwidth", operation="read", level="L1") == (
        "Bandwidth · read · L1"
    )
    assert label("linpack", "time", n=2000, repetitions=10) == "Time · n=2000"
    path = {"operation": "send", "from": "vm3", "to": "node6"}
    assert label("netperf", "throughput", **path) == "Throughput · send · vm3 → node6"


def test_a_pattern_with_a_missing_parameter_is_omitted():
    assert label("netperf", "throughput", **{"from": "vm3"}) == "Throughput"


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 thread"), (4, "4 threads"), (11, "11 threads")]
)
def test_one_thread_is_singular(count, said):
    shown = label("sysbench", "transaction rate", test="oltp", threads=count)
    assert shown == f"Transaction rate · oltp · {said}"


def test_one_process_is_singular():
    shown = label("b-eff-io", "weighted bandwidth", operation="read", processes=1)
    assert shown == "Weighted bandwidth · read · 1 process"


def test_a_long_part_is_shortened():
    shown = label("watts-up", "energy", workload="x" * 500)
    assert shown == f"Energy · {'x' * 39}…"


def test_a_value_is_not_a_pattern():
    assert label("linpack", "time", n="{repetitions}", repetitions=1) == (
        "Time · n={repetitions}"
    )


def test_details_are_the_parameters_that_are_not_in_the_label():
    parameters = {"operation": "write", "level": "L1", "block sizes": "4k,32k"}
    assert case_details(tools.get("ramspeed"), parameters) == {"block_sizes": "4k,32k"}


def test_the_cases_of_the_studies_have_short_labels():
    for study in reference_studies():
        declared = {tool["slug"] for tool in study.own_tools}
        for run in study.runs:
            if run["tool"] in declared:
                continue
            for sample in run["samples"]:
                text = label(run["tool"], sample["metric"], **sample["parameters"])
                assert 3 < len(text) < 80


def test_every_tool_and_metric_is_listed():
    text = tools_page()

    for tool in TOOLS.values():
        assert f"\n## {tool.title}\n\nSlug `{tool.slug}`" in text
        assert all(f"\n| {metric.name} | " in text for metric in tool.metrics)


def test_unit_direction_and_component_are_listed():
    assert "| service demand local | us/KB | lower | network |" in tools_page()
    assert "| deadlocks | (count) | neither | application |" in tools_page()


@for_each("tool", TOOLS.values())
def test_the_operation_appears_once(tool):
    done = {"operation": "fork", "access": "odd"}
    given = done | dict.fromkeys(("protocol", "block", "network", "test"), "x")

    for metric in tool.metrics:
        assert case_label(tool, metric, given).count("fork") == 1
