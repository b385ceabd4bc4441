"""Model cards: what a model is, how it was trained and how accurate it is."""

import re
from pathlib import PurePath

from depkit.parsers.families import get_family
from depkit.parsers.inputs.parts import describe_inputs
from depkit.parsers.model_card import make_front_matter
from depkit.parsers.model_directory import CARD, TOKENIZER, write_text
from depkit.parsers.text.tokenizer_file import read_tokenizer_notes
from depkit.training.checkpoint import State
from depkit.training.origin import TORCHRUN
from depkit.training.plan import Plan
from depkit.training.progress import format_duration

# The names of files of Universal Dependencies begin with a language and a treebank.
_UD_FILE = re.compile(r"(([a-z]{2,3})_[a-z]+)-ud-(train|dev|test)\b.*")
_NORWEGIAN = {"no_bokmaal": "nb", "no_nynorsk": "nn", "no_nynorsklia": "nn"}


def write_card(plan: Plan, state: State, calibration_note: str = "") -> None:
    """Write the model card, README.md, of a trained model.

    calibration_note: a sentence on the effect of calibration, for a parser.
    """
    directory, recipe = plan.directory, plan.recipe
    tokenizer_scores = read_tokenizer_notes(directory).get("scores")
    family, parser = get_family(recipe.parser), recipe.parser
    tokenizer = (
        "none, so the model does not read running text; it reads CoNLL files, and text that is"
        " already split into sentences or tokens"
    )
    if family.default_tokenizer:
        tokenizer = f"none, so text is split by the tokenizer of {family.default_tokenizer}"
    if (directory / TOKENIZER).exists():
        tokenizer = "yes, so the model reads running text"
    if tokenizer_scores:
        score_list = ", ".join(f"{name} {score:.2f}" for name, score in tokenizer_scores.items())
        tokenizer = f"{score_list} (F1 on dev)"
    about = f"\n{recipe.about}\n" if recipe.about else ""
    punctuation = family.describe_scores(recipe.training.scoring)
    processes = state.origin.settings.get(TORCHRUN, "")
    best, last = ("Best ", "") if recipe.training.keep == "best" else ("", ", the last one")
    text = f"""{_describe_for_hub(plan)}# A depkit {family.noun}
{about}
- Encoder: {parser.encoder.describe()}
- Reads: {", ".join(describe_inputs(parser.inputs))}
{"".join(map(_list_item, family.describe(parser)))}\
- Tokenizer: {tokenizer}
- Trained on {len(plan.train)} sentences for {state.epoch} epochs ({state.update} updates, \
{format_duration(state.seconds)}), seed {state.seed}{processes and f", by {processes}"}
- {best}{recipe.training.select} on dev: {state.best:.2f} after epoch {state.best_epoch}{last} \
(this model); measured on {len(plan.dev)} sentences, {punctuation}
{_list_item(plan.teacher)}{_list_item(calibration_note)}
All settings are in config.toml. To {family.command} a file with this model, run \
`depkit {family.command} --model DIR FILE`, where DIR is this directory.
"""
    write_text(directory, CARD, text)


def write_ensemble_card(
    plan: Plan,
    members: dict[str, State],
    *,
    mean: str,
    scores: dict[str, float],
    calibration_note: str,
) -> None:
    """Write the model card, README.md, of an ensemble.

    Args:
        plan: The plan of the first member, for the whole treebank and the ensemble's directory.
        members: The states of the members' runs, by the members' names.
        mean: How the members' probabilities are averaged.
        scores: The ensemble's dev scores by name.
        calibration_note: A sentence on the effect of calibration, for parsers.
    """
    recipe = plan.recipe
    select = recipe.training.select
    about = f"\n{recipe.about}\n" if recipe.about else ""
    rows = "\n".join(f"| {name} | {state.best:.2f} |" for name, state in members.items())
    score_list = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
    punctuation = get_family(recipe.parser).describe_scores(recipe.training.scoring)
    text = f"""{_describe_for_hub(plan)}# A depkit ensemble
{about}
- Members: {len(members)}, each trained on the {len(plan.train)} sentences of the treebank \
without one fold
- Prediction: by the {mean} mean of the members' probabilities
- Scores on dev: {score_list}; measured on {len(plan.dev)} sentences, {punctuation}
{_list_item(calibration_note)}
| member | {select} on dev, after its {recipe.training.keep} epoch |
|---|---|
{rows}

`depkit {get_family(recipe.parser).command} --model DIR FILE`, where DIR is this directory, uses \
all members. The directory of each member is also a model by itself.
"""
    write_text(plan.directory, CARD, text)


def _describe_for_hub(plan: Plan) -> str:
    """Return the front matter: what the Hugging Face hub shows and searches, as far as it is known.

    The licence is not known: whoever shares a model must add it. The language and the treebanks are
    known if all training files have names as in Universal Dependencies.
    """
    names = dict.fromkeys(PurePath(sentence.file).name for sentence in plan.train)
    matches = [_UD_FILE.match(name) for name in names]
    treebanks = sorted({match[1] for match in matches if match}) if all(matches) else []
    languages = {_NORWEGIAN.get(name, name.partition("_")[0]) for name in treebanks}
    return make_front_matter(
        {
            "language": sorted(languages) if len(languages) > 1 else "".join(languages),
            "library_name": "depkit",
            "pipeline_tag": "token-classification",
            "tags": [tag] if (tag := get_family(plan.recipe.parser).hub_tag) else [],
            "datasets": treebanks,
            "metrics": [plan.recipe.training.select.lower()],
        }
    )


def _list_item(text: str) -> str:
    return f"- {text[0].upper()}{text[1:]}\n" if text else ""
