"""The letters that the tests' Chromium has: ours alone, whatever this machine has.

A page that fits in one family may be too wide in another. DejaVu Sans, which a bare
Debian shows, is the widest that a reader gets; Roboto, a phone's own, is a narrow one.
Both come with packages of `requirements-dev.in`.
"""

import os
from importlib.util import find_spec
from pathlib import Path

from playwright.sync_api import Locator

WIDE, NARROW = "DejaVu Sans", "Roboto"
FAMILIES = (WIDE, NARROW)
# DejaVu is always among them: Roboto has neither a monospace nor signs like the flag.
FILES = {
    WIDE: [("matplotlib", "mpl-data/fonts/ttf/DejaVuSans*.ttf")],
    NARROW: [
        ("matplotlib", "mpl-data/fonts/ttf/DejaVuSans*.ttf"),
        ("fontpkg_roboto", "files/*.ttf"),
    ],
}
CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{folder}/files</dir>
  <cachedir>{folder}/cache</cachedir>
  <alias><family>sans-serif</family><prefer><family>{family}</family></prefer></alias>
  <alias><family>serif</family><prefer><family>{family}</family></prefer></alias>
  <alias>
    <family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer>
  </alias>
</fontconfig>
"""


def environment(family: str, folder: Path) -> dict[str, str | float | bool]:
    """Return what a browser is started with to have this family and no other."""
    files = folder / "files"
    files.mkdir()
    for package, pattern in FILES[family]:
        for font in package_folder(package).glob(pattern):
            (files / font.name).symlink_to(font)
    configuration = folder / "fonts.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, family=family))
    return {**os.environ, "FONTCONFIG_FILE": str(configuration)}


def package_folder(name: str) -> Path:
    """Return where a package stands, without importing it."""
    spec = find_spec(name)
    assert spec, f"{name} is missing: make dev"
    assert spec.origin, name
    return Path(spec.origin).parent


def drawn_in(element: Locator) -> set[str]:
    """Return the families of the very glyphs that the browser drew for an element."""
    session = element.page.context.new_cdp_session(element.page)
    element.evaluate("node => { window.lettered = node; }")
    session.send("DOM.enable")
    session.send("CSS.enable")
    session.send("DOM.getDocument")
    found = session.send("Runtime.evaluate", {"expression": "window.lettered"})
    identity = {"objectId": found["result"]["objectId"]}
    node = session.send("DOM.requestNode", identity)
    fonts = session.send("CSS.getPlatformFontsForNode", node)["fonts"]
    session.detach()
    return {str(font["familyName"]) for font in fonts}
