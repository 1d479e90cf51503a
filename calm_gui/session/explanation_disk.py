"""Explanations of earlier days: found and kept by what they depend on, without the network where that can be."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calm_gui.core.explanation import AnyExplanation, Explanation
from calm_gui.core.geometry import Geometry
from calm_gui.errors import CalmError
from calm_gui.model.files import sha256_of
from calm_gui.model.info import CheckpointInfo, is_ours
from calm_gui.session.picture_files import file_stamp

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.model.picture import Picture
    from calm_gui.session.explanation_files import ExplanationFiles

__all__ = ["ExplanationDisk"]

_log = logging.getLogger(__name__)


class ExplanationDisk:
    """Explanations in a folder of files.

    Used by the worker alone, save `files`.

    Parameters
    ----------
    files : ExplanationFiles or None
        None keeps and finds nothing.
    """

    def __init__(self, files: ExplanationFiles | None) -> None:
        self.files = files
        self._hashes: dict[str, tuple[tuple[int, int], str]] = {}

    def find(
        self, checkpoint: str, info: CheckpointInfo | None, device: str, picture: Picture, model: LoadedModel | None
    ) -> AnyExplanation | None:
        """The explanation of a picture if it is kept.

        Parameters
        ----------
        checkpoint : str
            Its path.
        info : CheckpointInfo or None
        device : str
            As it was asked for.
        picture : Picture
        model : LoadedModel or None
            None finds explanations by files of our own format alone: what another one holds is known only once it is
            loaded.
        """
        if self.files is None:
            return None
        from calm_gui.model.explained import checkpoint_source, explained
        from calm_gui.render import PRESENTER
        from calm_gui.session.explanation_files import explanation_key

        answers: dict[str, Any] = {}
        try:
            if model is not None:
                info, resolved, sha256, answers = model.info, str(model.device), model.sha256, model.answers
            elif info is not None and is_ours(checkpoint) and (known := self.files.device_of(device)):
                resolved, sha256 = known, self._sha256(checkpoint)
            else:
                return None
            raw = self.files.get(explanation_key(picture.sha256, sha256, answers, info, resolved))
            if raw is None:
                return None
            f, a = raw
            plain = info.method == "classifier"  # its logits don't tell the grid of the features
            if plain and model is None:
                return None
            grid = model.grid if plain and model is not None else (f.shape[1], f.shape[2])
            side = info.input.size
            geometry = Geometry.fit(picture.size, (side, side), grid, info.input.resize)
            path = Path(checkpoint)
            source = checkpoint_source(info, path.name, path, sha256, answers)
            return explained(f, a, picture, geometry, info, source, PRESENTER, plain=plain)
        except (CalmError, OSError) as error:
            _log.warning("what was kept of %s can't be used: %s", picture.name, error)
            return None

    def keep(self, model: LoadedModel, device: str, explanation: AnyExplanation) -> None:
        """Keep the raw outputs of an explanation that a model has just given."""
        picture = explanation.source.get("picture", {}).get("sha256")
        if self.files is None or not picture or not model.sha256:
            return
        from calm_gui.session.explanation_files import explanation_key

        key = explanation_key(picture, model.sha256, model.answers, model.info, str(model.device))
        a = explanation.a[None] if isinstance(explanation, Explanation) else None
        self.files.keep(key, explanation.f, a)
        self.remember(device, model)

    def remember(self, device: str, model: LoadedModel) -> None:
        """Keep which device was meant."""
        if self.files is not None:
            self.files.remember_device(device, str(model.device))

    def device_of(self, device: str) -> str | None:
        """The device that a word stood for the last time."""
        return self.files.device_of(device) if self.files is not None else None

    def _sha256(self, checkpoint: str) -> str:
        stamp = file_stamp(checkpoint)
        known = self._hashes.get(checkpoint)
        if known is None or known[0] != stamp:
            self._hashes[checkpoint] = known = stamp, sha256_of(checkpoint)
        return known[1]
