"""A request for the tables of an analysis, and the plan to which it is resolved."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from depkit.corpus.io import PathLike
from depkit.files.errors import ArgumentError
from depkit.score.agreement import METRICS as AGREEMENT_METRICS
from depkit.score.analysis import View
from depkit.score.attachment import ARCS, TAGS
from depkit.score.calibration import BINS, CALIBRATED_METRICS
from depkit.score.evaluation import find_metric
from depkit.score.evaluators import Evaluator
from depkit.score.groupings import NEEDS_TRAIN
from depkit.score.mistakes import CONFUSIONS
from depkit.score.significance import DEFAULT_SEED

_SEVERAL_AND_BINS = "two or more PRED files and a table of bins"

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """The tables of an analysis, whose names have been checked.

    views: the tables of bins; metric: that of tables without bins; confusion: what is confused;
    worst: how many sentences to list; calibration_bins: the number of bins; agreement: the bins in
    which systems are compared, a view without groupings for a single bin. Tables that are not
    requested are empty or 0.
    """

    views: Sequence[View]
    metric: str
    confusion: Sequence[str]
    worst: int
    calibration_bins: int
    agreement: Sequence[View]

    @property
    def num_kinds(self) -> int:
        """The number of kinds of tables; each confusion is one."""
        others = (self.views, self.worst, self.calibration_bins, self.agreement)
        return len(self.confusion) + sum(map(bool, others))

    @property
    def columns(self) -> set[str]:
        """The columns that are needed beside those of the metrics."""
        columns = {column for view in (*self.views, *self.agreement) for column in view.columns}
        return columns | ({"form"} if self.worst else set())


@dataclass(frozen=True, kw_only=True)
class Request:
    """What `depkit analyze`, `analyze` or `plot` is asked for; the attributes are its options.

    Without any, there is a table of bins of the default grouping of the evaluator.
    """

    by: Sequence[str] = ()
    bins: Sequence[str | None] | None = None
    preset: str | None = None
    metric: str | None = None
    confusion: Sequence[str] = ()
    worst: int | None = None
    calibration: bool = False
    agreement: bool = False
    top: int | None = None
    rer: bool = False
    confidence: bool = False
    test: str | None = None
    seed: int = DEFAULT_SEED
    has_seed: bool = False  # whether the user chose it for this request
    train: PathLike | None = None
    plot: str | None = None
    measure: str | None = None

    def resolve(self, evaluator: Evaluator) -> Plan:
        """Return the plan. Raises ArgumentError for an argument that contradicts another one."""
        evaluator.refuse(**vars(self))
        metric = find_metric(self.metric, evaluator.analysis_metrics) if self.metric else None
        calibration_bins = self._calibration_bins() if self.calibration else 0
        has_bins = bool(self.by or self.preset or (self.bins is not None and not self.calibration))
        views: list[View] = []
        if (
            (has_bins and not self.agreement)
            or (self.plot and not (self.calibration or self.confusion))
            or not (self.confusion or self.worst or self.calibration or self.agreement)
        ):
            views = self._views(evaluator, metric)
        agreement: list[View] = []
        if self.agreement:
            one_bin = View((), (), metric or "LAS")
            agreement = self._views(evaluator, metric) if has_bins else [one_bin]
        return Plan(
            views, metric or evaluator.default_metric, self.confusion, self.worst or 0,
            calibration_bins, agreement,
        )  # fmt: skip

    def check(self, plan: Plan, num_systems: int) -> None:
        """Raise ArgumentError for an argument with a wrong value, or without effect on the plan."""
        if self.calibration:
            _check_metric("calibration", plan.metric, CALIBRATED_METRICS)
        if plan.worst:
            _check_metric("worst", plan.metric, (*ARCS, *TAGS))
        for view in plan.agreement:
            _check_metric("agreement", view.metric, AGREEMENT_METRICS)
        self._check_effects(plan, num_systems > 1)
        for view in (*plan.views, *plan.agreement):
            view.check()
            if self.train is None:
                view.require_no_training_file()
        for name in self.confusion:
            if name not in CONFUSIONS:
                message = f"there is no confusion of '{name}'; choose from {', '.join(CONFUSIONS)}"
                raise ArgumentError("confusion", message)

    def _calibration_bins(self) -> int:
        """Return the number of bins that `bins` gives for the calibration."""
        if self.by or self.preset:
            message = "it covers all words; leave out `by` and `preset`"
            raise ArgumentError("calibration", message)
        if self.bins is None:
            return BINS
        found = " ".join(map(str, self.bins))
        if not re.fullmatch("[1-9][0-9]?|100", found):
            message = f"with `calibration`, give a number of bins, 1 to 100, not '{found}'"
            raise ArgumentError("bins", message)
        return int(found)

    def _views(self, evaluator: Evaluator, metric: str | None) -> list[View]:
        """Return the views for the requested tables of bins."""
        bins = () if self.calibration else self.bins or ()
        if self.preset is None:
            return [evaluator.view(self.by, bins, metric)]
        if self.preset not in evaluator.presets:
            names = ", ".join(evaluator.presets)
            raise ArgumentError(
                "preset", f"there is no preset '{self.preset}'; choose from {names}"
            )
        if self.by or bins:
            message = "it sets the groupings and bins; leave out `by` and `bins`"
            raise ArgumentError("preset", message)
        views = evaluator.presets[self.preset]
        if metric and len({view.metric for view in views}) > 1:
            raise ArgumentError("metric", f"`preset` {self.preset} sets it, so leave it out")
        return [replace(view, metric=metric or view.metric) for view in views]

    def _check_effects(self, plan: Plan, several: bool) -> None:
        views = plan.views
        has_bins = self.bins is not None and not self.calibration
        reads_train = any(set(NEEDS_TRAIN) & set(x.by) for x in (*views, *plan.agreement))
        # For each argument its value, whether it has an effect, and what it needs for that.
        for name, value, has_effect, needs in (
            ("train", self.train, reads_train, "`by` frequency or `by` oov"),
            ("top", self.top, self.confusion, "`confusion`"),
            (
                "metric", self.metric,
                views or plan.worst or self.calibration or self.agreement,
                "a table of bins, `worst`, `calibration` or `agreement`",
            ),
            ("bins", has_bins and self.agreement, self.by, "`by` or `calibration`"),
            ("agreement", self.agreement, several, "two or more PRED files"),
            (
                "plot", self.plot and self.agreement, self.calibration or self.confusion,
                "a table of bins, `calibration` or `confusion`",
            ),
            ("measure", self.measure, self.plot and views, "`plot` of a table of bins"),
            (
                "confidence", self.confidence, views or self.calibration,
                "a table of bins or `calibration`",
            ),
            ("rer", self.rer, views and several, _SEVERAL_AND_BINS),
            ("test", self.test, views and several, _SEVERAL_AND_BINS),
            (
                "seed", self.has_seed,
                self.confidence or self.test in ("ar", "bootstrap")
                or (self.plot and (views or self.calibration)),
                "`confidence`, the `test` ar or bootstrap, or a `plot` of bins or of `calibration`",
            ),
        ):  # fmt: skip
            if value and not has_effect:
                raise ArgumentError(name, f"it needs {needs}")


def as_tuple(values: str | Sequence[T]) -> tuple[str | T, ...]:
    """Return the values of an argument that can also be a single text."""
    return (values,) if isinstance(values, str) else tuple(values)


def _check_metric(argument: str, metric: str, allowed: Iterable[str]) -> None:
    if metric not in allowed:
        *others, last = allowed
        names = f"{', '.join(others)} or {last}"
        raise ArgumentError("metric", f"`{argument}` needs {names}, not {metric}")
