"""Making a CALM of a classifier: what is asked of `calm-train adapt`, which runs beside the window, and what it says.

The training package isn't imported here: the command is another process, so that the window has nothing to wait for.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from calm_gui.model.files import write_text
from calm_gui.model.info import CheckpointInfo
from calm_gui.render.naming import number_text
from calm_gui.session.picture_files import file_stamp

__all__ = ["WHAT", "AdaptationPlan", "Told", "adaptation_folder", "reached_words", "said"]

WHAT: Mapping[str, str] = {
    "": "what suits the classifier",
    "saliency": "the saliency branch: quick",
    "head": "both branches",
    "last-stages": "both branches and the network's last stages: slow",
}
"""What can be trained, and how it's called."""

_LIST = "pictures.json"
_STAGES = {"loading": "loading the classifier", "features": "looking at pictures", "training": "training"}


@dataclass(frozen=True)
class AdaptationPlan:
    """What shall be made of what.

    Attributes
    ----------
    checkpoint : str
        Path of the classifier.
    pictures : tuple of str
        Pictures, or folders of them.
    out : Path
        Folder of the run.
    what : str
        A key of `WHAT`.
    device : str
    """

    checkpoint: str
    pictures: tuple[str, ...]
    out: Path
    what: str = ""
    device: str = "auto"

    def prepare(self) -> list[str]:
        """Write the list of pictures, which may be too long for a command line, and give the command.

        Raises
        ------
        ExportError, OSError
            If the folder can't be used.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        write_text(self.out / _LIST, json.dumps(list(self.pictures)), overwrite=True)
        return [
            *(sys.executable, "-m", "calm_training", "adapt", "--progress", "json"),
            *("--checkpoint", self.checkpoint, "--list", str(self.out / _LIST), "--out", str(self.out)),
            *("--device", self.device),
            *(("--what", self.what) if self.what else ()),
        ]

    @property
    def is_begun(self) -> bool:
        """Whether the folder holds a run, which goes on."""
        return (self.out / "adapt.json").exists()


def adaptation_folder(checkpoint: str, info: CheckpointInfo, pictures: Sequence[str], what: str) -> Path:
    """Where a run is kept unless another place is chosen: the same for the same wish, so that it goes on."""
    import hashlib  # off the start-up path, as OpenSSL with it

    about = [*file_stamp(checkpoint), checkpoint, [c.label for c in info.classes], info.assumed, list(pictures), what]
    key = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:12]
    folder = Path(platformdirs.user_data_dir("calm-gui", appauthor=False)) / "adapted"
    return folder / f"{Path(checkpoint).stem}-{key}"


class Told(NamedTuple):
    """What a line of the command says.

    Attributes
    ----------
    words : str
        What is being done.
    done, of : int
        How much of it; 0 of 0 where that isn't known.
    checkpoint : str
        What was made, at the end.
    measures : mapping
        What it reached, at the end.
    """

    words: str
    done: int = 0
    of: int = 0
    checkpoint: str = ""
    measures: Mapping[str, Any] = {}


def said(line: str) -> Told | None:
    """What a line of the command's stdout says; None where it is none of ours."""
    try:
        data = json.loads(line)
        stage = str(data["stage"])
        if stage == "done":
            return Told("done", 1, 1, str(data["checkpoint"]), dict(data["measures"]))
        return Told(_STAGES.get(stage, stage), int(data["done"]), int(data["of"]), "", {})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def reached_words(name: str, measures: Mapping[str, Any]) -> str:
    """What was reached, in a sentence or two."""
    agreement, apart = measures.get("top-1 agreement"), measures.get("mean |dp|")
    count = measures.get("pictures held out")
    if not isinstance(agreement, float | int) or not isinstance(apart, float | int):
        return f"{name} is a CALM."
    words = (
        f"On {count} pictures it names the class of {name} for {agreement:.0%}, and its p differs by "
        f"{number_text(apart)} on average."
    )
    left_out = measures.get("left out") or []
    return words + (f" {len(left_out)} pictures were left out: {left_out[0]}." if left_out else "")
