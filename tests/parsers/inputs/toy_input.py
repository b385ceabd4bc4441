"""A toy input: an embedding of the vowels of a word, in a file outside the package."""

from dataclasses import dataclass

import torch
from torch import nn

from depkit.files.bounds import setting
from depkit.files.errors import FormatError
from depkit.parsers.inputs.part import Part
from depkit.parsers.inputs.tables import SPECIAL, UNKNOWN, TableRule


def vowels(form):
    return "".join(character for character in form.lower() if character in "aeiou")


@dataclass(frozen=True)
class VowelSettings:
    vowels: int = 0
    vowel_dropout: float = setting(0.0, below=1, needs="vowels")


class Vowels(Part):
    settings = VowelSettings
    name = main_setting = "vowels"
    group = "vowels"
    table = "vowels"
    first_symbols = SPECIAL

    @property
    def vector_dropout(self):
        return self.inputs.vowel_dropout

    def table_rule(self):
        return TableRule(self.table, lambda sentence: map(vowels, sentence.form), SPECIAL)

    def check(self, sentence):
        if "xyz" in sentence.form:
            raise FormatError(*sentence.location(), "a word has no vowels")

    def encode(self, source, vocabulary):
        get = vocabulary.tables[self.table].get
        return {"vowels": source.per_form(lambda form: get(vowels(form)), 0, 2)}

    def module(self, vocabulary, transformer):
        return nn.Embedding(len(vocabulary.tables[self.table]), self.size)

    def vectors(self, module, batch):
        return module(batch["vowels"])

    def embeddings(self, module):
        return {"vowels": module}

    def start_epoch(self, module, words):
        assert torch.isfinite(module.weight).all() and (words["vowels"] != UNKNOWN).any()

    def describe(self):
        return "vowels"


if __name__ == "__main__":
    # Runs commands of depkit with this input. The arguments are one command, or several that are
    # separated by "+"; prints the exit status of each to stderr.
    import sys

    from depkit.parsers.inputs import parts

    parts.PARTS = (*parts.PARTS, Vowels)

    from depkit.cli.main import run

    commands = [[]]
    for argument in sys.argv[1:]:
        if argument == "+":
            commands.append([])
        else:
            commands[-1].append(argument)
    for command in commands:
        print("status", run(command), file=sys.stderr)
