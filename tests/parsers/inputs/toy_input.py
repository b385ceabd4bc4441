"""A toy input: an embedding of the vowels of a word, in a file outside the package."""

from typing import ClassVar

import torch
from torch import nn

from depkit.files.errors import FormatError
from depkit.parsers.inputs.part import Part
from depkit.parsers.inputs.tables import SPECIAL, UNKNOWN, TableRule


def vowels(form):
    return "".join(character for character in form.lower() if character in "aeiou")


class Vowels(Part):
    name = "vowels"
    group = "vowels"
    table = "vowels"
    first_symbols = SPECIAL
    lengths: ClassVar[list[int]] = []  # what its module has read

    @property
    def size(self):
        return 5

    def table_rule(self):
        return TableRule(self.table, lambda sentence: map(vowels, sentence.form), SPECIAL)

    def check(self, sentence):
        if "xyz" in sentence.form:
            raise FormatError(*sentence.location(), "a word has no vowels")

    def encode(self, text, vocabulary):
        get = vocabulary.tables[self.table].get
        return {"vowels": text.per_form(lambda form: get(vowels(form)), 0, 2)}

    def module(self, vocabulary, transformer):
        return nn.Embedding(len(vocabulary.tables[self.table]), self.size)

    def vectors(self, module, batch):
        self.lengths.append(batch.length)
        return module(batch["vowels"])

    def embeddings(self, module):
        return {"vowels": module}

    def start_epoch(self, module, words):
        assert torch.isfinite(module.weight).all() and (words["vowels"] != UNKNOWN).any()

    def describe(self):
        return "vowels"
