"""Write the agent's file, deb, rpm and wheel, with checksums.

python -m agents.packages.build dist
"""

import os
import sys
from typing import Callable, Dict

from agents import build
from agents.packages import contents, deb, rpm, wheel

BUILDERS: Dict[str, Callable[[], bytes]] = {
    build.NAME: build.build_archive,
    contents.DEB_NAME: deb.build_deb,
    contents.RPM_NAME: rpm.build_rpm,
    wheel.agent_wheel_name(): wheel.build_agent_wheel,
}


def main(folder: str) -> int:
    for name, builder in BUILDERS.items():
        content = builder()
        path = os.path.join(folder, name)
        build.write_with_checksum(path, content)
        print("written: %s, %.1f kB" % (path, len(content) / 1e3))
    os.chmod(os.path.join(folder, build.NAME), 0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["dist"]))
