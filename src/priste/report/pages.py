"""Pages from templates: one frame for all, self-contained, everything escaped but our drawings.

A page asks nothing of the network, and its Content-Security-Policy forbids it to.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    from priste.report.wording import odds, percent

    packages = ("priste.report", "priste.reproduce")
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(odds=odds, percent=percent)
    return made


def page(template: str, **values: Any) -> str:
    """Return a page as text: a pure function of its template and values."""
    return _environment().get_template(template).render(values)


def script(name: str) -> tuple[Markup, str]:
    """Return a script of ours and the source that a Content-Security-Policy allows for it alone."""
    from base64 import b64encode
    from hashlib import sha256
    from importlib.resources import files

    from markupsafe import Markup

    text = files("priste.report").joinpath("templates", name).read_text(encoding="utf-8")
    digest = b64encode(sha256(text.encode()).digest()).decode()
    return Markup(text), f"'sha256-{digest}'"


def drawn(svg: str) -> Markup:
    """Mark a picture that was drawn here as what may stand in a page unescaped."""
    from markupsafe import Markup

    return Markup(svg)
