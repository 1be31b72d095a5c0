"""The upload page: permissions, previews and storing."""

import io
import json
import re
import zipfile
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from benchmarks.models import Agent, Host, Membership, Run, RunOutput, System
from benchmarks.redis_connection import connection
from benchmarks.studies import systems
from benchmarks.uploads import processing
from dashboard.pages.upload import files as upload_files
from dashboard.pages.upload import views

DATA = Path(__file__).parents[3] / "data"
PAGE = "/upload/"
NEW_SYSTEM = "/upload/systems/"
SCRIPT = {"X-Requested-With": "XMLHttpRequest"}
# The first three devices of a longer output: five numbers.
HDPARM = b"".join(
    (DATA / "hdparm/direct-and-old.txt").read_bytes().splitlines(keepends=True)[:12]
)
COMMA = DATA / "partdiff/german-comma.txt"


@pytest.fixture
def member(client, person):
    """Return Carol's browser; she is a maintainer of the lab."""
    client.force_login(person)
    return client


@pytest.fixture
def system(lab, host):
    return systems.register_system(
        lab=lab, description={"host": host.slug, "hypervisor": "KVM", "vcpus": 2}
    )[0]


@pytest.fixture
def place(study, system):
    """Return the target of files as form fields."""
    return {"study": study.slug, "system": system.pk, "scenario": "single"}


def upload(data, name="out.txt"):
    content = data.read_bytes() if isinstance(data, Path) else data
    return SimpleUploadedFile(name, content)


def plain_text(answer):
    """Return the page's text on one line."""
    text = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return " ".join(unescape(text).split())


def send(client, *files, do="preview", headers=SCRIPT, address=PAGE, **fields):
    return client.post(
        address, {"do": do, "file": list(files), **fields}, headers=headers
    )


def in_zip(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"{name}.txt", data)
    return upload(buffer.getvalue(), "room.zip")


def other_person(lab, role):
    found = get_user_model().objects.create_user(f"dora-{role}")
    Membership.objects.create(lab=lab, user=found, role=role)
    return found


# Permissions


@pytest.mark.parametrize("address", [PAGE, NEW_SYSTEM])
@pytest.mark.parametrize("method", ["get", "post"])
def test_strangers_are_redirected_to_sign_in(client, db, address, method):
    if (address, method) == (NEW_SYSTEM, "get"):
        assert client.get(address).status_code == 405
        return
    page = {"referer": f"http://testserver{PAGE}"}
    answer = getattr(client, method)(address, headers=page)

    assert (answer.status_code, answer["Location"]) == (302, f"/login/?next={PAGE}")


@pytest.mark.parametrize("address", [PAGE, NEW_SYSTEM])
def test_viewer_cannot_upload(client, lab, place, address):
    client.force_login(other_person(lab, "viewer"))

    answer = send(client, upload(HDPARM), do="store", address=address, **place)

    assert answer.status_code == 403
    assert "You are a viewer of Alpha lab" in plain_text(answer)
    assert not Run.objects.exists()
    assert System.objects.count() == 1


def test_user_without_lab_is_informed(client, db):
    client.force_login(get_user_model().objects.create_user("nobody"))

    answer = client.get(PAGE)

    assert answer.status_code == 403
    assert "does not belong to a lab yet" in plain_text(answer)


@pytest.mark.parametrize("role", ["maintainer", "admin"])
def test_maintainers_and_admins_upload(client, lab, place, role):
    client.force_login(other_person(lab, role))

    assert send(client, upload(HDPARM), do="store", **place).status_code == 200
    assert Run.objects.exists()


@pytest.mark.parametrize("address", [PAGE, NEW_SYSTEM])
@pytest.mark.parametrize("slug", ["beta-lab", "no-lab", "a\0b"])
def test_other_lab_is_rejected(member, other_lab, address, slug):
    answer = member.post(address, {"file": upload(HDPARM)}, query_params={"lab": slug})

    assert answer.status_code == 404


@pytest.mark.parametrize("slug", ["foreign", "missing"])
def test_study_of_other_lab_is_rejected_as_missing(member, other_lab, place, slug):
    other_lab.studies.create(slug="foreign", title="F", visibility="public")

    answer = send(member, upload(HDPARM), do="store", **{**place, "study": slug})

    assert answer.status_code == 404
    assert not Run.objects.exists()


def test_system_and_host_of_other_lab_are_rejected_as_missing(member, other_lab, place):
    host = Host.objects.create(lab=other_lab, slug="beta")
    foreign, _ = systems.register_system(
        lab=other_lab, description={"host": host.slug, "hypervisor": "KVM"}
    )

    for pk in (foreign.pk, 999_999, "x"):
        found = send(member, upload(HDPARM), do="store", **{**place, "system": pk})
        assert found.status_code == 404
    for slug in ("beta", "missing"):
        found = member.post(NEW_SYSTEM, {"host": slug, "hypervisor": "Xen"})
        assert found.status_code == 404
    assert not Run.objects.exists()


def test_user_of_several_labs_chooses_one(member, person, other_lab, study):
    other_lab.studies.create(slug="foreign", title="Their study")
    Membership.objects.create(lab=other_lab, user=person, role="viewer")

    assert "A study" in plain_text(member.get(PAGE))
    theirs = member.get(PAGE, {"lab": "beta-lab"})
    assert theirs.status_code == 403
    assert '<a href="?lab=alpha-lab">' in theirs.content.decode()


@pytest.mark.parametrize("address", [PAGE, NEW_SYSTEM])
def test_csrf_token_is_required(person, address):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person)

    assert send(browser, upload(HDPARM), address=address).status_code == 403


def test_only_uploaders_see_link(client, study, lab, person):
    link = f'href="{PAGE}?lab=alpha-lab&amp;study=study"'
    own = "/studies/alpha-lab/study/"

    assert PAGE not in client.get(own).content.decode()
    client.force_login(other_person(lab, "viewer"))
    assert link not in client.get(own).content.decode()
    client.force_login(person)
    assert link in client.get(own).content.decode()


# Previews


def test_preview_shows_every_result_with_values(member):
    text = plain_text(send(member, upload(HDPARM, "hdparm.txt")))

    assert "hdparm.txt" in text
    assert "3 results · 5 values" in text
    assert "Direct cached read 536.87 MiB/s" in text
    assert not Run.objects.exists()
    assert not Agent.objects.exists()


def test_version_and_warnings_are_shown(member):
    text = plain_text(send(member, upload(DATA / "hpcc/appended-1.4.txt")))

    assert text.count("HPC Challenge 1.4.1") == 2
    assert "Warning MPIRandomAccess_Errors is 117." in text


def test_unparsed_line_is_quoted(member):
    text = plain_text(send(member, upload(COMMA)))

    assert "not recognized" in text
    assert "Line 1 Berechnungszeit: 199,412706 s" in text
    assert "has a decimal comma" in text


@pytest.mark.parametrize("said", [{"locale": "de_DE"}, {"locale-0": "de_DE"}])
def test_choosing_decimal_separator_parses_file(member, said):
    assert "199.412706 s" in plain_text(send(member, upload(COMMA), **said))


def test_wrong_tool_is_reported(member):
    text = plain_text(send(member, upload(HDPARM), **{"tool-0": "fio"}))

    assert "not recognized" in text
    assert "hdparm, not of fio" in text


@pytest.mark.parametrize("said", [{"tool": "no\0tool"}, {"locale": "xx"}])
def test_invalid_hints_have_message(member, said):
    answer = send(member, upload(HDPARM), **said)

    assert answer.status_code == 200
    assert "No tool" in plain_text(answer) or "is unknown" in plain_text(answer)


def test_removed_prefix_is_reported(member):
    marked = b"".join(b"[pod/bench-0/run] " + line for line in HDPARM.splitlines(True))

    page = plain_text(send(member, upload(marked)))

    assert "removed from the start of each line: [pod/bench-0/run]" in page
    assert "removed from" not in plain_text(send(member, upload(HDPARM)))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-16-le"])
def test_other_encodings_are_decoded(member, encoding):
    data = HDPARM.decode().replace("\n", "\r\n").encode(encoding)

    assert "5 values" in plain_text(send(member, upload(data)))


@pytest.mark.parametrize("data", [b"", b"\0\1\2\3" * 90, b"\xff\xfe\0", b"\x89PNG\r\n"])
def test_unrecognized_file_is_not_parsed(member, data):
    answer = send(member, upload(data))

    assert answer.status_code == 200
    assert "not recognized" in plain_text(answer)


def test_many_samples_are_folded_and_counted(member, monkeypatch):
    monkeypatch.setattr("dashboard.pages.upload.files.MAX_FOLDED_SAMPLES", 30)

    page = send(member, upload(DATA / "iozone/auto-a.txt")).content.decode()

    assert page.count("<tr>") - page.count("<thead") == 50
    assert "16 more values" in page
    assert "Show 30 more" in page


def test_samples_of_response_are_limited(member, monkeypatch):
    monkeypatch.setattr("dashboard.pages.upload.files.MAX_ANSWER_SAMPLES", 30)
    data = (DATA / "iozone/auto-a.txt").read_bytes()

    page = send(member, in_zip(one=data, two=data)).content.decode()

    assert page.count("<tr>") - page.count("<thead") == 30
    assert "36 more values" in page
    assert "66 more values" in page
    assert page.count("66 values") >= 2


def test_slow_zip_is_previewed_in_several_requests(member, monkeypatch):
    monkeypatch.setattr(upload_files, "READ_TIME_LIMIT_S", -1)
    room = in_zip(one=HDPARM)

    page = send(member, room).content.decode()

    assert "data-deferred-file" in page
    assert "not checked yet" in page


def test_common_parameters_are_shown_once(member):
    text = plain_text(send(member, upload(DATA / "iometer/2006-disk.txt")))

    assert text.count("queue_depth") == 2  # one for each of its two results


def test_zip_is_previewed_by_file(member):
    room = in_zip(disk=HDPARM, matrix=COMMA.read_bytes(), note=b"hello")

    text = plain_text(send(member, room))

    assert "room.zip/disk.txt" in text
    assert "5 values" in text
    assert "room.zip/matrix.txt" in text
    assert "Line 1 hello This is not the output of a known tool" in text


def test_single_file_of_zip_can_be_previewed(member):
    room = in_zip(disk=HDPARM, matrix=COMMA.read_bytes())

    text = plain_text(send(member, room, include="1", **{"locale-1": "de_DE"}))

    assert "disk.txt" not in text
    assert "199.412706" in text


def test_large_file_is_rejected(member, settings):
    settings.UPLOAD_LIMIT_BYTES = 100

    answer = send(member, upload(b"x" * 101))

    assert answer.status_code == 413
    assert "A file can have at most 9.53674e-05 MiB" in plain_text(answer)


@pytest.mark.parametrize("headers", [SCRIPT, {}])
def test_large_request_is_rejected_before_reading(member, monkeypatch, headers):
    monkeypatch.setattr(views, "MAX_TOTAL_BYTES", -views.FORM_OVERHEAD_BYTES)
    monkeypatch.setattr(
        "dashboard.pages.upload.views.preview_files", lambda request: 1 / 0
    )

    answer = send(member, upload(HDPARM), headers=headers)

    assert answer.status_code == 413
    assert "The upload is too large" in plain_text(answer)


@pytest.mark.parametrize("length", ["9" * 19, "9" * 5000])
def test_huge_content_length_is_rejected(member, monkeypatch, length):
    monkeypatch.setattr(
        "dashboard.pages.upload.views.preview_files", lambda request: 1 / 0
    )

    form = {"do": "preview", "file": [upload(HDPARM)]}
    answer = member.post(PAGE, form, CONTENT_LENGTH=length)

    assert answer.status_code == 413


def test_too_many_files_are_rejected(member, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2

    answer = send(member, *(upload(b"x") for _ in range(3)), headers={})

    assert answer.status_code == 413
    assert "2 files" in plain_text(answer)


@pytest.mark.parametrize("do", ["preview", "store"])
@pytest.mark.parametrize("headers", [SCRIPT, {}])
def test_names_are_escaped(member, place, do, headers):
    name = '"><img src=x onerror=alert(1)>{{ 7|add:7 }}'
    bad = "x<script>alert(2)</script>: 1,5\n"

    answer = send(
        member, upload(bad.encode()), do=do, name=name, headers=headers, **place
    )

    page = answer.content.decode()
    if do == "preview" or not headers:
        assert "&lt;img src=x onerror=alert(1)&gt;{{ 7|add:7 }}" in page
    assert "<img" not in page
    assert "<script>" not in page


# Storing


def test_file_is_stored_as_previewed(member, person, place, study):
    answer = send(member, upload(HDPARM), do="store", name="room/disk.txt", **place)
    processing.process_due_uploads()

    runs = list(Run.objects.order_by("upload_position"))
    assert [run.sample_count for run in runs] == [2, 2, 1]
    assert {run.study for run in runs} == {study}
    assert runs[0].note == "room/disk.txt"
    assert runs[0].agent.name == f"browser-{person.pk}"
    assert f'href="/runs/{runs[0].pk}/"' in answer.content.decode()
    assert (runs[0].scenario, runs[0].vms, runs[0].slot) == ("single", 1, "1")


def test_same_file_for_same_target_is_stored_once(member, place, lab, host):
    first, again = (
        plain_text(send(member, upload(HDPARM), do="store", **place)) for _ in range(2)
    )
    other, _ = systems.register_system(
        lab=lab, description={"host": host.slug, "hypervisor": "Xen"}
    )
    third = plain_text(
        send(member, upload(HDPARM), do="store", **{**place, "system": other.pk})
    )

    (run, moved) = Run.objects.order_by("pk")
    assert f"Stored run {run.pk}" in first
    assert f"Already uploaded run {run.pk}" in again
    assert f"Stored run {moved.pk}" in third


def test_hints_are_stored_with_file(member, place):
    send(member, upload(COMMA), do="store", **place, **{"locale-0": "de_DE"})
    processing.process_due_uploads()

    run = Run.objects.get()
    assert (run.tool, run.status) == ("partdiff", "parsed")
    assert '"locale":"de_DE"' in RunOutput.objects.get().text


def test_circumstances_are_stored(member, place):
    said = {"scenario": "parallel", "vms": "3", "slot": "sum", "session": "tuesday "}

    send(member, upload(HDPARM), do="store", **{**place, **said})

    run = Run.objects.get()
    assert (run.scenario, run.vms, run.slot) == ("parallel", 3, "sum")
    assert run.declared_session.name == "tuesday"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"study": ""}, "Choose a study and a system first."),
        ({"system": ""}, "Choose a study and a system first."),
        ({"scenario": "nothing"}, "Scenario: Select a valid choice."),
        ({"vms": "many"}, "Concurrent VMs: Enter a whole number."),
        ({"load": "a\u202eb"}, "RIGHT-TO-LEFT OVERRIDE"),
    ],
)
@pytest.mark.parametrize("headers", [SCRIPT, {}])
def test_invalid_target_stores_nothing(member, place, said, sentence, headers):
    answer = send(
        member, upload(HDPARM), do="store", headers=headers, **{**place, **said}
    )

    assert answer.status_code == 422
    assert sentence in plain_text(answer)
    assert not Run.objects.exists()


def test_unparsed_file_may_be_stored_for_later(member, place):
    send(member, upload(b"Segmentation fault\n"), do="store", **place)
    processing.process_due_uploads()

    run = Run.objects.get()
    assert run.status == "rejected"
    assert "Segmentation fault" in run.reason


def test_binary_file_is_skipped(member, place):
    room = in_zip(binary=b"\0\1\2\3" * 90, disk=HDPARM)

    answer = send(member, room, do="store", **place)

    assert answer.status_code == 200
    assert "Not stored" in plain_text(answer)
    assert Run.objects.get().note == "room.zip/disk.txt"


def test_only_selected_files_of_zip_are_stored(member, place):
    room = in_zip(one=HDPARM, two=b"hello", three=COMMA.read_bytes())

    send(member, room, do="store", include=["0", "2"], **place, **{"locale-2": "de_DE"})
    processing.process_due_uploads()

    stored = Run.objects.filter(upload_position=1).order_by("pk")
    assert [run.note for run in stored] == ["room.zip/one.txt", "room.zip/three.txt"]
    assert {run.status for run in Run.objects.all()} == {"parsed"}


def test_works_without_scripts(member, place):
    files = upload(HDPARM, "direct-and-old.txt"), upload(COMMA, COMMA.name)
    shown = send(member, *files, headers={}, **place)

    text = plain_text(shown)
    assert "direct-and-old.txt" in text
    assert "german-comma.txt" in text
    assert "Nothing is stored yet." in text
    chosen = rf'value="{place["system"]}" data-studies=""\s+selected'
    assert re.search(chosen, shown.content.decode())
    assert not Run.objects.exists()
    stored = send(member, upload(HDPARM), do="store", headers={}, **place)
    assert f"Stored run {Run.objects.get().pk}" in plain_text(stored)


# The form


def test_form_offers_studies_and_systems_of_lab(
    member, private_study, place, pair, other_lab
):
    other_lab.studies.create(slug="foreign", title="Their study", visibility="public")

    page = member.get(PAGE, {"study": "study"}).content.decode()

    assert "Their study" not in page
    assert "A secret (private)" in page
    assert re.search(r'value="study"[^>]* selected', page)
    assert '<optgroup label="alpha">' in page
    unmeasured = rf'<option value="{place["system"]}" data-studies=""\s*>KVM, 2 vCPUs<'
    assert re.search(unmeasured, page)
    assert re.search(r'data-studies="study"\s*>Xen 3.3 full', page)


def test_empty_lab_has_instructions(member):
    text = plain_text(member.get(PAGE))

    assert "This lab has no studies yet" in text
    assert "Machine name" in text


def host_options(page):
    """Return the values of the host menu, and the selected one."""
    menu = re.search(r'<select id="new-host".*?</select>', page, re.DOTALL)[0]
    selected = re.findall(r'value="([^"]*)" selected', menu)
    return re.findall(r'value="([^"]*)"', menu), selected


def test_machine_is_not_preselected_among_several(member, lab, pair):
    lab.hosts.create(slug="another-machine")
    lab.studies.create(slug="empty", title="Nothing measured")

    unknown = member.get(PAGE, {"study": "empty"}).content.decode()
    measured = member.get(PAGE, {"study": "study"}).content.decode()

    assert host_options(unknown) == (["", "alpha", "another-machine", "+"], [])
    assert host_options(measured) == (["alpha", "another-machine", "+"], ["alpha"])


def test_unlisted_machine_is_registered_by_name(member, lab, host):
    form = {"host": "+", "new_host": "Xeon E5, rack 3", "hypervisor": "KVM"}

    member.post(NEW_SYSTEM, form, headers=SCRIPT)
    member.post(NEW_SYSTEM, form | {"hypervisor": "native"}, headers=SCRIPT)

    made = lab.hosts.get(slug="xeon-e5-rack-3")
    assert made.title == "Xeon E5, rack 3"
    assert sorted(System.objects.values_list("host", "hypervisor")) == [
        (made.pk, "KVM"),
        (made.pk, "native"),
    ]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"host": ""}, "Choose the machine that the system ran on."),
        ({"host": "+", "new_host": " "}, "Enter a name for the machine."),
        ({"host": "+", "new_host": "???"}, "Enter a name for the machine."),
        ({"host": "+", "new_host": "x" * 301}, "300"),
        # The name of another machine with known facts.
        ({"host": "+", "new_host": "alpha"}, "alpha"),
    ],
)
def test_machine_without_usable_name_is_rejected(member, lab, host, form, sentence):
    host.facts = {"cpu": "AMD"}
    host.save()

    answer = member.post(NEW_SYSTEM, form | {"hypervisor": "KVM"}, headers=SCRIPT)

    assert 400 <= answer.status_code < 500
    assert sentence in plain_text(answer)
    assert (lab.hosts.count(), System.objects.count()) == (1, 0)


def test_new_system_is_preselected(member, host, study):
    form = {"host": "alpha", "hypervisor": "esxi", "memory_gib": "1.5", "vcpus": "2"}

    part = member.post(NEW_SYSTEM, form, headers=SCRIPT).content.decode()
    page = member.post(NEW_SYSTEM, form)

    system = System.objects.get()
    assert (system.hypervisor, system.memory_bytes) == ("VMware ESXi", 1536 * 1024**2)
    assert re.search(rf'value="{system.pk}" data-studies=""\s+selected', part)
    assert page["Location"] == f"/upload/?lab=alpha-lab&system={system.pk}"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"hypervisor": ""}, "Hypervisor: This field is required."),
        ({"hypervisor": "a\u202eb"}, "RIGHT-TO-LEFT OVERRIDE"),
        ({"memory_gib": "-1"}, "greater than or equal to 0"),
        ({"guest_bits": "48"}, "Bits: Select a valid choice"),
    ],
)
def test_invalid_system_is_rejected(member, host, said, sentence):
    form = {"host": "alpha", "hypervisor": "Xen", **said}

    part = member.post(NEW_SYSTEM, form, headers=SCRIPT)
    page = member.post(NEW_SYSTEM, form, follow=True)

    assert part.status_code == 422
    assert sentence in plain_text(part)
    assert sentence in plain_text(page)
    assert not System.objects.exists()


def test_query_count_is_independent_of_lab_size(
    member, lab, host, submit, run_document, django_assert_num_queries
):
    for n in range(5):
        submit(run_document(system={"guest_os": f"Linux {n}"}))
        lab.studies.create(slug=f"study-{n}", title="Another")
    room = in_zip(**{f"n{n}": HDPARM for n in range(5)})

    with django_assert_num_queries(9):
        member.get(PAGE)
    with django_assert_num_queries(5):
        send(member, room)


def test_binary_line_is_not_shown(client, person):
    client.force_login(person)
    file = SimpleUploadedFile("a.bin", b"M\x00f\x80@\x05\x12\x13\x14" * 40)

    page = client.post(PAGE, {"do": "preview", "file": file}).text

    assert "NUL characters" in page
    assert "\x00f" not in page
    assert "x00f" not in page


@pytest.mark.parametrize("headers", [SCRIPT, {}])
def test_rate_limit_has_retry_after(member, lab, settings, headers, valkey):
    settings.LAB_PREVIEWS_PER_MINUTE = 1
    connection().delete(f"quota:lab-previews:{lab.pk}")
    assert send(member, upload(HDPARM), headers=headers).status_code == 200

    answer = send(member, upload(HDPARM), headers=headers)

    assert answer.status_code == 429
    assert "1 previewed files per minute" in plain_text(answer)
    assert 0 < int(answer["Retry-After"]) <= 60


def chosen_of_folder(client, study):
    """Return the preselected host and system of a folder called kvm."""
    answer = client.post(
        PAGE,
        {"do": "folder", "name": "kvm", "number": "1", "study": study.slug},
        headers=SCRIPT,
    )
    chosen = re.findall(r'<option value="([^"]+)" selected', answer.content.decode())
    return set(chosen)


def test_folder_matches_systems_of_known_host_only(member, lab, study, system):
    assert chosen_of_folder(member, study) == {system.host.slug, str(system.pk)}

    systems.register_host(lab=lab, slug="beta")
    # Either machine may have run it: the lab's only KVM is not a reason.
    assert chosen_of_folder(member, study) == set()


# Parts, new studies, unknown tables


TWO_SYSTEMS = DATA / "phoronix/composite-5.2.txt"


def test_each_system_of_a_file_is_stored_as_a_part(member, place):
    preview = send(member, upload(TWO_SYSTEMS, "composite.xml"))

    text = plain_text(preview)
    assert "results of several systems" in text
    assert "Left out because they are curves over time" in text
    assert 'data-part="KVM guest"' in preview.text
    assert 'data-system-layer="KVM"' in preview.text
    (tally,) = re.findall(r'data-tally="([^"]*)"', preview.text)
    counts = {part: counts for part, _tool, counts in json.loads(unescape(tally))}
    assert sorted(counts["bare metal"].values()) == [3, 3, 3]

    stored = send(member, upload(TWO_SYSTEMS), do="store", part="KVM guest", **place)
    processing.process_due_uploads()

    assert "KVM guest: Stored" in plain_text(stored)
    runs = Run.objects.all()
    assert {run.status for run in runs} == {"parsed"}
    assert {run.facts["part"] for run in runs} == {"KVM guest"}
    assert runs.count() == 6


def test_without_a_part_nothing_of_several_systems_counts(member, place):
    send(member, upload(TWO_SYSTEMS), do="store", **place)
    processing.process_due_uploads()

    assert {run.status for run in Run.objects.all()} == {"rejected"}


def test_a_part_gets_a_form_with_what_the_file_says_of_its_system(member, place):
    fields = {"is_part": "1", "system layer": "KVM", "os": "Debian 12", "number": "1"}
    form = member.post(PAGE, {"do": "folder", "name": "vm7", **fields}, headers=SCRIPT)

    assert "Do not store this part" in form.text
    assert 'value="Debian 12"' in form.text
    assert re.search(r'data-field="hypervisor"[^>]*value="KVM"', form.text)


def test_a_study_is_created_by_its_title(member, lab):
    answer = member.post("/upload/studies/", {"title": "A new one"}, headers=SCRIPT)

    assert re.search(r'value="a-new-one"[^>]* selected', answer.text)
    assert lab.studies.get(slug="a-new-one").is_private
    refused = member.post("/upload/studies/", {"title": ""}, headers=SCRIPT)
    assert refused.status_code == 422
    assert "data-problem" in refused.text


def test_a_table_of_no_known_tool_can_be_declared(member, lab):
    table = upload(b"run,boot_s,host\n1,3.2,a\n2,3.4,a\n", "times.csv")
    preview = send(member, table)

    link = "/labs/alpha-lab/new-custom-tool/?metric=boot_s&amp;unit=s"
    assert link in preview.text
    form = member.get(unescape(link)).text
    assert re.search(r'name="metric-0-name"[^>]*value="boot_s"|value="boot_s"', form)
