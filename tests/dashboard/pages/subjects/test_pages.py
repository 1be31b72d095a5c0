"""Pages of hypervisors, classes of work and machines, and the sitemap."""

import csv
from datetime import timedelta

import pytest

from benchmarks.evidence.queries import Question, refresh_public_evidence
from benchmarks.models import Host, Study, System
from benchmarks.studies import checking
from tests.upload_documents import interleaved

NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)
XEN_PAGE = "/hypervisors/xen/"
WORK_PAGE = "/work/network-throughput-out/"


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure a Xen guest and its machine, six runs each."""
    submit(
        *interleaved(
            (run_document(value) for value in NATIVE),
            (run_document(value, system=xen) for value in SLOW),
        )
    )
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def machine_page(measured):
    return f"/machines/{Host.objects.get().slug}/"


def table(page, slug):
    (found,) = [t for t in page.context["page"]["tables"] if t.slug == slug]
    return [[cell.text for cell in row] for row in found.rows]


def test_a_hypervisor_has_an_answer_tables_and_open_questions(client, measured):
    page = client.get(XEN_PAGE)

    shown = page.context["page"]
    assert "80%" in shown["answer"]["sentence"]
    assert "one" not in {row["strength"] for row in shown["answer"]["rows"]}
    assert [row[1] for row in table(page, "results")] == ["0.80013"]
    assert "80%" in table(page, "machines")[0]
    assert table(page, "versions")[0][0] == "3.3"
    missing = {group["title"]: group["entries"] for group in shown["open"]}
    assert missing["Only one machine"][0]["url"].endswith("#add-data")
    assert any("fio" in entry["tools"] for entry in missing["Not measured"])
    assert 'href="/studies/alpha-lab/study/"' in page.text


def test_known_hypervisors_without_results_say_how_to_measure(client, measured):
    page = client.get("/hypervisors/bhyve/")

    assert "No study has compared bhyve with bare metal" in page.text
    assert page.context["page"]["open"][0]["title"] == "Not measured"
    assert client.get("/hypervisors/nothing/").status_code == 404


def test_work_shows_hypervisors_and_benchmarks(client, measured):
    page = client.get(WORK_PAGE)

    assert table(page, "results")[0][:2] == ["Xen", "0.80013"]
    assert any("0.80013" in row for row in table(page, "benchmarks"))
    assert page.context["page"]["has_tail"]
    assert "/work/network-tail-latency/" in page.text


def test_classes_of_work_have_one_address(client, db):
    assert client.get("/work/databases/").status_code == 200
    moved = client.get("/work/application-database/")
    assert (moved.status_code, moved.headers["Location"]) == (301, "/work/databases/")
    assert client.get("/work/nothing/").status_code == 404


def test_a_machine_shows_its_results_and_facts(client, machine_page):
    Host.objects.update(facts={"cpu": "A processor"})

    page = client.get(machine_page)

    assert [row[1] for row in table(page, "results")] == ["0.80013"]
    assert table(page, "benchmarks")[0][1:3] == ["Xen", "80%"]
    assert "A processor" in page.text


def test_machines_of_one_model_share_a_page(client, machine_page):
    Host.objects.update(facts={"machine_model": "Model 1 (2 CPUs)"})

    assert "Model 1 (2 CPUs)" in client.get("/machines/").text
    for path in ("/machines/model-1-2-cpus/", machine_page):
        page = client.get(path)
        assert table(page, "results")[0][1] == "0.80013"
        assert "No machine ran both sides" not in page.text


@pytest.mark.parametrize("path", [XEN_PAGE, WORK_PAGE])
def test_private_results_are_shown_only_to_members(client, measured, person, path):
    Study.objects.update(visibility="private")
    refresh_public_evidence([Question("Xen", "network-throughput-out")])

    assert "0.80013" not in client.get(path).text
    client.force_login(person)
    assert "0.80013" in client.get(path).text


def test_machines_of_private_studies_are_hidden(client, machine_page, person):
    Study.objects.update(visibility="private")

    assert client.get(machine_page).status_code == 404
    assert machine_page not in client.get("/machines/").text
    client.force_login(person)
    assert client.get(machine_page).status_code == 200


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("hypervisor=Xen", 1),
        ("hypervisor=KVM", 0),
        ("work=network-throughput-out", 1),
        ("work=cpu-integer", 0),
        ("machine={machine}", 1),
        ("machine=nothing", 0),
    ],
)
def test_results_and_events_of_one_subject(client, machine_page, query, count):
    query = query.format(machine=machine_page.split("/")[2])
    lines = client.get(f"/evidence.csv?{query}").text.splitlines()

    machines = [row for row in csv.DictReader(lines) if row["section"] == "machine"]
    assert len(machines) == count
    assert client.get(f"/feed.atom?{query}").status_code == 200


def test_settings_that_differ_are_listed(client, submit, run_document, xen, measured):
    submit(run_document(90, system={**xen, "options": {"disk_cache": "none"}}))
    submit(run_document(91, system={**xen, "options": {"disk_cache": "writeback"}}))
    checking.check_due_studies(timedelta(0))

    assert System.objects.filter(hypervisor="Xen").count() > 1
    page = client.get(XEN_PAGE)
    assert any("none, writeback" in row for row in table(page, "settings"))
    assert 'href="/settings/disk-cache/"' in page.text


def test_indexes_link_to_all_subjects(client, measured):
    assert f'href="{XEN_PAGE}"' in client.get("/hypervisors/").text
    assert f'href="{WORK_PAGE}"' in client.get("/work/").text
    assert f'href="{XEN_PAGE}"' in client.get("/evidence/").text
    assert f'href="{WORK_PAGE}"' in client.get("/evidence/").text


def test_the_sitemap_has_public_pages_only(client, machine_page):
    paths = ["/", XEN_PAGE, "/work/databases/", machine_page]
    for path in [*paths, "/studies/alpha-lab/study/"]:
        assert f"<loc>http://testserver{path}</loc>" in client.get("/sitemap.xml").text
    Study.objects.update(visibility="private")
    assert machine_page not in client.get("/sitemap.xml").text


def test_results_without_bare_metal_are_compared_directly(
    client, submit, run_document, xen
):
    kvm = {**xen, "hypervisor": "KVM"}
    submit(*(run_document(value, system=xen) for value in SLOW))
    submit(*(run_document(value, system=kvm) for value in NATIVE))
    checking.check_due_studies(timedelta(0))

    for address in (XEN_PAGE, "/hypervisors/kvm/", WORK_PAGE):
        (row,) = client.get(address).context["page"]["direct"]["rows"]
        names = [result["name"] for result in row["results"]]
        assert [name.split()[0].rstrip(",") for name in names] == ["KVM", "Xen"]
    assert client.get(row["compare"]).status_code == 200


def test_results_with_bare_metal_are_not_compared_directly(client, measured):
    assert client.get(XEN_PAGE).context["page"]["direct"]["rows"] == []
