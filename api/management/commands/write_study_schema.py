"""Write the JSON Schema of study files to docs/, or check it with --check."""

import json
from pathlib import Path

from django.conf import settings

from api.study_file_schema import study_file_schema
from benchmarks.management import GeneratingCommand


class Command(GeneratingCommand):
    help = __doc__

    def files(self) -> dict[Path, str]:
        path = Path(settings.BASE_DIR) / "docs" / "study-file.schema.json"
        return {path: json.dumps(study_file_schema(), indent=1) + "\n"}
