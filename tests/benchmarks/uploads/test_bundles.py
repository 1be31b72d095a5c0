"""Import of bundles: signatures, repeats and errors."""

import gzip
import json
import uuid
from pathlib import Path

import pytest

from agents.commands import bundle as bundles
from agents.spool import POWER_SUFFIX, Spool
from benchmarks.errors import InvalidError
from benchmarks.labs.tokens import issue_token, revoke_token
from benchmarks.models import Agent, AuditEntry, Host, PowerChunk, Run, Token
from benchmarks.uploads.bundles import import_bundle
from tests.power_logs import chunk, power


@pytest.fixture
def token(agent):
    return issue_token(agent=agent, can_upload=True)


@pytest.fixture
def write(tmp_path, token, run_document):
    """Write a bundle of documents; by default, of two runs."""
    spool = Spool(str(tmp_path / "spool"))

    def written(*documents, secret="", host=None, logs=()):
        for document in documents or (run_document(), run_document()):
            spool.save(document)
        for log in logs:
            spool.save(log, POWER_SUFFIX)
        [created] = bundles.write_bundles(
            spool, str(tmp_path / "stick"), secret or token[1], host
        )
        content = Path(created).read_bytes()
        spool.remove(bundles.bundle_keys(created))
        return content

    return written


def refusal(packed, lab):
    with pytest.raises(InvalidError) as refused:
        import_bundle(content=packed, lab=lab)
    assert not Run.objects.exists()
    return str(refused.value)


def test_bundle_is_stored_for_the_agent_of_its_token(write, lab, agent, study, host):
    log = chunk(power(range(3)))
    machine = {"slug": "offline-host", "facts": {"threads": 2}}

    done = import_bundle(
        content=write(host=machine, logs=[log]), lab=lab, actor="carrier"
    )

    assert (done.counts.accepted, done.counts.repeated, done.counts.hosts) == (3, 0, 1)
    assert {run.agent for run in Run.objects.all()} == {agent}
    assert Host.objects.get(slug="offline-host").facts == {"threads": 2}
    assert PowerChunk.objects.count() == 1
    entry = AuditEntry.objects.get(kind="imported")
    assert (entry.actor, "3 + 0" in entry.about) == ("carrier", True)


def test_importing_a_bundle_again_changes_nothing(write, lab, study):
    packed = write(host={"slug": "offline-host", "facts": {}})
    import_bundle(content=packed, lab=lab)

    repeated = import_bundle(content=packed, lab=lab)

    counts = repeated.counts
    assert (counts.accepted, counts.repeated, counts.hosts) == (0, 2, 0)
    assert Run.objects.count() == 2


def test_existing_host_keeps_its_facts(write, lab, study, host):
    before = host.facts

    import_bundle(content=write(host={"slug": host.slug, "facts": {"x": "y"}}), lab=lab)

    host.refresh_from_db()
    assert host.facts == before


def test_without_lab_the_token_determines_the_lab(write, study, lab):
    assert import_bundle(content=write(), lab=None).token.lab == lab


def test_bundle_of_another_lab_is_rejected_without_details(write, study, other_lab):
    output = refusal(write(), other_lab)

    assert "not a token of this lab" in output


def changed(packed):
    return gzip.compress(gzip.decompress(packed).replace(b'"value": ', b'"value": 1'))


def test_changed_bundle_is_rejected(write, lab, study):
    packed = write()
    assert changed(packed) != packed

    assert "is not valid" in refusal(changed(packed), lab)


def test_signature_by_another_secret_is_rejected(write, lab, study, token):
    forged = f"vl_{token[0].prefix}_guessed"

    assert "is not valid" in refusal(write(secret=forged), lab)


def test_bundle_of_revoked_token_is_rejected(write, lab, study, token):
    packed = write()
    revoke_token(token=token[0])

    assert "is revoked" in refusal(packed, lab)


def test_bundle_of_read_only_token_is_rejected(write, lab, study, agent):
    _, secret = issue_token(agent=agent, can_read=True)

    assert "can read but not upload" in refusal(write(secret=secret), lab)


@pytest.mark.parametrize(
    "packed",
    [b"", b"PK\3\4", gzip.compress(b"a,b\n1,2\n", mtime=0)],
    ids=["empty", "zip", "gzip"],
)
def test_other_files_are_rejected_with_a_message(packed, lab):
    assert "This is not a bundle" in refusal(packed, lab)


def test_unknown_bundle_format_is_rejected_with_a_message(lab):
    assert "format 1" in refusal(gzip.compress(b"virtlab-bundle 1\n"), lab)


def test_nothing_in_the_database_can_sign_a_bundle(write, lab, study, token):
    row = Token.objects.get()
    head = {"made_at": "2026-11-24T04:00:00Z", "documents": 0}
    signed = json.dumps(head).encode() + b"\n"
    stored = [row.digest.encode(), bytes.fromhex(row.digest), row.bundle_key.encode()]
    for key in stored:
        first = f"virtlab-bundle 2 {row.prefix} {bundles.signature(key, signed)}\n"
        packed = gzip.compress(first.encode() + signed)
        assert "The signature" in refusal(packed, lab)


def test_bundle_of_an_older_token_is_refused_with_the_remedy(
    write, lab, study, run_document
):
    packed = write(run_document())
    Token.objects.update(bundle_key="")

    assert "Enroll the agent with a new token" in refusal(packed, lab)


def test_truncation_at_any_byte_is_detected(write, lab, study):
    packed = write()

    for end in range(2, len(packed), 97):
        output = refusal(packed[:end], lab)
        assert "truncated or damaged" in output or "not a bundle" in output, end


def test_too_large_bundle_is_rejected(lab, settings):
    settings.UPLOAD_LIMIT_BYTES = 1000

    assert "larger than 1,000 bytes" in refusal(gzip.compress(bytes(2000)), lab)


def test_unknown_study_is_reported_with_its_line(write, lab, run_document):
    output = refusal(write(run_document(study="nowhere")), lab)

    assert output.startswith("Nothing was stored: 1 line is wrong. Line 3: ")
    assert 'No study "nowhere"' in output


def test_invalid_run_is_reported_with_its_line(write, lab, study, run_document):
    wrong = {**run_document(), "nonsense": 1}

    assert "Line 4" in refusal(write(run_document(), wrong), lab)


def test_invalid_power_chunk_rejects_the_bundle(write, lab, study, host):
    log = {**chunk(power(range(3))), "channels": []}

    assert "Line 5: " in refusal(write(logs=[log]), lab)


@pytest.mark.parametrize(
    "wrong", [{"host": "nowhere"}, {"meter": "x" * 101}, {"clock": "another"}]
)
def test_refused_power_chunk_leaves_no_run_and_no_host(write, lab, study, host, wrong):
    """A refused bundle had stored its runs before its power logs were read."""
    good = chunk(power(range(3)))
    if "clock" in wrong:
        import_bundle(content=write(logs=[good]), lab=lab)
        Run.objects.all().delete()
        good = {**good, "channels": ["other"], "samples": [[0, 1.0]]}
    machine = {"slug": "offline-host"}

    output = refusal(write(host=machine, logs=[{**good, **wrong}]), lab)

    assert "Line 6" in output
    assert not Host.objects.filter(slug="offline-host").exists()


def test_reused_key_with_another_body_is_rejected(write, lab, study, run_document):
    document = run_document()
    import_bundle(content=write(document), lab=lab)

    with pytest.raises(InvalidError, match="already used"):
        import_bundle(content=write({**document, "note": "another"}), lab=lab)


def test_line_that_is_not_json_is_rejected(write, lab, study, token):
    prefix, key = bundles.signing_key(token[1])
    head = {"made_at": "2026-11-24T04:00:00Z", "documents": 1}
    signed = json.dumps(head).encode() + b"\nrun {]\n"
    first = f"virtlab-bundle 2 {prefix} {bundles.signature(key, signed)}\n"

    output = refusal(gzip.compress(first.encode() + signed), lab)

    assert output.startswith("Line 3: The body is not valid JSON")
    assert uuid.UUID(int=0) not in Run.objects.values_list("key", flat=True)


def test_agents_of_two_labs_may_have_the_same_name(write, other_lab):
    same = Agent.objects.create(lab=other_lab, name="same")
    _, secret = issue_token(agent=same, can_upload=True)

    assert "No study" in refusal(write(secret=secret), other_lab)
