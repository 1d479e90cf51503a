"""Explaining against the bare network, and the map of another class against other libraries."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.timing import Row, interleaved, times_of

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.model.picture import Picture

__all__ = ["model_rows", "peer_calls", "peer_rows"]


def model_rows() -> list[Row]:
    """explain() against backbone and branches alone; probabilities of all nodes."""
    import torch

    import calm_gui
    from calm_gui.api import sample_pictures
    from calm_gui.model.input import prepare
    from calm_gui.model.picture import load_picture

    model = calm_gui.load_checkpoint("demo", device="cpu")
    picture = load_picture(sample_pictures()[0])
    tensor, _ = prepare(picture, model.info.input, model.grid)
    tensor = tensor.contiguous(memory_format=torch.channels_last)

    def bare() -> None:
        with torch.inference_mode():
            model.network(tensor)

    rows = [
        Row("explain() against the bare network", interleaved(lambda: model.explain(picture), bare, 25), "times", 1.07)
    ]
    explanation = model.explain(picture)
    hierarchy, p = model.hierarchy, explanation.class_probabilities
    assert hierarchy is not None
    rows.append(Row("probabilities of all nodes", times_of(lambda: hierarchy.probabilities(p), 51).median, "ms", 2))
    return rows


def peer_calls(model: "LoadedModel", picture: "Picture") -> "dict[str, Callable[[], object]]":
    """What other libraries that are installed do for the map of one class, on the same network and device."""
    import torch

    from calm_gui.model.calm import HeadNetwork
    from calm_gui.model.input import prepare

    tensor = prepare(picture, model.info.input, model.grid)[0].to(model.device)
    network = model.network
    assert isinstance(network, HeadNetwork)

    class Logits(torch.nn.Module):
        """Class scores of the same network, as the other libraries want them."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.network(x)[0].mean(dim=(2, 3))
            return scores

    classifier = Logits().eval()
    for parameter in classifier.parameters():
        parameter.requires_grad_(True)
    calls: dict[str, Callable[[], object]] = {}
    try:
        from captum.attr import LayerGradCam

        layer = LayerGradCam(classifier, network.backbone)
        calls["captum LayerGradCam"] = lambda: layer.attribute(tensor, target=151)
    except ImportError:
        pass
    try:
        from pytorch_grad_cam import GradCAM
        from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

        cam = GradCAM(model=classifier, target_layers=[network.backbone])
        calls["pytorch-grad-cam"] = lambda: cam(input_tensor=tensor, targets=[ClassifierOutputTarget(151)])
    except ImportError:
        pass
    return calls


def peer_rows() -> list[Row]:
    """The map of another class, without painting, against captum and pytorch-grad-cam on the same network."""
    import numpy as np

    import calm_gui
    from calm_gui.api import sample_pictures
    from calm_gui.model.picture import load_picture

    model = calm_gui.load_checkpoint("demo", device="cpu")
    picture = load_picture(sample_pictures()[0])
    explanation = model.explain(picture)
    assert model.hierarchy is not None
    dogs = list(model.hierarchy["n02084071"].classes)
    ours_one = times_of(lambda: explanation.attribution(int(np.random.default_rng().integers(1000))), 101).median
    ours_set = times_of(lambda: explanation.attribution(dogs), 101).median
    return [
        row
        for name, call in peer_calls(model, picture).items()
        for row in _against(name, times_of(call, 5, 1).median, ours_one, ours_set, len(dogs))
    ]


def _against(name: str, theirs: float, ours_one: float, ours_set: float, size: int) -> list[Row]:
    return [
        Row(
            f"another class, {name} over ours",
            theirs / ours_one,
            "times",
            100,
            False,
            f"{theirs:.0f} / {ours_one:.3f} ms",
        ),
        Row(
            f"{size} classes, {name} over ours",
            size * theirs / ours_set,
            "times",
            5000,
            False,
            f"{ours_set:.3f} ms ours",
        ),
    ]
