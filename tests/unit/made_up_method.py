"""A method from outside, in one file: the input's own brightness, whatever the class."""

from torch import Tensor, nn

from calm_gui.methods import Method


class Brightness(Method):
    """Mean of the normalised channels."""

    key = "brightness"
    title = "Brightness"

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """Asks the score once, as a method must."""
        score(inputs)
        return inputs[0].mean(dim=0)


BRIGHTNESS = Brightness()
