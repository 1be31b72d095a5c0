"""The format of study files, from which their JSON Schema is generated."""

from typing import Any, Final

from api.custom_tools import CustomToolInput
from api.hosts import HostInput
from api.kit.composite_fields import ListOf, StrictSerializer
from api.kit.fields import Choice, Text, WholeNumber
from api.kit.schema import openapi_document
from api.power import PowerChunkInput
from api.studies import StudyInput
from api.systems import SystemInput
from api.uploads import RunInput
from benchmarks.parsing.study_file import FORMAT, VERSION

MAX_ENTRIES: Final = 1_000_000
# These are in memory together; runs and power logs are stored in batches.
MAX_MACHINES: Final = 10_000
MAX_TOOLS: Final = 1_000
MAX_LEFT_OUT: Final = 20
REFERENCE: Final = "#/components/schemas/"
ROOT: Final = "StudyFileRequest"
RUN: Final = "StudyFileRun"


class StudyFileStudyInput(StudyInput):
    """The properties of a study, except its visibility."""

    # None removes a field of the base class.
    visibility: Any = None
    shared_with: Any = None


class StudyFileRunInput(RunInput):
    """An upload of one execution of a tool: its samples, or the output of the tool."""

    study: Any = None
    system: Any = SystemInput(help_text="The system on which the tool ran.")


class SystemReferenceInput(StrictSerializer):
    """A system with a different reference than the rest of the study."""

    system = SystemInput(help_text="The system.")
    reference = SystemInput(help_text="The system that replaces its native baseline.")


def _entries(child: StrictSerializer, most: int, help_text: str) -> ListOf:
    return ListOf(required=False, child=child, max_length=most, help_text=help_text)


class StudyFileInput(StrictSerializer):
    """A study with its machines, tools and runs."""

    format = Choice(choices=[FORMAT], help_text="The name of this format.")
    version = WholeNumber(
        min_value=1, max_value=VERSION, help_text="The version of this format."
    )
    producer = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="The program that wrote the file.",
    )
    left_out = ListOf(
        required=False,
        child=Text(max_length=500),
        max_length=MAX_LEFT_OUT,
        help_text="Sentences about parts of the study that are not in the file.",
    )
    study = StudyFileStudyInput(help_text="The study.")
    reference_system = SystemInput(
        required=False,
        help_text="The system that replaces a native baseline, if there is one.",
    )
    system_references = _entries(
        SystemReferenceInput(), MAX_MACHINES, "Systems with another reference."
    )
    tools = _entries(CustomToolInput(), MAX_TOOLS, "Declarations of the lab's tools.")
    hosts = _entries(HostInput(), MAX_MACHINES, "The machines of the systems.")
    power = _entries(
        PowerChunkInput(), MAX_ENTRIES, "Parts of the logs of power meters."
    )
    runs = _entries(
        StudyFileRunInput(), MAX_ENTRIES, "The runs in the order of their upload."
    )


def study_file_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of study files."""
    components = openapi_document()["components"]["schemas"]
    definitions: dict[str, Any] = {}
    waiting = [ROOT]
    while waiting:
        name = waiting.pop()
        if _plain(name) not in definitions:
            definitions[_plain(name)] = _json_schema(components[name], waiting)
    root = definitions.pop(_plain(ROOT))
    # The two kinds of runs, which OpenAPI does not show.
    definitions[RUN]["oneOf"] = [
        {"required": ["samples", "tool"]},
        {"required": ["output"]},
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}:{VERSION}",
        "title": f"Virtlab study file, version {VERSION}",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _plain(name: str) -> str:
    return name.removesuffix("Request")


def _json_schema(node: Any, references: list[str]) -> Any:
    """Convert a schema of OpenAPI 3.0; add the components that it names."""
    if isinstance(node, list):
        return [_json_schema(item, references) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {name: _json_schema(value, references) for name, value in node.items()}
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.removeprefix(REFERENCE)
        references.append(name)
        schema["$ref"] = f"#/$defs/{_plain(name)}"
    if schema.pop("nullable", False):
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            values = [value for value in schema["enum"] if value is not None]
            schema["enum"] = [*values, None]
    return schema
