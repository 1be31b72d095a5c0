"""Stored results equal recomputed ones, regardless of order and repeats of uploads."""

import random
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchmarks.management.commands.recompute import recompute
from benchmarks.models import Cell, Job, Reparse, Run, RunMean, Sample
from benchmarks.studies.checking import check_study
from benchmarks.uploads import processing, reparsing
from benchmarks.uploads.intake import submit_runs

RAW = " Timing buffered disk reads: 318 MB in 3.01 seconds = {} MB/sec"


@pytest.fixture
def uploads(run_document):
    """Runs of a guest and its machine, of several cases; some state things others do
    not, one is raw output, two say the same."""
    documents = []
    for number in range(14):
        guest = {"hypervisor": "KVM"} if number % 3 else {}
        stated = {
            "document": f"Notes {number % 2}" if number > 6 else "",
            "clock": ("guest", "external")[number % 2],
            "started_at": f"2026-03-{number + 1:02}T09:00:00Z",
            "facts": {"host_kernel": f"6.{number % 2}"} if number > 3 else {},
        }
        document = run_document(50 + number / 7, system=guest, **stated)
        first = document["samples"][0]
        for case in range(3):
            document["samples"] += [
                {
                    **first,
                    "parameters": {"operation": "write", "block": f"{case} KiB"},
                    "value": value,
                    "repetition": repetition,
                }
                for repetition, value in enumerate(
                    (1e8 + number, 0.1 * (number + 1), 3.3), start=1
                )
            ]
        documents.append(document)
    documents.append({**documents[3], "key": str(uuid.uuid4())})
    raw = {**documents[0], "key": str(uuid.uuid4()), "output": RAW.format(105.75)}
    del raw["samples"], raw["tool"]
    return [*documents, raw]


def summaries():
    """All cells by their keys, without ids."""
    rows = Cell.objects.values_list(
        *("system__hypervisor", "case__fingerprint", "n", "mean", "m2", "median"),
        *("q1", "q3", "minimum", "maximum", "sample_count", "decimals", "first_at"),
        *("last_at", "clock", "document", "common_facts", "efficiency__ratio"),
    )
    return sorted(map(str, rows))


def take(agent, documents, draw):
    """Upload in batches of any size, some twice, and process at random times."""
    left = list(documents)
    while left:
        batch = left[: draw.randint(1, 6)]
        left = left[len(batch) :]
        submit_runs(agent=agent, documents=batch)
        if draw.random() < 0.3:
            submit_runs(agent=agent, documents=batch)
        if draw.random() < 0.5:
            processing.process_due_uploads(limit=draw.randint(1, 4))
    processing.process_due_uploads()


def test_cells_do_not_depend_on_order_and_batches_of_uploads(agent, study, uploads):
    result = []
    for seed in range(4):
        draw = random.Random(seed)
        Cell.objects.all().delete()
        for model in (Sample, RunMean, Job, Run):
            model.objects.all().delete()

        take(agent, draw.sample(uploads, len(uploads)), draw)

        assert recompute(study) == []
        result.append(summaries())
    assert len(result[0]) > 8
    assert all(item == result[0] for item in result)


def test_cells_are_the_same_after_checks_and_reparsing(agent, study, uploads):
    draw = random.Random(5)
    take(agent, uploads[:8], draw)
    check_study(study)
    take(agent, uploads[8:], draw)
    check_study(study)
    list(reparsing.run_to_end(reparsing.create_reparse(study=study)))

    assert Run.objects.exclude(duplicate_of=None).exists()
    assert Reparse.objects.get().changed == 0
    assert recompute(study) == []


def test_differences_are_listed_and_repaired(agent, study, uploads):
    take(agent, uploads, random.Random(6))
    right = summaries()
    Cell.objects.filter(pk=Cell.objects.earliest("pk").pk).update(mean=1.0)
    RunMean.objects.filter(run=Run.objects.earliest("pk")).update(mean=2.0)

    with pytest.raises(CommandError, match="differ from their samples"):
        call_command("recompute", stdout=StringIO())
    assert summaries() != right

    call_command("recompute", study="alpha-lab/study", repair=True, stdout=StringIO())
    assert summaries() == right
    call_command("recompute", stdout=(output := StringIO()))
    assert "no differences" in output.getvalue()
