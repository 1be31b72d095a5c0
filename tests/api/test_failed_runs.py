"""Runs whose work failed: every route stores them, and no result counts them."""

import json

import pytest

from agents.commands import bundle as bundles
from agents.spool import Spool
from benchmarks.models import Cell, Flag, Run, Study, System
from benchmarks.studies.checking import check_study
from benchmarks.studies.flags import decide_flag
from benchmarks.uploads import processing
from benchmarks.uploads.efficiencies import recompute_outdated
from tests.api.test_archive_import import form, zipped

AB = """\
This is ApacheBench, Version 2.3 <$Revision: 1879490 $>
Document Path:          /
Concurrency Level:      10
Time taken for tests:   {seconds} seconds
Complete requests:      5000
Failed requests:        0
{status}Total transferred:      1790000 bytes
Requests per second:    {rate} [#/sec] (mean)
"""
GOOD = AB.format(seconds="68.130", rate="73.39", status="")
BAD = AB.format(seconds="8.000", rate="625.00", status="Non-2xx responses:      5000\n")


def ab_document(run_document, output, **more):
    document = run_document(tool="ab", output=output, **more)
    del document["samples"]
    return document


def sampled(run_document, bad, **more):
    """A run of ab as samples; without answers if ``bad``."""
    samples = [
        {"metric": "request rate", "value": 625.0 if bad else 73.39, "unit": "1/s"},
        {"metric": "requests", "value": 5000, "unit": ""},
        {"metric": "non-2xx responses", "value": 5000 if bad else 0, "unit": ""},
    ]
    parameters = {"path": "/", "concurrency": 10}
    return run_document(
        tool="ab",
        samples=[{**sample, "parameters": parameters} for sample in samples],
        **more,
    )


def finish(study):
    processing.process_due_uploads()
    check_study(Study.objects.get(pk=study.pk))


def request_rate():
    return Cell.objects.get(case__metric="request rate")


@pytest.fixture
def routes(api, run_document, tmp_path, token, study, host):
    """Functions that upload a good and a bad run by every route."""

    def post(*documents):
        for document in documents:
            assert api.post("runs/", document).status_code == 202

    def bundle():
        spool = Spool(str(tmp_path / "spool"))
        for output in (GOOD, BAD):
            spool.save(ab_document(run_document, output))
        [name] = bundles.write_bundles(spool, str(tmp_path / "stick"), token)
        content = (tmp_path / "stick" / name).read_bytes()
        sent = api.post("bundles/", content, content_type="application/gzip")
        assert sent.status_code == 202

    def archive():
        about = {"study": "study", "system": {"host": "alpha"}, "store": True}
        files = {"native/1.txt": GOOD.encode(), "native/2.txt": BAD.encode()}
        sent = api.post(
            "archives/",
            form(about, zipped(files)),
            content_type="multipart/form-data; boundary=a-mark-between-parts",
        )
        assert sent.status_code in (200, 201, 202), sent.content

    def lines(*documents):
        assert api.bulk(list(documents)).status_code == 202

    both = [sampled(run_document, bad) for bad in (False, True)]
    stated = sampled(run_document, bad=False)
    stated["samples"] = both[1]["samples"][:1]
    raw = [ab_document(run_document, output) for output in (GOOD, BAD)]
    return {
        "raw output": lambda: post(*raw),
        "samples": lambda: post(*both),
        "stated reason": lambda: post(both[0], {**stated, "failed": "server died"}),
        "stated counts": lambda: post(
            both[0], {**stated, "errors": 5000, "operations": 5000}
        ),
        "exit code": lambda: post(
            both[0], {**stated, "facts": {"execution": {"exit code": 22}}}
        ),
        "bulk": lambda: lines(*both),
        "bulk of outputs": lambda: lines(*raw),
        "bundle": bundle,
        "archive": archive,
    }


@pytest.mark.parametrize(
    "route",
    [
        *("raw output", "samples", "stated reason", "stated counts", "exit code"),
        *("bulk", "bulk of outputs", "bundle", "archive"),
    ],
)
def test_failed_runs_are_stored_and_not_counted(routes, route, study):
    routes[route]()
    finish(study)

    cell = request_rate()
    assert (cell.n, cell.mean, cell.failed_runs) == (1, 73.39, 1)
    assert cell.failure
    assert Run.objects.failed().count() == 1
    assert Run.objects.filter(status="parsed").count() == 2
    flag = Flag.objects.get(rule="failed-work")
    assert flag.runs.get() == Run.objects.failed().get()
    # The parser's warning about the failed run says the same.
    assert not Flag.objects.filter(rule="tool-mark").exists()


def test_some_errors_leave_a_run_valid(api, run_document, study):
    document = sampled(run_document, bad=False)
    document["samples"][2]["value"] = 3
    api.post("runs/", document)
    finish(study)

    run = Run.objects.get()
    assert (run.failure, run.errors, run.operations) == ("", 3, 5000)
    assert request_rate().n == 1


def test_results_without_a_valid_run_exist_without_numbers(api, run_document, study):
    api.bulk([sampled(run_document, bad=True) for _ in range(2)])
    finish(study)

    (cell,) = api.get("cells/", metric="request rate").json()["results"]
    assert (cell["n"], cell["mean"], cell["failed_runs"]) == (0, None, 2)
    rows = api.get("comparisons/", study="study", state="failed").json()["results"]
    assert {row["state"] for row in rows} == {"failed"}
    assert all(row["value"] is row["verdict"] is None for row in rows)
    (row,) = [row for row in rows if row["metric"] == "request rate"]
    assert row["failed_runs"] == 2
    assert row["failure"]


def test_runs_state_their_failure(api, run_document, study):
    api.post("runs/", run_document(failed="stressor died", errors=1, operations=4))
    finish(study)

    (run,) = api.get("runs/").json()["results"]
    assert (run["failure"], run["is_failed"]) == ("stressor died", True)
    assert (run["errors"], run["operations"]) == (1, 4)


@pytest.mark.parametrize(
    "fields",
    [
        {"errors": 1},
        {"operations": 1},
        {"errors": 2, "operations": 1},
        {"errors": -1, "operations": 1},
        {"errors": 0, "operations": 0},
        {"errors": 0.5, "operations": 1},
        {"failed": 5},
        {"failed": "x" * 301},
    ],
)
def test_wrong_counts_are_422(api, run_document, fields):
    assert api.post("runs/", run_document(**fields)).status_code in (400, 422)
    assert api.bulk([run_document(**fields)]).status_code in (400, 422)
    assert not Run.objects.exists()


def test_a_dismissed_flag_counts_its_runs_again(api, run_document, study):
    api.bulk([sampled(run_document, bad) for bad in (False, True)])
    finish(study)
    flag = Flag.objects.get(rule="failed-work")
    decide_flag(flag=flag, status="dismissed", note="They are wanted.", actor="alice")
    finish(study)
    assert (request_rate().n, request_rate().failed_runs) == (2, 0)

    # Another failed run has a flag of its own.
    api.post("runs/", sampled(run_document, bad=True))
    finish(study)
    assert (request_rate().n, request_rate().failed_runs) == (2, 1)
    current = Flag.objects.filter(rule="failed-work", resolved_at=None)
    assert sorted(current.values_list("status", flat=True)) == ["dismissed", "open"]

    processing.process_runs(list(Run.objects.order_by("pk")))
    finish(study)
    assert (request_rate().n, request_rate().failed_runs) == (2, 1)

    flag.refresh_from_db()
    decide_flag(flag=flag, status="open", note="They are not.", actor="alice")
    finish(study)
    assert (request_rate().n, request_rate().failed_runs) == (1, 2)


def test_failed_runs_change_no_number(api, run_document, study):
    def numbers():
        content = {
            name: [
                {
                    key: value
                    for key, value in row.items()
                    if key not in ("failed_runs", "failure", "updated_at")
                }
                for row in api.get(f"{name}/", study="study").json()["results"]
                if row["n"]
            ]
            for name in ("cells", "comparisons")
        }
        flags = Flag.objects.exclude(rule="failed-work").order_by("pk")
        return json.dumps(content), list(flags.values_list("fingerprint", flat=True))

    def day(number, hour):
        return f"2026-03-0{number}T{hour:02}:00:00Z"

    systems = ({}, {"hypervisor": "KVM"})
    api.bulk(
        [
            run_document(50 + 3 * side + n / 7, system=system, started_at=day(n, 9))
            for side, system in enumerate(systems)
            for n in range(1, 6)
        ]
    )
    finish(study)
    before = numbers()

    # Also between two sessions, which they must not join to one.
    api.bulk(
        [
            run_document(
                900.0 + n, system=system, started_at=day(n, hour), failed="stopped"
            )
            for system in systems
            for n in range(1, 6)
            for hour in (2, 13, 17, 21)
        ]
    )
    finish(study)

    assert numbers() == before
    assert Cell.objects.filter(failed_runs=20, n=5).count() == 2


def test_an_upgrade_marks_stored_runs(api, run_document, study):
    documents = [ab_document(run_document, output) for output in (GOOD, BAD)]
    noted = "started 2020-12-21; source prints 5000 non-2xx responses"
    documents += [sampled(run_document, bad) for bad in (False, True)]
    api.bulk(documents)
    unnoticed = sampled(run_document, bad=False, note=noted)
    unnoticed["samples"] = unnoticed["samples"][:1]
    api.post("runs/", {**unnoticed, "facts": {"requests": "5000"}})
    finish(study)
    # As an earlier version stored them.
    Study.objects.update(efficiency_rules=5, slug="oulu-2021-microvm")
    Run.objects.update(failure="", errors=None, operations=None)

    recompute_outdated()
    finish(study)

    assert Run.objects.failed().count() == 3
    assert (request_rate().n, request_rate().failed_runs) == (2, 3)


def test_pages_show_failed_runs(api, client, run_document, study):
    native = [run_document(value, started_at=None) for value in (50.0, 51.0)]
    some = [
        run_document(40.0, system={"hypervisor": "KVM"}),
        run_document(90.0, system={"hypervisor": "KVM"}, failed="stressor died"),
    ]
    none = [run_document(9.0, system={"hypervisor": "Xen"}, failed="disk was full")]
    api.bulk([*native, *some, *none])
    finish(study)
    home = "/studies/alpha-lab/study/"

    assert "stressor died" in client.get(home).content.decode()
    for cell in Cell.objects.filter(failed_runs=1):
        page = client.get(f"{home}cells/{cell.pk}/").content.decode()
        assert cell.failure in page
        assert f"/runs/{Run.objects.failed().get(system=cell.system).pk}/" in page
        assert "claim-text" not in page
        card = client.get(f"{home}compare/cell/", {"cell": cell.pk})
        assert cell.failure in card.content.decode()
    compared = client.get(f"{home}compare/")
    assert compared.status_code == 200
    assert f"cells/{Cell.objects.get(n=0).pk}/" in compared.content.decode()
    for run in Run.objects.failed():
        assert run.failure in client.get(f"/runs/{run.pk}/").content.decode()
    for path in ("flags/", "runs/", "sessions/", "report/", "energy/"):
        assert client.get(f"{home}{path}").status_code == 200
    for name in ("compare.csv", "compare.json"):
        assert "disk was full" in client.get(f"{home}{name}").content.decode()
    assert "failed" in client.get(f"{home}compare.tex").content.decode()
    pins = ",".join(str(system.pk) for system in System.objects.order_by("-pk")[:2])
    assert client.get(f"{home}pair/", {"pin": pins}).status_code == 200
