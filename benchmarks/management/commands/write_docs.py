"""`manage.py write_docs`: write the generated pages of docs/, or check them."""

from pathlib import Path

from django.conf import settings

from benchmarks.management.generating import GeneratingCommand
from benchmarks.parsing.labels import tools_page
from benchmarks.plausibility.rules import flags_page


class Command(GeneratingCommand):
    """The pages that list the tools and the rules."""

    help = __doc__

    def files(self) -> dict[Path, str]:
        docs = Path(settings.BASE_DIR) / "docs"
        return {docs / "tools.md": tools_page(), docs / "flags.md": flags_page()}
