"""``priste explain``: a policy in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from priste.policy import Explanation


def show(explained: Explanation, out: Console) -> None:
    """Print what is promised, what is not, each event's numbers and each region's drawing."""
    from priste.report import percent

    _paragraphs(out, "In short", explained.summary)
    if explained.promised:
        _paragraphs(out, "What is promised", explained.promised)
    else:
        _paragraphs(
            out, "What is promised", ("Nothing: this calibrator keeps no promise.",), style="red"
        )
    _paragraphs(out, "What is not promised", explained.not_promised)
    out.print("[bold]The events[/bold]")
    for event in explained.events:
        out.print()
        out.print(Text.assemble("  ", (event.name, "bold"), f"   {event.formula}"))
        when = event.first_time if event.steps == 1 else f"{event.first_time} to {event.last_time}"
        out.print(f"    speaks of {event.steps} steps, {when}; {event.worlds} worlds")
        out.print(
            f"    before any release its probability is {percent(event.lowest)} to "
            f"{percent(event.highest)}, depending on the start"
        )
    for name, drawing in explained.drawings.items():
        out.print(f"\n[bold]Region {name}[/bold]")
        out.print(Padding(Text(drawing), (0, 0, 0, 2)))


def _paragraphs(
    out: Console, title: str, lines: tuple[str, ...], *, style: str | None = None
) -> None:
    out.print(f"[bold]{title}[/bold]")
    for line in lines:
        mark = Text("•", style=style or "cyan")
        out.print(Padding(Text.assemble(mark, " ", line), (0, 0, 0, 2)))
    out.print()
