"""How far two sides may be compared, in words."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.baselines import Comparability
from benchmarks.models import Study
from dashboard import wording
from dashboard.wording import Text

LIGHTS: dict[str, tuple[Text, Text]] = {
    "green": (
        gettext_lazy("comparable"),
        gettext_lazy("Only factors of the study differ: %(what)s."),
    ),
    "amber": (
        gettext_lazy("comparable with care"),
        gettext_lazy("More than the factors of the study differs: %(what)s."),
    ),
    "red": (gettext_lazy("not comparable"), gettext_lazy("The case itself differs.")),
}
NOT_SAID: Text = gettext_lazy(
    "The study does not say what it varies. Besides hypervisor, version and type "
    "this differs: %(what)s."
)


@dataclass(frozen=True)
class DifferenceWords:
    """A property that the two sides do not share, in words."""

    name: str
    one: str
    other: str
    is_studied: bool


@dataclass(frozen=True)
class ComparabilityWords:
    """The light as a colour's name and a word, what it means, and all differences."""

    light: str
    word: str
    sentence: str
    differences: tuple[DifferenceWords, ...]


def comparability_words(study: Study, compared: Comparability) -> ComparabilityWords:
    """Return the light in words, unwanted differences first."""
    light, unwanted, studied = compared.light, compared.unwanted, compared.studied
    word, sentence = LIGHTS[light]
    if light == "amber" and unwanted and not study.factors:
        sentence = NOT_SAID
    if light == "amber" and not unwanted:
        sentence = _("Several factors of the study differ together: %(what)s.")
    named = unwanted or studied
    what = ", ".join(wording.property_name(it.name) for it in named)
    return ComparabilityWords(
        light=light,
        word=str(word),
        sentence=str(sentence) % {"what": what} if named else _("Nothing differs."),
        differences=tuple(
            DifferenceWords(
                wording.property_name(it.name),
                _stated(it.name, it.one),
                _stated(it.name, it.other),
                is_studied,
            )
            for differences, is_studied in ((unwanted, False), (studied, True))
            for it in differences
        ),
    )


def _stated(name: str, value: str) -> str:
    return wording.property_value(name, value) or _("not stated")
