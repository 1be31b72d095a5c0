"""The quotable claim on a cell's page."""

import re
from datetime import timedelta
from functools import partial

import pytest

from benchmarks.models import Cell, Host, System
from benchmarks.studies import checking

PAGE = "/studies/alpha-lab/study/cells/"
SIX = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


@pytest.fixture
def run_document(run_document):
    return partial(run_document, session="Monday")


@pytest.fixture
def submit(submit):
    def take(*documents):
        submit(*documents)
        checking.check_due_studies(timedelta(0))

    return take


@pytest.fixture
def slower(submit, run_document, xen):
    """Measure a native and a Xen system six times; return the Xen cell."""

    def measured(xen_changes=None, **native):
        submit(
            *(run_document(100 + step, **native) for step in SIX),
            *(
                run_document(80 + step, system={**xen, **(xen_changes or {})})
                for step in SIX
            ),
        )
        return Cell.objects.get(system__hypervisor="Xen")

    return measured


def quoted_link(page):
    """Return the link of a claim, without the site."""
    return re.search(r"http://testserver([^ <]*quoted=[^ <]*)", page)[1].replace(
        "&amp;", "&"
    )


def claim_of(page):
    """Return the quotable sentence."""
    (claim,) = re.findall(r'id="claim-text">(.*?)</p>', page, re.DOTALL)
    return claim


def test_verdict_can_be_quoted_with_url(text, slower):
    cell = slower()

    page = text(f"{PAGE}{cell.pk}/")

    claim = claim_of(page)
    facts = (
        "host alpha",
        "Xen 3.3 full Ubuntu Server 9.04 32-bit",
        "reaches 0.800",
        "[0.7",
    )
    assert all(fact in claim for fact in (*facts, "of native", "Iometer", "slower"))
    assert quoted_link(page).startswith(f"{PAGE}{cell.pk}/?quoted=0.800_0.79")


def test_link_confirms_current_numbers(text, slower):
    link = quoted_link(text(f"{PAGE}{slower().pk}/?show=value&x=<b>"))

    page = text(link)

    assert 'data-quoted="current"' in page
    assert quoted_link(page) == link


def test_link_reports_outdated_numbers(text, slower, submit, run_document, xen):
    link = quoted_link(text(f"{PAGE}{slower().pk}/"))
    submit(run_document(200.0, system=xen))

    page = text(link)

    assert re.search(r"0\.800 \[0\.79\d, 0\.80\d\], 6 runs compared with 6", page)
    assert 'data-quoted="outdated"' in page


@pytest.mark.parametrize(
    "quoted", ["", "x", "0.8", "0.800_0.790_0.810_6_6_best", "1_1_1_0_6_slower", "\0"]
)
def test_invalid_quote_is_ignored(text, slower, quoted):
    page = text(f"{PAGE}{slower().pk}/", data={"quoted": quoted})

    assert "data-quoted" not in page


def test_link_keeps_chosen_baseline(text, slower):
    cell, native = slower(), System.objects.get(hypervisor="native")

    page = text(f"{PAGE}{cell.pk}/?baseline={native.pk}")

    assert "of native, Ubuntu Server 9.04, 32-bit in" in claim_of(page)
    assert f"/?baseline={native.pk}&quoted=0.800" in quoted_link(page)


def test_no_claim_for_baseline_on_another_host(text, slower, submit, run_document, lab):
    cell, other_host = slower(), Host.objects.create(lab=lab, slug="beta")
    submit(*(run_document(160 + step, system={"host": "beta"}) for step in SIX))
    native = System.objects.get(host=other_host)

    page = text(f"{PAGE}{cell.pk}/?baseline={native.pk}")

    assert 'id="claim-text"' not in page
    assert "ran on different hosts, so there is no verdict" in page


@pytest.fixture
def beta(submit, run_document, lab):
    """Measure a native system six times on a host with alpha's facts."""

    def measured(rate):
        facts = {"cpu": "Opteron 246", "ram": "4 GB"}
        Host.objects.update(facts=facts)
        host = Host.objects.create(lab=lab, slug="beta", facts=facts)
        submit(*(run_document(rate + step, system={"host": "beta"}) for step in SIX))
        return System.objects.get(host=host)

    return measured


def test_claim_names_equivalent_host_of_baseline(text, slower, beta):
    cell, native = slower(), beta(100)

    page = text(f"{PAGE}{cell.pk}/?baseline={native.pk}")

    assert "of native, Ubuntu Server 9.04, 32-bit on host beta in" in claim_of(page)


def test_no_claim_if_native_runs_of_hosts_differ(text, slower, beta):
    cell, native = slower(), beta(160)

    page = text(f"{PAGE}{cell.pk}/?baseline={native.pk}")

    assert 'id="claim-text"' not in page
    assert "Different hosts (alpha, beta): their facts are equal, but their" in page


def test_claim_names_unstudied_differences(text, slower):
    cell = slower({"vcpus": 1}, system={"vcpus": 2})

    assert "vCPUs (1 vs. 2)" in claim_of(text(f"{PAGE}{cell.pk}/"))


def test_claim_names_machine_size_from_run_facts(text, submit, run_document, xen):
    small, large = ({"cores": n, "kernel": f"6.{n}"} for n in (1, 2))
    submit(
        *(run_document(100 + step, facts=large) for step in SIX),
        *(run_document(80 + step, system=xen, facts=small) for step in SIX),
    )
    cell = Cell.objects.get(system__hypervisor="Xen")

    page = text(f"{PAGE}{cell.pk}/")

    assert "Cores (1 vs. 2)" in claim_of(page)


def test_claim_names_emulation(text, slower):
    cell = slower({"options": {"layers": "qemu-tcg"}})

    assert "software emulator" in claim_of(text(f"{PAGE}{cell.pk}/"))


def test_no_claim_for_single_run(text, pair):
    page = text(f"{PAGE}{pair.pk}/")

    assert "No citable statement yet." in page
    assert 'id="claim-text"' not in page
