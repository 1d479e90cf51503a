"""What a backbone is."""

from torch import nn

__all__ = ["Backbone"]


class Backbone(nn.Module):
    """A network without its classifier: pictures (B,3,h,w) to features (B,L,H,W).

    Attributes
    ----------
    channels : int
        Channels L of the features.
    """

    channels: int
