"""Rows of text and CSV files with their line numbers, so that a fault names its line."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from calm_gui.errors import DataError

__all__ = ["Rows", "csv_columns", "csv_rows", "listed", "text_lines", "text_table", "whole", "whole_number"]

Rows = dict[str, list[tuple[int, list[Any]]]]
"""Line number and values of each row, by the picture's id."""


def text_table(path: Path, count: int, faults: list[str], convert: Callable[[str], Any]) -> Rows:
    """Rows ``id,value,...`` of a text file; what can't be read is added to the faults."""
    rows: Rows = {}
    for line, text in text_lines(path):
        image, *values = [part.strip() for part in text.rsplit(",", count)]
        try:
            if len(values) != count:
                raise ValueError(f"{count + 1} columns expected, {len(values) + 1} found")
            rows.setdefault(image, []).append((line, [convert(value) for value in values]))
        except ValueError as error:
            faults.append(f"{path}, line {line}: {error}")
    return rows


def listed(metadata: Path, tables: dict[str, Rows], faults: list[str]) -> Iterator[tuple[int, str]]:
    """Line number and id of each picture that every table has a row of; the others are added to the faults."""
    seen = set()
    for line, image in text_lines(metadata / "image_ids.txt"):
        lacking = [name for name, table in tables.items() if image not in table]
        if lacking:
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: {image} has no row in {', '.join(lacking)}.txt")
        elif image in seen:
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: {image} is listed twice")
        else:
            yield line, image
        seen.add(image)


def csv_columns(table: Path) -> tuple[str, ...]:
    """Names of a CSV file's columns.

    Raises
    ------
    DataError
        If it can't be read.
    """
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            return tuple(next(csv.reader(file), ()))
    except OSError as error:
        raise DataError(f"{table} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{table} isn't text in UTF-8: {error.reason} at byte {error.start}") from error


def csv_rows(table: Path) -> list[dict[str, str]]:
    """Rows of a CSV file with a header, by the names of its columns."""
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            return list(csv.DictReader(file, restval=""))  # a row that is cut off has empty values
    except csv.Error as error:
        raise DataError(f"{table} isn't a CSV table: {error}") from error
    except OSError as error:
        raise DataError(f"{table} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{table} isn't text in UTF-8: {error.reason} at byte {error.start}") from error


def text_lines(path: Path) -> list[tuple[int, str]]:
    """Number, from 1, and text of each line that isn't empty, whatever ends the lines."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} isn't text in UTF-8: {error.reason} at byte {error.start}") from error
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]


def whole(text: str) -> int:
    """A whole number from 0 that a file holds as text, ``3`` or ``3.0``; a `ValueError` where it is none."""
    number = text.strip().removesuffix(".0")
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"a whole number from 0 is expected, not {text!r}")
    return int(number)


def whole_number(text: str, path: Path, line: int) -> int:
    """A class index that a file holds as text."""
    try:
        return whole(text)
    except ValueError as error:
        raise DataError(f"{path}, line {line}: a class index is a whole number from 0, not {text!r}") from error
