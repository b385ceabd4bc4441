"""A tokenizer with random weights."""

import torch

from depkit.parsers.engine.torch_engine import TorchEngine
from depkit.parsers.text.multiword import MultiwordTable
from depkit.parsers.text.network import TokenizerNetwork
from depkit.parsers.text.rules import TextRules
from depkit.parsers.text.tokenizer import Tokenizer, build_character_table

CHARACTERS = build_character_table(["abc.' "] * 3)


def make_tokenizer(spaces=False, table=None, **rules):
    """Return a tokenizer with random weights: the tests pass for any labels.

    rules: attributes of its TextRules.
    """
    torch.manual_seed(1)
    network = TokenizerNetwork(len(CHARACTERS), 4, 4, dilations=(1,))
    engine = TorchEngine(network, torch.device("cpu"))
    return Tokenizer(CHARACTERS, table or MultiwordTable(), spaces, engine, TextRules(**rules))
