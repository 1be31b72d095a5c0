"""A reproducible Debian package (deb(5)), without dpkg."""

import gzip
import hashlib
import io
import tarfile
from typing import Dict

from agents import VERSION
from agents.packages import contents
from agents.packages.contents import PackedFile

_CONTROL = """\
Package: virtlab-agent
Version: {version}
Architecture: all
Maintainer: {maintainer}
Installed-Size: {kib}
Depends: python3 (>= 3.6), passwd
Suggests: fio, sysbench, gcc
Section: admin
Priority: optional
Description: {summary}
{description}
"""
_SCRIPT = "#!/bin/sh\nset -e\n"
_IF = 'if [ "$1" = %s ]; then\n%sfi\n'


def build_deb() -> bytes:
    files = contents.package_files()
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", _tar(_control_files(files))),
        ("data.tar.gz", _tar(files)),
    ]
    return b"!<arch>\n" + b"".join(_member(*member) for member in members)


def _control_files(files: Dict[str, PackedFile]) -> Dict[str, PackedFile]:
    size = sum(len(file.content) for file in files.values())
    control = _CONTROL.format(
        version=VERSION,
        maintainer=contents.MAINTAINER,
        kib=(size + 1023) // 1024,
        summary=contents.SUMMARY,
        description="\n".join(" " + line for line in contents.DESCRIPTION),
    )
    sums = "".join(
        "%s  %s\n" % (hashlib.md5(files[path].content).hexdigest(), path[1:])
        for path in sorted(files)
        if not files[path].target
    )
    scripts = {
        "postinst": _IF % ("configure", contents.CREATE_USER + contents.RESTART),
        "prerm": _IF % ("remove", contents.STOP),
        "postrm": contents.RELOAD + _IF % ("purge", contents.PURGE),
    }
    texts = {
        "/control": control,
        "/conffiles": contents.CONFIGURATION + "\n",
        "/md5sums": sums,
    }
    packed = {path: PackedFile(text.encode()) for path, text in texts.items()}
    for name, script in scripts.items():
        packed["/" + name] = PackedFile((_SCRIPT + script).encode(), 0o755)
    return packed


def _tar(files: Dict[str, PackedFile]) -> bytes:
    folders = contents.parent_folders(files)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted({"", *folders, *files}):
            entry = tarfile.TarInfo("." + (path or "/"))
            entry.mtime, entry.uname, entry.gname = contents.DATE_S, "root", "root"
            file = files.get(path)
            if file is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
                continue
            entry.mode, entry.linkname = file.mode, file.target
            entry.type = tarfile.SYMTYPE if file.target else tarfile.REGTYPE
            entry.size = len(file.content)
            tar.addfile(entry, io.BytesIO(file.content))
    return gzip_bytes(archive.getvalue())


def gzip_bytes(content: bytes) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(content)
    return packed.getvalue()


def _member(name: str, content: bytes) -> bytes:
    head = "%-16s%-12d0     0     100644  %-10d`\n" % (
        name,
        contents.DATE_S,
        len(content),
    )
    return head.encode() + content + b"\n" * (len(content) % 2)
