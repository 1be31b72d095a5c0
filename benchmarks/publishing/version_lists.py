"""Versions as pages and the API show them."""

from django.db.models import Prefetch, QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import PublishingJob, Signature, Study, Version, VersionFile
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer


def visible_versions(viewer: Viewer, study: Study | None = None) -> QuerySet[Version]:
    """Return versions with their signatures and files, without the files' content."""
    files = VersionFile.objects.defer("content").order_by("pk")
    signatures = Signature.objects.select_related("lab").order_by("pk")
    found = Version.objects.visible_to(viewer).select_related("study__lab", "lab")
    if study is not None:
        found = found.filter(study=study)
    prefetched = Prefetch("files", files), Prefetch("signatures", signatures)
    return found.prefetch_related(*prefetched).order_by("-pk")


def find_version(viewer: Viewer, pk: int) -> Version:
    """Return a version; raises NotFoundError, also for what may not be known of."""
    found = visible_versions(viewer).filter(pk=pk).first()
    if found is None:
        raise NotFoundError(Sentence("version"), pk)
    return found


def find_file(viewer: Viewer, pk: int, form: str) -> VersionFile:
    """Return a form of a version with its content; raises NotFoundError."""
    version = find_version(viewer, pk)
    found = VersionFile.objects.filter(version=version, form=form).first()
    if found is None:
        raise NotFoundError(Sentence("form of the version"), form)
    found.version = version
    return found


def unfinished_publishing_job(study: Study) -> PublishingJob | None:
    """Return the job of a study that is under way."""
    return study.publishing_jobs.filter(stage__in=PublishingJob.UNFINISHED).first()
