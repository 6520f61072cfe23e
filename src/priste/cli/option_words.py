"""Messages of the library in the words of the command line: options and TOML keys, not Python."""

from __future__ import annotations

import re

_RULES = (
    (r"\bzone='([^']*)'", r"--zone \1"),
    (r"\bcolumns=\{'(\w+)': …\}", r"--column \1=NAME"),
    (r"\bwith user='NAME'", "with --as-user NAME"),
    (r"'columns' may name", "--column may name"),
    (r"'columns' maps", "--column maps"),
    (r"\bwith format=", "with --format"),
    (r"\bformat='(\w+)'", r"--format \1"),
    (r"Write to a destination named \.gpx", "Write with -o to a name that ends in .gpx"),
    (r"A 'format' must", "A --format must"),
    (r"A 'time_unit' must", "The time_unit of --column must"),
    (r"can be told by its time_format\.",
     'can be told with --column "time_format=%d.%m.%Y %H:%M".'),
    (r"Cover a larger area, or choose outside='nearest' \(the border cell\) or outside='gap'\.",
     'Make the [map] larger, or write outside = "off-map" in [release].'),
    (r"outside='(\w+)'", r'outside = "\1"'),
    (r"The box of Grid\.covering", "The box of [map]"),
    (r"MarkovModel\.load cannot read", "There is no model to read in"),
    (r"a file that MarkovModel\.save wrote", "a model that priste fit wrote"),
    (r"MarkovModel\.save will not overwrite", "A model is not written over"),
    (r"MarkovModel\.save cannot write", "The model cannot be written to"),
    (r"MarkovModel\.stationary needs", "An adversary who knows the population needs"),
    (r" Give cycle=True if its matrices repeat\.", ""),
    (r" Give one matrix per step, or cycle=True to repeat them\.", " Fit one: priste fit"),
    (r"Use a model with more matrices, or cycle=True\.", "Fit one that goes on: priste fit"),
    (r"For a model without data use MarkovModel\.gaussian\.",
     'For a model without data write kind = "stay-or-go" in [mobility].'),
    (r"The '(\w+)' of (?:PlanarLaplace|PlanarIsotropic|LocationSet|Identity|Uniform)\b",
     r"The \1 of [mechanism]"),
    (r" For an exact release use Identity\(grid\)\.",
     ' For an exact release write kind = "identity".'),
    (r"The '(\w+)' of (?:Grid|Grid\.covering)\b", r"The \1 of [map]"),
    (r"The '(\w+)' of a Gaussian model", r"The \1 of [mobility]"),
    (r"The 'step' of a Timeline must be a timedelta > 0",
     "The step of [clock] must be longer than 0"),
    (r"\bask to overwrite it\b", "overwrite it (--overwrite)"),
    (r"set 'steps', or give read_traces a 'latest' time", "or set steps in [clock]"),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), words) for pattern, words in _RULES)


def in_options(message: str) -> str:
    """Return a message with what the command line calls things.

    >>> in_options("State the zone, for example zone='Europe/Paris'.")
    'State the zone, for example --zone Europe/Paris.'
    >>> in_options("No column looks like its 'lat'. State it with columns={'lat': …}.")
    "No column looks like its 'lat'. State it with --column lat=NAME."
    """
    for pattern, words in _COMPILED:
        message = pattern.sub(words, message)
    return message
