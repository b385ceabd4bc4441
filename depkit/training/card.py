"""The model card: what a model is, how it was made and how well it does."""

from pathlib import Path

from depkit.parsers.config import Encoder, what_it_reads
from depkit.parsers.families import family_of
from depkit.parsers.model_directory import CARD, TOKENIZER, tokenizer_notes, write_text
from depkit.training.checkpoint import State
from depkit.training.progress import clock
from depkit.training.recipe import Recipe


def write_card(
    directory: Path,
    recipe: Recipe,
    state: State,
    train: int,
    dev: int,
    calibrated: str = "",
    teacher: str = "",
) -> None:
    """README.md of a model directory; train, dev: numbers of sentences; calibrated: what came of
    it, for a parser; teacher: what a student learnt from beside the treebank, in words."""
    scores = tokenizer_notes(directory).get("scores")
    family, parser = family_of(recipe.parser), recipe.parser
    raw = "none: it reads lines, tokens and CoNLL files, no running text"
    if (directory / TOKENIZER).exists():
        raw = "yes"
    if scores:
        raw = ", ".join(f"{name} {score:.2f}" for name, score in scores.items()) + " (dev F1)"
    about = f"\n{recipe.about}\n" if recipe.about else ""
    text = f"""# A depkit {family.noun}
{about}
- Encoder: {_encoder(parser.encoder)}
- Reads: {", ".join(what_it_reads(parser.inputs))}
{"".join(map(_as_item, family.describe(parser)))}\
- Tokenizer: {raw}
- Trained on {train} sentences for {state.epoch} epochs ({state.update} updates, \
{clock(state.seconds)}), seed {state.seed}
- Chosen by dev {recipe.training.select}: {state.best:.2f} after epoch {state.best_epoch}, \
on {dev} sentences, all words scored
{_as_item(teacher)}{_as_item(calibrated)}
The recipe is config.toml. \
{family.command.capitalize()} with `depkit {family.command} --model DIR`.
"""
    write_text(directory, CARD, text)


def write_ensemble_card(
    directory: Path,
    recipe: Recipe,
    members: dict[str, State],
    mean: str,
    scores: dict[str, float],
    train: int,
    dev: int,
    calibrated: str,
) -> None:
    """README.md of an ensemble's directory; members: by name; scores: of all, on dev; train,
    dev: numbers of sentences; calibrated: what came of it, for parsers."""
    select = recipe.training.select
    about = f"\n{recipe.about}\n" if recipe.about else ""
    rows = "\n".join(f"| {name} | {state.best:.2f} |" for name, state in members.items())
    told = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
    text = f"""# A depkit ensemble
{about}
- {len(members)} members, each trained on all of {train} sentences but a fold of its own; the \
{mean} mean of their probabilities
- Together, on {dev} dev sentences, all words scored: {told}
{_as_item(calibrated)}
| member | dev {select} (which chose its epoch) |
|---|---|
{rows}

`depkit {family_of(recipe.parser).command} --model DIR` loads all; each is a model, too.
"""
    write_text(directory, CARD, text)


def _as_item(text: str) -> str:
    """A line of a list, if there is something to say."""
    return f"- {text[0].upper()}{text[1:]}\n" if text else ""


def _encoder(encoder: Encoder) -> str:
    layers = getattr(encoder, "layers", 0)
    return f"{encoder.kind}, {layers} layers" if layers else "none of its own"
