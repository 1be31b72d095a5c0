"""The page of one campaign."""

from benchmarks.models import Campaign, OutboxItem, Run

PAGE = "/campaigns/alpha-lab/study/"


def test_it_says_what_was_measured_on_what(text, pair, campaign):
    Campaign.objects.update(note="A note.", factors={"AMD-V": ["off", "on"]})

    page = text(PAGE)

    assert "A note." in page
    assert "AMD-V" in page
    assert "Xen 3.3" in page
    assert "Gebhardt 2010" in page
    assert f"{PAGE}compare/?scenario=single&amp;component=network" in page


def test_it_shows_what_went_wrong_and_why(text, pair):
    rejected, waiting = Run.objects.order_by("pk")
    Run.objects.filter(pk=rejected.pk).update(
        status="rejected", reason="No <row> in it."
    )
    Run.objects.filter(pk=waiting.pk).update(status="received")
    OutboxItem.objects.create(run=waiting, lab=waiting.lab, error="Disk is full.")

    page = text(PAGE)

    assert "1 rejected" in page
    assert "No &lt;row&gt; in it." in page
    assert "1 waiting" in page
    assert "Disk is full." in page


def test_an_empty_campaign_has_a_page(text, campaign):
    page = text(PAGE)

    assert "Nothing has been measured yet." in page
    assert "no runs yet" in page


def test_factors_may_be_plain_texts(text, campaign):
    Campaign.objects.update(factors={"cache": "off", "depth": 3, "sizes": [1, [2]]})

    assert "depth" in text(PAGE)


def test_its_queries_are_fixed(
    client, pair, submit, run_document, django_assert_num_queries
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))

    with django_assert_num_queries(22):
        client.get(PAGE)


def test_it_shows_what_each_system_costs_as_one_row(text, pair):
    page = text(PAGE)

    assert "Overhead profile" in page
    assert "1 case, single run" in page
    assert "no interval is given" in page


def test_without_a_ratio_there_is_no_profile(text, submit, run_document):
    submit(run_document())

    assert "Overhead profile" not in text(PAGE)
