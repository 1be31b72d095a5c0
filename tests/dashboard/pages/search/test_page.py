"""The search page: matches, permissions and links."""

import re

import pytest

from benchmarks.models import Host, Study

LINKS = re.compile(r'data-result-link\s+href="([^"]+)"')


@pytest.fixture
def links_for(client):
    """Return a function that returns the links of the results for some words."""

    def asked(words):
        answer = client.get("/search/", {"q": words})
        assert answer.status_code == 200
        text = answer.content.decode()
        return [link.replace("&amp;", "&") for link in LINKS.findall(text)]

    return asked


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("study", "/studies/alpha-lab/study/"),
        ("xen 3.3", "/studies/alpha-lab/study/runs/?system="),
        ("alpha", "/labs/alpha-lab/hosts/alpha/"),
        ("through netw", "/studies/alpha-lab/study/compare/?scenario=all&q="),
        ("xen through", "/studies/alpha-lab/study/compare/?scenario=all&q="),
        ("ALPHA lab", "/labs/alpha-lab/"),
    ],
)
def test_search_matches_beginnings_of_all_words(client, links_for, pair, words, place):
    links = links_for(words)

    assert any(link.startswith(place) for link in links), links
    assert {client.get(link).status_code for link in links} == {200}


@pytest.mark.parametrize(
    "words", ["", "   ", "&|!:*()'\"\\", "%", "nonsense", "xen nonsense"]
)
def test_unknown_word_matches_nothing(links_for, pair, words):
    assert links_for(words) == []


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("throughptu", "throughput"),
        ("xne 3.3 xen", ""),
        ("alpha netwrok", "alpha network"),
    ],
)
def test_typo_suggests_similar_words(links_for, pair, slip, meant):
    links = [f"?q={meant.replace(' ', '%20')}"] if meant else []

    assert links_for(slip) == links


def test_slug_matches_by_parts(links_for, study):
    Study.objects.filter(pk=study.pk).update(slug="lmu-2010-xen", title="Other")

    for words in ("lmu-2010-xen", "2010", "lmu_2010", "xen lmu"):
        assert links_for(words) == ["/studies/alpha-lab/lmu-2010-xen/"], words


def test_private_studies_match_for_own_lab_only(
    client, links_for, submit, run_document, private_study, person
):
    Study.objects.filter(slug="study").delete()
    Host.objects.update(title="A hidden machine")
    submit(run_document(study=private_study.slug))
    asked = ("secret", "native", "hidden", "network", "alpha", "hiden", "netwrok")

    assert not any(links_for(words) for words in asked)

    client.force_login(person)
    assert all(links_for(words) for words in asked)
