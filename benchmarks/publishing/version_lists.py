"""Snapshots as pages and the API show them."""

from django.db.models import Prefetch, QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import Campaign, Freezing, Signature, Snapshot, SnapshotFile
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer


def visible_snapshots(
    viewer: Viewer, campaign: Campaign | None = None
) -> QuerySet[Snapshot]:
    """Return snapshots with their signatures and files, without the files' content."""
    files = SnapshotFile.objects.defer("content").order_by("pk")
    signatures = Signature.objects.select_related("lab").order_by("pk")
    found = Snapshot.objects.visible_to(viewer).select_related("campaign__lab", "lab")
    if campaign is not None:
        found = found.filter(campaign=campaign)
    prefetched = Prefetch("files", files), Prefetch("signatures", signatures)
    return found.prefetch_related(*prefetched).order_by("-pk")


def find_snapshot(viewer: Viewer, pk: int) -> Snapshot:
    """Return a snapshot; raises NotFoundError, also for what may not be known of."""
    found = visible_snapshots(viewer).filter(pk=pk).first()
    if found is None:
        raise NotFoundError(Sentence("snapshot"), pk)
    return found


def find_file(viewer: Viewer, pk: int, form: str) -> SnapshotFile:
    """Return a form of a snapshot with its content; raises NotFoundError."""
    snapshot = find_snapshot(viewer, pk)
    found = SnapshotFile.objects.filter(snapshot=snapshot, form=form).first()
    if found is None:
        raise NotFoundError(Sentence("form of the snapshot"), form)
    found.snapshot = snapshot
    return found


def unfinished_freezing(campaign: Campaign) -> Freezing | None:
    """Return the freezing of a campaign that is under way."""
    return campaign.freezings.filter(stage__in=Freezing.UNFINISHED).first()
