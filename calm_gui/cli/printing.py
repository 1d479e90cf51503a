"""What ``calm-explain`` prints on stdout: results as text or JSON, or the pictures that meet a condition."""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from calm_gui.session.picture_result import PictureResult

__all__ = ["print_results"]


def print_results(
    options: argparse.Namespace,
    results: Sequence[tuple[str, PictureResult]],
    written: Sequence[str],
    matches: Sequence[Mapping[str, Any]] | None,
    *,
    several: bool,
) -> None:
    """Print what was found.

    Parameters
    ----------
    options : Namespace
    results : sequence of tuple
        Checkpoints with the results of their pictures.
    written : sequence of str
        Files of the whole batch.
    matches : sequence of mapping or None
        Rows of the summary that meet the condition; None where there is none.
    several : bool
        Whether pictures are many, so that their files aren't listed.
    """
    if options.json:
        document = {
            "results": [
                {"checkpoint": checkpoint, **{k: v for k, v in result.to_json().items() if k != "error"}}
                for checkpoint, result in results
                if not result.error
            ],
            "failed": [{"path": result.path, "error": result.error} for _, result in results if result.error],
            "files": list(written),
            **({} if matches is None else {"matches": list(matches)}),
        }
        print(json.dumps(document, ensure_ascii=False, indent=1))
        return
    if matches is not None:
        for path in dict.fromkeys(row["file"] for row in matches):
            print(path)
        return
    if not (several and options.out):
        for _, result in results:
            _print_result(result)
    for path in written:
        print(path)


def _print_result(result: PictureResult) -> None:
    if result.error:
        return
    print(result.path + (f" ({', '.join(result.notes)})" if result.notes else ""))
    for guess in result.top:
        print(f"  {guess['probability']:.4f}  {guess['name']} ({guess['wnid'] or guess['index']})")
    for shown in result.maps:
        if shown.get("sum") is not None:
            verdict = "adds up" if shown["check_passed"] else "DOESN'T ADD UP: the sum check failed"
            print(f"  {shown['reading']}{_about(shown)}: sum {shown['sum']:.4g}, {verdict}")
    for name in result.files:
        print(f"  {name}")


def _about(shown: Mapping[str, Any]) -> str:
    """What a map is about: `` of tench``, `` of tench − goldfish``; empty where it is about no set."""
    if not shown.get("target_name"):
        return ""
    against = f" − {shown['contrast_name']}" if shown.get("contrast_name") else ""
    same = " (the same classes)" if against and shown["target"] == shown["contrast"] else ""
    return f" of {shown['target_name']}{against}{same}"
