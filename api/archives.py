"""/archives/: a folder of outputs for each system, in one file."""

import io
from collections.abc import Mapping
from typing import IO, Any, ClassVar

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.functional import cached_property
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_200_OK, HTTP_202_ACCEPTED

from api.kit import bodies
from api.kit.errors import malformed, too_large
from api.kit.fields import (
    WORDS,
    Choice,
    Messages,
    Slug,
    Strict,
    Text,
    TrueOrFalse,
    WholeNumber,
)
from api.kit.outputs import OutputSerializer
from api.kit.parsing import read_object
from api.kit.shapes import StrictSerializer, checked
from api.kit.views import ApiView
from api.systems import SystemField, SystemInput
from api.uploads import MAX_VMS
from benchmarks.errors import MalformedError, TooLargeError
from benchmarks.models.run import SCENARIOS
from benchmarks.parsing.starts import time_zone
from benchmarks.uploads.folders import (
    Asked,
    Found,
    FoundFile,
    FoundFolder,
    Times,
    look,
    store,
)

MAX_FOLDERS = 200
RUN = ("scenario", "vms", "load", "session")
ABOUT = {
    "study": "kvm-on-my-desk",
    "system": {"host": "ws1", "guest_os": "Debian 12"},
    "systems": {"kvm": {"hypervisor_version": "8.2"}, "native": 17},
    "take_file_dates": True,
    "store": True,
}
EXAMPLE = OpenApiExample(
    "Two folders, native and kvm",
    value={"about": ABOUT, "archive": "(the file, as it is)"},
    request_only=True,
    media_type="multipart/form-data",
)


class FormParser(BaseParser):
    """Read ``about``, which is JSON, and the file ``archive`` beside it."""

    media_type = "multipart/form-data"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        assert parser_context is not None
        request = parser_context["request"]
        body = bodies.read_body(stream, request)
        head = {"CONTENT_TYPE": media_type, "CONTENT_LENGTH": len(body)}
        handlers = request._request.upload_handlers
        try:
            form = MultiPartParser(head, io.BytesIO(body), handlers, "utf-8")
            texts, files = form.parse()
        except MultiPartParserError as error:
            raise malformed(f"The form cannot be read: {error}") from None
        except RequestDataTooBig:
            raise too_large("The text of the form is too long.") from None
        except SuspiciousOperation as error:
            raise malformed(f"The form cannot be read: {error}") from None
        odd = [name for name in (*texts, *files) if name not in ("about", "archive")]
        if odd:
            wrong = {
                name[:100]: ["This is not known here. Leave it out."] for name in odd
            }
            problem = "The form has a part that is not known here."
            raise MalformedError("invalid", problem).with_fields(wrong)
        return {"about": texts.get("about"), "archive": files.get("archive")}


class SystemPart(SystemInput):
    """What is known of a system: the rest follows from its folder."""

    host = Slug(required=False, help_text="The slug of a host of the lab.")
    hypervisor = Text(
        required=False, max_length=100, help_text='"native" is the machine itself.'
    )


class FolderField(SystemField):
    """The id of a registered system, or what its folder does not say of it."""

    @cached_property
    def description(self) -> SystemInput:
        return SystemPart()


class FoldersField(Strict, serializers.DictField):
    """A system for each folder."""

    child = FolderField()
    wanted = "an object"
    default_error_messages: ClassVar[Messages] = WORDS

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.refuse(data)
        if len(data) > MAX_FOLDERS:
            raise serializers.ValidationError(f"Send at most {MAX_FOLDERS} folders.")
        return super().to_internal_value(data)


class AboutInput(StrictSerializer):
    """What is said of an archive."""

    study = Slug(help_text="The slug of a study of the lab.")
    store = TrueOrFalse(
        required=False,
        help_text="Without it nothing is stored: the answer says what would be.",
    )
    system = SystemPart(
        required=False,
        help_text="What holds for every folder that does not say it, as the host.",
    )
    systems = FoldersField(
        required=False,
        help_text="By folder: a system's id, or what the folder's name does not say. "
        "Files outside of all folders are in the folder `.`.",
    )
    tool = Text(required=False, max_length=100, help_text="Of all files, if not said.")
    locale = Text(required=False, max_length=200, help_text="Of all files, as de_DE.")
    take_file_dates = TrueOrFalse(
        required=False,
        help_text="Where an output does not say when it began, its file's date does.",
    )
    time_zone = Text(
        required=False,
        max_length=100,
        help_text="Of the clocks that the outputs print, as Europe/Berlin.",
    )
    scenario = Choice(choices=SCENARIOS, required=False)
    vms = WholeNumber(required=False, allow_null=True, min_value=0, max_value=MAX_VMS)
    load = Text(required=False, allow_blank=True, max_length=200)
    session = Text(required=False, allow_blank=True, max_length=200)

    def validate_time_zone(self, name: str) -> str:
        if name and time_zone(name) is None:
            raise serializers.ValidationError(
                "No time zone has this name. They are called like Europe/Berlin."
            )
        return name


class ArchiveFormInput(StrictSerializer):
    """A form of two parts."""

    about = AboutInput()
    archive = serializers.FileField(help_text="zip, tar or tar.gz")


class ArchiveFolderSerializer(serializers.Serializer[FoundFolder]):
    """A folder, and the system that it is."""

    folder = serializers.CharField(source="name")
    files = serializers.IntegerField(help_text="So many of its files are results.")
    system_id = serializers.SerializerMethodField()
    system = serializers.SerializerMethodField(help_text="What is known of a new one.")
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="Say these before it is stored."
    )
    said = serializers.DictField(
        help_text="Where each part is known from: `name` is that of the folder."
    )
    fits = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Registered systems that have all of this: send the id to use one.",
    )

    def get_system_id(self, folder: FoundFolder) -> int | None:
        return folder.system if isinstance(folder.system, int) else None

    def get_system(self, folder: FoundFolder) -> dict[str, Any] | None:
        return None if isinstance(folder.system, int) else dict(folder.system)


class ArchiveFileSerializer(OutputSerializer):
    """A file of the archive, and what became of it."""

    row_type = FoundFile
    columns = "name folder state results samples=readings starts problem runs"

    state = serializers.ChoiceField(
        choices=["read", "stored", "known", "describes", "refused"],
        help_text="`known`: stored before; `describes`: it says what the system is.",
    )
    starts = serializers.IntegerField(
        help_text="So many of its results say when they began."
    )
    problem = serializers.SerializerMethodField()
    runs = serializers.SerializerMethodField()

    def get_problem(self, file: FoundFile) -> str:
        return str(file.problem or "")

    def get_runs(self, file: FoundFile) -> list[int]:
        return [each.run_id for each in file.submissions]


class ArchiveSerializer(serializers.Serializer[Found]):
    """What an archive holds."""

    stored = serializers.BooleanField()
    folders = ArchiveFolderSerializer(many=True)
    files = ArchiveFileSerializer(many=True)


class ArchivesView(ApiView):
    """Archives whose folders are systems."""

    parser_classes = [FormParser]

    @extend_schema(
        summary="Read or store an archive whose folders are systems",
        description="Each folder that names a platform (`native`, `kvm-8.2`) is a "
        "system. First without `store`: the answer says which system each folder "
        "would be, and what is missing. Then with it. The same archive again changes "
        "nothing.",
        request={"multipart/form-data": ArchiveFormInput},
        responses={200: ArchiveSerializer, 202: ArchiveSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        form = request.data
        missing = [name for name in ("about", "archive") if not form[name]]
        if missing:
            wrong = {name: ["This is missing. Send it."] for name in missing}
            problem = "The form needs two parts: about and archive."
            raise MalformedError("invalid", problem).with_fields(wrong)
        try:
            about = checked(AboutInput, read_object(form["about"].encode()))
        except (MalformedError, TooLargeError) as error:
            raise malformed(f"about: {error}") from None
        archive, asked = form["archive"], _asked(about)
        name = archive.name or "archive"
        if is_stored := about.get("store", False):
            found = store(self.agent, name, archive, asked)
        else:
            found = look(self.lab, name, archive, asked)
        shown = {"stored": is_stored, "folders": found.folders, "files": found.files}
        return Response(
            self.shown(ArchiveSerializer, shown),
            status=HTTP_202_ACCEPTED if is_stored else HTTP_200_OK,
        )


def _asked(about: Mapping[str, Any]) -> Asked:
    return Asked(
        study=about["study"],
        systems=about.get("systems", {}),
        common=about.get("system", {}),
        run={name: about[name] for name in RUN if about.get(name) not in (None, "")},
        times=Times(about.get("time_zone", ""), about.get("take_file_dates", False)),
        tool=about.get("tool", ""),
        locale=about.get("locale", ""),
    )
