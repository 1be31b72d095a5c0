"""The estimate for a mix of work."""

from datetime import timedelta
from math import exp

import pytest
from django.http import QueryDict

from benchmarks.models import Host
from benchmarks.studies import checking
from dashboard.pages.mix.answer import MixError, Part, entered_parts
from tests.upload_documents import interleaved

NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)
OUT = "network-throughput-out"


@pytest.fixture
def measured(submit, run_document, xen):
    submit(
        *interleaved(
            (run_document(value) for value in NATIVE),
            (run_document(value, system=xen) for value in SLOW),
        )
    )
    checking.check_due_studies(timedelta(0))


def test_shares_are_scaled_to_the_whole():
    query = QueryDict(
        "work=cpu-integer&share=30&work=memory-read&share=10&work=&share="
    )

    assert entered_parts(query) == [
        Part("cpu-integer", 0.75),
        Part("memory-read", 0.25),
    ]


def test_without_a_query_an_example_is_shown():
    assert [part.share for part in entered_parts(QueryDict(""))] == [0.6, 0.3, 0.1]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("work=nothing&share=1", '"nothing" is not a kind of work'),
        ("work=memory-read&share=-1", 'is "-1". Enter a number above 0'),
        ("work=memory-read&share=nan", "Enter a number above 0"),
        ("work=memory-read&share=", "Enter 1 to 8 kinds of work"),
        ("work=memory-read&share=1&work=memory-read&share=2", "is listed twice"),
    ],
)
def test_mistakes_are_explained(client, db, query, sentence):
    with pytest.raises(MixError, match=sentence.replace('"', ".")):
        entered_parts(QueryDict(query))
    page = client.get(f"/mix/?{query}")
    assert page.status_code == 400
    assert sentence.partition('"')[0] in page.text


def test_a_mix_of_measured_work_has_a_range(client, measured):
    page = client.get(f"/mix/?hypervisor=Xen&work={OUT}&share=100")

    effect = page.context["effect"]
    assert exp(effect.log_ratio) == pytest.approx(0.8, abs=0.002)
    assert (
        "80% of bare-metal speed on the measured machines" in page.context["sentence"]
    )
    assert "There is no prediction for another machine" in page.context["notes"][0]
    assert 'href="/studies/alpha-lab/study/"' in page.text


def test_work_without_results_has_no_answer_but_a_plan(client, measured):
    page = client.get(
        f"/mix/?hypervisor=Xen&work={OUT}&share=60&work=disk-random-write&share=40"
    )

    assert page.context["effect"] is None
    assert "random disk writes" in page.context["sentence"]
    (missing,) = page.context["missing"]
    assert "fio" in missing["tools"]
    assert missing["plan"] in page.text.replace("&amp;", "&")


def test_one_machine_can_be_chosen(client, measured):
    slug = Host.objects.get().slug
    query = f"hypervisor=Xen&work={OUT}&share=100"

    page = client.get(f"/mix/?{query}&machine={slug}")

    assert page.context["effect"]
    assert f'href="/machines/{slug}/"' in page.text
    assert client.get(f"/mix/?{query}&machine=nothing").status_code == 400


def test_the_file_has_the_parts_and_the_mix_with_their_studies(client, measured):
    query = f"hypervisor=Xen&work={OUT}&share=100"

    part, mix = client.get(f"/mix.json?{query}").json()["mix"]

    assert part["part"] == OUT
    assert mix["middle"] == pytest.approx(0.8, abs=0.002)
    assert mix["low"] < mix["middle"] < mix["high"]
    assert mix["studies"] == part["studies"] == "alpha-lab/study"
    gap = client.get(f"/mix.json?{query}&work=disk-random-write&share=1").json()["mix"]
    assert [row["middle"] is None for row in gap] == [False, True, True]
    assert (
        "disk-random-write"
        in client.get("/mix.csv?work=disk-random-write&share=1").text
    )
    assert client.get("/mix.csv?work=nothing&share=1").status_code == 400
