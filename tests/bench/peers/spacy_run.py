"""Parse with spaCy 3.8, run by a Python that has it installed:

python spacy_run.py parse MODEL FILE OUTPUT PROCESSES

The input is raw text with blank lines between paragraphs, which nlp.pipe parses with its default
batch sizes. The output has ten columns. The script prints a line of JSON: the seconds without
imports, and the number of words of the output.
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
    """Yield a line per word and a blank line after each sentence; omit white-space tokens."""
    for sentence in doc.sents:
        words = [token for token in sentence if not token.is_space]
        position = {token.i: number for number, token in enumerate(words, 1)}
        for number, token in enumerate(words, 1):
            head = 0 if token.head.i == token.i else position.get(token.head.i, 0)
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
