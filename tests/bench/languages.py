"""Train the bundled models of languages other than English, and compare them with UDPipe 1.

python -m tests.bench languages train CODE... --data DIR -o MODELS [--packages P --transformer E]
python -m tests.bench languages bundle CODE... --data DIR -o MODELS
python -m tests.bench languages profile CODE... --data DIR -o MODELS [--packages P]
python -m tests.bench languages table CODE... --data DIR --udpipe PYTHON -o MODELS
python -m tests.bench languages speed en CODE... --packages P

DIR has a folder for each language with the files TREEBANK.train.conllu.gz and
TREEBANK.dev.conllu.gz; languages.toml says which treebanks a model is trained on. MODELS is the
folder of the trained models. Models with `text` in languages.toml also need the manuals in the
folder P (see `manuals`), and multilingual-e5-small in the folder E, as the transformers library
stores it. `bundle` copies the models into the package, and writes their cards with the scores on
the dev part of the first treebank. `profile` writes the file with which depkit recognises the
language; without treebanks in languages.toml, it is learned from the translations in P. `table`
prints the scores of the bundled models beside those of UDPipe, trained on the same files with the
options of its published models, including a tokenizer; its models are kept in MODELS, too. `speed`
prints how fast the bundled models read the manuals in P, when they read them for the first and for
the second time.
"""

import argparse
import gzip
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from depkit import Sentence, read, write
from depkit.files.atomic import atomic_directory
from depkit.parsers.model_directory import (
    BUNDLED,
    CARD,
    CONFIG,
    bundled_models,
    find_model,
    model_files,
)
from depkit.parsers.text.language import PROFILES
from depkit.score.conll18 import evaluate_aligned
from depkit.training.passages import make_passages
from depkit.trees.shape import has_crossing_arcs
from tests.bench.manuals import choose_prose, read_interface, read_manuals
from tests.bench.profiles import make_profile, to_json
from tests.bench.small import NON_PROJECTIVE, UDPIPE

FACTS = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
LANGUAGES, TREEBANKS = FACTS["languages"], FACTS["treebanks"]
PROFILED = LANGUAGES | FACTS["profiles"]
DEPKIT = [sys.executable, "-m", "depkit"]
GOLD_METRICS = ("UPOS", "UFeats", "Lemmas", "UAS", "LAS")
RAW_METRICS = ("Tokens", "Sentences", "Words", *GOLD_METRICS)
KEEPS_LAST = "training.keep=last"
TIMED_WORDS = 50_000
PROFILE_WORDS = 150_000  # of translations
# How much lower than `low` of a profile of translations the scores of other texts become: the mean
# of cs, de, es, fi, fr, it, nl, pl, pt, ru, sv, tr and uk, with the dev parts of treebanks
TRANSLATED = 0.45
HELD_OUT = "one sentence in twenty was held out {}for calibration"
TUNING = "--set tokenizer.epochs=20 --set training.context_rate=2e-4".split()
LEARNED = "distillation.columns=['upos','lemma']"  # XPOS and FEATS of the teacher are no better
CARD_TEXT = Path(__file__).with_name("language_card.md").read_text("utf-8")
LICENCE_TEXT = """\
The model in this directory is licensed {model_licence}.

It was trained on the train parts of these treebanks of Universal Dependencies,
https://universaldependencies.org, whose texts and annotation are by their authors:

{treebanks}
"""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench languages", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("codes", nargs="*", metavar="CODE", help="by default, all languages")
    parser.add_argument("--data", type=Path)
    parser.add_argument("-o", dest="models", type=Path)
    parser.add_argument("--packages", type=Path, default=Path(), help="see `manuals`")
    parser.add_argument("--transformer", type=Path, default=Path(), help="multilingual-e5-small")
    parser.add_argument("--udpipe", default="", help="Python with ufal.udpipe and gensim")
    arguments = parser.parse_args(argv)
    if arguments.action != "speed" and not (arguments.data and arguments.models):
        parser.error("--data and -o are required")
    for code in arguments.codes or LANGUAGES:
        with TemporaryDirectory() as folder:
            ACTIONS[arguments.action](code, Path(folder), arguments)


def train(code: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Train the model of a language by the commands of its card; continue what was interrupted."""
    train_files(code, arguments.data, arguments.models)
    own = {
        "depkit": DEPKIT, "python": [sys.executable], "DIR": [arguments.packages.resolve()],
        "multilingual-e5-small": [arguments.transformer.resolve()],
    }  # fmt: skip
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path[1:]])}
    for command in commands(code):
        output = arguments.models / command[-1]
        if output.exists() and command[0] == "depkit":
            command.insert(2, "--resume")
        elif output.exists():
            continue
        words = [part for word in command for part in own.get(word, [word])]
        subprocess.run(words, cwd=arguments.models, env=environment, check=True)


def commands(code: str) -> list[list[str]]:
    """Return the commands that train the model of a language, each with its output at the end.

    With `text`, the model is the student of a transformer that is tuned on the same treebanks, and
    reads the text of manuals, too.
    """
    files = [f"{treebank}-ud-train.conllu" for treebank in LANGUAGES[code]["treebanks"]]
    training = "--dev-split 0.05 --recipe {} --threads 1 --seed 1 --epochs {}"
    student = training.format("language", LANGUAGES[code]["epochs"]).split()
    student += setting_options(code)
    if "text" not in LANGUAGES[code]:
        return [["depkit", "train", *files, *student, "-o", code]]
    text, transformer, teacher = f"{code}.txt", f"{code}.e5", f"{code}.teacher"
    facts = LANGUAGES[code]["text"]
    tuning = [*training.format("finetune", facts["epochs"]).split(), *TUNING]
    if len(files) > 1:
        first = LANGUAGES[code]["treebanks"][0]
        tuning += ["--set", "inputs.treebank=32", "--set", f"tokenizer.treebank={first}"]
    if "depth" in facts:
        tuning += ["--set", f"inputs.context.depth={facts['depth']}"]
    pieces = ["python", "-m", "tests.bench", "pieces", "multilingual-e5-small"]
    manuals = ["python", "-m", "tests.bench", "manuals", code, "--packages", "DIR"]
    trees = [x for file in files for x in ("--train", file)]
    student += ["--set", f"distillation.text={facts['ratio']}", "--set", LEARNED]
    large = f"{code}.large" if "vocabulary" in facts else code
    steps = [
        [*manuals, "--words", str(facts["words"]), "-o", text],
        [*pieces, text, *files, "-o", transformer],
        ["depkit", "train", *files, *tuning, "--set", f"inputs.context.model={transformer}", "-o",
         teacher],
        ["depkit", "distill", teacher, text, *trees, *student, "-o", large],
    ]  # fmt: skip
    if "vocabulary" in facts:
        words = ["python", "-m", "tests.bench", "words", large, *files]
        words += ["--keep", str(facts["vocabulary"])]
        words += ["--scripts", str(facts["scripts"])] if "scripts" in facts else []
        steps.append([*words, "-o", code])
    return steps


def train_files(code: str, data: Path, folder: Path) -> list[str]:
    """Unpack the train parts of a language into a folder; return the names of the files."""
    names = []
    for treebank in PROFILED[code]["treebanks"]:
        names.append(f"{treebank}-ud-train.conllu")
        unpack(find(data, f"{treebank}.train.conllu.gz"), folder / names[-1])
    return names


def find(data: Path, name: str) -> Path:
    """Return the file of an unrestricted treebank."""
    (path,) = data.glob(f"*/{name}")
    return path


def unpack(source: Path, target: Path) -> None:
    with gzip.open(source) as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file)


def setting_options(code: str) -> list[str]:
    """Return the options of a language that set something else than the recipe."""
    facts = LANGUAGES[code]
    first, *others = facts["treebanks"]
    vectors = ["inputs.treebank=16", f"tokenizer.treebank={first}"] if others else []
    return [x for setting in [*vectors, *facts.get("settings", [])] for x in ("--set", setting)]


def write_dev(code: str, data: Path, folder: Path) -> tuple[Path, Path]:
    """Write the dev part of a language's first treebank and its text; return the files."""
    dev, text = folder / "dev.conllu", folder / "dev.txt"
    unpack(find(data, f"{LANGUAGES[code]['treebanks'][0]}.dev.conllu.gz"), dev)
    passages = (passage.text for passage in make_passages(list(read(dev))))
    text.write_text("\n\n".join(passages) + "\n", "utf-8")
    return dev, text


def score(model: Path, dev: Path, text: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return the scores of a model on gold words and on raw text, F1 of CoNLL 2018."""
    results = []
    for arguments in ([dev, "--tags", "predict"], [text]):
        parsed = dev.with_name("parsed.conllu")
        command = [*DEPKIT, "parse", *arguments, "--model", model, "--threads", "1", "-q"]
        subprocess.run([*command, "-o", parsed], check=True)
        results.append(f1_scores(dev, parsed))
    return results[0], results[1]


def f1_scores(gold: Path, parsed: Path) -> dict[str, float]:
    scores = evaluate_aligned(gold, [parsed])[0].scores
    return {metric: scores[metric] for metric in RAW_METRICS}


def bundle(code: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Copy a trained model into the package, with a card."""
    facts, model = LANGUAGES[code], folder / code
    copy_model(arguments.models / code, model, facts["treebanks"])
    dev, text = write_dev(code, arguments.data, folder)
    gold, raw = score(model, dev, text)
    names = [f"UD {TREEBANKS[name][0]}" for name in facts["treebanks"]]
    licences = {TREEBANKS[name][2] for name in facts["treebanks"]}
    named = [
        f"{name} {TREEBANKS[key][1]} ({TREEBANKS[key][2]})"
        for name, key in zip(names, facts["treebanks"], strict=True)
    ]
    model_licence = "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/)"
    if "LGPL-LR" in licences:
        model_licence += ", and what derives from treebanks under LGPL-LR is licensed LGPL-LR"
    original = (model / CARD).read_text("utf-8")
    lines = original[original.index("# ") :].splitlines()  # without the front matter
    card = CARD_TEXT.format(
        code=code, name=facts["name"], dev=names[0], las_gold=gold["LAS"], las_raw=raw["LAS"],
        words_per_second=speed(model, text),
        licence="other" if "LGPL-LR" in licences else "cc-by-sa-4.0",
        datasets="\n".join(f"- {name}" for name in names), treebanks=", ".join(named),
        model_licence=model_licence,
        gold=", ".join(f"{metric} {gold[metric]:.2f}" for metric in GOLD_METRICS),
        raw=", ".join(f"{metric} {raw[metric]:.2f}" for metric in RAW_METRICS),
        training=describe_training(code),
        note="- All text is read as that of the first treebank.\n" * (len(names) > 1),
        details="\n".join(held_out(line) for line in lines if line.startswith("- ")),
    )  # fmt: skip
    licence = LICENCE_TEXT.format(treebanks="\n".join(named), model_licence=model_licence)
    with atomic_directory(BUNDLED / code) as target:
        shutil.copytree(model, target, dirs_exist_ok=True)
        (target / CARD).write_text(card, "utf-8")
        (target / "LICENSE").write_text(licence, "utf-8")
    size = sum(path.stat().st_size for path in (BUNDLED / code).iterdir())
    print(f"{code}: {size / 1e6:.2f} MB, LAS {gold['LAS']:.2f}, on raw text {raw['LAS']:.2f}")


def describe_training(code: str) -> str:
    """Return the part of a card that has the commands of the training."""
    text = "\n".join(f"      {shlex.join(command)}" for command in commands(code))
    keeps_last = KEEPS_LAST in LANGUAGES[code].get("settings", [])
    purpose = HELD_OUT.format("" if keeps_last else "to select the epoch and ")
    if "text" not in LANGUAGES[code]:
        return f"Trained by this command on the train parts, of which {purpose}:\n\n{text}\n"
    return (
        "Trained by these commands on the train parts, of which"
        f" {purpose}, and on what a teacher predicts for them and for the text of manuals, which"
        f" have no gold trees ({', '.join(FACTS['texts'])}). The teacher is multilingual-e5-small"
        f" (MIT licence), tuned on the same treebanks:\n\n{text}\n"
    )


def copy_model(source: Path, target: Path, treebanks: Sequence[str]) -> None:
    """Copy the files of a model; it reads all text as that of the first of several treebanks."""
    target.mkdir()
    for path in model_files(source):
        shutil.copy(path, target)
    if len(treebanks) > 1:
        config = target / CONFIG
        text = config.read_text("utf-8")
        assert 'treebank_name = ""' in text
        named = text.replace('treebank_name = ""', f'treebank_name = "{treebanks[0]}"')
        config.write_text(named, "utf-8")


def held_out(line: str) -> str:
    """Say in a line of a card of `depkit train` that its dev sentences were a part of train."""
    return re.sub(r"\b(on|of) dev\b", r"\1 the held-out sentences", line)


def table(code: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Print the scores of the bundled model of a language, and those of UDPipe."""
    if code not in bundled_models():
        return
    dev, text = write_dev(code, arguments.data, folder)
    model = find_model(code)
    size = sum(path.stat().st_size for path in model_files(model)) / 1e6
    rows = [
        ("depkit", *score(model, dev, text), f"{size:.1f} MB, {speed(code, text):,.0f} words/s")
    ]
    if arguments.udpipe:
        rows.append((*udpipe_scores(code, folder, arguments), ""))
    for program, gold, raw, note in rows:
        cells = [f"{gold[metric]:.1f}" for metric in GOLD_METRICS]
        cells += [f"{raw[metric]:.1f}" for metric in RAW_METRICS]
        print(f"| {code} | {program} | {' | '.join(cells)} | {note} |", flush=True)


def speed(model: Path | str, text: Path) -> float:
    """Measure the words that a model parses in a second of processor time, without start-up.

    The text is repeated, so that nearly all words are in caches: other text takes longer.
    """
    content = text.read_text("utf-8")
    repeats = 1 + TIMED_WORDS // max(1, len(content.split()))
    words, times = parse_times(model, [content, "\n".join([content] * repeats)], text.parent)
    return (words[1] - words[0]) / (times[1] - times[0])


def parse_times(
    model: Path | str, texts: Sequence[str], folder: Path
) -> tuple[list[int], list[float]]:
    """Parse texts, each in a process of its own; return their words and the processor seconds."""
    words, times = [], []
    source, parsed = folder / "timed.txt", folder / "timed.conllu"
    for text in texts:
        source.write_text(text, "utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [*DEPKIT, "parse", source, "--model", model, "-o", parsed, "--threads", "1", "-q"]
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        words.append(sum(map(len, read(parsed))))
    return words, times


def compare_readings(code: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Print the speeds of the first and the second reading of a text, without start-up."""
    kept = choose_prose(read_manuals(arguments.packages, code), code, TIMED_WORDS)
    text = "\n\n".join(kept) + "\n\n"
    words, times = parse_times(
        "en-ewt" if code == "en" else code, [kept[0], text, text * 2], folder
    )
    first, second = np.diff(words) / np.diff(times)
    print(f"| {code} | {words[1]:,} | {first:,.0f} | {second:,.0f} |", flush=True)


def udpipe_scores(
    code: str, folder: Path, arguments: argparse.Namespace
) -> tuple[str, dict[str, float], dict[str, float]]:
    """Train UDPipe on the files of a language if there is no model yet; return its scores.

    XPOS that the model of depkit does not predict is left out, because UDPipe would learn it.
    """
    dev, text = write_dev(code, arguments.data, folder)
    train, model = folder / "train.conllu", arguments.models / f"{code}.udpipe"
    sentences = list(read_all(folder, train_files(code, arguments.data, folder)))
    if any(x.startswith("scorer.predict=") and "xpos" not in x for x in setting_options(code)):
        sentences = [s.with_columns({"xpos": ["_"] * len(s)}) for s in sentences]
    write(sentences, train)
    crossing = sum(has_crossing_arcs(np.array(s.head, dtype=np.int32)) for s in sentences)
    system = "swap" if crossing > NON_PROJECTIVE * len(sentences) else "projective"
    run = [arguments.udpipe, UDPIPE]
    if not model.exists():
        subprocess.run([*run, "train", model, train, system, "full"], check=True)
    results = []
    for action, source in (("annotate", dev), ("parse", text)):
        parsed = folder / "parsed.conllu"
        subprocess.run([*run, action, model, source, parsed], check=True, stdout=subprocess.PIPE)
        results.append(f1_scores(dev, parsed))
    return f"UDPipe, {system}", results[0], results[1]


def read_all(folder: Path, names: Sequence[str]) -> Iterator[Sentence]:
    for name in names:
        yield from read(folder / name)


def train_texts(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield the text of ten sentences at a time."""
    sentences = read_all(folder, names)
    while texts := [s.text or " ".join(s.form) for s in islice(sentences, 10)]:
        yield " ".join(texts)


def profile(code: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Write the profile of a language, from the train parts of its model or from translations."""
    name = PROFILED[code]["name"]
    if "treebanks" in PROFILED[code]:
        texts = train_texts(folder, train_files(code, arguments.data, folder))
        learned = make_profile(name, texts)
    else:
        read_texts = (read_manuals, read_interface)
        translations = (text for f in read_texts for text in f(arguments.packages, code))
        learned = make_profile(name, choose_prose(translations, code, PROFILE_WORDS))
        learned = replace(learned, low=learned.low - TRANSLATED)
    (PROFILES / f"{code}.json").write_text(to_json(learned), "utf-8")


ACTIONS = {
    "train": train, "bundle": bundle, "table": table, "profile": profile, "speed": compare_readings,
}  # fmt: skip
