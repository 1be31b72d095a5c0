"""POST /parse/: raw output is read for whoever asks, and nothing of it is kept."""

import pytest

from benchmarks.models import Run
from tests.custom_tools import boot_sample, declare
from tests.data.rebuild import DATA

ADDRESS = "/api/v1/parse/"


@pytest.fixture
def preview(client, db):
    """Send raw output without a token."""

    def send(output, **more):
        body = {"output": output, **more}
        return client.post(ADDRESS, body, content_type="application/json")

    return send


TABLE = "run,metric,value,unit\n1,boot time,3200,ms\n2,boot time,3.4,s\n"
NAME = "alpha-lab:boot-time"


def test_a_labs_own_tool_is_read_for_its_lab_alone(preview, api, lab):
    declare(lab)

    (run, other) = api.post("parse/", {"output": TABLE, "tool": NAME}).json()["runs"]

    assert (run["tool"], run["status"]) == (NAME, "parsed")
    assert (run["samples"][0]["value"], run["samples"][0]["unit"]) == (3200, "ms")
    assert other["samples"][0]["value"] == 3.4
    assert not Run.objects.exists()
    # Nobody else knows that there is such a tool.
    answer = preview(TABLE, tool=NAME)
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_tool")


def test_a_tool_of_a_public_study_is_read_for_anybody(
    preview, lab, submit, run_document
):
    declare(lab)
    submit(run_document(tool="boot-time", samples=[boot_sample()]))

    (run, _other) = preview(TABLE, tool=NAME).json()["runs"]

    assert run["status"] == "parsed"


def test_a_sample_that_would_be_refused_is_said(api, lab):
    declare(lab)
    table = "metric,value\nboot time,0\n"

    (run,) = api.post("parse/", {"output": table, "tool": NAME}).json()["runs"]

    assert run["status"] == "rejected"
    assert "never measures zero" in run["problem"]


def test_it_says_what_was_read_and_keeps_nothing(preview):
    line = " Timing buffered disk reads: 318 MB in  3.01 seconds = 105.75 MB/sec\n"

    answer = preview(line)

    assert answer.status_code == 200
    (run,) = answer.json()["runs"]
    assert (run["tool"], run["status"], run["problem"]) == ("hdparm", "parsed", "")
    assert run["samples"] == [
        {
            "metric": "buffered read",
            "parameters": {"operation": "read"},
            "value": 105.75,
            "unit": "MiB/s",
            "repetition": 1,
        }
    ]
    assert not Run.objects.exists()


def test_a_log_of_several_tools_is_several_runs(preview):
    names = ("hdparm/tT-in-tcg-guest.txt", "ramspeed/intmem.txt")
    log = "".join(f"root@vm:~# run\n{(DATA / name).read_text()}" for name in names)

    tools = [run["tool"] for run in preview(log).json()["runs"]]

    assert tools == ["hdparm", "ramspeed"]


def test_terminal_colours_are_survived(preview):
    line = " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec"

    (run,) = preview(f"\x1b[1m{line}\x1b[0m\r\n").json()["runs"]

    assert run["samples"][0]["value"] == 105.75


def test_what_cannot_be_read_is_a_rejected_run_that_names_the_line(preview):
    answer = preview("netperf: some error\nnothing else\n", tool="netperf").json()

    statuses = {run["status"] for run in answer.get("runs", [])}
    assert statuses in (set(), {"rejected"})
    said = answer.get("detail") or answer["runs"][0]["problem"]
    assert "ine" in said


def test_text_of_no_known_tool_is_422_and_says_what_to_do(preview):
    answer = preview("Segmentation fault\n")

    assert answer.status_code == 422
    assert answer.json()["code"] == "unreadable_output"
    assert "Name the tool" in answer.json()["detail"]


def test_an_unknown_tool_names_the_closest(preview):
    answer = preview("x", tool="hdparn")

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_tool")
    assert "hdparm" in answer.json()["detail"]


def test_a_decimal_comma_is_read_only_where_the_locale_is_named(preview):
    line = " Timing buffered disk reads: 318 MB in  3,01 seconds = 105,75 MB/sec\n"

    without = preview(line)
    named = preview(line, locale="de_DE.UTF-8")

    assert "locale" in str(without.json())
    assert named.json()["runs"][0]["samples"][0]["value"] == 105.75


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "output"),
        ({"output": 5}, "output"),
        ({"output": "x", "tol": "fio"}, "tol"),
        ({"output": "x", "tool": "fi\u0007o"}, ""),
    ],
)
def test_a_body_of_another_shape_is_400(client, db, body, field):
    answer = client.post(ADDRESS, body, content_type="application/json")

    assert answer.status_code == 400
    assert not field or field in answer.json()["fields"]
