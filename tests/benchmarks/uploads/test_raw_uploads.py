"""Raw output: stored unchanged, parsed later, one run per result."""

import orjson
import pytest

from benchmarks.errors import BatchRejectedError
from benchmarks.models import Cell, Efficiency, Run, RunOutput, Sample
from benchmarks.sentences import Sentence, sentence_from_json
from benchmarks.uploads import processing
from benchmarks.uploads.intake import submit_runs
from tests.data.rebuild import DATA

HDPARM = " Timing buffered disk reads: 318 MB in  3.01 seconds = 105.75 MB/sec\n"
COMMAND = f"$ hdparm -t /dev/sda\n/dev/sda:\n{HDPARM}"
LOG = COMMAND * 2


@pytest.fixture
def raw(run_document):
    """Return an upload of raw output."""

    def make(output=HDPARM, **changes):
        document = run_document(output=output, **changes)
        del document["samples"], document["tool"]
        return document | {name: changes[name] for name in changes if name == "tool"}

    return make


def test_output_of_a_tool_is_parsed(submit, raw):
    (submission,) = submit(raw(facts={"kernel": "6.12"}))

    run = Run.objects.get(pk=submission.run_id)
    assert (run.tool, run.status, run.sample_count) == ("hdparm", "parsed", 1)
    assert run.parser_version
    assert (run.first_line, run.last_line) == (1, 1)
    assert run.facts["kernel"] == "6.12"
    sample = Sample.objects.select_related("case").get()
    assert (sample.value, sample.case.unit) == (
        pytest.approx(105.75 * 1.048576),
        "MB/s",
    )


def test_missing_parameters_come_from_the_agents_command(submit, raw):
    output = (DATA / "sysbench" / "threads.txt").read_text()
    argv = ["sysbench", "mutex", "--threads=2", "run"]
    submit(raw(output, tool="sysbench", facts={"execution": {"argv": argv}}))

    run, case = Run.objects.get(), Sample.objects.first().case
    assert (run.warnings, run.first_line) == ([], 1)
    assert case.parameters["test"] == "mutex"


def test_every_result_in_a_log_is_a_run_of_the_upload(submit, raw):
    submit(raw(LOG))

    first, second = Run.objects.order_by("upload_position")
    assert (first.key, first.upload_position) == (second.key, 1)
    assert (second.upload_position, second.first_run) == (2, first)
    assert second.upload == first.upload == RunOutput.objects.get()
    assert second.first_line > first.first_line
    assert Cell.objects.get().n == 2


def test_repeated_upload_is_stored_once(submit, raw):
    document = raw(LOG)

    first, repeated = submit(document)[0], submit(document)[0]

    assert (repeated.run_id, repeated.repeated) == (first.run_id, True)
    assert Run.objects.count() == 2


def test_processing_again_changes_nothing(submit, raw):
    submit(raw(LOG))
    before = derived()

    processing.process_runs(list(Run.objects.filter(upload_position=1)))

    assert derived() == before


def derived():
    return [
        list(model.objects.order_by("pk").values())
        for model in (Run, Sample, Cell, Efficiency)
    ]


def test_unreadable_result_is_stored_with_its_line(submit, raw):
    submit(raw("Segmentation fault\n"))

    run = Run.objects.get()
    assert (run.status, run.tool, run.sample_count) == ("rejected", "", 0)
    assert "not the output of a known tool" in run.reason
    assert "Segmentation fault" in run.upload.text
    assert not Cell.objects.exists()


def test_invalid_result_does_not_affect_the_others(submit, raw):
    submit(raw(LOG.replace("105.75", "nan", 1)))

    first, second = Run.objects.order_by("upload_position")
    assert (first.status, second.status) == ("rejected", "parsed")
    assert "nan" in first.reason


def test_parse_warnings_are_stored_with_the_run(submit, raw):
    submit(raw((DATA / "httperf" / "wsess-errors.txt").read_text()))

    warnings = [warning for run in Run.objects.all() for warning in run.warnings]
    assert warnings
    assert all(
        sentence_from_json(warning) == warning["sentence"] for warning in warnings
    )
    assert isinstance(sentence_from_json(warnings[0]), Sentence)


def test_text_with_nul_characters_is_stored_and_rejected(submit, raw):
    submit(raw("\0\0\0"))

    run = Run.objects.get()
    assert run.status == "rejected"
    assert "\\u0000" in run.upload.text


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tool": "hdparn"}, "Did you mean hdparm?"),
        ({"locale": "xx_YY"}, "The locale"),
        ({"study": "nowhere"}, 'No study "nowhere"'),
    ],
)
def test_unknown_name_with_raw_output_is_rejected_at_once(
    agent, raw, changes, sentence
):
    with pytest.raises(BatchRejectedError, match=sentence.replace("?", r"\?")):
        submit_runs(agent=agent, documents=[raw(**changes)])

    assert not Run.objects.exists()


def test_runs_that_a_new_parser_does_not_find_are_deleted(submit, raw):
    submit(raw(LOG))
    text = RunOutput.objects.get().text
    RunOutput.objects.update(text=text.replace(*map(escaped, (LOG, COMMAND))))

    processing.process_runs(list(Run.objects.filter(upload_position=1)))

    assert (Run.objects.count(), Cell.objects.get().n) == (1, 1)


def escaped(text):
    return orjson.dumps(text).decode().strip('"')
