"""Who may ask: hostile names, pages and tokens are refused, and every answer is locked down."""

from __future__ import annotations

import socket

import httpx
import pytest
from tests.studio.running_studio import PATIENCE, RunningStudio, Tab

ELSEWHERE = [
    "evil.example",
    "127.0.0.1",
    "127.0.0.1:1",
    "localhost.evil.example:{port}",
    "[::1]:{port}",
]


def raw(studio: RunningStudio, lines: list[str]) -> str:
    """Send a request as it stands and return the status line."""
    request = "\r\n".join([*lines, "", ""]).format(port=studio.port, token=studio.token)
    with socket.create_connection(("127.0.0.1", studio.port), timeout=PATIENCE) as wire:
        wire.sendall(request.encode("latin-1"))
        return wire.recv(65536).decode("latin-1").partition("\r\n")[0]


def test_static_files_need_no_token_and_all_else_does(studio: RunningStudio) -> None:
    """The page itself is no secret; anything about anybody is."""
    with httpx.Client(base_url=f"http://127.0.0.1:{studio.port}", timeout=PATIENCE) as stranger:
        assert stranger.get("/").status_code == 200
        assert stranger.get("/leaflet/leaflet.js").status_code == 200
        for method, path in (("GET", "/api/info"), ("POST", "/api/sessions")):
            answer = stranger.request(method, path)
            assert answer.status_code == 401
            assert "token" in answer.json()["error"]["message"]
        assert stranger.get("/page/../routes.py").status_code == 404
        assert stranger.get("/page/%2e%2e/routes.py").status_code == 404


@pytest.mark.parametrize("token", ["", "x", "ü", "A" * 5000])
def test_a_wrong_token_is_refused(studio: RunningStudio, token: str) -> None:
    """Nothing but the token is the token."""
    header = f"X-Priste-Token: {token}".encode().decode("latin-1").replace("{", "")
    assert " 401 " in raw(
        studio, ["GET /api/info HTTP/1.1", "Host: 127.0.0.1:{port}", "Connection: close", header]
    )


@pytest.mark.parametrize("host", ELSEWHERE)
def test_another_host_is_refused(studio: RunningStudio, host: str) -> None:
    """A foreign name that was made to point here gets nothing, with the token or without."""
    for path in ("/", "/api/info"):
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
        assert " 403 " in raw(studio, [*lines, "X-Priste-Token: {token}"])


def test_two_hosts_or_none_are_refused(studio: RunningStudio) -> None:
    """A request that says two names, or none, says neither."""
    end = ["Connection: close", "X-Priste-Token: {token}"]
    twice = ["Host: 127.0.0.1:{port}", "Host: evil.example"]
    for hosts in (twice, []):
        status = raw(studio, ["GET /api/info HTTP/1.1", *hosts, *end])
        assert " 400 " in status or " 403 " in status


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_another_page_is_refused(studio: RunningStudio, headers: dict[str, str]) -> None:
    """Who has the token but is another page, as one on another port, is refused."""
    filled = {name: value.format(port=studio.port) for name, value in headers.items()}
    with studio.client(**filled) as client:
        assert client.post("/api/sessions").status_code == 403


def test_the_own_page_is_answered(studio: RunningStudio) -> None:
    """What the browser sends for the page itself is fine."""
    with studio.client(
        **{"Origin": f"http://127.0.0.1:{studio.port}", "Sec-Fetch-Site": "same-origin"}
    ) as client:
        answer = client.post("/api/sessions")
        assert answer.status_code == 200
        client.delete(f"/api/sessions/{answer.json()['session']}")


def test_every_answer_is_locked_down(studio: RunningStudio, tab: Tab) -> None:
    """Pages, files, answers and refusals all carry the same strict headers, and no cookie."""
    with studio.client() as client:
        for path in ("/", "/leaflet/leaflet.css", "/api/info", "/api/nothing", "/nothing"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "http" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "set-cookie" not in headers
            assert "access-control-allow-origin" not in headers
        assert client.options("/api/info").status_code in (404, 405)


def test_the_server_listens_on_loopback_alone(studio: RunningStudio) -> None:
    """No other address of this machine answers."""
    outside = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in outside:
        if str(address).startswith("127.") or ":" in str(address):
            continue
        with pytest.raises(OSError):  # noqa: PT011  # refused, or unreachable
            socket.create_connection((str(address), studio.port), timeout=2)


def test_unknown_addresses_and_sessions_are_told_in_words(tab: Tab) -> None:
    """Wrong addresses, methods and sessions give words, not traces."""
    assert "nothing at this address" in tab.ask("GET", "/api/x", status=404)["error"]["message"]
    gone = tab.ask("POST", "/api/sessions/nobody/town", status=404)
    assert "over" in gone["error"]["message"]
    assert "Open the town" in tab.post("chances", {"setting": {}}, 409)["error"]["hint"]
