"""No encoder, for inputs that are contextual already."""

from torch import Tensor, nn

from depkit.nn.settings import NoEncoder


class Identity(nn.Module):
    """Returns its inputs, with the interface of an encoder."""

    def __init__(self, input_size: int, settings: NoEncoder) -> None:
        super().__init__()
        self.output_size = input_size

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return x, [batch, length, input_size]."""
        return x
