"""Look up what commands are given by name; an unknown name ends the command."""

from django.core.management.base import CommandError

from benchmarks.models import Lab, Study


def find_lab(slug: str) -> Lab:
    """Return a lab, or name the labs that exist."""
    lab = Lab.objects.filter(slug=slug).first()
    if lab is None:
        known = ", ".join(Lab.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f'There is no lab "{slug}". The labs are: {known}.')
    return lab


def find_study(name: str) -> Study:
    """Return the study of LAB/STUDY."""
    lab, _, slug = name.partition("/")
    study = Study.objects.select_related("lab").filter(lab__slug=lab, slug=slug).first()
    if study is None:
        raise CommandError(f'There is no study "{name}". Name it as LAB/STUDY.')
    return study
