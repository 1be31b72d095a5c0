"""The page of systems side by side, and of any two of them."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from benchmarks.analysis import planning
from benchmarks.models import Host, Study, System
from benchmarks.studies import checking

PAGE = "/compare/"
CALM = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = tuple(value * 0.8 for value in CALM)
ESXI = {"hypervisor": "VMware ESXi", "hypervisor_version": "3.5"}


@pytest.fixture
def measured(submit, run_document, lab, study, xen):
    """Xen in one study and ESXi in another, on one machine or on two."""
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


def test_it_stands_in_the_main_menu(text, db):
    heard = 'aria-label="Compare across studies"'
    assert f'<a href="/compare/" aria-current="page" {heard}>Compare</a>' in text(PAGE)


def test_its_answer_says_what_was_kept_and_what_is_missing(client, measured):
    measured()

    answer = client.get(PAGE).context["page"].answer

    assert "Xen 3.3 kept 80" in answer
    assert "VMware ESXi 3.5 60" in answer
    assert "same host" in answer
    assert "weak evidence" in answer
    assert "Not measured here: KVM, Hyper-V." in answer


def test_of_two_machines_it_does_not_say_the_same_host(client, measured):
    measured("beta")

    page = client.get(f"{PAGE}?host=all").context["page"]

    assert "same host" not in page.answer
    assert "each on its own hosts" in page.answer


def test_a_column_names_study_host_and_year(text, measured):
    measured()

    page = text(PAGE)

    assert '<a href="/studies/alpha-lab/study/">study</a>, 2010' in page
    assert "32-bit, alpha" in page


def test_the_address_holds_what_was_chosen(client, measured):
    other = measured()
    system = other.cells.get(system__hypervisor="VMware ESXi").system_id
    chosen = {
        "host": ["alpha-lab/alpha"],
        "work": ["network-throughput-out"],
        "hypervisor": ["VMware ESXi", "Xen"],
        "against": [f"{other.pk}-{system}"],
    }

    page = client.get(PAGE, chosen).context["page"]

    assert parse_qs(page.address().removeprefix("?")) == chosen
    assert [it["name"] for it in page.hypervisors if it["is_chosen"]] == chosen[
        "hypervisor"
    ]
    assert page.heads[0]["is_chosen"]


@pytest.mark.parametrize(
    "query", ["host=alpha-lab/none", "work=none", "against=1", "against=9-9"]
)
def test_what_is_not_there_is_not_found(client, measured, query):
    measured()

    assert client.get(f"{PAGE}?{query}").status_code == 404


def test_nothing_is_told_as_nothing(text, db):
    page = text(PAGE)

    assert "data-nothing" in page
    assert "nothing can be compared" in page


def test_names_become_no_markup(text, submit, run_document):
    name = "<script>alert(1)</script>"
    submit(run_document(50.0), run_document(40.0, system={"hypervisor": name}))
    checking.check_due_studies(timedelta(0))

    assert "<script>alert" not in text(PAGE)


def test_a_pair_of_one_machine_has_a_direct_ratio(client, measured):
    measured()
    page = client.get(PAGE).context["page"]
    (address,) = [head["light"]["address"] for head in page.heads if head["light"]]

    pair = client.get(address).context["page"]

    assert not pair["pair"].is_refused
    ((_group, (line,)),) = pair["groups"]
    assert line["ratio"] in ("0.749", "0.750", "1.334")


def test_a_pair_of_two_machines_is_refused_with_its_reason(client, measured):
    measured("beta")
    found = client.get(f"{PAGE}?host=all").context["page"].found
    one, other = (str(side.key) for side in found.sides)

    answer = client.get(f"{PAGE}direct/?one={one}&other={other}")

    assert answer.context["page"]["comparability"]["light"] == "red"
    assert "A direct ratio is refused" in answer.text
    assert "Different hosts" in answer.text
    assert "indirect, single runs" in answer.text


def test_a_pair_that_is_not_there_is_not_found(client, measured):
    measured()

    assert client.get(f"{PAGE}direct/?one=9-9&other=1-1").status_code == 404
    assert client.get(f"{PAGE}direct/").status_code == 404


def test_who_has_not_signed_in_plans_after_that(client, measured):
    measured()
    page = client.get(PAGE).context["page"]

    assert page.plan.startswith("/login/?next=%2Fcompare%2F")


def test_the_missing_runs_are_a_plan_filled_in(client, person, measured):
    measured()
    client.force_login(person)
    plan = client.get(PAGE).context["page"].plan

    form = client.get(plan)

    asked = parse_qs(urlsplit(plan).query)
    esxi = Study.objects.get(slug="other").cells.get(system__hypervisor="VMware ESXi")
    assert asked["system"] == [str(esxi.system_id)]
    assert "iperf3" in asked["tool"]
    assert [it["system"].pk for it in ticked(form)] == [esxi.system_id]
    assert dict(form.context["tools"])["iperf3"]
    assert form.context["filled"]["repetitions"] == "5"


def ticked(form):
    choices = [*form.context["measured"], *form.context["others"]]
    return [choice for choice in choices if choice["is_ticked"]]


def test_it_asks_as_often_for_many_systems(
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


def test_a_cell_says_its_interval_where_runs_were_repeated(text, measured):
    measured()

    page = text(PAGE)

    cells = re.findall(r'<td class="cell.*?</td>', page, re.DOTALL)
    intervals = [re.findall(r'class="interval">([^<]+)<', cell) for cell in cells]
    # ESXi ran once; digits are those that the interval justifies.
    assert sorted(map(len, intervals)) == [0, 1]
    (shown,) = [cell for cell, own in zip(cells, intervals, strict=True) if own]
    low, high = map(float, next(filter(None, intervals))[0].split(" to "))
    assert low < 0.8 < high
    assert "0.800" in shown or "0.80<" in shown


@pytest.fixture
def gap(measured, submit, run_document):
    """ESXi ran another benchmark, too, which Xen did not."""
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


def test_an_empty_cell_leads_a_stranger_to_an_upload_after_signing_in(text, gap):
    cell, address = empty_of(text(PAGE))

    assert 'aria-label="Xen 3.3, ' in cell
    assert "how to add it" in cell
    where = urlsplit(address)
    assert where.path == "/login/"
    upload = urlsplit(parse_qs(where.query)["next"][0])
    assert upload.path == "/upload/"
    chosen = parse_qs(upload.query)
    assert chosen == {"hypervisor": ["Xen"], "version": ["3.3"], "tool": ["iometer"]}


def test_an_empty_cell_leads_its_keeper_to_an_upload_of_it(client, text, gap, person):
    client.force_login(person)
    _cell, address = empty_of(text(PAGE))

    form = client.get(address)

    page, xen = form.context["page"], System.objects.get(hypervisor="Xen")
    assert (page["study"], page["system"]) == ("study", str(xen.pk))
    assert form.context["chosen"]["tool"] == "iometer"


def test_what_an_agent_can_run_leads_its_keeper_to_a_plan(
    client, text, gap, person, monkeypatch
):
    monkeypatch.setitem(planning.PROGRAMS, "iometer", ("all",))
    client.force_login(person)

    _cell, address = empty_of(text(PAGE))

    asked = parse_qs(urlsplit(address).query)
    xen = System.objects.get(hypervisor="Xen")
    assert urlsplit(address).path == "/studies/alpha-lab/study/plans/new/"
    assert (asked["system"], asked["tool"]) == ([str(xen.pk)], ["iometer"])


def test_an_upload_for_a_hypervisor_has_it_typed(client, person, lab, host):
    client.force_login(person)

    page = client.get("/upload/?hypervisor=Xen&version=3.3").content.decode()

    field = page[page.index('id="new-hypervisor"') :]
    assert 'value="Xen"' in field[:300]
    assert 'value="3.3"' in field[:600]
    assert re.search(r"data-new-system\s+open", page)
