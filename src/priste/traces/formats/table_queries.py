"""SQL that gives any table the same columns: who, when (and whether with a zone), where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from priste.errors import TraceError
from priste.traces.coordinate_systems import is_wgs84
from priste.traces.formats.csv_dialects import Dialect
from priste.traces.reading_options import Columns
from priste.traces.zones import NO_TIME, UNREADABLE_TIME, check_unit

FILE_COLUMN = "priste: file"
"""The column that says which file a row came from; no file has one of that name."""

_NUMBERS = ("INT", "FLOAT", "DOUBLE", "DECIMAL", "REAL")


@dataclass(frozen=True)
class Layout:
    """A table as DuckDB sees it: a relation, and the expressions of its columns.

    ``source`` is what stands after FROM; ``names`` the columns as the file calls them, ``types``
    as DuckDB does; ``columns`` says which of them hold the fixes.
    """

    source: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    columns: Columns
    dialect: Dialect | None

    def raw(self, name: str) -> str:
        """Return the SQL name of a column; CSV columns are numbered, since names may repeat."""
        if self.dialect is None:
            return identifier(name)
        return identifier(f"c{self.names.index(name)}")

    def type_of(self, name: str) -> str:
        """Return the type of a column, as DuckDB writes it."""
        return self.types[self.names.index(name)]

    def user(self) -> str:
        """Return the expression of the user: text, NULL when empty."""
        if self.columns.user is None:
            return "CAST(NULL AS VARCHAR)"
        return f"nullif(CAST({self.raw(self.columns.user)} AS VARCHAR), '')"

    def time_and_zoned(self, part: str = "time") -> tuple[str, str]:
        """Return the expressions of ``time`` or ``until`` in microseconds, and whether zoned."""
        name = getattr(self.columns, part)
        if name is None:
            return f"CAST({NO_TIME} AS BIGINT)", "true"
        column, kind = self.raw(name), self.type_of(name)
        if self.columns.date is not None and part == "time":
            day = self.raw(self.columns.date)
            if self.type_of(self.columns.date).startswith("TIMESTAMP"):
                day = f"CAST({day} AS DATE)"
            column, kind = (
                f"(CAST({day} AS VARCHAR) || ' ' || CAST({column} AS VARCHAR))",
                "VARCHAR",
            )
        if kind in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"):
            return _or_missing(f"epoch_us(CAST({column} AS TIMESTAMPTZ))"), "true"
        if kind.startswith("TIMESTAMP") or kind == "DATE":
            return _or_missing(f"epoch_us(CAST({column} AS TIMESTAMP))"), "false"
        unit = check_unit(self.columns.time_unit)
        number = f"try_cast(round(try_cast({column} AS DOUBLE) * {unit}) AS BIGINT)"
        if any(each in kind for each in _NUMBERS):
            return _or_missing(number), "true"
        if kind != "VARCHAR":
            raise TraceError(
                f"The column {name!r} holds {kind} values, which are no times",
                hint="Times are timestamps, numbers since 1970, or text.",
            )
        if self.columns.time_format is not None:
            form = literal(self.columns.time_format)
            zoned = "true" if "%z" in form or "%Z" in form else "false"
            return _or_unreadable(f"epoch_us(try_strptime({column}, {form}))", column), zoned
        time, zoned = _text_time(column)
        return _or_unreadable(f"coalesce({time}, {number})", column), zoned

    def degrees(self, part: str) -> str:
        """Return the expression of ``lat`` or ``lon``: a double, nan when it cannot be read."""
        if self.columns.geometry is not None:
            return self._of_point(self.columns.geometry, 1 if part == "lon" else 2)
        name = str(getattr(self.columns, part))
        column = self.raw(name)
        if self.dialect is not None and self.dialect.delimiter != ",":
            column = f"replace({column}, ',', '.')"  # a decimal comma
        return f"coalesce(try_cast({column} AS DOUBLE), CAST('nan' AS DOUBLE))"

    def _of_point(self, name: str, place: int) -> str:
        """Return the expression of a coordinate of a point; DuckDB writes POINT (7.02 46.01)."""
        kind = self.type_of(name)
        if "'" in kind and not is_wgs84(kind.split("'", 1)[1].rpartition("'")[0]):
            raise TraceError(
                f"The points of {name!r} are in another coordinate system than WGS 84",
                hint="Convert them to longitudes and latitudes first.",
            )
        text = f"CAST({self.raw(name)} AS VARCHAR)"
        inner = f"split_part(split_part(rtrim({text}, ')'), '(', 2), ' ', {place})"
        number = f"CASE WHEN starts_with({text}, 'POINT') THEN try_cast({inner} AS DOUBLE) END"
        return f"coalesce({number}, CAST('nan' AS DOUBLE))"


def _text_time(column: str) -> tuple[str, str]:
    """Return the expressions of an ISO 8601 time in text, and of whether a zone stands in it.

    A zone is Z, UTC, GMT, an offset, or a name of the IANA list with its slash; letters such as CET
    or IST mean different zones in different places, so a time with them is not read. Plain
    comparisons of text: a regular expression took longer than everything else together.
    """
    text = f"replace(replace(trim({column}), ' +', '+'), ' -', '-')"
    tail = f"substr({text}, 9)"  # behind the hyphens of the date
    ends_in_digit = f"{text}[-1] BETWEEN '0' AND '9'"
    zoned = (
        f"(upper({text}[-1]) = 'Z' OR {text}[-3:] IN ('UTC', 'GMT') "
        f"OR (contains({tail}, '/') AND contains({tail}, ' ')) "
        f"OR ({ends_in_digit} AND (contains({tail}, '+') OR contains({tail}, '-'))))"
    )
    # DuckDB also knows words such as 'epoch', and drops a zone when it reads a TIMESTAMP.
    time = (
        f"CASE WHEN NOT ({text}[1] BETWEEN '0' AND '9') THEN NULL "
        f"WHEN {zoned} THEN epoch_us(try_cast({text} AS TIMESTAMPTZ)) "
        f"WHEN {ends_in_digit} THEN epoch_us(try_cast({text} AS TIMESTAMP)) END"
    )
    return time, f"coalesce({zoned} OR try_cast({text} AS DOUBLE) IS NOT NULL, true)"


def csv_source(files: Sequence[str], dialect: Dialect) -> str:
    """Return the relation of CSV files of one dialect, every value as text, bad lines kept."""
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(dialect.names)))
    return (
        f"read_csv([{', '.join(map(literal, files))}], auto_detect=false, "
        f"delim={literal(dialect.delimiter)}, quote='\"', escape='\"', "
        f"header={str(dialect.has_header).lower()}, columns={{{columns}}}, "
        f"store_rejects=true, rejects_limit=0, filename={literal(FILE_COLUMN)})"
    )


def parquet_source(files: Sequence[str]) -> str:
    """Return the relation of Parquet files."""
    return f"read_parquet([{', '.join(map(literal, files))}], filename={literal(FILE_COLUMN)})"


def literal(text: str) -> str:
    """Return text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _or_missing(expression: str) -> str:
    return f"coalesce({expression}, CAST({NO_TIME} AS BIGINT))"


def _or_unreadable(expression: str, column: str) -> str:
    """Tell an empty text from one that is no time."""
    empty = (
        f"CASE WHEN nullif(trim({column}), '') IS NULL THEN {NO_TIME} ELSE {UNREADABLE_TIME} END"
    )
    return f"coalesce({expression}, CAST({empty} AS BIGINT))"
