"""A checkpoint in memory, ready to explain pictures."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from calm_gui.core.classes import ClassTable
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.geometry import Geometry
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.core.presenter import Presenter
from calm_gui.errors import CheckpointError, DeviceMemoryError, HierarchyError
from calm_gui.model.answers import Answers, identity, recall_answers, remember_answers
from calm_gui.model.backbones import family_of
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.checkpoint import CheckpointInfo, fitted_network, read_checkpoint
from calm_gui.model.classifier import Classifier
from calm_gui.model.device import choose_device, full_float32
from calm_gui.model.explained import checkpoint_source, explained
from calm_gui.model.files import sha256_of
from calm_gui.model.folding import folded
from calm_gui.model.formats import open_foreign
from calm_gui.model.info import is_ours
from calm_gui.model.input import prepare
from calm_gui.model.normalised import prepared_tensors
from calm_gui.model.picture import Picture, as_picture
from calm_gui.model.pixels import is_tensor

__all__ = ["LoadedModel", "PictureLike", "load_model", "load_remembering"]

PictureLike = str | Path | Picture | Image.Image | NDArray[Any] | Tensor | bytes | IO[bytes]
"""One picture, in any form that `LoadedModel.explain` takes."""


class LoadedModel:
    """A network with its classes, hierarchy and preprocessing.

    Always in evaluation mode; explaining never changes it.

    Parameters
    ----------
    network : HeadNetwork or Classifier
    info : CheckpointInfo
    device : torch.device
    name : str
    sha256 : str
        Of the checkpoint file, or empty.
    presenter : Presenter, optional
        Given to every explanation.
    path : Path, optional
        Where the checkpoint lies.

    Attributes
    ----------
    classes : ClassTable
    hierarchy : Hierarchy or None
    supersets : SupersetTable
    answers : dict
        What was answered for a file that doesn't say what it is, as `Answers.brief`; empty for others.
    grid : (int, int)
        Rows and columns of the native grid.
    folded_network : torch.nn.Module
        What explains: `network` with batch normalisation folded, or `network` where that can't be.
    """

    def __init__(
        self,
        network: HeadNetwork | Classifier,
        info: CheckpointInfo,
        device: torch.device,
        name: str = "",
        sha256: str = "",
        presenter: Presenter | None = None,
        path: Path | None = None,
        answers: Answers | None = None,
    ) -> None:
        network.eval().requires_grad_(False)
        inference = folded(network)
        self.network = network.to(device).to(memory_format=torch.channels_last)
        self.folded_network = inference.to(device).to(memory_format=torch.channels_last)
        self.info = info
        self.device = device
        self.name = name
        self.sha256 = sha256
        self.path = path
        self.answers = (answers or Answers()).brief()
        self.presenter = presenter
        self.classes: ClassTable = info.classes
        self.hierarchy: Hierarchy | None = info.hierarchy
        self.supersets: SupersetTable = info.superset_table
        self.grid = self._find_grid()

    @property
    def identity(self) -> str:
        """What results are kept by: the file's hash, and that of what was answered where the file doesn't say."""
        return identity(self.sha256, self.answers)

    @property
    def weight_bytes(self) -> int:
        """Memory of all weights, of which the network and its folded form share some."""
        found = {
            tensor.data_ptr(): tensor.numel() * tensor.element_size()
            for network in (self.network, self.folded_network)
            for tensor in (*network.parameters(), *network.buffers())
        }
        return sum(found.values())

    def give_hierarchy(self, hierarchy: Hierarchy | None, supersets: Sequence[str] = (), said: str = "") -> None:
        """Speak of other groups of the same classes from now on.

        Parameters
        ----------
        hierarchy : Hierarchy or None
        supersets : sequence of str
            Keys of its nodes that are listed as supersets.
        said : str
            What exports and batches know it by, such as the SHA-256 of its file; they then insist on the same.

        Raises
        ------
        HierarchyError
            If it is one of other classes.
        """
        if hierarchy is not None and hierarchy.n_classes != len(self.classes):
            raise HierarchyError(
                f"the hierarchy is one of {hierarchy.n_classes} classes, and {self.name} has {len(self.classes)}"
            )
        self.info = replace(self.info, hierarchy=hierarchy, supersets=tuple(supersets))
        self.hierarchy, self.supersets = hierarchy, self.info.superset_table
        if said:
            self.answers["hierarchy"] = said

    def __repr__(self) -> str:
        kind = {"cam": "CAM"}.get(self.info.method, self.info.method)
        rows, columns = self.grid
        return (
            f"<LoadedModel {self.name or 'unnamed'}: {kind} on {self.info.backbone}, {len(self.classes)} classes, "
            f"{rows}x{columns} cells, {self.device}>"
        )

    def _find_grid(self) -> tuple[int, int]:
        """The native grid; from the stride where that tells it, else from a forward pass."""
        if isinstance(self.network, Classifier):
            return self.network.grid
        size, stride = self.info.input.size, self.info.output_stride
        if size % stride == 0 and not self.info.is_own_network and family_of(self.info.backbone, stride).strides:
            return size // stride, size // stride
        f, _ = self.raw(torch.zeros(1, 3, size, size))
        return int(f.shape[2]), int(f.shape[3])

    def raw(self, inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Raw outputs f (B,C,H,W) and a (B,1,H,W) (None for CAM) of prepared inputs, on the device, float32.

        Raises
        ------
        DeviceMemoryError
            If the device has too little memory.
        """
        with torch.inference_mode(), full_float32():
            inputs = inputs.to(self.device).contiguous(memory_format=torch.channels_last)
            try:
                outputs: tuple[Tensor, Tensor | None] = self.folded_network(inputs)
            except torch.OutOfMemoryError as error:
                raise DeviceMemoryError(
                    f"{self.device} has too little memory for this checkpoint; use the CPU or a smaller batch"
                ) from error
            return outputs

    @overload
    def explain(self, picture: PictureLike, *, normalized: bool = False) -> Any: ...
    @overload
    def explain(self, picture: Sequence[PictureLike], *, normalized: bool = False) -> list[Any]: ...
    def explain(self, picture: Any, *, normalized: bool = False) -> Any:
        """Explain a picture, or several.

        Parameters
        ----------
        picture : PictureLike, or a list of these, or a Tensor (B,3,h,w)
            A path, bytes of a file, a file object, a PIL image, a `Picture`, or an array or tensor as
            `calm_gui.model.pixels.rgb_pixels` takes it: floating point is RGB in 0..1, and is preprocessed.
        normalized : bool
            A tensor (3,size,size) or (B,3,size,size) is the network's input already.

        Returns
        -------
        Explanation, CamExplanation for a CAM checkpoint, or ClassifierExplanation; for several a list of these

        Raises
        ------
        PictureError
            If the picture can't be opened.
        NumericalError
            If the network's output is no probability.
        """
        if normalized:
            pictures, prepared = prepared_tensors(picture, self.info.input, self.grid)
            found = self.explain_batch(pictures, prepared)
            return found if picture.ndim == 4 else found[0]
        if isinstance(picture, (list, tuple)) or (is_tensor(picture) and picture.ndim == 4):
            return self.explain_batch(list(picture))
        return self.explain_batch([picture])[0]

    def prepare(self, picture: Picture) -> tuple[Tensor, Geometry]:
        """Network input (1,3,size,size) of a picture, and its geometry; may run on any thread."""
        return prepare(picture, self.info.input, self.grid)

    def explain_batch(
        self, pictures: Sequence[PictureLike], prepared: Sequence[tuple[Tensor, Geometry]] | None = None
    ) -> list[AnyExplanation]:
        """Explain several pictures in one forward pass; `prepared` spares calling `prepare` on each."""
        opened = [as_picture(picture) for picture in pictures]
        if not opened:
            return []
        prepared = prepared or [self.prepare(picture) for picture in opened]
        tensors = [tensor for tensor, _ in prepared]
        f, a = self.raw(torch.cat(tensors) if len(tensors) > 1 else tensors[0])
        if not isinstance(self.network, Classifier) and tuple(f.shape[2:]) != self.grid:
            raise CheckpointError(
                f"{self.name} gives a grid of {tuple(f.shape[2:])}, but its output stride of "
                f"{self.info.output_stride} promises {self.grid}"
            )
        f_rows = f.cpu().numpy()
        a_rows = None if a is None else a.cpu().numpy()
        return [
            self._explanation(picture, geometry, f_rows[i], None if a_rows is None else a_rows[i])
            for i, (picture, (_, geometry)) in enumerate(zip(opened, prepared, strict=True))
        ]

    def _explanation(
        self, picture: Picture, geometry: Geometry, f: NDArray[np.float32], a: NDArray[np.float32] | None
    ) -> AnyExplanation:
        source = checkpoint_source(self.info, self.name, self.path, self.sha256, self.answers)
        plain = isinstance(self.network, Classifier)
        return explained(f, a, picture, geometry, self.info, source, self.presenter, plain=plain)


def load_model(
    path: str | Path,
    device: str | torch.device = "auto",
    presenter: Presenter | None = None,
    progress: Callable[[str], None] = lambda _: None,
    answers: Answers | None = None,
) -> LoadedModel:
    """Load a checkpoint file.

    Parameters
    ----------
    path : str or Path
    device : str or torch.device
        As `choose_device` takes it.
    presenter : Presenter, optional
    progress : callable
        Told in words what is being done.
    answers : Answers, optional
        What a file of another program doesn't say.

    Raises
    ------
    AnswersNeeded
        If the file can be used once its user has said what it is.
    CheckpointError
        If the file can't be used; the message says why.
    """
    path = Path(path)
    chosen = choose_device(device)
    progress(f"reading {path.name}")
    network: HeadNetwork | Classifier
    given = Answers()
    if is_ours(path):
        info, tensors = read_checkpoint(path)
        progress(f"building {info.backbone}")
        network = fitted_network(info, tensors, path.name)
    else:
        info, network, given = open_foreign(path, answers or Answers())
    return LoadedModel(network, info, chosen, path.name, sha256_of(path), presenter, path, given)


def load_remembering(
    path: str | Path,
    device: str | torch.device = "auto",
    presenter: Presenter | None = None,
    progress: Callable[[str], None] = lambda _: None,
    answers: Answers | None = None,
) -> LoadedModel:
    """Load a checkpoint file with what was answered for it before; new answers are kept once they have served.

    Parameters and errors are those of `load_model`. Answers are found by the file's hash.
    """
    path = Path(path)
    if not path.is_file() or is_ours(path):
        return load_model(path, device, presenter, progress)
    sha256 = sha256_of(path)
    given = answers or Answers()
    known = given.over(recall_answers(sha256))
    model = load_model(path, device, presenter, progress, known)
    if given != Answers():
        remember_answers(sha256, known)
    return model
