"""Tables as Parquet, where pyarrow is installed (the extra ``parquet``)."""

import io
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any

__all__ = ["as_parquet", "has_parquet"]


def has_parquet() -> bool:
    """Whether pyarrow is installed, without which no table is written as Parquet."""
    return find_spec("pyarrow") is not None


def as_parquet(columns: Mapping[str, type], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A table as the bytes of a Parquet file.

    Parameters
    ----------
    columns : mapping
        What each column holds by its name: ``str``, ``bool``, ``int`` or ``float``.
    rows : iterable of mapping
        A value that a row lacks is null.
    """
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from pyarrow import parquet

    kinds = {str: pyarrow.string(), bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    target = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows], schema=schema), target)
    return target.getvalue()
