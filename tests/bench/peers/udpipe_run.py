"""Train or parse with ufal.udpipe, on one thread, run by a Python that has it installed:

python udpipe_run.py parse MODEL FILE OUTPUT
python udpipe_run.py train MODEL TREEBANK

parse reads raw text with blank lines between paragraphs, writes CoNLL-U, and prints a line of JSON:
the seconds without imports, and the number of words of the output. train trains a tokenizer, tagger
and parser with UDPipe's default options, but with fewer iterations; to measure the speed, a model
trained on a part of a treebank is sufficient.
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
