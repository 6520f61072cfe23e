"""The browser extension that gives pages released locations (Manifest V3, no build step).

Its files are in the folder ``extension``: ``page.js`` runs in pages and answers
``navigator.geolocation``, ``bridge.js`` passes its questions to ``background.js``, which asks the
service, and ``popup.html`` has the settings and the switch of a site.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from priste.errors import OutputExists

FOLDER = Path(__file__).parent / "extension"


def export(target: Path) -> None:
    """Write the extension as a folder, or as one file where the name ends with .xpi or .zip.

    Raises OutputExists where something is there already.
    """
    if target.exists():
        raise OutputExists(target, "Choose another name.", what="folder or file")
    if target.suffix not in (".xpi", ".zip"):
        shutil.copytree(FOLDER, target)
        return
    with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(FOLDER.iterdir()):
            packed.write(path, path.name)
