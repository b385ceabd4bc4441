// The parts that all reports of systems share: the sections with scores, and the search conditions that
// choose systems. The scores are taken from the data; the page does not compute any.

const names = data.systems.map((system) => system.name);
const systemOf = (record) => data.systems.findIndex((system) => system.file === record.system);
const metricChoice = (rows) => ({
  label: "Metric",
  options: distinct(rows.map((row) => row.metric)).sort().map((name) => [name, name]),
});

/** A score with its interval; as a cell of `table`. */
function scoreCell(value, low, high, best) {
  const cell = make("span", { class: best ? "best" : null }, percent(value));
  if (low !== null && low !== undefined)
    cell.append(make("span", { class: "interval" }, `${percent(low)} – ${percent(high)}`));
  return [value ?? null, cell];
}

function showOverview(parent) {
  const metrics = data.metrics.filter((name) => data.scores.some((record) => record[name] !== null));
  const rows = metrics.map((name) => {
    const sign = data.lower_is_better.includes(name) ? -1 : 1;
    const best = Math.max(...data.scores.map((record) => sign * (record[name] ?? -sign)));
    return [name, ...data.scores.map((record) => {
      const interval = (record.confidence || {})[name] || {};
      return scoreCell(record[name], interval.low, interval.high, names.length > 1 && sign * record[name] === best);
    })];
  });
  parent.append(table("", ["score", ...names.map((name) => brief("span", {}, name))], rows));
  if (names.length > 1) {
    const tests = [];
    for (const name of metrics) {
      const sign = data.lower_is_better.includes(name) ? -1 : 1;
      data.scores.slice(1).forEach((record, i) => {
        const test = (record.test || {})[name];
        if (!test) return;
        const verdict = test.p_adjusted < 0.05 ? (sign * test.difference > 0 ? "better" : "worse") : "no clear difference";
        tests.push([name, brief("span", {}, names[i + 1]), verdict,
          `${test.difference > 0 ? "+" : ""}${percent(test.difference)}`,
          probability(test.p), probability(test.p_adjusted)]);
      });
    }
    parent.append(
      make("h3", {}, "Are the differences real?"),
      make("p", {}, `Each system is compared with the first one, ${shorten(names[0])}. A small p says`
        + " that the difference is hardly due to the choice of sentences. Holm's method makes p"
        + " larger where several systems are compared, because one of them may look good by"
        + " chance. We call a system better or worse if this p is below 0.05."),
      table("", ["score", "system", "result", "difference", "p", "p (Holm)"], tests),
      make("p", { class: "faint" }, data.test));
  }
  const lines = data.notes.map((note) => make("li", { class: "long" }, note));
  if (lines.length) parent.append(make("h3", {}, "Warnings"), make("ul", {}, ...lines));
}

function showCurves(parent) {
  const groups = (data.curves ?? []).map((group) => [group, records(group)]);
  if (!groups.length) return false;
  parent.append(legend(names.map((_, i) => i)));
  chooser(parent, [metricChoice(groups[0][1])], (metric) => {
    const figures = groups.map(([group, all]) => {
      const own = all.filter((row) => row.metric === metric && row.bin !== "none" && row.f1 !== null);
      const bins = distinct(own.map((row) => row.bin));
      const place = (bin) => (bins.length > 1 ? bins.indexOf(bin) / (bins.length - 1) : 0.5);
      const points = own.map((row) => ({ system: systemOf(row), x: place(row.bin), value: row.f1, low: row.f1_low, high: row.f1_high }));
      const title = `${metric}${group.arcs && !metric.endsWith("F1") ? " (F1)" : ""} by ${group.by}: ${group.description}`;
      const cells = bins.map((bin) => {
        const rows = own.filter((row) => row.bin === bin);
        return [bin, rows[0].gold, ...names.map((_, i) => {
          const row = rows.find((candidate) => systemOf(candidate) === i);
          return row ? scoreCell(row.f1, row.f1_low, row.f1_high) : "–";
        })];
      });
      return make("figure", {}, make("figcaption", {}, title),
        chart(title, points, bins.map((bin) => [place(bin), bin])),
        make("details", {}, make("summary", {}, "Numbers"),
          table("", [group.by, `gold ${data.items}`, ...names.map((name) => brief("span", {}, name))], cells)));
    });
    return [make("div", { class: "charts" }, ...figures)];
  });
}

function showTables(parent) {
  const groups = (data.tables ?? []).map((group) => [group, records(group)]);
  if (!groups.length) return false;
  chooser(parent, [metricChoice(groups[0][1])], (metric) =>
    groups.flatMap(([group, all]) => {
      const metrics = distinct(all.map((row) => row.metric)); // enhanced relations have metrics of their own
      return (metrics.includes(metric) ? [metric] : metrics).map((name) => [group, name, all]);
    }).map(([group, metric, all]) => {
      const own = all.filter((row) => row.metric === metric);
      const measures = group.arcs ? ["precision", "recall", "f1"] : ["f1"];
      const header = [group.by, `gold ${group.items}`];
      for (const name of names)
        for (const measure of measures)
          header.push(`${group.arcs ? `${{ precision: "P", recall: "R", f1: "F1" }[measure]} ` : ""}${shorten(name, 24)}`);
      const rows = distinct(own.map((row) => row.bin)).map((bin) => {
        const parts = own.filter((row) => row.bin === bin);
        const errors = LIST.errorsOf(group.by, bin); // the conditions for the errors in a bin, or null
        const name = errors ? brief("a", { href: link(errors) }, bin) : brief("span", {}, bin);
        const cells = names.flatMap((_, i) => {
          const row = parts.find((candidate) => systemOf(candidate) === i);
          return measures.map((measure) => measure === "f1"
            ? scoreCell(row.f1, row.f1_low, row.f1_high) : [row[measure], percent(row[measure])]);
        });
        return [[bin, name], [parts[0].gold, String(parts[0].gold)], ...cells];
      });
      return table(`${metric} by ${group.by}: ${group.description}`, header, rows, true);
    }),
  );
}

function showAbout(parent) {
  const facts = make("dl", {}, make("dt", {}, "Gold file"), make("dd", {}, data.gold));
  for (const system of data.systems)
    facts.append(brief("dt", {}, `System ${system.name}`), make("dd", {}, system.file));
  const signatures = distinct(data.scores.map((record) => record.signature));
  facts.append(
    make("dt", {}, "Signature"), ...signatures.map((text) => make("dd", {}, make("code", {}, text))),
    make("dt", {}, "Software"), make("dd", {}, softwareText()));
  parent.append(facts, make("p", {}, "The signature names all choices that influence the scores."
    + " Report it with them. The scores are those that depkit eval and depkit analyze print."));
}

const subtitleOf = (...more) => `${names.map((name) => shorten(name)).join(", ")} compared with the gold file`
  + ` ${shorten(data.gold, 80)}: ${[count(data.scores[0].sentences, "sentence"), ...more].join(", ")}`;

// ---- Conditions on systems ----

const SYSTEM_FILTERS = ["system", "right", "wrong", "words", "order", "trees", "page"];

function checkSystems(filter) {
  const isSystem = (text) => /^\d+$/.test(text) && Number(text) < names.length;
  if (!isSystem(filter.system)) filter.system = LIST.defaults.system;
  if (!isSystem(filter.right) || !isSystem(filter.wrong)) filter.right = filter.wrong = "";
}

/** The system whose errors are searched. */
const systemIn = (filter) => Number(filter.wrong || filter.system);

/** The fields that choose systems; none if there is a single system. */
function systemFields(box) {
  if (names.length === 1) return [];
  const pairs = [["", "–"]];
  names.forEach((right, i) => names.forEach((wrong, j) => {
    if (i !== j) pairs.push([`${i},${j}`, `${shorten(right, 24)} right, ${shorten(wrong, 24)} wrong`]);
  }));
  const pair = filter.right ? `${filter.right},${filter.wrong}` : "";
  const compare = (value) => {
    const [right, wrong] = value ? value.split(",") : ["", ""];
    change({ right, wrong });
  };
  return [
    box("System", "system", names.map((name, i) => [String(i), name])),
    select("Compare systems", pairs, pair, compare, { name: "pair" }),
    box("Trees below the words", "trees", [["", "of the chosen systems"], ["all", "of all systems"]]),
  ];
}

/** The systems whose trees are drawn; all systems for a sentence that is shown alone. */
function shownSystems(filter) {
  if (!filter || filter.trees === "all") return names.map((_, i) => i);
  return filter.right ? [Number(filter.right), Number(filter.wrong)] : [Number(filter.system)];
}

/** Orders of sentences; errors: a function that counts the errors of a system in a sentence. */
const sentenceOrders = (errors) => [["", "as in the treebank"], ["errors", "most errors first", (filter) => {
  const numbers = new Map(LIST.items.map((item) => [item, errors(item, systemIn(filter))]));
  return (a, b) => numbers.get(b) - numbers.get(a);
}]];

/** What is said about a page that does not contain all sentences. */
const limitNote = ({ rows, total }) => (rows.length === total ? "" : `This page contains ${count(rows.length, "sentence")}, spread evenly`
  + ` over the ${total.toLocaleString("en")} sentences of the treebank. All scores are of all sentences.`);
