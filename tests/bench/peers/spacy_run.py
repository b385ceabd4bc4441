"""spaCy 3.8 as depkit's peer, run by the Python that has it:

python spacy_run.py parse MODEL FILE OUTPUT PROCESSES

Raw text, blank lines between paragraphs, through nlp.pipe with its own batch sizes; a paragraph's
sentences come out as rows of ten columns. Prints a line of JSON: the seconds of the whole but for
imports, and the words of the output.
"""

import json
import sys
import time
from collections.abc import Iterator

import spacy
from spacy.tokens import Doc


def paragraphs(file: str) -> Iterator[str]:
    with open(file, encoding="utf-8") as text:
        lines: list[str] = []
        for line in text:
            if line.strip():
                lines.append(line.strip())
            elif lines:
                yield " ".join(lines)
                lines = []
        if lines:
            yield " ".join(lines)


def rows(doc: Doc) -> Iterator[str]:
    """A line a word, a blank line after each sentence; white space is no word of CoNLL-U."""
    for sentence in doc.sents:
        words = [token for token in sentence if not token.is_space]
        place = {token.i: number for number, token in enumerate(words, 1)}
        for number, token in enumerate(words, 1):
            head = 0 if token.head.i == token.i else place.get(token.head.i, 0)
            yield (
                f"{number}\t{token.text}\t_\t_\t{token.tag_ or '_'}\t_\t{head}"
                f"\t{token.dep_ if head else 'root'}\t_\t_\n"
            )
        yield "\n"


def parse(model: str, file: str, output: str, processes: str) -> None:
    began, words = time.perf_counter(), 0
    parser = spacy.load(model, exclude=["ner"])
    with open(output, "w", encoding="utf-8") as target:
        for doc in parser.pipe(paragraphs(file), n_process=int(processes)):
            lines = list(rows(doc))
            words += sum(line != "\n" for line in lines)
            target.writelines(lines)
    print(json.dumps({"seconds": time.perf_counter() - began, "words": words}))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"parse": parse}[command](*arguments)
