"""The page of two systems."""

from benchmarks.models import Cell, Host, Study, System
from dashboard import wording

PAGE = "/studies/alpha-lab/study/pair/"


def studied(page):
    """Return the differences between the systems, and whether they are factors."""
    differences = page.context["page"]["comparability"]["differences"]
    return {difference["name"]: difference["is_studied"] for difference in differences}


def test_redirects_unless_two_systems_are_pinned(client, pair):
    answer = client.get(f"{PAGE}?show=value&pin={pair.system_id}")

    assert (answer.status_code, answer["Location"]) == (
        302,
        f"/studies/alpha-lab/study/compare/?show=value&pin={pair.system_id}",
    )


def test_htmx_gets_fragment(client, pair):
    native = Cell.objects.get(system__hypervisor="native").system_id
    part = {"HX-Request": "true", "HX-Target": "comparison"}

    page = client.get(f"{PAGE}?pin={pair.system_id},{native}", headers=part).text

    assert "system-pair-table" in page
    assert "<html" not in page


def test_query_count_is_constant(client, pair, django_assert_num_queries):
    native = Cell.objects.get(system__hypervisor="native").system_id

    with django_assert_num_queries(12):
        client.get(f"{PAGE}?pin={pair.system_id},{native}")


def test_differences_between_systems_are_stated(client, submit, run_document):
    xen = {"hypervisor": "Xen", "virtualization": "full"}
    for guest_os, tools in (("Windows", "on"), ("Linux", "off")):
        options = {"guest_tools": tools}
        submit(
            run_document(40, system={**xen, "guest_os": guest_os, "options": options})
        )
    one, other = System.objects.filter(hypervisor="Xen").values_list("pk", flat=True)
    address = f"{PAGE}?pin={one},{other}"

    page = client.get(address)
    assert "comparability-limited" in page.text
    assert studied(page) == {"Guest OS": False, "Guest tools": False}
    named = ("Windows", "Linux", "Guest OS", "Guest tools")
    assert all(name in page.text for name in named)
    Study.objects.update(factors={"guest OS": ["Windows", "Linux"]})
    page = client.get(address)
    assert studied(page) == {"Guest OS": True, "Guest tools": False}
    # The comparability sentence names differences that are not factors.
    sentence = page.context["page"]["comparability"]["sentence"]
    assert "Guest tools" in sentence
    assert "Guest OS" not in sentence


def test_several_differing_factors_limit_comparability(
    client, submit, run_document, study
):
    study.factors = ["OS", "bits"]
    study.save()
    xen = {"hypervisor": "Xen", "virtualization": "full"}
    for guest_os, bits in (("Windows", 32), ("Linux", 64), ("Linux", 32)):
        system = {**xen, "guest_os": guest_os, "guest_bits": bits}
        submit(run_document(40, system=system))
    first, both, one = System.objects.order_by("pk").values_list("pk", flat=True)

    page = client.get(f"{PAGE}?pin={first},{both}")
    assert "comparability-limited" in page.text
    assert studied(page) == {"Guest OS": True, "Bits": True}
    page = client.get(f"{PAGE}?pin={first},{one}")
    assert "comparability-full" in page.text
    assert studied(page) == {"Guest OS": True}


def test_common_reasons_are_stated_once(client, submit, run_document, xen):
    network = {"metric": "network throughput", "unit": "MB/s", "value": 40.0}
    samples = [
        {**network, "parameters": {"operation": name}} for name in ("a", "b", "c")
    ]
    submit(run_document(samples=samples), run_document(system=xen, samples=samples))
    one, other = System.objects.values_list("pk", flat=True)

    page = client.get(f"{PAGE}?pin={one},{other}")

    reasons = page.context["page"]["common_reasons"]
    assert reasons
    assert all(
        page.text.count(wording.translate_text(reason)) == 1 for reason in reasons
    )
    assert page.text.count("<b>single run</b>") == 3
    assert "bar-col" not in page.text


def test_different_hosts_have_no_verdict(client, submit, run_document, xen, lab):
    Host.objects.create(lab=lab, slug="beta", facts={"cores": 16})
    elsewhere = {**xen, "host": "beta"}
    submit(*(run_document(50 + n / 10) for n in range(5)))
    submit(*(run_document(170 + n / 10, system=elsewhere) for n in range(5)))
    native = System.objects.get(hypervisor="native").pk
    guest = System.objects.get(hypervisor="Xen").pk

    page = client.get(f"{PAGE}?pin={guest},{native}")

    comparability = page.context["page"]["comparability"]
    assert comparability["rating"] == "none"
    assert "(beta, alpha): cores: 16 / 2" in comparability["sentence"]
    assert ("Cores", "16", "2") in [
        (difference["name"], difference["first"], difference["second"])
        for difference in comparability["differences"]
    ]
    (row,) = page.context["page"]["groups"][0]["rows"]
    assert row["assessment"].verdict == "not_assessed"
    assert "comparability-none" in page.text
    assert 'class="ratio"' in page.text
    assert wording.translate_text(comparability["sentence"]) in page.text
