"""The link that sets up the OwnTracks app, and its QR code."""

from __future__ import annotations

import base64
import io
import json
from urllib.parse import quote


def configuration(url: str, person: str, token: str) -> dict[str, object]:
    """Return the configuration of the app: private mode over HTTP, with a token as password.

    >>> configuration("https://example.org", "me", "secret")["url"]
    'https://example.org/owntracks'
    """
    return {
        "_type": "configuration",
        "mode": 3,  # HTTP
        "monitoring": 1,  # significant changes; the service holds the last place
        "url": f"{url.rstrip('/')}/owntracks",
        "auth": True,
        "username": person,
        "password": token,
        "deviceId": "phone",
        "tid": person[-2:],
        "cmd": False,
        "pubExtendedData": False,
    }


def link(url: str, person: str, token: str) -> str:
    """Return the link that the app opens with its configuration in it: as secret as the token.

    >>> link("https://example.org", "me", "secret")[:34]
    'owntracks:///config?inline=eyJfdHl'
    """
    text = json.dumps(configuration(url, person, token), separators=(",", ":"))
    return f"owntracks:///config?inline={quote(base64.b64encode(text.encode()).decode(), safe='')}"


def qr_code(text: str) -> str:
    """Return a QR code for a terminal, two rows of it in a line."""
    import segno

    drawn = io.StringIO()
    segno.make(text, error="l", boost_error=False).terminal(drawn, border=2, compact=True)
    return drawn.getvalue()
