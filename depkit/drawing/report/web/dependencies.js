// The report of dependency trees.

const HEAT_ROWS = 20; // relations in the heat map
const LIST_ROWS = 200; // confusions in the list

function showConfusions(parent) {
  const all = records(data.confusions);
  if (!all.length) return false;
  const systems = { label: "System", options: names.map((name, i) => [String(i), name]) };
  chooser(parent, [systems], (system) => {
    const own = all.filter((row) => systemOf(row) === Number(system));
    if (!own.length) return [make("p", {}, "This system confuses no relations.")];
    const sizes = new Map();
    for (const row of own)
      for (const name of [row.gold, row.predicted]) sizes.set(name, (sizes.get(name) || 0) + row.count);
    const shown = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, HEAT_ROWS).map(([name]) => name);
    const cells = new Map(own.map((row) => [JSON.stringify([row.gold, row.predicted]), row]));
    const largest = Math.max(...own.map((row) => row.count));
    const address = (row) => link({ system, relation: row.gold, predicted: row.predicted });
    const head = make("tr", {}, make("td", {}, "gold \\ predicted"),
      ...shown.map((name) => make("th", { scope: "col" }, brief("span", {}, name, 20))));
    const lines = shown.map((gold) =>
      make("tr", {}, brief("th", { scope: "row" }, gold, 20), ...shown.map((predicted) => {
        const row = cells.get(JSON.stringify([gold, predicted]));
        if (!row) return make("td", { class: gold === predicted ? "none" : null });
        const level = Math.ceil(5 * Math.sqrt(row.count / largest));
        const text = `${count(row.count, "word")} with the gold relation ${shorten(gold)}, predicted as`
          + ` ${shorten(predicted)} (${percent(row.share, 1)}% of the words with this gold relation)`;
        return make("td", { class: `heat${level}` },
          make("a", { href: address(row), title: text, "aria-label": text }, String(row.count)));
      })));
    const left = sizes.size - shown.length;
    const listed = own.slice(0, LIST_ROWS).map((row) => [
      [row.gold, brief("span", {}, row.gold)], [row.predicted, brief("span", {}, row.predicted)],
      [row.count, make("a", { href: address(row) }, String(row.count))],
      [row.share, percent(row.share)]]);
    return [
      scrollBox("confusions", make("table", { class: "heat" }, make("thead", {}, head), make("tbody", {}, ...lines))),
      make("p", { class: "faint" }, left > 0 ? `The map shows the ${shown.length} relations that are confused most; ${left} others are only in the list.` : ""),
      make("details", {}, make("summary", {}, own.length > LIST_ROWS ? `The ${LIST_ROWS} most frequent of ${own.length} confusions` : `All ${count(own.length, "confusion")}`),
        table("", ["gold", "predicted", "words", "% of gold"], listed, true)),
    ];
  });
}

function showCalibration(parent) {
  const all = records(data.calibration);
  if (!all.length) return false;
  chooser(parent, [metricChoice(all)], (metric) => {
    const own = all.filter((row) => row.metric === metric);
    const bins = own.filter((row) => row.bin !== "all");
    const points = bins.map((row) => ({ system: systemOf(row), x: row.confidence / 100, value: row.accuracy, low: row.accuracy_low, high: row.accuracy_high }));
    const ticks = [0, 20, 40, 60, 80, 100].map((value) => [value / 100, String(value)]);
    const systems = distinct(points.map((point) => point.system));
    const title = `Accuracy (${metric}, %) by the probability that the system gives (%)`;
    const totals = own.filter((row) => row.bin === "all").map((row) => [
      brief("span", {}, names[systemOf(row)]), percent(row.confidence),
      scoreCell(row.accuracy, row.accuracy_low, row.accuracy_high),
      percent(row.ece), percent(row.mce), percent(row.brier, 4)]);
    const details = bins.map((row) => [row.bin, brief("span", {}, names[systemOf(row)]), String(row.words),
      percent(row.confidence), scoreCell(row.accuracy, row.accuracy_low, row.accuracy_high), percent(row.gap)]);
    return [
      table("", ["system", "mean probability", "accuracy", "ECE", "MCE", "Brier"], totals),
      legend(systems),
      make("div", { class: "charts" }, make("figure", {}, make("figcaption", {}, title), chart(title, points, ticks, true))),
      make("details", {}, make("summary", {}, "Numbers"),
        table("", ["probability", "system", "words", "mean probability", "accuracy", "gap"], details)),
    ];
  });
}

function showAgreement(parent) {
  const all = records(data.agreement);
  if (!all.length) return false;
  chooser(parent, [metricChoice(all)], (metric) => {
    const own = all.filter((row) => row.metric === metric);
    const [first] = own;
    const scores = names.map((name, i) => [brief("span", {}, name), percent(own.find((row) => systemOf(row) === i).score)]);
    scores.push(["oracle: at least one system is right", percent(first.oracle)], ["all systems are right", percent(first.all_right)]);
    const other = (row) => data.systems.findIndex((system) => system.file === row.other);
    const pairs = own.map((row) => [
      brief("span", {}, names[systemOf(row)]), brief("span", {}, names[other(row)]),
      percent(row.agreement), percent(row.complementarity),
      make("a", { href: link({ wrong: systemOf(row), right: other(row) }) }, "sentences")]);
    return [
      table(`${metric}, % of ${count(first.words, "word")}`, ["system", "score"], scores),
      table("Pairs of systems, %", ["A", "B", "A and B say the same", "A's errors that are right in B", "B right, A wrong"], pairs),
    ];
  });
}

// ---- Sentences ----

const packed = data.sentences;
const [relations, tags] = [new Set(packed.relations), new Set(packed.tags)];
const sentences = packed.rows.map(([number, id, place, forms, tags, heads, relations, left, ...rest]) => ({
  number, id, place, forms, tags, heads, relations,
  leftOut: new Set(left),
  wrong: names.map((_, i) => new Map(rest[2 * i].map(([word, head, relation]) => [word, { head, relation }]))),
  wrongTags: names.map((_, i) => new Map(rest[2 * i + 1])),
}));
const scoredErrors = (sentence, system) =>
  [...sentence.wrong[system].keys()].filter((word) => !sentence.leftOut.has(word));
const words = (sentence) => sentence.forms.map((form) => packed.forms[form]);

const ERRORS = [["", "any word, right or wrong"], ["wrong", "wrong head or relation"], ["head", "wrong head"],
  ["label", "right head, wrong relation"], ["both", "wrong head and relation"], ["tag", "wrong tag"]];
const DISTANCES = [["", "any"], ["root", "root of the sentence"], ...data.distances.map(([, , name]) => [name, name])];

const LIST = {
  id: "sentences", item: "sentence", part: () => "matching word", items: sentences,
  filters: ["relation", "predicted", "tag", "error", "distance", ...SYSTEM_FILTERS], defaults: { system: "0" },
  check: checkSystems, note: limitNote(packed), orders: sentenceOrders((sentence, system) => scoredErrors(sentence, system).length),
  text: (sentence) => packed.texts[sentence.number] ?? words(sentence).join(" "),
  searched: (sentence) => [packed.texts[sentence.number], words(sentence).join(" ")].filter(Boolean).join("\n"),
  article, matcher,
  fields: (box) => [
    ...systemFields(box),
    box("Error", "error", ERRORS),
    box("Gold relation", "relation", optionsOf(relations)),
    box("Predicted relation", "predicted", optionsOf(relations)),
    box("Gold tag", "tag", optionsOf(tags)),
    box("Distance to the gold head", "distance", DISTANCES),
  ],
  errorsOf: (by, bin) => {
    if (by === "deprel" && relations.has(bin)) return { relation: bin, error: "wrong" };
    return by === "upos" && tags.has(bin) ? { tag: bin, error: "wrong" } : null;
  },
};

/** A function that finds the words of a sentence that fulfil a filter; null if all words do. */
function matcher(filter) {
  const tests = [];
  const system = systemIn(filter);
  const relation = (text) => packed.relations.indexOf(text);
  if (filter.relation) {
    const code = relation(filter.relation);
    tests.push((s, word) => s.relations[word] === code);
  }
  if (filter.predicted) {
    const code = relation(filter.predicted);
    tests.push((s, word) => (s.wrong[system].get(word)?.relation ?? s.relations[word]) === code);
  }
  if (filter.tag) {
    const code = packed.tags.indexOf(filter.tag);
    tests.push((s, word) => s.tags[word] === code);
  }
  if (filter.distance) {
    const bin = data.distances.find(([, , name]) => name === filter.distance) || [1, 0];
    tests.push((s, word) => {
      const head = s.heads[word];
      const distance = Math.abs(head - word - 1);
      return filter.distance === "root" ? head === 0 : head > 0 && bin[0] <= distance && distance <= bin[1];
    });
  }
  const wrong = (s, word, i) => s.wrong[i].get(word);
  const kinds = {
    wrong: (s, word) => wrong(s, word, system),
    head: (s, word) => wrong(s, word, system) && wrong(s, word, system).head !== s.heads[word],
    label: (s, word) => wrong(s, word, system) && wrong(s, word, system).head === s.heads[word],
    both: (s, word) => {
      const arc = wrong(s, word, system);
      return arc && arc.head !== s.heads[word] && arc.relation !== s.relations[word];
    },
    tag: (s, word) => s.wrongTags[system].has(word),
  };
  if (kinds[filter.error]) tests.push(kinds[filter.error]);
  if (filter.right)
    tests.push((s, word) => wrong(s, word, system) && !wrong(s, word, Number(filter.right)));
  if (!tests.length) return null;
  if (filter.error !== "tag") tests.push((s, word) => !s.leftOut.has(word)); // as in the scores
  return (sentence) =>
    new Set([...sentence.forms.keys()].filter((word) => tests.every((test) => test(sentence, word))));
}

function article(sentence, matched, filter) {
  const figures = shownSystems(filter).map((i) => {
    const errors = scoredErrors(sentence, i).length;
    const caption = `${shorten(names[i])}: ${errors ? count(errors, "error") : "no errors"}`;
    return make("figure", {}, make("figcaption", {}, caption), drawTree(sentence, i, matched), showEnhanced(sentence, i), explain(sentence, i), showAlternatives(sentence, i));
  });
  const title = `Sentence ${sentence.number}${sentence.id ? ` (${shorten(sentence.id)})` : ""}`;
  return makeArticle(sentence.number, title, sentence.place,
    make("p", { class: "words", dir: "auto" }, LIST.text(sentence)), ...figures);
}

/** Draw the gold tree above the words and the tree of a system below them. */
function drawTree(sentence, system, matched) {
  return drawArcs(`Tree of sentence ${sentence.number}, ${shorten(names[system])}`, sentence, sentence.wrong[system], matched);
}

/** wrong: for each word whose arc differs from gold, its head and relation. */
function drawArcs(title, sentence, wrong, matched) {
  const [gold, own] = [[], []];
  sentence.forms.forEach((_, word) => {
    const isError = wrong.has(word) && !sentence.leftOut.has(word);
    const arc = { head: sentence.heads[word], relation: sentence.relations[word] };
    const other = wrong.get(word) ?? arc;
    gold.push(makeArc(word, arc.head, packed.relations[arc.relation], isError ? "missed" : ""));
    own.push(makeArc(word, other.head, packed.relations[other.relation], isError ? "wrong" : "", isError ? "✗ " : ""));
  });
  const columns = sentence.forms.map((form, word) =>
    column(packed.forms[form], shorten(packed.tags[sentence.tags[word]], 16), [gold[word], own[word]], { isMatched: matched.has(word) }));
  return drawSentence(title, columns, gold, own, ARCS);
}

/** The enhanced dependencies that are not in the trees: gold ones above the words, those of a system below. */
function showEnhanced(sentence, system) {
  const sides = (data.enhanced?.sentences[sentence.number] ?? [])[system];
  if (!sides?.flat().length) return "";
  const [gold, own] = sides.map((arcs, side) => arcs.map(([word, head, label, isShared]) =>
    makeArc(word, head, data.enhanced.labels[label], isShared ? "" : ["missed", "wrong"][side], side && !isShared ? "✗ " : "")));
  const columns = sentence.forms.map((form, word) =>
    column(packed.forms[form], shorten(packed.tags[sentence.tags[word]], 16), [...gold, ...own].filter((arc) => arc.word === word)));
  const title = `Enhanced dependencies of sentence ${sentence.number}, ${shorten(names[system])}`;
  return make("div", {}, make("p", { class: "faint" }, "Enhanced dependencies that are not in the trees:"),
    drawSentence(title, columns, gold, own, ARCS));
}

/** The trees of a system after the best one: gold arcs above the words, those of the tree below. */
function showAlternatives(sentence, system) {
  const trees = (data.alternatives[system] || {})[sentence.number];
  if (!trees) return "";
  const figures = trees.slice(1).map(([probability, arcs], index) => {
    const wrong = new Map(arcs.map(([word, head, relation]) => [word, { head, relation }]));
    const errors = [...wrong.keys()].filter((word) => !sentence.leftOut.has(word)).length;
    const title = `Tree ${index + 2} of ${trees.length}, probability ${probability}`;
    return make("figure", {},
      make("figcaption", {}, `${title}: ${errors ? count(errors, "error") : "no errors"}`),
      drawArcs(`${title}, sentence ${sentence.number}, ${shorten(names[system])}`, sentence, wrong, new Set()));
  });
  const summary = `${count(figures.length, "other tree")}; this one has the probability ${trees[0][0]}`;
  return make("details", { class: "alternatives" }, make("summary", {}, summary), make("div", {}, ...figures));
}

/** The errors of a system in words, for readers who do not see the drawing. */
function explain(sentence, system) {
  const errors = scoredErrors(sentence, system);
  if (!errors.length) return "";
  const arc = (head, relation) => {
    const place = head === 0 ? "the root" : head < 0 ? "no head" : `head ${head} ${shorten(packed.forms[sentence.forms[head - 1]] ?? "", 24)}`;
    return `${shorten(packed.relations[relation])}, ${place}`;
  };
  const lines = errors.map((word) => {
    const { head, relation } = sentence.wrong[system].get(word);
    return [`${word + 1} ${shorten(words(sentence)[word], 24)}`, arc(sentence.heads[word], sentence.relations[word]), arc(head, relation)];
  });
  return make("details", {}, make("summary", {}, "Errors as a list"), table("", ["word", "gold", "predicted"], lines));
}

const facts = [count(data.scores[0].words, "word")];
if (data.scores[0].scored < data.scores[0].words)
  facts.push(`of which ${data.scores[0].scored.toLocaleString("en")} count as not punctuation`);
showPage(subtitleOf(...facts), {
  overview: showOverview, curves: showCurves, tables: showTables, confusions: showConfusions,
  calibration: showCalibration, agreement: showAgreement, about: showAbout,
});
