"""The systemd unit of a service that was set up."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

USER_UNIT = Path("~/.config/systemd/user/priste-live.service")


def unit_text(settings: Path) -> str:
    """Return a unit for ``systemctl --user`` that runs the service of a settings file."""
    found = shutil.which("priste")
    command = found if found is not None else f"{sys.executable} -m priste"
    folder = settings.resolve().parent
    return f"""\
[Unit]
Description=priste live: released locations
After=network-online.target

[Service]
ExecStart={command} live --config {_quoted(folder / settings.name)}
Restart=on-failure
RestartSec=10
UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={_quoted(folder)}
PrivateTmp=yes
MemoryMax=1G

[Install]
WantedBy=default.target
"""


def _quoted(path: Path) -> str:
    """Return a path for a unit file: percent signs are specifiers there."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"' if " " in text else text
