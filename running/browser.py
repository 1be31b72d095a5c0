"""The browser of the tests and `make bench`: find it, start it, install it.

    python -m running.browser

It uses two font families from packages of `requirements-dev.in`, so that text is
equally wide on every machine: DejaVu Sans, the widest that readers get, and narrow
Roboto.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, BrowserType, sync_playwright

# The first is the same browser without its window: the tests take a quarter less time.
HEADLESS = "chromium-headless-shell"
NAMES = (
    *(HEADLESS, "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
)
PLACES = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)
INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "--quiet=2")
PACKAGES = (HEADLESS, "chromium")  # older Debians have no package of the first
ARGUMENTS = [
    # Chromium refuses to run as root with its sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
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


def find() -> Path | None:
    """Return a Chromium or Chrome: CHROMIUM=, then PATH, then the usual places."""
    if chosen := os.environ.get("CHROMIUM"):
        return Path(chosen)
    for name in NAMES:
        if path := shutil.which(name):
            return Path(path)
    return next((place for place in PLACES if place.exists()), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start this machine's Chromium, with the same fonts everywhere."""
    with sync_playwright() as playwright, started(playwright.chromium) as browser:
        yield browser


@contextmanager
def started(
    chromium: BrowserType, *arguments: str, family: str = WIDE
) -> Iterator[Browser]:
    """Start one more Chromium, in a family of letters."""
    path = find()
    assert path, "There is no Chromium: python -m running.browser"
    with TemporaryDirectory() as folder:
        browser = chromium.launch(
            executable_path=str(path),
            args=[*ARGUMENTS, *arguments],
            env=_letters(family, Path(folder)),
        )
        yield browser
        browser.close()


def _letters(family: str, folder: Path) -> dict[str, str | float | bool]:
    """Return the environment of a browser that has this family and no other."""
    files = folder / "files"
    files.mkdir()
    for package, pattern in FILES[family]:
        spec = find_spec(package)  # without importing it
        assert spec, f"{package} is missing: make dev"
        assert spec.origin, package
        for font in Path(spec.origin).parent.glob(pattern):
            (files / font.name).symlink_to(font)
    configuration = folder / "fonts.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, family=family))
    return {**os.environ, "FONTCONFIG_FILE": str(configuration)}


def install() -> None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print("installing Chromium, which the tests of the pages drive ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "--quiet=2"], env=environment, check=False)
    for package in PACKAGES:
        done = subprocess.run([*INSTALL, package], env=environment, check=False)
        if done.returncode == 0:
            break


def main() -> int:
    """Make sure that there is a browser, or print how to install one."""
    is_best = os.environ.get("CHROMIUM") or shutil.which(HEADLESS)
    if not is_best:
        install()
    if find():
        return 0
    sys.stderr.write(
        "The tests of the pages need Chromium. Install it (on Debian: "
        "sudo apt-get install chromium), or name one: "
        "make test CHROMIUM=/path/to/chromium\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
