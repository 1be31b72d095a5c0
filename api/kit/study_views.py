"""What all addresses share that answer about one study as a whole."""

from functools import cached_property

from api.kit.queries import Query, study_parameter
from api.kit.views import ApiView
from benchmarks.models import Study
from benchmarks.studies.lists import find_study


class StudyQuery(Query):
    """The study; a subclass declares what else its view takes."""

    study = study_parameter(required=True)


class StudyView(ApiView):
    """A view that answers about the study which its query names."""

    query_class: type[Query] = StudyQuery

    @cached_property
    def study(self) -> Study:
        """The study, if whoever asks may see it; else 404."""
        return find_study(self.viewer, self.query["study"])
