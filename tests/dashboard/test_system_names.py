"""Systems of several machines are distinguishable on every page."""

import re

import pytest

from benchmarks.models import Cell, Flag, Host, System

STUDY = "/studies/alpha-lab/study/"
ALPHA, BETA = "Ubuntu Server 9.04, 32-bit, alpha", "Ubuntu Server 9.04, 32-bit, beta"
BARE = "Ubuntu Server 9.04, 32-bit"
MENUS = (("compare/", "baseline"), ("runs/", "system"))


@pytest.fixture
def machines(submit, run_document, pair, xen):
    """Submit two systems on a second machine; return the native cell of it."""
    Host.objects.create(lab=pair.study.lab, slug="beta")
    submit(
        run_document(60.0, system={"host": "beta"}),
        run_document(15.0, system={**xen, "host": "beta"}),
    )
    return Cell.objects.get(system__hypervisor="native", system__host__slug="beta")


def native(host):
    return System.objects.get(hypervisor="native", host__slug=host).pk


def labels(page, name):
    """Return the labels of systems in a menu."""
    shown = page.context["page"]
    menus = shown["menus"] if isinstance(shown, dict) else shown.form.filter_menus
    (menu,) = (menu for menu in menus if menu.name == name)
    return [choice.label for choice in menu.choices if choice.value.isdigit()]


@pytest.mark.parametrize(
    ("page", "menu"), [("compare/", "baseline"), ("runs/", "system")]
)
def test_menus_of_systems_include_machines(client, machines, page, menu):
    assert sorted(labels(client.get(STUDY + page), menu)) == [
        f"Xen 3.3 full, {ALPHA}",
        f"Xen 3.3 full, {BETA}",
        f"native, {ALPHA}",
        f"native, {BETA}",
    ]


@pytest.mark.parametrize(
    ("page", "menu"), [("compare/", "baseline"), ("runs/", "system")]
)
def test_names_do_not_include_the_only_machine(client, pair, page, menu):
    found = labels(client.get(STUDY + page), menu)

    assert sorted(found) == [f"Xen 3.3 full, {BARE}", f"native, {BARE}"]


def test_system_names_of_the_disk_study_are_unique(client, load_study):
    load_study("inqbus-2008-io")

    for page, menu in MENUS:
        found = labels(client.get(f"/studies/alpha-lab/inqbus-2008-io/{page}"), menu)
        assert len(set(found)) == len(found) > 1


def test_the_list_of_runs_includes_machines(text, machines):
    page = text(f"{STUDY}runs/")

    assert all(f"<td>native, {name}</td>" in page for name in (ALPHA, BETA))


def test_waiting_runs_have_system_names(text, machines, submit, run_document):
    system = {"host": "beta", "hypervisor": "KVM"}
    submit(run_document(samples=[], output="nothing", system=system))

    assert f"<td>KVM, {BETA}</td>" in text(f"{STUDY}runs/")


def test_links_to_runs_of_systems_include_machines(text, machines):
    page = text(STUDY)

    assert all(f"runs of native, {name}" in page for name in (ALPHA, BETA))


def test_direct_comparisons_include_machines(text, machines):
    page = text(f"{STUDY}pair/?pin={native('alpha')},{native('beta')}")

    headline = re.search('<h2 id="direct-title">(.*?)</h2>', page, re.DOTALL)[1]
    assert f"native, {ALPHA}" in headline
    assert f"native, {BETA}" in headline


def test_cell_pages_include_machines(client, machines):
    page = client.get(
        f"{STUDY}compare/cell/?cell={machines.pk}&baseline={native('alpha')}"
    )

    names = [name for name, _figure in page.context["card"]["lines"]]
    assert names == [f"native, {BETA}", f"Baseline: native, {ALPHA}"]


def test_flags_include_the_machine_of_a_cell(text, machines):
    flag = Flag.objects.create(
        study=machines.study,
        lab=machines.lab,
        rule="unit_slip",
        severity="implausible",
        message="It is so.",
        fingerprint="f" * 64,
    )
    flag.cells.add(machines)

    assert f", native, {BETA}" in text(f"{STUDY}flags/")


def test_files_include_the_machine_of_the_baseline(client, machines):
    table = client.get(f"{STUDY}compare.csv?baseline={native('beta')}")

    assert f"compared with native, {BETA}" in table.content.decode()
