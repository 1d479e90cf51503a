"""ImageNet-1k's classes, WordNet graph and supersets from the bundled data, ready for a checkpoint's metadata."""

import json
from pathlib import Path
from typing import Any

import calm_resources
from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.hierarchy import Hierarchy

__all__ = ["imagenet_classes", "imagenet_hierarchy", "imagenet_supersets"]


def imagenet_classes() -> ClassTable:
    """The 1,000 classes in the usual order of sorted wnids."""
    return ClassTable(
        ClassInfo(row["index"], row["name"], row["wnid"], tuple(row.get("synonyms", ())), row.get("gloss", ""))
        for row in _table("classes")["classes"]
    )


def imagenet_hierarchy(classes: ClassTable) -> Hierarchy:
    """The WordNet graph above the classes."""
    return Hierarchy.from_json(_table("hierarchy"), classes)


def imagenet_supersets() -> tuple[str, ...]:
    """Wnids of the paper's supersets."""
    return tuple(row["wnid"] for row in _table("supersets")["rows"])


def _table(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(calm_resources.path(f"imagenet/{name}.json")).read_text("utf-8"))
    return content
