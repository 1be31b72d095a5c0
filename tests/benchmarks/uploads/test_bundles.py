"""Bundles: what an agent without a network wrote is taken, once, if it is signed."""

import gzip
import json
import uuid
from pathlib import Path

import pytest

from agents.commands import bundle as bundles
from agents.spool import POWER, Spool
from benchmarks.errors import InvalidError
from benchmarks.labs.tokens import issue_token, revoke_token
from benchmarks.models import Agent, AuditEntry, Host, PowerChunk, Run
from benchmarks.uploads.bundles import import_bundle
from tests.power_logs import piece, power


@pytest.fixture
def token(agent):
    return issue_token(agent=agent, can_upload=True)


@pytest.fixture
def write(tmp_path, token, run_document):
    """Write a bundle of documents; of two runs unless told."""
    spool = Spool(str(tmp_path / "spool"))

    def written(*documents, secret="", host=None, logs=()):
        for document in documents or (run_document(), run_document()):
            spool.save(document)
        for log in logs:
            spool.save(log, POWER)
        [made] = bundles.write(spool, str(tmp_path / "stick"), secret or token[1], host)
        content = Path(made).read_bytes()
        spool.remove(bundles.keys_in(made))
        return content

    return written


def refusal(packed, lab):
    with pytest.raises(InvalidError) as refused:
        import_bundle(packed=packed, lab=lab)
    assert not Run.objects.exists()
    return str(refused.value)


def test_what_was_measured_offline_is_stored_in_the_name_of_its_agent(
    write, lab, agent, study, host
):
    log = piece(power(range(3)))
    machine = {"slug": "offline-host", "facts": {"threads": 2}}

    done = import_bundle(packed=write(host=machine, logs=[log]), lab=lab, by="carrier")

    assert (done.counts.accepted, done.counts.repeated, done.counts.hosts) == (3, 0, 1)
    assert {run.agent for run in Run.objects.all()} == {agent}
    assert Host.objects.get(slug="offline-host").facts == {"threads": 2}
    assert PowerChunk.objects.count() == 1
    entry = AuditEntry.objects.get(kind="imported")
    assert (entry.who, "3 + 0" in entry.about) == ("carrier", True)


def test_the_same_bundle_again_changes_nothing(write, lab, study):
    packed = write(host={"slug": "offline-host", "facts": {}})
    import_bundle(packed=packed, lab=lab)

    again = import_bundle(packed=packed, lab=lab)

    counts = again.counts
    assert (counts.accepted, counts.repeated, counts.hosts) == (0, 2, 0)
    assert Run.objects.count() == 2


def test_a_machine_that_is_known_with_other_facts_keeps_them(write, lab, study, host):
    before = host.facts

    import_bundle(packed=write(host={"slug": host.slug, "facts": {"x": "y"}}), lab=lab)

    host.refresh_from_db()
    assert host.facts == before


def test_without_a_lab_the_token_says_whose_it_is(write, study, lab):
    assert import_bundle(packed=write(), lab=None).token.lab == lab


def test_another_labs_bundle_is_refused_and_tells_nothing(write, study, other_lab):
    said = refusal(write(), other_lab)

    assert "not a token of this lab" in said


def changed(packed):
    return gzip.compress(gzip.decompress(packed).replace(b'"value": ', b'"value": 1'))


def test_a_bundle_that_was_changed_is_refused(write, lab, study):
    packed = write()
    assert changed(packed) != packed

    assert "does not fit" in refusal(changed(packed), lab)


def test_somebody_elses_secret_does_not_sign(write, lab, study, token):
    forged = f"vl_{token[0].prefix}_guessed"

    assert "does not fit" in refusal(write(secret=forged), lab)


def test_a_revoked_token_signs_nothing_any_more(write, lab, study, token):
    packed = write()
    revoke_token(token=token[0])

    assert "is revoked" in refusal(packed, lab)


def test_a_token_that_only_reads_signs_nothing(write, lab, study, agent):
    _, secret = issue_token(agent=agent, can_read=True)

    assert "may read but not upload" in refusal(write(secret=secret), lab)


@pytest.mark.parametrize(
    "packed",
    [b"", b"PK\3\4", gzip.compress(b"a,b\n1,2\n")],
    ids=["empty", "zip", "gzip"],
)
def test_what_is_no_bundle_is_said(packed, lab):
    assert "This is not a bundle" in refusal(packed, lab)


def test_a_bundle_of_another_kind_is_said(lab):
    assert "of the kind 2" in refusal(gzip.compress(b"virtlab-bundle 2\n"), lab)


def test_every_cut_is_found(write, lab, study):
    packed = write()

    for end in range(2, len(packed), 97):
        said = refusal(packed[:end], lab)
        assert "cut off" in said or "not a bundle" in said, end


def test_what_unpacks_to_too_much_is_not_read(lab, settings):
    settings.UPLOAD_LIMIT_BYTES = 1000

    assert "more than 1,000 bytes" in refusal(gzip.compress(bytes(2000)), lab)


def test_a_study_that_is_not_there_is_named_with_its_line(write, lab, run_document):
    said = refusal(write(run_document(study="nowhere")), lab)

    assert said.startswith("Nothing was stored: 1 line is wrong. Line 3: ")
    assert 'no study "nowhere"' in said


def test_a_run_of_a_wrong_shape_is_named_with_its_line(write, lab, study, run_document):
    wrong = {**run_document(), "nonsense": 1}

    assert "Line 4" in refusal(write(run_document(), wrong), lab)


def test_a_wrong_piece_of_a_power_log_keeps_all_out(write, lab, study, host):
    log = {**piece(power(range(3))), "channels": []}

    assert "Line 5: " in refusal(write(logs=[log]), lab)


def test_a_key_that_came_with_another_body_is_refused(write, lab, study, run_document):
    document = run_document()
    import_bundle(packed=write(document), lab=lab)

    with pytest.raises(InvalidError, match="already used"):
        import_bundle(packed=write({**document, "note": "another"}), lab=lab)


def test_text_of_the_agents_that_is_no_json_is_refused(write, lab, study, token):
    prefix, key = bundles.signing(token[1])
    head = {"made_at": "2026-11-24T04:00:00Z", "documents": 1}
    signed = json.dumps(head).encode() + b"\nrun {]\n"
    first = f"virtlab-bundle 1 {prefix} {bundles.signature(key, signed)}\n"

    said = refusal(gzip.compress(first.encode() + signed), lab)

    assert said.startswith("Line 3: The body is not JSON")
    assert uuid.UUID(int=0) not in Run.objects.values_list("key", flat=True)


def test_an_agent_of_another_lab_with_the_same_name_is_another(write, other_lab):
    same = Agent.objects.create(lab=other_lab, name="same")
    _, secret = issue_token(agent=same, can_upload=True)

    assert "no study" in refusal(write(secret=secret), other_lab)
