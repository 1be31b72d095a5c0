"""Tables of a lab's own tool on the upload page: looked at first, then stored."""

import re
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from benchmarks.models import Run
from benchmarks.own_tools.declaring import retire_tool
from benchmarks.studies import systems
from benchmarks.uploads import processing
from tests.own_tools import declare

PAGE = "/upload/"
SCRIPT = {"X-Requested-With": "XMLHttpRequest"}
TABLE = b"run,metric,value,unit\n1,boot time,3200,ms\n2,boot time,3.4,s\n"
NAME = "alpha-lab:boot-time"


@pytest.fixture
def member(client, person):
    client.force_login(person)
    return client


@pytest.fixture
def tool(lab, agent):
    return declare(lab)


@pytest.fixture
def place(lab, study, host):
    description = {"host": host.slug, "hypervisor": "KVM"}
    system = systems.register_system(lab=lab, description=description)[0]
    return {"study": study.slug, "system": system.pk, "scenario": "single"}


def send(client, data, do="preview", **fields):
    file = SimpleUploadedFile("times.csv", data)
    answer = client.post(PAGE, {"do": do, "file": [file], **fields}, headers=SCRIPT)
    text = re.sub(r"<[^>]+>", " ", answer.text)
    return answer, " ".join(unescape(text).split())


def test_the_menu_of_tools_has_the_labs_own(member, tool, person):
    option = f'<option value="{NAME}">Boot stopwatch</option>'
    assert option in member.get(PAGE).text

    retire_tool(tool=tool, by=person)

    assert option not in member.get(PAGE).text


def test_another_labs_tools_are_in_no_menu(member, other_lab, other_agent):
    declare(other_lab)

    assert "Boot stopwatch" not in member.get(PAGE).text


def test_a_table_is_looked_at_before_anything_is_stored(member, tool):
    answer, words = send(member, TABLE, tool=NAME)

    assert answer.status_code == 200
    assert words.count("Boot stopwatch") >= 2
    assert "3,200" in words or "3200" in words
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (b"metric,value\nboot time,fast\n", '"fast" is not a number'),
        (b"metric,value\nboot time,0\n", "never reads zero"),
        (b"metric,value,unit\nboot time,3,MB\n", "MB"),
        (b"metric,value\nboots,3\n", 'no metric of Boot stopwatch called "boots"'),
    ],
)
def test_what_would_be_refused_is_said_first(member, tool, table, sentence):
    _, words = send(member, table, tool=NAME)

    assert sentence in words


def test_what_is_stored_is_a_run_for_each_of_the_table(member, tool, place):
    answer, _ = send(member, TABLE, do="store", tool=NAME, **place)
    processing.drain()

    assert answer.status_code == 200
    runs = Run.objects.order_by("part")
    assert [(run.tool, run.status, run.declared_version) for run in runs] == [
        (NAME, "parsed", 1),
        (NAME, "parsed", 1),
    ]
