"""Systems of several machines are told apart wherever a page names them."""

import re

import pytest

from benchmarks.models import Cell, Flag, Host, System

STUDY = "/studies/alpha-lab/study/"
ALPHA, BETA = "Ubuntu Server 9.04, 32-bit, alpha", "Ubuntu Server 9.04, 32-bit, beta"
BARE = "Ubuntu Server 9.04, 32-bit"
MENUS = (("compare/", "baseline"), ("runs/", "system"))


@pytest.fixture
def machines(submit, run_document, pair, xen):
    """The same two systems on a second machine; return its native cell."""
    Host.objects.create(lab=pair.study.lab, slug="beta")
    submit(
        run_document(60.0, system={"host": "beta"}),
        run_document(15.0, system={**xen, "host": "beta"}),
    )
    return Cell.objects.get(system__hypervisor="native", system__host__slug="beta")


def native(host):
    return System.objects.get(hypervisor="native", host__slug=host).pk


def labels(page, name):
    """Return the choices of a menu that are systems, as it calls them."""
    shown = page.context["page"]
    menus = shown["menus"] if isinstance(shown, dict) else shown.chooser.menus
    (menu,) = (menu for menu in menus if menu.name == name)
    return [choice.label for choice in menu.choices if choice.value.isdigit()]


@pytest.mark.parametrize(
    ("page", "menu"), [("compare/", "baseline"), ("runs/", "system")]
)
def test_menus_of_systems_name_the_machine_of_each(client, machines, page, menu):
    assert sorted(labels(client.get(STUDY + page), menu)) == [
        f"Xen 3.3 full, {ALPHA}",
        f"Xen 3.3 full, {BETA}",
        f"native, {ALPHA}",
        f"native, {BETA}",
    ]


@pytest.mark.parametrize(
    ("page", "menu"), [("compare/", "baseline"), ("runs/", "system")]
)
def test_of_one_machine_none_is_named(client, pair, page, menu):
    found = labels(client.get(STUDY + page), menu)

    assert sorted(found) == [f"Xen 3.3 full, {BARE}", f"native, {BARE}"]


def test_no_two_systems_of_the_disk_study_have_one_name(client, load_study):
    load_study("inqbus-2008-io")

    for page, menu in MENUS:
        found = labels(client.get(f"/studies/alpha-lab/inqbus-2008-io/{page}"), menu)
        assert len(set(found)) == len(found) > 1


def test_the_list_of_runs_names_the_machine_of_each(text, machines):
    page = text(f"{STUDY}runs/")

    assert all(f"<td>native, {name}</td>" in page for name in (ALPHA, BETA))


def test_a_run_that_is_still_to_be_read_has_its_system_named_too(
    text, machines, submit, run_document
):
    system = {"host": "beta", "hypervisor": "KVM"}
    submit(run_document(samples=[], output="nothing", system=system))

    assert f"<td>KVM, {BETA}</td>" in text(f"{STUDY}runs/")


def test_links_to_the_runs_of_systems_name_the_machine_of_each(text, machines):
    page = text(STUDY)

    assert all(f"runs of native, {name}" in page for name in (ALPHA, BETA))


def test_a_direct_comparison_says_which_machine_is_which(text, machines):
    page = text(f"{STUDY}direct/?pin={native('alpha')},{native('beta')}")

    headline = re.search('<h2 id="direct-title">(.*?)</h2>', page, re.DOTALL)[1]
    assert f"native, {ALPHA}" in headline
    assert f"native, {BETA}" in headline


def test_a_cells_card_says_whose_number_each_is(client, machines):
    page = client.get(
        f"{STUDY}compare/cell/?cell={machines.pk}&baseline={native('alpha')}"
    )

    names = [name for name, _figure in page.context["card"]["lines"]]
    assert names == [f"native, {BETA}", f"against native, {ALPHA}"]


def test_a_flag_says_on_which_machine_the_doubted_cell_was_measured(text, machines):
    flag = Flag.objects.create(
        study=machines.study,
        lab=machines.lab,
        rule="unit_slip",
        severity="implausible",
        sentence="It is so.",
        fingerprint="f" * 64,
    )
    flag.cells.add(machines)

    assert f", native, {BETA}" in text(f"{STUDY}flags/")


def test_a_file_says_what_machine_its_ratios_are_set_against(client, machines):
    table = client.get(f"{STUDY}compare.csv?baseline={native('beta')}")

    assert f"compared with native, {BETA}" in table.content.decode()
