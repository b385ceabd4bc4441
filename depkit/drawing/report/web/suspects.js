// The page of suspects.

const packed = data.sentences;
const KINDS = { head: "head", deprel: "relation", upos: "UPOS", xpos: "XPOS", feats: "FEATS" };
/** The relation, tag or features in an annotation; that of a head is written as number:relation. */
const valueOf = (kind, annotation) => (kind === "head" ? annotation.slice(annotation.indexOf(":") + 1) : annotation);
const headOf = (annotation) => parseInt(annotation, 10);

const suspects = records(data.suspects).map((suspect) => {
  const [text, forms, tags, heads, relations] = packed.rows[suspect.sentence];
  return {
    ...suspect, number: suspect.rank, word: suspect.word - 1,
    text, forms, tags, heads, relations,
    goldValue: valueOf(suspect.kind, suspect.gold), otherValue: valueOf(suspect.kind, suspect.alternative),
  };
});
const values = (key) => distinct(suspects.map((suspect) => suspect[key]));

const wordsOf = (suspect) => suspect.forms.map((form) => packed.forms[form]).join(" ");

const LIST = {
  id: "suspects", item: "suspect", items: suspects,
  filters: ["kind", "source", "annotation", "alternative", "decision", "words", "order", "page"], defaults: {},
  check: () => {},
  note: data.found === suspects.length ? "" : `This page contains the first ${count(suspects.length, "suspect")} of ${data.found.toLocaleString("en")}.`,
  orders: [["", "most suspicious first"], ["treebank", "as in the treebank", () => (a, b) => a.sentence - b.sentence || a.word - b.word]],
  text: (suspect) => suspect.text || wordsOf(suspect),
  searched: (suspect) => [suspect.text, wordsOf(suspect)].filter(Boolean).join("\n"),
  article,
  matcher: ({ kind, source, annotation, alternative, decision }) => {
    const conditions = Object.entries({ kind, source, goldValue: annotation, otherValue: alternative }).filter(([, value]) => value);
    if (!conditions.length && !decision) return null;
    const isAsDecided = (suspect) => !decision || (choiceOf(suspect) || "undecided") === decision;
    return (suspect) => new Set(isAsDecided(suspect) && conditions.every(([key, value]) => suspect[key] === value) ? [suspect.word] : []);
  },
  fields: (box) => [
    box("Kind", "kind", [["", "any"], ...Object.entries(KINDS).filter(([kind]) => values("kind").includes(kind))]),
    box("Source", "source", optionsOf(values("source"))),
    box("Relation or tag in the treebank", "annotation", optionsOf(values("goldValue"))),
    box("Proposed relation or tag", "alternative", optionsOf(values("otherValue"))),
    box("Decision", "decision", [["", "any"], ...CHOICES.map(([choice, text]) => [choice || "undecided", text])]),
  ],
};

function article(suspect) {
  const form = (number) => shorten(packed.forms[suspect.forms[number - 1]] ?? "", 24);
  const describe = (annotation) => {
    if (suspect.kind !== "head") {
      const features = shorten(annotation, 200).split(/(?<=\|)/);
      return make("span", {}, ...features.flatMap((feature) => [feature, make("wbr")]));
    }
    const head = headOf(annotation);
    const place = head === 0 ? "the root" : head < 0 ? "no head" : `head ${head} ${form(head)}`;
    return `${shorten(valueOf("head", annotation))}, ${place}`;
  };
  const rows = [
    ["treebank", describe(suspect.gold), suspect.gold_probability.toFixed(4)],
    ["proposed", describe(suspect.alternative), suspect.probability.toFixed(4)],
  ];
  const title = `Suspect ${suspect.rank}: ${KINDS[suspect.kind]} of word ${suspect.word + 1}, ${form(suspect.word + 1)}`;
  const place = `${suspect.file}${suspect.line ? `:${suspect.line}` : ""}${suspect.sent_id ? `, sentence ${suspect.sent_id}` : ""}`;
  return makeArticle(suspect.rank, title, place,
    make("p", { class: "words", dir: "auto" }, LIST.text(suspect)),
    table("", ["", KINDS[suspect.kind], "probability"], rows),
    make("p", { class: "faint long" }, `Source: ${suspect.source}; ${suspect.evidence}`),
    make("figure", {}, drawSuspect(suspect)),
    decisionBox(suspect));
}

/** Draw the tree of the treebank above the words, and below them the arc that is proposed. */
function drawSuspect({ rank, kind, word: suspectWord, forms, tags, heads, relations, alternative, otherValue }) {
  const isArc = kind === "head" || kind === "deprel";
  const gold = forms.map((_, word) => {
    const isSuspect = isArc && word === suspectWord;
    return makeArc(word, heads[word], packed.relations[relations[word]], isSuspect ? "wrong" : "", isSuspect ? "? " : "");
  });
  const head = kind === "head" ? headOf(alternative) : heads[suspectWord];
  const proposed = isArc ? [makeArc(suspectWord, head, otherValue, "missed")] : [];
  const columns = forms.map((form, word) => {
    const isMatched = word === suspectWord;
    const tag = shorten(packed.tags[tags[word]], 16) + (isMatched && kind === "upos" ? ` → ${shorten(alternative, 16)}` : "");
    return column(packed.forms[form], tag, [gold[word], ...(isMatched ? proposed : [])], { isMatched });
  });
  return drawSentence(`Tree of suspect ${rank}`, columns, gold, proposed, ARCS);
}

function showOverview(parent) {
  const counts = records(data.counts);
  const sources = distinct(counts.map(({ source }) => source)).sort();
  const number = (rows) => {
    const sum = rows.reduce((total, row) => total + row.count, 0);
    return [sum, sum.toLocaleString("en")];
  };
  const kinds = Object.keys(KINDS).filter((kind) => counts.some((row) => row.kind === kind));
  const rows = kinds.map((kind) => {
    const own = counts.filter((row) => row.kind === kind);
    const cells = sources.map((source) => number(own.filter((row) => row.source === source)));
    return [[kind, make("a", { href: link({ kind }) }, KINDS[kind])], ...cells, number(own)];
  });
  parent.append(kinds.length ? table("How many suspects of each kind and source there are", ["kind", ...sources, "all"], rows) : make("p", {}, "There are no suspects."));
}

function showAbout(parent) {
  parent.append(make("dl", {},
    make("dt", {}, "Treebank"), make("dd", {}, data.treebank),
    make("dt", {}, "Software"), make("dd", {}, softwareText())));
}

const size = [count(data.found, "suspect"), count(data.total, "sentence"), count(data.words, "word")].join(", ");
showPage(`${shorten(data.treebank, 80)}: ${size}`, { overview: showOverview, decisions: showSection, about: showAbout });
