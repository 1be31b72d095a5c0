"""How far two sides may be compared, in words."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.comparability import Comparability
from benchmarks.comparing.row import Compared
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
    # Another host, other parameters, another unit: the core says which.
    "red": (gettext_lazy("not comparable"), "%(why)s"),
}
MOST_TOLD = 5
NOT_SAID: Text = gettext_lazy(
    "The study does not say what it varies. Besides hypervisor, version and type "
    "this differs: %(what)s."
)


def light_words(shown: Iterable[Compared]) -> tuple[dict[str, Any], ...]:
    """Return the lights of cells as a legend: the weightiest first."""
    counts = Counter((it.light, it.light_sentence) for it in shown if it.light)
    legend = []
    for light, (word, _sentence) in reversed(LIGHTS.items()):
        found = {said: n for (colour, said), n in counts.items() if colour == light}
        if not found:
            continue
        ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        # What is comparable differs in what is studied: the columns say in what.
        told = ordered[:MOST_TOLD] if light != "green" else []
        legend.append(
            {
                "light": light,
                "word": str(word),
                "count": sum(found.values()),
                "sentences": tuple((n, wording.said(said)) for said, n in told),
                "more": len(ordered) - len(told) if told else 0,
            }
        )
    return tuple(legend)


def comparability_words(study: Study, compared: Comparability) -> dict[str, Any]:
    """Return a light as a colour, a word and a sentence, and all differences.

    Unwanted differences come first.
    """
    light, unwanted, studied = compared.light, compared.unwanted, compared.studied
    word, sentence = LIGHTS[light]
    if light == "amber" and unwanted and not study.factors:
        sentence = NOT_SAID
    if light == "amber" and not unwanted:
        sentence = _("Several factors of the study differ together: %(what)s.")
    named = unwanted or studied
    what = ", ".join(wording.property_name(it.name) for it in named)
    facts = {"what": what, "why": wording.said(compared.sentence)}
    return {
        "light": light,
        "word": str(word),
        "sentence": str(sentence) % facts if named else _("Nothing differs."),
        "differences": [
            {
                "name": wording.property_name(it.name),
                "one": _stated(it.name, it.one),
                "other": _stated(it.name, it.other),
                "is_studied": is_studied,
            }
            for differences, is_studied in ((unwanted, False), (studied, True))
            for it in differences
        ],
    }


def _stated(name: str, value: str) -> str:
    return wording.property_value(name, value) or _("not stated")
