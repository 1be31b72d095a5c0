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


def comparability_words(study: Study, found: Comparability) -> ComparabilityWords:
    """Return the light in words, unwanted differences first."""
    word, sentence = LIGHTS[found.light]
    if found.unwanted and found.light == "amber" and not study.factors:
        sentence = NOT_SAID
    if found.light == "amber" and not found.unwanted:
        sentence = _("Several factors of the study differ together: %(what)s.")
    is_same = not (found.studied or found.unwanted)
    everything = [(each, False) for each in found.unwanted]
    everything += [(each, True) for each in found.studied]
    told = found.unwanted or found.studied
    what = ", ".join(wording.property_name(each.name) for each in told)
    return ComparabilityWords(
        light=found.light,
        word=str(word),
        sentence=_("Nothing differs.") if is_same else str(sentence) % {"what": what},
        differences=tuple(
            DifferenceWords(
                wording.property_name(each.name),
                _stated(each.name, each.one),
                _stated(each.name, each.other),
                is_studied,
            )
            for each, is_studied in everything
        ),
    )


def _stated(name: str, value: str) -> str:
    return wording.property_value(name, value) or _("not stated")
