"""Questions that people ask, and the addresses of their answers."""

import re

from benchmarks.models import Case
from benchmarks.system_options import VOCABULARY
from benchmarks.viewer import ANYONE
from dashboard.kit.questions import QUESTIONS, SETTING, answered_questions
from tests.dashboard.pages.questions.asked import ASKED

HDPARM = " Timing buffered disk reads: 318 MB in 3.01 seconds = 105.75 MB/sec\n"
READ = ("samples", "tool")
LINK = re.compile(r'<a href="(/[^"#]*)(?:#([\w-]+))?"')


def answers():
    return {answer.question.slug: answer for answer in answered_questions(ANYONE)}


def main_part(page):
    return page[page.index("<main") : page.index("</main>")]


def test_a_search_finds_each_question(client, db):
    for asked, slug in ASKED.items():
        page = client.get("/search/", {"q": asked}).content.decode()

        assert f'href="/questions/#{slug}"' in page, asked


def test_the_home_page_leads_to_all_answers_in_two_clicks(client, db):
    assert 'href="/questions/"' in client.get("/").content.decode()
    questions = main_part(client.get("/questions/").content.decode())
    links = set(LINK.findall(questions))

    assert len(links) >= 30
    for url, anchor in links:
        answer = client.get(url)
        assert answer.status_code == 200, url
        # Without results, a page has no table to jump to.
        if anchor and anchor != "direct":
            assert f'id="{anchor}"' in answer.content.decode(), (url, anchor)


def test_each_question_without_data_says_how_to_measure_it(client, db):
    for answer in answers().values():
        urls = [url for _, url in answer.pages]
        has_pages = all("measure" in client.get(url).content.decode() for url in urls)
        assert answer.is_measured or answer.question.measure or (urls and has_pages)


def test_a_varied_setting_answers_its_question(submit, run_document, xen):
    assert not answers()["confidential"].is_measured

    submit(run_document(system={**xen, "options": {"Confidential": "SEV-SNP"}}))

    assert answers()["confidential"].is_measured


def test_co_runs_of_many_vms_answer_questions_about_many(submit, run_document, xen):
    place = {"system": xen, "scenario": "parallel", "vms": 8, "slot": "all"}
    document = run_document(**place, output=HDPARM)
    assert not answers()["vms-with-iops"].is_measured

    submit({name: document[name] for name in document if name not in READ})

    assert answers()["vms-with-iops"].is_measured
    assert not answers()["overcommit"].is_measured


def test_results_without_bare_metal_answer_questions_about_a_hypervisor(
    submit, run_document, xen
):
    assert not answers()["kubevirt-disk"].is_measured

    submit(run_document(system={**xen, "hypervisor": "KubeVirt"}))

    assert answers()["kubevirt-disk"].is_measured


def test_a_parameter_answers_its_question(submit, run_document, study):
    submit(run_document())
    assert not answers()["first-write"].is_measured

    Case.objects.update(parameters={"pass": "first"})

    assert answers()["first-write"].is_measured


def test_slugs_are_unique_and_settings_are_known():
    assert len({question.slug for question in QUESTIONS}) == len(QUESTIONS)
    names = [name for question in QUESTIONS for name in question.answers]
    settings = [name.split()[1] for name in names if name.startswith(SETTING)]
    assert set(settings) <= VOCABULARY.keys()
