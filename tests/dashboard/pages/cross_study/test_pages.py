"""The page of systems side by side, and of pairs of systems."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from benchmarks.analysis import plan_steps
from benchmarks.models import Host, Study, System
from benchmarks.studies import checking

PAGE = "/compare/"
CALM = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = tuple(value * 0.8 for value in CALM)
ESXI = {"hypervisor": "VMware ESXi", "hypervisor_version": "3.5"}


@pytest.fixture
def measured(submit, run_document, lab, study, xen):
    """Measure Xen in one study and ESXi in another, on one machine or two."""
    study.published = "2010-06"
    study.save()

    def measure(other_host="alpha"):
        other = Study.objects.create(
            lab=lab, slug="other", title="Other", visibility="public"
        )
        Host.objects.get_or_create(lab=lab, slug=other_host)
        esxi = {**ESXI, "host": other_host}
        native = {"host": other_host}
        submit(
            *(run_document(value) for value in CALM),
            *(run_document(value, system=xen) for value in SLOW),
            run_document(100.0, study="other", system=native),
            run_document(60.0, study="other", system=esxi),
        )
        checking.check_due_studies(timedelta(0))
        return other

    return measure


def test_main_menu_links_to_page(text, db):
    heard = 'aria-label="Compare across studies"'
    assert f'<a href="/compare/" aria-current="page" {heard}>Compare</a>' in text(PAGE)


def test_summary_states_performance_and_missing_results(client, measured):
    measured()

    answer = client.get(PAGE).context["page"].summary

    assert "Xen 3.3 reached 80" in answer
    assert "VMware ESXi 3.5 60" in answer
    assert "same host" in answer
    assert "weak evidence" in answer
    assert "Not measured here: KVM, Hyper-V." in answer


def test_two_machines_are_not_called_same_host(client, measured):
    measured("beta")

    page = client.get(f"{PAGE}?host=all").context["page"]

    assert "same host" not in page.summary
    assert "different hosts" in page.summary


def test_column_names_study_host_and_year(text, measured):
    measured()

    page = text(PAGE)

    assert '<a href="/studies/alpha-lab/study/">study</a>, 2010' in page
    assert "32-bit, alpha" in page


def test_url_keeps_selection(client, measured):
    other = measured()
    system = other.cells.get(system__hypervisor="VMware ESXi").system_id
    chosen = {
        "host": ["alpha-lab/alpha"],
        "work": ["network-throughput-out"],
        "hypervisor": ["VMware ESXi", "Xen"],
        "reference": [f"{other.pk}-{system}"],
    }

    page = client.get(PAGE, chosen).context["page"]

    assert parse_qs(page.query_string().removeprefix("?")) == chosen
    assert [it["name"] for it in page.hypervisors if it["is_chosen"]] == chosen[
        "hypervisor"
    ]
    assert page.column_heads[0]["is_chosen"]


@pytest.mark.parametrize(
    "query", ["host=alpha-lab/none", "work=none", "reference=1", "reference=9-9"]
)
def test_unknown_selection_is_404(client, measured, query):
    measured()

    assert client.get(f"{PAGE}?{query}").status_code == 404


def test_empty_selection_is_reported(text, db):
    page = text(PAGE)

    assert "data-no-matches" in page
    assert "No results match these filters" in page


def test_names_are_escaped(text, submit, run_document):
    name = "<script>alert(1)</script>"
    submit(run_document(50.0), run_document(40.0, system={"hypervisor": name}))
    checking.check_due_studies(timedelta(0))

    assert "<script>alert" not in text(PAGE)


def test_pair_on_one_machine_has_ratio(client, measured):
    measured()
    page = client.get(PAGE).context["page"]
    (address,) = [
        head["comparability"]["address"]
        for head in page.column_heads
        if head["comparability"]
    ]

    pair = client.get(address).context["page"]

    assert not pair["pair"].is_incomparable
    ((_group, (line,)),) = pair["groups"]
    assert line["ratio"] in ("0.749", "0.750", "1.334")


def test_pair_on_two_machines_has_reason(client, measured):
    measured("beta")
    found = client.get(f"{PAGE}?host=all").context["page"].table
    one, other = (str(side.key) for side in found.columns)

    answer = client.get(f"{PAGE}pair/?first={one}&second={other}")

    assert answer.context["page"]["comparability"]["rating"] == "none"
    assert "No direct ratio is given" in answer.text
    assert "Different hosts" in answer.text
    assert "indirect, single runs" in answer.text


def test_unknown_pair_is_404(client, measured):
    measured()

    assert client.get(f"{PAGE}pair/?first=9-9&second=1-1").status_code == 404
    assert client.get(f"{PAGE}pair/").status_code == 404


def test_plan_link_requires_sign_in(client, measured):
    measured()
    page = client.get(PAGE).context["page"]

    assert page.plan_url.startswith("/login/?next=%2Fcompare%2F")


def test_missing_runs_link_to_prefilled_plan(client, person, measured):
    measured()
    client.force_login(person)
    plan = client.get(PAGE).context["page"].plan_url

    form = client.get(plan)

    asked = parse_qs(urlsplit(plan).query)
    esxi = Study.objects.get(slug="other").cells.get(system__hypervisor="VMware ESXi")
    assert asked["system"] == [str(esxi.system_id)]
    assert "iperf3" in asked["tool"]
    assert [it["system"].pk for it in ticked(form)] == [esxi.system_id]
    assert dict(form.context["tools"])["iperf3"]
    assert form.context["values"]["repetitions"] == "5"


def ticked(form):
    choices = [*form.context["measured"], *form.context["others"]]
    return [choice for choice in choices if choice["is_ticked"]]


def test_query_count_is_independent_of_systems(
    client, measured, submit, run_document, xen, django_assert_num_queries
):
    measured()
    with django_assert_num_queries(8):
        client.get(PAGE)
    for version in range(5):
        submit(run_document(70.0, system={**xen, "hypervisor_version": f"4.{version}"}))
    checking.check_due_studies(timedelta(0))

    with django_assert_num_queries(8):
        client.get(PAGE)


def test_repeated_runs_have_interval(text, measured):
    measured()

    page = text(PAGE)

    cells = re.findall(r'<td class="cell.*?</td>', page, re.DOTALL)
    intervals = [re.findall(r'class="interval">([^<]+)<', cell) for cell in cells]
    # ESXi ran once; the interval determines the digits.
    assert sorted(map(len, intervals)) == [0, 1]
    (shown,) = [cell for cell, own in zip(cells, intervals, strict=True) if own]
    low, high = map(float, next(filter(None, intervals))[0].split(" to "))
    assert low < 0.8 < high
    assert "0.800" in shown or "0.80<" in shown


@pytest.fixture
def esxi_only(measured, submit, run_document):
    """Measure another benchmark on ESXi only."""
    other = measured()
    esxi = {**ESXI, "host": "alpha"}
    native = {"host": "alpha"}
    samples = [{**run_document(1.0)["samples"][0], "parameters": {"streams": "9"}}]
    submit(
        {**run_document(100.0, study="other", system=native), "samples": samples},
        {**run_document(60.0, study="other", system=esxi), "samples": samples},
    )
    checking.check_due_studies(timedelta(0))
    return other


def empty_of(page):
    (cell,) = re.findall(r'<td class="none.*?</td>', page, re.DOTALL)
    (address,) = re.findall(r'href="([^"]+)"', cell)
    return cell, unescape(address)


def test_empty_cell_leads_stranger_to_upload_after_sign_in(text, esxi_only):
    cell, address = empty_of(text(PAGE))

    assert 'aria-label="Xen 3.3, ' in cell
    assert "how to add it" in cell
    where = urlsplit(address)
    assert where.path == "/login/"
    upload = urlsplit(parse_qs(where.query)["next"][0])
    assert upload.path == "/upload/"
    chosen = parse_qs(upload.query)
    assert chosen == {"hypervisor": ["Xen"], "version": ["3.3"], "tool": ["iometer"]}


def test_empty_cell_leads_editor_to_upload(client, text, esxi_only, person):
    client.force_login(person)
    _cell, address = empty_of(text(PAGE))

    form = client.get(address)

    page, xen = form.context["page"], System.objects.get(hypervisor="Xen")
    assert (page["study"], page["system"]) == ("study", str(xen.pk))
    assert form.context["chosen"]["tool"] == "iometer"


def test_empty_cell_of_agent_tool_leads_editor_to_plan(
    client, text, esxi_only, person, monkeypatch
):
    monkeypatch.setitem(plan_steps.PROGRAMS, "iometer", ("all",))
    client.force_login(person)

    _cell, address = empty_of(text(PAGE))

    asked = parse_qs(urlsplit(address).query)
    xen = System.objects.get(hypervisor="Xen")
    assert urlsplit(address).path == "/studies/alpha-lab/study/plans/new/"
    assert (asked["system"], asked["tool"]) == ([str(xen.pk)], ["iometer"])


def test_upload_link_prefills_hypervisor(client, person, lab, host):
    client.force_login(person)

    page = client.get("/upload/?hypervisor=Xen&version=3.3").content.decode()

    field = page[page.index('id="new-hypervisor"') :]
    assert 'value="Xen"' in field[:300]
    assert 'value="3.3"' in field[:600]
    assert re.search(r"data-new-system\s+open", page)
