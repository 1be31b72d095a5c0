"""POST /parse/: raw output is parsed for every client, and nothing is stored."""

import pytest

from benchmarks.models import Run
from tests.custom_tools import boot_sample, declare
from tests.data.rebuild import DATA

ADDRESS = "/api/v1/parse/"


@pytest.fixture
def preview(client, db):
    """Return a function that sends raw output without a token."""

    def send(output, **more):
        body = {"output": output, **more}
        return client.post(ADDRESS, body, content_type="application/json")

    return send


TABLE = "run,metric,value,unit\n1,boot time,3200,ms\n2,boot time,3.4,s\n"
NAME = "alpha-lab:boot-time"


def test_custom_tools_are_known_to_their_lab_only(preview, api, lab):
    declare(lab)

    (run, other) = api.post("parse/", {"output": TABLE, "tool": NAME}).json()["runs"]

    assert (run["tool"], run["status"]) == (NAME, "parsed")
    assert (run["samples"][0]["value"], run["samples"][0]["unit"]) == (3200, "ms")
    assert other["samples"][0]["value"] == 3.4
    assert not Run.objects.exists()
    # Other clients do not learn that the tool exists.
    answer = preview(TABLE, tool=NAME)
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_tool")


def test_custom_tools_of_public_studies_are_known_to_all(
    preview, lab, submit, run_document
):
    declare(lab)
    submit(run_document(tool="boot-time", samples=[boot_sample()]))

    (run, _other) = preview(TABLE, tool=NAME).json()["runs"]

    assert run["status"] == "parsed"


def test_invalid_samples_have_a_problem(api, lab):
    declare(lab)
    table = "metric,value\nboot time,0\n"

    (run,) = api.post("parse/", {"output": table, "tool": NAME}).json()["runs"]

    assert run["status"] == "rejected"
    assert "never measures zero" in run["problem"]


def test_previews_store_nothing(preview):
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


def test_output_of_several_tools_is_several_runs(preview):
    names = ("hdparm/tT-in-tcg-guest.txt", "ramspeed/intmem.txt")
    log = "".join(f"root@vm:~# run\n{(DATA / name).read_text()}" for name in names)

    tools = [run["tool"] for run in preview(log).json()["runs"]]

    assert tools == ["hdparm", "ramspeed"]


def test_terminal_colors_are_ignored(preview):
    line = " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec"

    (run,) = preview(f"\x1b[1m{line}\x1b[0m\r\n").json()["runs"]

    assert run["samples"][0]["value"] == 105.75


def test_unreadable_runs_are_rejected_with_the_line(preview):
    answer = preview("netperf: some error\nnothing else\n", tool="netperf").json()

    statuses = {run["status"] for run in answer.get("runs", [])}
    assert statuses in (set(), {"rejected"})
    said = answer.get("detail") or answer["runs"][0]["problem"]
    assert "ine" in said


def test_unknown_output_is_422_with_instructions(preview):
    answer = preview("Segmentation fault\n")

    assert answer.status_code == 422
    assert answer.json()["code"] == "unreadable_output"
    assert "Name the tool" in answer.json()["detail"]


def test_unknown_tools_get_a_suggestion(preview):
    answer = preview("x", tool="hdparn")

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_tool")
    assert "hdparm" in answer.json()["detail"]


def test_decimal_commas_require_a_locale(preview):
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
def test_invalid_bodies_are_400(client, db, body, field):
    answer = client.post(ADDRESS, body, content_type="application/json")

    assert answer.status_code == 400
    assert not field or field in answer.json()["fields"]
