"""Pictures in the repository: full colour where they show maps, and not too many bytes."""

import subprocess
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = (".png", ".webp", ".jpg", ".jpeg", ".svg", ".gif")
WITHOUT_MAPS = ("checkpoint", "keys", "annotate", "settings")
"""Pictures of dialogs that show text alone."""


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name.endswith(SUFFIXES) and (ROOT / name).is_file()]


@pytest.mark.parametrize("path", sorted((ROOT / "docs/images").iterdir()), ids=lambda path: path.name)
def test_pictures_of_maps_are_in_full_colour(path: Path) -> None:
    with Image.open(path) as image:
        colours = image.convert("RGB").getcolors(maxcolors=256)  # None where there are more
    assert colours is None or path.stem in WITHOUT_MAPS


def test_tracked_pictures_are_under_twelve_megabytes() -> None:
    assert 0 < sum(path.stat().st_size for path in tracked()) < 12_000_000
