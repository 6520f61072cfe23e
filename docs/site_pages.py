"""Pages of the site that are made from the program and from the top of the repository.

mkdocs calls the functions named ``on_…``. The pages of the command line and of the API are written
from the code, so they cannot differ from it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PROJECT = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Files at the top of the repository, and their pages."""


def command_line_page() -> str:
    """Return every command with its options, as the program describes them."""
    from priste.cli.application import app

    lines = ["# All commands and options", "", "This page is made from the program itself.", ""]
    _describe(typer.main.get_command(app), "priste", lines)
    return "\n".join(lines)


def _describe(command: Any, path: str, lines: list[str]) -> None:
    lines += [f"## `{path}`", "", re.sub(r"[\b\f]", "", command.help or ""), ""]
    parameters = [each for each in command.params if not getattr(each, "hidden", False)]
    rows = [_row(each) for each in parameters if each.name != "help"]
    if rows:
        lines += ["| argument or option | meaning |", "|---|---|", *rows, ""]
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            _describe(inner, f"{path} {name}", lines)


def _row(parameter: Any) -> str:
    named = parameter.param_type_name == "option"
    names = (
        ", ".join([*parameter.opts, *parameter.secondary_opts]) if named else parameter.name.upper()
    )
    words = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    return f"| `{names}` | {words} |"


def api_page() -> str:
    """Return a page that asks mkdocstrings for every public name."""
    import priste

    lines = ["# Python API", "", "This page is made from the docstrings.", ""]
    for name in priste.__all__:
        lines += [f"::: priste.{name}", ""]
    return "\n".join(lines)


def _linked(text: str) -> str:
    """Return a file of the project with its links as seen from the folder ``project``."""
    text = re.sub(r"\]\(docs/", "](../", text)
    for name, page in PROJECT.items():
        text = text.replace(f"]({name}", f"]({Path(page).name}")
    return re.sub(r"\[([^\]]+)\]\((?:LICENSE|CITATION\.cff|README\.md)\)", r"\1", text)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    made = {"reference/command-line.md": command_line_page(), "reference/python-api.md": api_page()}
    made |= {page: _linked((ROOT / name).read_text()) for name, page in PROJECT.items()}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to files of the project to their pages."""
    for name, target in PROJECT.items():
        markdown = markdown.replace(f"](../../{name}", f"](../{target}")
    return markdown
