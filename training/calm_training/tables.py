"""Results as Markdown tables like the paper's, with its own numbers beside ours and marked as the paper's."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["PAPER_ACCURACY", "PAPER_CUES", "PAPER_WSOL", "table_of"]

Results = Mapping[str, Mapping[str, Any]]
"""Results by the name of the checkpoint; each has its ``method``."""

PAPER_CUES: dict[str, tuple[float, ...]] = {
    "gradient": (10.0, 13.7, 15.3, 13.9),
    "integrated_gradients": (12.0, 15.1, 17.3, 15.7),
    "smoothgrad": (11.8, 15.5, 18.6, 16.5),
    "vargrad": (16.7, 21.1, 23.1, 21.4),
    "cam": (24.1, 28.3, 32.2, 29.6),
    "attribution calm-ml": (23.6, 26.7, 28.8, 27.3),
    "attribution calm-em": (30.4, 33.3, 36.3, 34.3),
}
"""mPxAP for 1, 2 and 3 differing parts and the mean, percent: the paper's table of cue localization (ResNet50,
31 + 64 + 96 pairs of whole CUB)."""

PAPER_WSOL: dict[str, tuple[float, ...]] = {
    "cam": (62.4, 61.1, 60.0),
    "cam-superset": (60.6, 63.4, 60.0),
    "attribution calm-em": (62.5, 52.5, 62.7),
    "superset calm-em": (62.8, 65.4, 62.7),
    "attribution calm-ml": (62.6, 61.3, 62.3),
    "superset calm-ml": (62.7, 68.0, 62.3),
}
"""ImageNet and CUB (MaxBoxAccV2), OpenImages (PxAP), percent: the paper's table of WSOL, means of three backbones."""

PAPER_ACCURACY: dict[str, tuple[float, ...]] = {
    "cam": (74.5, 70.6, 72.1),
    "calm-em": (70.4, 71.8, 70.1),
    "calm-ml": (70.6, 59.6, 70.9),
}
"""Top-1 on ImageNet, CUB and OpenImages, percent: the paper's table of classification accuracy."""


def table_of(command: str, results: Results, conventions: str) -> str:
    """The Markdown table of a command's results, in percent, with their conventions below."""
    rows = {
        "accuracy": _accuracy,
        "wsol": _wsol,
        "masks": _masks,
        "removal": _removal,
        "cues": _cues,
        "axioms": _axioms,
    }[command](results)
    return "\n".join([*rows, "", conventions])


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _paper(table: Mapping[str, tuple[float, ...]], name: str, method: str, column: int) -> str:
    found = table.get(name) or table.get(f"{name} {method}")
    return f"{found[column]:.1f}" if found else ""


def _accuracy(results: Results) -> list[str]:
    head = ["checkpoint", "pictures", "top-1", "mean confidence", "ECE", "the paper's top-1 (ImageNet)"]
    rows = []
    for name, result in results.items():
        calibration = result["calibration"]
        numbers = [_percent(v) for v in (result["top-1"], calibration["confidence"], calibration["ECE"])]
        rows.append([name, str(result["images"]), *numbers, _paper(PAPER_ACCURACY, result["method"], "", 0)])
    lines = _markdown(head, rows)
    for name, result in results.items():
        bins = [
            [f"{b['low']:.2f} to {b['high']:.2f}", str(b["images"]), _percent(b["confidence"]), _percent(b["accuracy"])]
            for b in result["calibration"]["bins"]
        ]
        lines += ["", *_markdown([f"{name}: confidence", "pictures", "mean", "right"], bins)]
    return lines


def _wsol(results: Results) -> list[str]:
    levels = next(iter(next(iter(results.values()))["maps"].values()))["per_iou"]
    head = ["checkpoint", "map", "pictures", "top-1", "MaxBoxAccV2", *(f"IoU {level}" for level in levels)]
    head.append("the paper's (ImageNet)")
    rows = []
    for name, result in results.items():
        for shown, boxes in result["maps"].items():
            numbers = [_percent(v) for v in (result["top-1"], boxes["MaxBoxAccV2"], *boxes["per_iou"].values())]
            rows.append([name, shown, str(result["images"]), *numbers, _paper(PAPER_WSOL, shown, result["method"], 0)])
    return _markdown(head, rows)


def _masks(results: Results) -> list[str]:
    rows = [
        [name, shown, str(r["images"]), _percent(value), _paper(PAPER_WSOL, shown, r["method"], 2)]
        for name, r in results.items()
        for shown, value in r["maps"].items()
    ]
    return _markdown(["checkpoint", "map", "pictures", "PxAP", "the paper's (OpenImages)"], rows)


def _removal(results: Results) -> list[str]:
    shares = next(iter(next(iter(results.values()))["maps"].values()))["shares"]
    rows = []
    for name, result in results.items():
        for shown, curve in result["maps"].items():
            cells = [
                # Where nothing is recognised at random there is nothing to be relative to.
                f"{100 * value:.0f} ({100 * low:.0f} to {100 * high:.0f})" if low == low else "-"
                for value, (low, high) in zip(curve["relative"], curve["interval"], strict=True)
            ]
            rows.append([name, shown, str(result["images"]), *cells])
        at_random = next(iter(result["maps"].values()))["random"]
        rows.append([name, "accuracy at random", str(result["images"]), *(_percent(value) for value in at_random)])
    return _markdown(["checkpoint", "map", "pictures", *(f"{100 * share:.0f} %" for share in shares)], rows)


def _cues(results: Results) -> list[str]:
    head = ["checkpoint", "map", "1 part", "2 parts", "3 parts", "mean", "pairs", "pictures", "masks within"]
    head.append("the paper's, by parts and mean")
    rows = []
    for name, result in results.items():
        pairs = " + ".join(str(n) for n in result["pairs"].values())
        for shown, scores in result["maps"].items():
            groups = {int(n): value for n, value in scores["mPxAP"].items()}
            numbers = [_percent(groups[n]) if n in groups else "" for n in (1, 2, 3)]
            paper = PAPER_CUES.get(shown) or PAPER_CUES.get(f"{shown} {result['method']}") or ()
            row = [name, shown, *numbers, _percent(scores["mean"]), pairs, str(result["images"]), result["within"]]
            rows.append([*row, ", ".join(f"{value:.1f}" for value in paper)])
    return _markdown(head, rows)


def _axioms(results: Results) -> list[str]:
    head = [
        "checkpoint",
        "map",
        "pictures",
        "sum of the map",
        "p",
        "relative error (median, largest)",
        "terms: missed, unfounded",
        "terms: largest difference / p",
        "pixels: missed, unfounded",
        "pixels: rank correlation",
        "f + c changes the map by (largest)",
        "f + c changes p by (largest)",
    ]
    rows = []
    for name, result in results.items():
        for shown, found in result["maps"].items():
            whole, terms, same = found["completeness"], found["terms"], found["invariance"]
            pixels = found.get("pixels")
            rows.append(
                [
                    name,
                    shown,
                    str(result["images"]),
                    f"{whole['sum']:.4g}",
                    f"{whole['response']:.4g}",
                    f"{whole['median']:.2g}, {whole['largest']:.2g}",
                    f"{_percent(terms['missed'])} %, {_percent(terms['unfounded'])} %",
                    f"{terms['difference']:.2g}",
                    f"{_percent(pixels['missed'])} %, {_percent(pixels['unfounded'])} %" if pixels else "",
                    f"{pixels['rank correlation']:.2f}" if pixels else "",
                    f"{_percent(same['largest'])} %",
                    f"{same['response']:.1g}",
                ]
            )
    return _markdown(head, rows)
