"""Runs whose work failed: reasons and counts of the uploader, parser and samples."""

import pytest

from benchmarks import tools
from benchmarks.parsing.failed_work import (
    MAX_ERROR_SHARE,
    WorkCount,
    count_work,
    find_failure,
)
from benchmarks.parsing.tool import ErrorMetrics
from benchmarks.reference.failure_notes import failure_fields

AB = """\
This is ApacheBench, Version 2.3 <$Revision: 1879490 $>
Document Path:          /
Concurrency Level:      10
Time taken for tests:   68.130 seconds
Complete requests:      5000
Failed requests:        {failed}
{why}{status}Total transferred:      1790000 bytes
Requests per second:    73.39 [#/sec] (mean)
Time per request:       136.260 [ms] (mean)
"""


def parsed(tool, text):
    (run,) = tools.TOOLS[tool].parse(text)
    return run


def samples(tool, **values):
    named = [(name.replace("_", " "), value) for name, value in values.items()]
    return find_failure({}, tool=tools.TOOLS[tool], values=named)


@pytest.mark.parametrize(
    ("errors", "is_failed"), [(0, False), (3, False), (500, False), (501, True)]
)
def test_more_than_half_a_percent_of_errors_is_a_failure(errors, is_failed):
    assert MAX_ERROR_SHARE * 100_000 == 500
    assert WorkCount(errors, 100_000).is_failed is is_failed

    stated = find_failure({"errors": errors, "operations": 100_000})

    assert bool(stated.reason) is is_failed
    assert stated.work == WorkCount(errors, 100_000)


def test_a_stated_reason_precedes_all_others():
    document = {"errors": 5, "operations": 10, "facts": {"execution": {"exit code": 2}}}

    assert find_failure(document, stated="stressor died").reason == "stressor died"
    assert find_failure(document, stated="x").work == WorkCount(5, 10)


def test_an_exit_code_is_a_failure():
    for code, is_failed in ((0, False), (3, True), (-9, True)):
        document = {"facts": {"execution": {"exit code": code}}}
        assert bool(find_failure(document).reason) is is_failed


def test_facts_of_any_form_do_not_fail_a_run():
    for facts in ({"execution": 3}, {"execution": {"exit code": "2"}}, {"x": None}):
        assert find_failure({"facts": facts}).reason == ""


def test_counts_among_samples_are_added():
    metrics = ErrorMetrics(("refused", "late"), "requests")

    counted = count_work(metrics, [("refused", 2), ("late", 3), ("requests", 90)])

    assert counted == WorkCount(5, 90)


def test_counts_without_a_total_are_unknown():
    metrics = ErrorMetrics(("refused",), "requests")

    assert count_work(metrics, [("refused", 2)]) is None
    assert count_work(metrics, [("requests", 2)]) is None


def test_requests_without_a_reply_are_errors():
    replied = samples("httperf", requests=100, replies=60, errors=0)

    assert replied.work == WorkCount(40, 100)
    assert replied.reason


def test_samples_of_ab_state_failed_work():
    assert samples("ab", requests=5000, **{"non-2xx responses": 5000}).reason
    assert not samples("ab", requests=5000, **{"non-2xx responses": 2}).reason
    assert not samples("ab", requests=5000, request_rate=73.4).reason


def test_tools_without_such_metrics_have_no_counts():
    assert samples("sysbench", events=5.0).work is None


def test_ab_counts_answers_other_than_2xx():
    status = "Non-2xx responses:      5000\n"
    run = parsed("ab", AB.format(failed=0, why="", status=status))

    assert (run.errors, run.operations) == (5000, 5000)


def test_ab_pages_of_varying_length_are_answers():
    why = "   (Connect: 0, Receive: 1, Length: 4990, Exceptions: 0)\n"
    run = parsed("ab", AB.format(failed=4991, why=why, status=""))

    assert (run.errors, run.operations) == (1, 5000)


def test_wrk_counts_sockets_and_statuses():
    text = """\
Running 1m test @ http://192.168.1.20:8080
  8 threads and 2000 connections
  100 requests in 1.00m, 1.65GB read
  Socket errors: connect 20, read 2, write 0, timeout 7
  Non-2xx or 3xx responses: 5
Requests/sec:     1.67
Transfer/sec:     28.12MB
"""
    run = parsed("wrk", text)

    assert (run.errors, run.operations) == (34, 122)


def test_a_failed_stressor_is_a_failure_and_a_doubt_is_not():
    head = "stress-ng: info:  [1] dispatching hogs: 4 cpu\n"
    rows = (
        "stress-ng: metrc: [1] stressor       bogo ops real time  usr time  sys time"
        "   bogo ops/s     bogo ops/s\n"
        "stress-ng: metrc: [1]                           (secs)    (secs)    (secs)"
        "   (real time) (usr+sys time)\n"
        "stress-ng: metrc: [1] cpu                 100      1.00      4.00      0.00"
        "       100.00          25.00\n"
    )
    died = "stress-ng: error: [1] cpu: [7] terminated with an error, exit status=2\n"
    doubt = "stress-ng: info:  [1] metrics untrustworthy: 1\n"

    assert any(w.is_failure for w in parsed("stress-ng", head + died + rows).warnings)
    doubted = parsed("stress-ng", head + rows + doubt).warnings
    assert doubted
    assert not any(warning.is_failure for warning in doubted)


def test_notes_of_reference_studies_state_failures():
    died = "started 2026-07-06T21:59:23; source prints: stressor died, ran 2.36 s, x"
    many = "started 2020-12-21; source prints 5000 non-2xx responses"

    assert failure_fields(died, {}) == {"failed": "stressor died, ran 2.36 s, x"}
    fields = failure_fields(many, {"requests": "5000"})
    assert (fields["errors"], fields["operations"]) == (5000, 5000)
    assert fields["failed"]
    assert failure_fields(many, {"requests": "5000000"}).keys() == {
        "errors",
        "operations",
    }


@pytest.mark.parametrize(
    "note",
    [
        "",
        "started Sat Jul 12 06:25:23 CDT 2014; libvirt",
        "printed 23m 13.901s; includes a printed penalty of 274.201 s for 48 failed "
        "builds",
        "printed with a k suffix, 2 digits",
        "under-provisioned on purpose: 2 of 4 CPUs",
    ],
)
def test_other_notes_state_no_failure(note):
    assert failure_fields(note, {}) == {}
