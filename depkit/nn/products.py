"""Modules that multiply their input by matrices."""

from torch import nn


class MatrixProduct(nn.Module):
    """A module all of whose weights are matrices of products, or are added to the products.

    As those of `nn.Linear` and `nn.LSTM`, which are such modules, too, the weights can be stored in
    half precision for prediction.
    """
