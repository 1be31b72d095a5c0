"""Commands in the guides exist: the agent's own parser reads each one."""

import importlib
import re
import shlex
from pathlib import Path

from agents.__main__ import COMMANDS
from agents.argument_parsing import Parser
from agents.measuring.command_lines import RUNNERS
from tests.for_each import for_each

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = (
    "hyper-v.md",
    "esxi.md",
    "xen.md",
    "kvm.md",
    "agents.md",
    "testbed.md",
    "quickstart.md",
)
CALLED = re.compile(
    r"^(?:.*\| |sudo (?:-E )?)?(?:python3 virtlab-agent\.pyz|virtlab-agent\.cmd) (.*)"
)
# Placeholders for the reader, and shell syntax.
ELLIPSIS = ("...", "TOOL...", "FILE...")


def commands():
    for guide in GUIDES:
        text = (DOCS / guide).read_text().replace("\\\n", " ")
        for line in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
            for called in map(CALLED.match, line.splitlines()):
                if called and not any(word in called[1] for word in ELLIPSIS):
                    yield guide, called[1].partition("  #")[0].partition(" < ")[0]


FOUND = sorted(set(commands()))


@for_each(("guide", "command"), FOUND)
def test_commands_in_guides_exist(guide, command):
    # Folders on Windows have backslashes, which are not escapes there.
    words = shlex.split(command.replace("\\", "/"))
    name = words[0]
    assert name in dict(COMMANDS)
    module = importlib.import_module(f"agents.commands.{name}")
    parser = Parser(prog=name)
    module.add_arguments(parser)

    options = parser.parse_args(words[1:])

    # A tool may be followed by a selection of its programs.
    tools = {tool.partition(":")[0] for tool in getattr(options, "tools", [])}
    assert tools <= RUNNERS.keys()


def test_each_guide_has_commands():
    assert {guide for guide, _ in FOUND} >= {"hyper-v.md", "esxi.md", "xen.md"}
    assert len(FOUND) > 30
