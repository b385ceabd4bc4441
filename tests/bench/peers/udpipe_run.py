"""ufal.udpipe as depkit's peer, run by the Python that has it; it computes on one thread.

python udpipe_run.py parse MODEL FILE OUTPUT
python udpipe_run.py train MODEL TREEBANK

parse: raw text, blank lines between paragraphs, to CoNLL-U; prints a line of JSON: the seconds of
the whole but for imports, and the words of the output. train: tokenizer, tagger and parser with
UDPipe's own options, but for fewer iterations; a model of a slice will do to see how fast it is.
"""

import json
import sys
import time

from ufal.udpipe import (
    InputFormat,
    Model,
    OutputFormat,
    ProcessingError,
    Sentence,
    Sentences,
    Trainer,
)


def parse(model: str, file: str, output: str) -> None:
    began, words = time.perf_counter(), 0
    loaded = Model.load(model)
    if loaded is None:
        sys.exit(f"{model} is not a model of UDPipe")
    reader = loaded.newTokenizer(Model.DEFAULT)
    writer = OutputFormat.newOutputFormat("conllu")
    error = ProcessingError()
    sentence = Sentence()
    with open(file, encoding="utf-8") as text, open(output, "w", encoding="utf-8") as target:
        reader.setText(text.read())
        while reader.nextSentence(sentence, error):
            loaded.tag(sentence, Model.DEFAULT)
            loaded.parse(sentence, Model.DEFAULT)
            words += len(sentence.words) - 1
            target.write(writer.writeSentence(sentence))
            sentence = Sentence()
    if error.occurred():
        sys.exit(error.message)
    print(json.dumps({"seconds": time.perf_counter() - began, "words": words}))


def train(model: str, treebank: str) -> None:
    sentences, error = Sentences(), ProcessingError()
    reader = InputFormat.newInputFormat("conllu")
    with open(treebank, encoding="utf-8") as text:
        reader.setText(text.read())
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = Sentence()
    trained = Trainer.train(
        "morphodita_parsito", sentences, Sentences(),
        "epochs=10", "iterations=5", "iterations=3", error,
    )  # fmt: skip
    if error.occurred():
        sys.exit(error.message)
    with open(model, "wb") as file:
        file.write(trained)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"train": train, "parse": parse}[command](*arguments)
