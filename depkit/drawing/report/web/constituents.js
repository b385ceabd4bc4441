// The report of constituency trees.

const packed = data.sentences;
const labels = new Set(packed.labels);
const WRONG = ["span", "label", "crossing"]; // the kinds of wrong brackets, see pack_sentences

const sentences = packed.rows.map(([number, place, words, tags, scored, ...systems]) => {
  const unpack = ([positions, brackets]) => {
    const bracket = ([label, start, end]) => ({ label: packed.labels[label], start: positions[start], end: positions[end - 1] + 1 });
    return { positions, bracket, brackets: brackets.map(bracket) };
  };
  const shared = unpack(scored);
  return {
    number, place, words, tags,
    systems: systems.map(([problem, entries, wrongTags, own]) => {
      const gold = own ? unpack(own) : shared;
      const found = new Set();
      const predicted = entries.map((entry) => {
        if (entry.length === 4) return { ...gold.bracket(entry), wrong: WRONG[entry[3]] };
        const [label, index] = entry.length ? [packed.labels[entry[0]], entry[1]] : [gold.brackets[entry].label, entry];
        found.add(index);
        return { ...gold.brackets[index], label };
      });
      return {
        problem, gold: gold.brackets, predicted, found,
        scored: new Set(gold.positions),
        wrongTags: new Map(wrongTags.map(([position, tag]) => [gold.positions[position], packed.tags[tag]])),
      };
    }),
  };
});
const words = (sentence) => sentence.words.map((word) => packed.words[word]);
const isMissed = (system, i) => !system.problem && !system.found.has(i);
const countErrors = (sentence, i) => {
  const system = sentence.systems[i];
  return {
    missed: system.gold.filter((_, k) => isMissed(system, k)).length,
    wrong: system.predicted.filter((bracket) => bracket.wrong).length,
    tags: system.wrongTags.size,
  };
};

const ERRORS = [["", "right or wrong"], ["missed", "gold constituent that was missed"], ["wrong", "wrong constituent"],
  ["label", "right words, wrong label"], ["crossing", "crosses a gold constituent"],
  ["tag", "wrong tag of a word"]];

const LIST = {
  id: "sentences", item: "sentence", items: sentences,
  part: ({ error }) => (error === "tag" ? "matching word" : "matching constituent"),
  filters: ["error", "label", ...SYSTEM_FILTERS], defaults: { system: "0" },
  check: checkSystems, note: limitNote(packed),
  orders: sentenceOrders((sentence, i) => {
    const { missed, wrong } = countErrors(sentence, i);
    return missed + wrong;
  }),
  text: (sentence) => words(sentence).join(" "),
  searched: (sentence) => words(sentence).join(" "),
  article, matcher,
  fields: (box) => [...systemFields(box), box("Error", "error", ERRORS), box("Label", "label", optionsOf(labels))],
  errorsOf: (by, bin) => (by === "label" && labels.has(bin) ? { label: bin, error: "missed" } : null),
};

/**
 * A function that finds the parts of a sentence that fulfil a filter; null if all sentences do.
 *
 * A part is named by "g" and the index of a gold bracket, by "p", the index of a system, "." and the
 * index of its bracket, or by "w" and the index of a word.
 */
function matcher({ error, label, right, ...rest }) {
  const system = systemIn(rest);
  if (!error && !label && !right) return null;
  const hasLabel = (bracket) => !label || bracket.label === label;
  const equal = (a, b) => a.label === b.label && a.start === b.start && a.end === b.end;
  return (sentence) => {
    const own = sentence.systems[system];
    const other = right ? sentence.systems[Number(right)] : null;
    const parts = new Set();
    if (own.problem || other?.problem || (other && other.gold !== own.gold)) return parts;
    if (error === "tag") {
      if (!label)
        for (const word of own.wrongTags.keys()) if (!other || !other.wrongTags.has(word)) parts.add(`w${word}`);
      return parts;
    }
    if (!error || error === "missed")
      own.gold.forEach((bracket, i) => {
        const missed = isMissed(own, i);
        if (hasLabel(bracket) && (missed || (!error && !other)) && !(other && isMissed(other, i))) parts.add(`g${i}`);
      });
    if (error !== "missed")
      own.predicted.forEach((bracket, i) => {
        if (!bracket.wrong || !hasLabel(bracket) || (WRONG.includes(error) && bracket.wrong !== error)) return;
        if (!other?.predicted.some((candidate) => candidate.wrong && equal(candidate, bracket))) parts.add(`p${system}.${i}`);
      });
    return parts;
  };
}

function article(sentence, matched, filter) {
  const figures = shownSystems(filter).map((i) => {
    const { missed, wrong, tags } = countErrors(sentence, i);
    const errors = [missed && `${missed} missed`, wrong && `${wrong} wrong`, tags && count(tags, "wrong tag")].filter(Boolean);
    const { problem } = sentence.systems[i];
    const text = problem ? `not scored: ${problem}` : errors.join(", ") || "no errors";
    return make("figure", {}, make("figcaption", {}, `${shorten(names[i])}: ${text}`), drawTree(sentence, i, matched), explain(sentence, i));
  });
  return makeArticle(sentence.number, `Sentence ${sentence.number}`, sentence.place,
    make("p", { class: "words", dir: "auto" }, LIST.text(sentence)), ...figures);
}

/** Draw the gold brackets above the words and those of a system below them. */
function drawTree(sentence, i, matched) {
  const system = sentence.systems[i];
  const gold = system.gold.map((bracket, k) => ({
    ...bracket, label: shorten(bracket.label, 24), kind: isMissed(system, k) ? "missed" : "", isMatched: matched.has(`g${k}`) }));
  const predicted = system.predicted.map((bracket, k) => ({
    ...bracket, label: `${bracket.wrong ? "✗ " : ""}${shorten(bracket.label, 24)}`, kind: bracket.wrong ? "wrong" : "", isMatched: matched.has(`p${i}.${k}`) }));
  const columns = words(sentence).map((form, word) => {
    const wrong = system.wrongTags.get(word);
    const tag = shorten(packed.tags[sentence.tags[word]], 16) + (wrong === undefined ? "" : ` ✗ ${shorten(wrong, 16)}`);
    const narrow = [...gold, ...predicted].filter(({ start, end }) => start === word && end === word + 1);
    return column(form, tag, narrow, { isMatched: matched.has(`w${word}`), class: system.scored.has(word) ? null : "unscored" });
  });
  return drawSentence(`Tree of sentence ${sentence.number}, ${shorten(names[i])}`, columns, gold, predicted, BRACKETS);
}

/** The errors of a system in words, for readers who do not see the drawing. */
function explain(sentence, i) {
  const system = sentence.systems[i];
  const forms = words(sentence);
  const text = ({ start, end }) => shorten(forms.slice(start, end).join(" "), 80);
  const lines = [
    ...system.gold.filter((_, k) => isMissed(system, k)).map((bracket) => ["missed", shorten(bracket.label), text(bracket)]),
    ...system.predicted.filter(({ wrong }) => wrong).map((bracket) => [
      { span: "wrong", label: "wrong label", crossing: "wrong, crosses" }[bracket.wrong], shorten(bracket.label), text(bracket)]),
    ...[...system.wrongTags].map(([word, tag]) => ["wrong tag", shorten(tag), shorten(forms[word], 80)]),
  ];
  if (!lines.length) return "";
  return make("details", {}, make("summary", {}, "Errors as a list"), table("", ["error", "label or tag", "words"], lines));
}

showPage(subtitleOf(`${data.scores[0].scored.toLocaleString("en")} scored words`), {
  overview: showOverview, curves: showCurves, tables: showTables, about: showAbout,
});
