#!/usr/bin/env python3
"""Makes a wheel of a program: `pip install` puts it into bin/, and nothing is imported.

    scripts/wheel.py VERSION ARCH BINARY SHARE DIR

The binary is static, so one wheel is for glibc and musl alike; maturin, which makes such wheels
too, would allow it on musl alone. Format: the packaging specification "Binary distribution format".
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

METADATA = """Metadata-Version: 2.1
Name: forebay
Version: {version}
Summary: Tiered storage for sequencing pipelines
License: MIT OR Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

"""
WHEEL = """Wheel-Version: 1.0
Generator: forebay
Root-Is-Purelib: false
"""


def main():
    version, arch, binary, share, folder = sys.argv[1:]
    tags = [f"py3-none-manylinux2014_{arch}", f"py3-none-musllinux_1_1_{arch}"]
    platforms = ".".join(tag.rsplit("-", 1)[1] for tag in tags)
    path = Path(folder) / f"forebay-{version}-py3-none-{platforms}.whl"
    info = f"forebay-{version}.dist-info"
    data = f"forebay-{version}.data"
    records = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(name, content, mode=0o644):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            records.append(f"{name},sha256={digest.decode()},{len(content)}")

        add(f"{data}/scripts/forebay", Path(binary).read_bytes(), 0o755)
        for file in sorted(Path(share).rglob("*")):
            if file.is_file():
                add(f"{data}/data/share/{file.relative_to(share)}", file.read_bytes())
        readme = Path("README.md").read_text()
        add(f"{info}/METADATA", (METADATA.format(version=version) + readme).encode())
        add(f"{info}/WHEEL", (WHEEL + "".join(f"Tag: {tag}\n" for tag in tags)).encode())
        records.append(f"{info}/RECORD,,")
        wheel.writestr(f"{info}/RECORD", "\n".join(records) + "\n")
    print(path)


if __name__ == "__main__":
    main()
