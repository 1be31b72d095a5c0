"""Tables of custom tools on the upload page."""

import re
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from benchmarks.custom_tools.registration import retire_tool
from benchmarks.models import Run
from benchmarks.studies import systems
from benchmarks.uploads import processing
from tests.custom_tools import declare

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


def test_menu_has_custom_tools_of_lab(member, tool, person):
    option = f'<option value="{NAME}">Boot stopwatch</option>'
    assert option in member.get(PAGE).text

    retire_tool(tool=tool, actor=person)

    assert option not in member.get(PAGE).text


def test_custom_tools_of_other_labs_are_not_in_menu(member, other_lab, other_agent):
    declare(other_lab)

    assert "Boot stopwatch" not in member.get(PAGE).text


def test_table_is_previewed_before_storing(member, tool):
    answer, words = send(member, TABLE, tool=NAME)

    assert answer.status_code == 200
    assert words.count("Boot stopwatch") >= 2
    assert "3,200" in words or "3200" in words
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (b"metric,value\nboot time,fast\n", '"fast" is not a number'),
        (b"metric,value\nboot time,0\n", "never measures zero"),
        (b"metric,value,unit\nboot time,3,MB\n", "MB"),
        (b"metric,value\nboots,3\n", 'No Boot stopwatch metric "boots"'),
    ],
)
def test_preview_reports_invalid_table(member, tool, table, sentence):
    _, words = send(member, table, tool=NAME)

    assert sentence in words


def test_each_run_of_table_is_stored(member, tool, place):
    answer, _ = send(member, TABLE, do="store", tool=NAME, **place)
    processing.process_due_uploads()

    assert answer.status_code == 200
    runs = Run.objects.order_by("upload_position")
    assert [(run.tool, run.status, run.custom_tool_version) for run in runs] == [
        (NAME, "parsed", 1),
        (NAME, "parsed", 1),
    ]
