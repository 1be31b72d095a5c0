"""A word that explains itself where it stands, from the one list of words."""

from django import template

from dashboard.wording import Text
from dashboard.wording.glossary import WORDS

register = template.Library()


@register.inclusion_tag("kit/_word.html")
def word(slug: str, place: str, shown: Text = "") -> dict[str, object]:
    """Show a word as a button that explains it; ``place`` keeps ids on a page apart."""
    return {"word": WORDS[slug], "id": f"word-{slug}-{place}", "shown": shown}
