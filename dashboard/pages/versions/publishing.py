"""The freezing of a campaign: who asked for it reads how far it is."""

from django.db import InterfaceError, OperationalError

from benchmarks.errors import BenchmarksError
from benchmarks.models import Freezing, Snapshot
from benchmarks.publishing.jobs import note_failure, note_stage, take_freezing
from benchmarks.publishing.locks import held
from benchmarks.publishing.versions import freeze_campaign
from benchmarks.sentences import Sentence
from dashboard.pages.report.typesetting import pdf
from dashboard.pages.versions.files import snapshot_report, snapshot_texts

BROKEN = Sentence(
    "Its files could not be written. The reason is in the log of the workers."
)


def freeze(freezing_id: int) -> None:
    """Freeze a campaign that somebody asked for, unless another worker does."""
    with held(Freezing, freezing_id) as is_mine:
        asked = take_freezing(freezing_id) if is_mine else None
        if asked is not None:
            _freeze(asked)


def _freeze(asked: Freezing) -> None:
    try:
        freeze_campaign(freezing=asked, write=lambda snapshot: _files(asked, snapshot))
    except BenchmarksError as error:
        note_failure(freezing=asked, problem=error.sentence)
    except (OperationalError, InterfaceError):
        raise  # the database went away: the sweeper sends it once more
    except Exception:  # whatever it is: who waits is told, the log has the rest
        note_failure(freezing=asked, problem=BROKEN)
        raise


def _files(asked: Freezing, snapshot: Snapshot) -> dict[str, bytes]:
    """Return every form of a snapshot, the longest work last."""
    texts = snapshot_texts(snapshot, asked.site)
    document = snapshot_report(snapshot, asked.site)
    note_stage(freezing=asked, stage=Freezing.Stage.TYPESETTING)
    return {**texts, "pdf": pdf(document, snapshot.created_at)}
