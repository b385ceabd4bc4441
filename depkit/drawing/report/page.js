"use strict";
(() => {
  // The scores are those of the data; this script only shows them and selects sentences. All texts
  // of the treebank reach the page through `visible` and as text nodes, never as markup.
  const data = JSON.parse(document.getElementById("data").textContent);
  const names = data.systems.map((system) => system.name);
  const PAGE = 20; // sentences on a page of the list
  const LONGEST = 40; // characters of a text in a table or a drawing
  const HEAT_ROWS = 20; // relations in the heat map
  const LIST_ROWS = 200; // confusions in the list
  const SVG = "http://www.w3.org/2000/svg";

  // ---- Texts and elements ----

  const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

  /** Show control characters and changes of direction as symbols. */
  function visible(text) {
    return String(text).replace(INVISIBLE, (character) => {
      const code = character.charCodeAt(0);
      return code < 32 ? String.fromCharCode(0x2400 + code) : code === 127 ? "\u2421" : "\ufffd";
    });
  }

  function shorten(text, length = LONGEST) {
    const characters = Array.from(visible(text));
    if (characters.length <= length) return characters.join("");
    const half = Math.floor(length / 2);
    return `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
  }

  function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children.map((child) => (child instanceof Node ? child : visible(child))));
    return element;
  }
  const make = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  /** An element with a shortened text; the whole text is its title. */
  const brief = (tag, attributes, text, length) => {
    const short = shorten(text, length);
    const title = short === visible(text) ? null : visible(text);
    return make(tag, { title, ...attributes }, short);
  };

  const percent = (value, digits = 2) =>
    value === null || value === undefined ? "–" : value.toFixed(digits);
  const count = (value, noun) => `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
  const probability = (p) => (p < 0.00005 ? "<0.0001" : p.toFixed(4));

  /** The rows of a table of the data as objects; none if the data have no such table. */
  const records = (table) =>
    table ? table.rows.map((row) => Object.fromEntries(table.columns.map((key, i) => [key, row[i]]))) : [];
  const systemOf = (record) => data.systems.findIndex((system) => system.file === record.system);
  const distinct = (values) => [...new Set(values)];

  function select(label, options, value, change, attributes = {}) {
    const box = make("select", { onchange: (event) => change(event.target.value), ...attributes });
    for (const [key, text] of options) box.append(brief("option", { value: key }, text));
    box.value = value;
    return make("label", {}, label, " ", box);
  }

  /** A content that is made again whenever one of its choices changes. */
  function chooser(parent, choices, show) {
    const values = choices.map((choice) => choice.options[0][0]);
    const content = make("div");
    const update = () => content.replaceChildren(...show(...values));
    const boxes = choices.map((choice, i) =>
      select(choice.label, choice.options, values[i], (value) => {
        values[i] = value;
        update();
      }),
    );
    if (boxes.length) parent.append(make("p", { class: "choice" }, ...boxes));
    parent.append(content);
    update();
  }
  const metricChoice = (rows) => ({
    label: "Metric",
    options: distinct(rows.map((row) => row.metric)).sort().map((name) => [name, name]),
  });

  // ---- Tables ----

  /** Cells are texts, elements, or [sort key, text or element]. */
  function table(caption, header, rows, sortable = false) {
    const split = (cell) => (Array.isArray(cell) ? cell : [cell, cell]);
    const body = make("tbody");
    let order = rows.map((row) => row.map(split));
    const write = () => {
      const lines = order.map((row) =>
        make("tr", {}, ...row.map(([, content], i) => make(i ? "td" : "th", i ? {} : { scope: "row" }, content))),
      );
      body.replaceChildren(...lines);
    };
    const heads = header.map((title, column) => {
      if (!sortable) return make("th", { scope: "col" }, title);
      const sort = () => {
        const up = heads[column].getAttribute("aria-sort") === "descending";
        heads.forEach((head) => head.removeAttribute("aria-sort"));
        heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
        const compare = ([a], [b]) => {
          if (a === null || b === null) return (a === null) - (b === null); // without value: last
          const sign = typeof a === "number" ? a - b : String(a).localeCompare(String(b));
          return up ? sign : -sign;
        };
        order = [...order].sort((x, y) => compare(x[column], y[column]));
        write();
      };
      return make("th", { scope: "col" }, make("button", { type: "button", onclick: sort }, title));
    });
    write();
    const parts = [make("thead", {}, make("tr", {}, ...heads)), body];
    if (caption) parts.unshift(make("caption", {}, caption));
    return make("div", { class: "scroll" }, make("table", {}, ...parts));
  }

  /** A score with its interval; as a cell of `table`. */
  function scoreCell(value, low, high, best) {
    const cell = make("span", { class: best ? "best" : null }, percent(value));
    if (low !== null && low !== undefined)
      cell.append(make("span", { class: "interval" }, `${percent(low)} – ${percent(high)}`));
    return [value ?? null, cell];
  }

  // ---- Charts ----

  const MARKERS = ["M-4,-4h8v8h-8z", "M0,-5.5L5,4H-5z", "M0,-6L6,0L0,6L-6,0z", "M-5,-4H5L0,5.5z",
    "M-1.5,-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z", "M-5,-2h10v4h-10z"];
  const DASHES = [null, "7 3", "2 3", "9 3 2 3", "4 4", "12 4"];
  const style = (i) => i % MARKERS.length;
  const marker = (i, x, y) =>
    draw("path", { class: `marker system${style(i)}`, d: MARKERS[style(i)], transform: `translate(${x} ${y})` });

  function legend(systems) {
    const items = systems.map((i) =>
      make("li", {},
        draw("svg", { width: 44, height: 14, "aria-hidden": "true" },
          draw("path", { class: `curve system${style(i)}`, d: "M2 7H42", "stroke-dasharray": DASHES[style(i)] }),
          marker(i, 22, 7)),
        brief("span", {}, names[i])),
    );
    return make("ul", { class: "legend" }, ...items);
  }

  /** Curves with intervals; points: [{system, x, value, low, high}], x from 0 to 1 or a bin. */
  function chart(label, points, ticks, diagonal = false) {
    const [width, height, left, bottom, top] = [560, 280, 44, 34, 10];
    // The interval of a bin with few words may reach far down: what is more than 10 below all points
    // is cut off.
    const lowest = Math.min(...points.flatMap((p) => [p.value, Math.max(p.low ?? p.value, p.value - 10)]));
    let low = diagonal ? 0 : Math.max(0, Math.floor(lowest / 5) * 5);
    const high = diagonal ? 100 : Math.min(100, Math.ceil(Math.max(...points.map((p) => p.high ?? p.value)) / 5) * 5);
    if (low >= high) low = high - 5;
    const x = (value) => left + 14 + value * (width - left - 28);
    const y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
    const image = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    const step = [1, 2, 5, 10, 20, 50].find((size) => (high - low) / size <= 6);
    for (let value = Math.ceil(low / step) * step; value <= high; value += step)
      image.append(
        draw("path", { class: "axis", d: `M${left} ${y(value)}H${width}` }),
        draw("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)));
    for (const [position, text] of ticks)
      image.append(draw("text", { x: x(position), y: height - 12, "text-anchor": "middle" }, text));
    if (diagonal) image.append(draw("path", { class: "axis", d: `M${x(0)} ${y(0)}L${x(1)} ${y(100)}` }));
    const systems = distinct(points.map((point) => point.system));
    systems.forEach((i, index) => {
      const shift = diagonal ? 0 : (index - (systems.length - 1) / 2) * Math.min(5, 40 / systems.length);
      const own = points.filter((point) => point.system === i && point.value !== null);
      const path = own.map((p, k) => `${k ? "L" : "M"}${x(p.x) + shift} ${y(p.value)}`).join("");
      image.append(draw("path", { class: `curve system${style(i)}`, d: path, "stroke-dasharray": DASHES[style(i)] }));
      for (const p of own) {
        const at = x(p.x) + shift;
        if (p.low !== null && p.low !== undefined)
          image.append(draw("path", { class: `bar system${style(i)}`, d: `M${at} ${y(Math.max(p.low, low))}V${y(p.high)}${p.low < low ? "" : `M${at - 3} ${y(p.low)}h6`}M${at - 3} ${y(p.high)}h6` }));
        image.append(marker(i, at, y(p.value)));
      }
    });
    return image;
  }

  // ---- Sections ----

  function showOverview(parent) {
    const metrics = data.metrics.filter((name) => data.scores.some((record) => record[name] !== null));
    const rows = metrics.map((name) => {
      const best = Math.max(...data.scores.map((record) => record[name] ?? -1));
      return [name, ...data.scores.map((record) => {
        const interval = (record.confidence || {})[name] || {};
        return scoreCell(record[name], interval.low, interval.high, names.length > 1 && record[name] === best);
      })];
    });
    parent.append(table("", ["score", ...names.map((name) => brief("span", {}, name))], rows));
    if (names.length > 1) {
      const tests = [];
      for (const name of metrics)
        data.scores.slice(1).forEach((record, i) => {
          const test = (record.test || {})[name];
          if (!test) return;
          const verdict = test.p_adjusted < 0.05 ? (test.difference > 0 ? "better" : "worse") : "no clear difference";
          tests.push([name, brief("span", {}, names[i + 1]), `${test.difference > 0 ? "+" : ""}${percent(test.difference)}`,
            probability(test.p), probability(test.p_adjusted), verdict]);
        });
      parent.append(
        make("h3", {}, "Are the differences real?"),
        make("p", {}, `Each system is compared with the first one, ${shorten(names[0])}. A small p says`
          + " that the difference is hardly due to the choice of sentences. Holm's method makes p"
          + " larger where several systems are compared, because one of them may look good by"
          + " chance. We call a system better or worse if this p is below 0.05."),
        table("", ["score", "system", "difference", "p", "p (Holm)", "compared with the first"], tests),
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
        const title = `${metric}${group.arcs ? " (F1)" : ""} by ${group.by}: ${group.description}`;
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
            table("", [group.by, "gold words", ...names.map((name) => brief("span", {}, name))], cells)));
      });
      return [make("div", { class: "charts" }, ...figures)];
    });
  }

  function showTables(parent) {
    const groups = (data.tables ?? []).map((group) => [group, records(group)]);
    if (!groups.length) return false;
    chooser(parent, [metricChoice(groups[0][1])], (metric) =>
      groups.map(([group, all]) => {
        const own = all.filter((row) => row.metric === metric);
        const filter = { deprel: "relation", upos: "tag" }[group.by];
        const measures = group.arcs ? ["precision", "recall", "f1"] : ["f1"];
        const header = [group.by, "gold words"];
        for (const name of names)
          for (const measure of measures)
            header.push(`${group.arcs ? `${{ precision: "P", recall: "R", f1: "F1" }[measure]} ` : ""}${shorten(name, 24)}`);
        const rows = distinct(own.map((row) => row.bin)).map((bin) => {
          const parts = own.filter((row) => row.bin === bin);
          const name = filter && data[group.by === "deprel" ? "relations" : "tags"].has(bin)
            ? brief("a", { href: link({ [filter]: bin, error: "wrong" }) }, bin) : brief("span", {}, bin);
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
        make("div", { class: "scroll" }, make("table", { class: "heat" }, make("thead", {}, head), make("tbody", {}, ...lines))),
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

  function showAbout(parent) {
    const list = make("dl", {}, make("dt", {}, "Gold file"), make("dd", {}, data.gold));
    for (const system of data.systems)
      list.append(brief("dt", {}, `System ${system.name}`), make("dd", {}, system.file));
    const versions = Object.entries(data.software).map(([name, version]) => `${name} ${version}`);
    list.append(
      make("dt", {}, "Signature"), make("dd", {}, make("code", {}, data.signature)),
      make("dt", {}, "Software"), make("dd", {}, versions.join(", ")));
    parent.append(list, make("p", {}, "The signature names all choices that influence the scores."
      + " Report it with them. The scores are those that depkit eval and depkit analyze print."));
  }

  // ---- Sentences ----

  const packed = data.sentences;
  data.relations = new Set(packed.relations);
  data.tags = new Set(packed.tags);
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
  const FILTERS = ["system", "relation", "predicted", "tag", "error", "distance", "right", "wrong", "words", "order", "trees", "page"];
  const DEFAULTS = { system: "0" };

  function link(filter) {
    const parameters = new URLSearchParams();
    for (const key of FILTERS)
      if (filter[key] !== undefined && filter[key] !== "" && String(filter[key]) !== DEFAULTS[key])
        parameters.set(key, filter[key]);
    return `#sentences?${parameters}`;
  }

  function parse(fragment) {
    const parameters = new URLSearchParams(fragment);
    const filter = {};
    for (const key of FILTERS) filter[key] = parameters.get(key) ?? DEFAULTS[key] ?? "";
    const isSystem = (text) => /^\d+$/.test(text) && Number(text) < names.length;
    if (!isSystem(filter.system)) filter.system = DEFAULTS.system;
    if (!isSystem(filter.right) || !isSystem(filter.wrong)) filter.right = filter.wrong = "";
    return filter;
  }

  /** A function that says whether a word of a sentence fulfils a filter; null if all words do. */
  function wordTest(filter) {
    const tests = [];
    const system = Number(filter.wrong || filter.system);
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
    return (sentence, word) => tests.every((test) => test(sentence, word));
  }

  /** The sentences of a filter, each with its matching words; and a message about the expression. */
  function search(filter) {
    let expression = null;
    let problem = "";
    if (filter.words) {
      try {
        expression = new RegExp(filter.words, "iu");
      } catch (error) {
        problem = `This is not a regular expression: ${error.message}`;
      }
    }
    const test = wordTest(filter);
    const found = [];
    let matches = 0;
    for (const sentence of problem ? [] : sentences) {
      if (expression && !expression.test(words(sentence).join(" "))) continue;
      const matched = new Set();
      if (test) {
        sentence.forms.forEach((_, word) => {
          if (test(sentence, word)) matched.add(word);
        });
        if (!matched.size) continue;
      }
      matches += matched.size;
      found.push({ sentence, matched });
    }
    if (filter.order === "errors") {
      const system = Number(filter.wrong || filter.system);
      const errors = new Map(found.map((hit) => [hit, scoredErrors(hit.sentence, system).length]));
      found.sort((a, b) => errors.get(b) - errors.get(a));
    }
    return { found, matches, problem, countsWords: Boolean(test) };
  }

  let filter = parse("");
  let only = null; // the number of the only sentence to show
  const form = make("form", { "aria-label": "Conditions", onsubmit: (event) => event.preventDefault() });
  const result = make("div", { "aria-live": "polite" });
  const list = make("div");

  const change = (changes) => {
    only = null;
    location.replace(link({ ...filter, page: "", ...changes }));
  };

  function writeForm() {
    const texts = (values) => [["", "any"], ...[...values].sort((a, b) => a.localeCompare(b)).map((text) => [text, text])];
    const systems = names.map((name, i) => [String(i), name]);
    const pairs = [["", "–"]];
    names.forEach((right, i) => names.forEach((wrong, j) => {
      if (i !== j) pairs.push([`${i},${j}`, `${shorten(right, 24)} right, ${shorten(wrong, 24)} wrong`]);
    }));
    const box = (label, key, options) => select(label, options, filter[key], (value) => change({ [key]: value }), { name: key });
    const distances = [["", "any"], ["root", "root of the sentence"], ...data.distances.map(([, , name]) => [name, name])];
    const parts = [
      names.length > 1 && box("System", "system", systems),
      box("Error", "error", ERRORS),
      box("Gold relation", "relation", texts(packed.relations)),
      box("Predicted relation", "predicted", texts(packed.relations)),
      box("Gold tag", "tag", texts(packed.tags)),
      box("Distance to the gold head", "distance", distances),
      names.length > 1 && select("Compare systems", pairs, filter.right ? `${filter.right},${filter.wrong}` : "", (value) => {
        const [right, wrong] = value ? value.split(",") : ["", ""];
        change({ right, wrong });
      }, { name: "pair" }),
      make("label", {}, "Words (regular expression) ", make("input", {
        name: "words", type: "search", value: filter.words, autocomplete: "off", spellcheck: "false",
        onchange: (event) => change({ words: event.target.value }) })),
      box("Order", "order", [["", "as in the treebank"], ["errors", "most errors first"]]),
      names.length > 1 && box("Trees below the words", "trees", [["", "of the chosen systems"], ["all", "of all systems"]]),
      make("button", { type: "button", onclick: () => change(Object.fromEntries(FILTERS.map((key) => [key, ""]))) }, "Clear all"),
    ];
    const focused = document.activeElement?.form === form ? document.activeElement.name : null;
    form.replaceChildren(...parts.filter(Boolean));
    if (focused) form.elements[focused]?.focus();
  }

  function writeList() {
    const shownSystems = () => {
      if (filter.trees === "all") return names.map((_, i) => i);
      return filter.right ? [Number(filter.right), Number(filter.wrong)] : [Number(filter.system)];
    };
    if (only !== null) {
      const sentence = sentences.find((candidate) => candidate.number === only);
      const back = make("a", { href: link(filter) }, "Back to the list");
      result.replaceChildren(make("p", {}, sentence ? `Sentence ${only}. ` : `Sentence ${only} is not in this page. `, back));
      list.replaceChildren(...(sentence ? [article(sentence, new Set(), names.map((_, i) => i))] : []));
      return;
    }
    const { found, matches, problem, countsWords } = search(filter);
    const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    const page = Math.min(Math.max(0, (parseInt(filter.page, 10) || 1) - 1), last);
    const text = `${count(found.length, "sentence")}${countsWords ? ` with ${count(matches, "matching word")}` : ""}.`;
    const message = problem ? make("p", { class: "error", role: "alert" }, problem) : make("p", {}, text);
    result.replaceChildren(message);
    if (packed.rows.length < packed.total)
      result.append(make("p", { class: "faint" }, `This page contains ${count(packed.rows.length, "sentence")}, spread evenly`
        + ` over the ${packed.total.toLocaleString("en")} sentences of the treebank. All scores are of all sentences.`));
    const turn = (target, label) => make("button", {
      type: "button", disabled: target < 0 || target > last ? "" : null,
      onclick: () => { location.hash = link({ ...filter, page: target + 1 }); } }, label);
    const pages = () => make("div", { class: "pages" }, turn(page - 1, "Previous"), `Page ${page + 1} of ${last + 1}`, turn(page + 1, "Next"));
    const shown = found.slice(page * PAGE, (page + 1) * PAGE);
    const articles = shown.map((hit) => article(hit.sentence, hit.matched, shownSystems()));
    list.replaceChildren(...(last ? [pages(), ...articles, pages()] : articles));
  }

  function article(sentence, matched, systems) {
    const title = `Sentence ${sentence.number}${sentence.id ? ` (${shorten(sentence.id)})` : ""}`;
    const figures = systems.map((i) => {
      const errors = scoredErrors(sentence, i).length;
      const caption = `${shorten(names[i])}: ${errors ? count(errors, "error") : "no errors"}`;
      return make("figure", {}, make("figcaption", {}, caption), drawTree(sentence, i, matched), explain(sentence, i));
    });
    return make("article", { id: `sentence-${sentence.number}` },
      make("h3", {}, make("a", { href: `#sentence-${sentence.number}` }, title)),
      make("p", { class: "faint" }, sentence.place),
      make("p", { class: "words", dir: "auto" }, words(sentence).join(" ")),
      ...figures);
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

  // ---- Trees ----

  const LEVEL = 20;
  const GAP = 20;
  const pen = document.createElement("canvas").getContext("2d");
  const widths = new Map();
  function textWidth(text, size, bold = false) {
    const key = `${bold ? "b" : ""}${size} ${text}`;
    if (!widths.has(key)) {
      pen.font = `${bold ? "bold " : ""}${size}px system-ui, sans-serif`;
      widths.set(key, Math.ceil(pen.measureText(text).width));
    }
    return widths.get(key);
  }

  /** Draw the gold tree above the words and the tree of a system below them, in as many rows as needed. */
  function drawTree(sentence, system, matched) {
    const available = Math.max(240, (list.clientWidth || 900) - 4);
    const wrong = sentence.wrong[system];
    const arcs = { gold: [], system: [] };
    const isError = (word) => wrong.has(word) && !sentence.leftOut.has(word);
    const label = (code) => (packed.relations[code] === "_" ? "" : shorten(packed.relations[code], 24));
    sentence.forms.forEach((_, word) => {
      const [head, relation] = [sentence.heads[word], sentence.relations[word]];
      arcs.gold.push({ word, head: head - 1, label: label(relation), kind: isError(word) ? "missed" : "" });
      const own = wrong.get(word) ?? { head, relation };
      const text = own.head < 0 ? "no head" : label(own.relation);
      arcs.system.push({ word, head: own.head - 1, label: isError(word) ? `✗ ${text}` : text, kind: isError(word) ? "wrong" : "" });
    });
    const columns = sentence.forms.map((form, word) => {
      const [text, tag] = [shorten(packed.forms[form], 30), shorten(packed.tags[sentence.tags[word]], 16)];
      const sizes = [textWidth(text, 14), textWidth(tag, 11)];
      for (const side of [arcs.gold, arcs.system]) sizes.push(textWidth(side[word].label, 12, side[word].kind) + 4);
      return { word, text, tag: tag === "_" ? "" : tag, width: Math.max(...sizes) + GAP };
    });
    const total = columns.reduce((sum, column) => sum + column.width, 0);
    const edges = total > available ? Math.min(90, available / 6) : 0; // room for arcs that leave a row
    const rows = [[]];
    let used = 0;
    for (const column of columns) {
      if (used + column.width > available - 2 * edges && rows.at(-1).length) {
        rows.push([]);
        used = 0;
      }
      rows.at(-1).push(column);
      used += column.width;
    }
    const rowOf = rows.flatMap((row, i) => row.map(() => i));
    const image = draw("svg", { class: "tree", role: "img", "aria-label": `Tree of sentence ${sentence.number}, ${shorten(names[system])}` });
    let [y, width] = [0, 0];
    for (const [index, row] of rows.entries()) {
      const centre = new Map();
      let x = index ? edges : 0;
      for (const column of row) {
        centre.set(column.word, x + column.width / 2);
        x += column.width;
      }
      const end = index < rows.length - 1 ? x + edges : x;
      const above = layOut(arcs.gold, centre, rowOf, index, end);
      const below = layOut(arcs.system, centre, rowOf, index, end);
      const base = y + above.height;
      drawArcs(image, above, base, -1);
      for (const column of row) {
        const at = centre.get(column.word);
        const form = draw("text", { x: at, y: base + 16 }, column.text);
        form.append(draw("title", {}, words(sentence)[column.word].slice(0, 1000)));
        image.append(form, draw("text", { class: "small", x: at, y: base + 31 }, rows.length > 1 ? `${column.word + 1} ${column.tag}` : column.tag));
        if (matched.has(column.word)) {
          const half = Math.max(8, textWidth(column.text, 14) / 2);
          image.append(draw("path", { class: "matched", d: `M${at - half} ${base + 20}h${2 * half}` }));
        }
      }
      drawArcs(image, below, base + 37, 1);
      y = base + 37 + below.height + 14;
      width = Math.max(width, end);
    }
    fill(image, { width, height: y, viewBox: `0 0 ${width} ${y}` }, []);
    return make("div", { class: "scroll" }, image);
  }

  /** The lines of the arcs that begin or end in a row, each with a level above the words. */
  function layOut(arcs, centre, rowOf, row, end) {
    const lines = [];
    for (const { word, head, label, kind } of arcs) {
      const [hasWord, hasHead] = [rowOf[word] === row, head >= 0 && rowOf[head] === row];
      if (!hasWord && !hasHead) continue;
      const shift = head < word ? 5 : -5; // a head's arcs leave beside the arrow of its own arc
      const line = { label, kind, arrow: hasWord ? centre.get(word) : null };
      if (head < 0 || head === word) {
        line.ends = [centre.get(word), centre.get(word)];
        line.label = head === word ? `↻ ${label}` : label;
      } else if (hasWord && hasHead) {
        line.ends = [centre.get(head) + shift, centre.get(word)];
      } else if (hasWord) {
        line.ends = [head < word ? 0 : end, centre.get(word)];
        line.label = `${label} from ${head + 1}`;
        line.open = 0;
      } else {
        line.ends = [centre.get(head) + shift, head < word ? end : 0];
        line.label = `${label} to ${word + 1}`;
        line.open = 1;
      }
      const half = textWidth(line.label, 12, line.kind) / 2 + 3;
      const [low, high] = [Math.min(...line.ends), Math.max(...line.ends)];
      line.middle = Math.max(half, Math.min(end - half, (low + high) / 2));
      line.span = high - low;
      line.from = Math.min(low, line.middle - half);
      line.to = Math.max(high, line.middle + half);
      lines.push(line);
    }
    // Short arcs are the lowest. The vertical arcs of roots come last, so that their labels are above all.
    lines.sort((a, b) => (a.span === 0) - (b.span === 0) || a.span - b.span);
    for (const [i, line] of lines.entries()) {
      line.level = 1;
      for (const lower of lines.slice(0, i))
        if (line.from < lower.to && lower.from < line.to) line.level = Math.max(line.level, lower.level + 1);
    }
    return { lines, height: LEVEL * Math.max(0, ...lines.map((line) => line.level)) + 12 };
  }

  function drawArcs(image, { lines, height }, base, direction) {
    const labels = [];
    for (const line of lines) {
      const far = base + direction * (LEVEL * line.level);
      const [start, stop] = line.ends;
      const tip = base + direction * 2;
      const sign = Math.sign(stop - start);
      const corner = Math.min(8, Math.abs(stop - start) / 2);
      let path = `M${stop} ${tip}V${far}`;
      if (sign) {
        const near = far - direction * corner;
        path = line.open === 0 ? `M${start} ${far}` : `M${start} ${tip}V${near}Q${start} ${far} ${start + sign * corner} ${far}`;
        path += line.open === 1 ? `H${stop}` : `H${stop - sign * corner}Q${stop} ${far} ${stop} ${near}V${tip}`;
      }
      image.append(draw("path", { class: line.kind || null, d: path }));
      if (line.arrow !== null)
        image.append(draw("path", { class: `arrow ${line.kind}`, d: `M${line.arrow} ${base}l-4 ${direction * 7}h8z` }));
      const label = textWidth(line.label, 12, line.kind) + 4;
      if (line.label) labels.push(draw("rect", { x: line.middle - label / 2, y: far - 7, width: label, height: 14 }));
      labels.push(draw("text", { class: `label ${line.kind}`, x: line.middle, y: far + 4 }, line.label));
    }
    image.append(...labels); // above all lines
  }

  // ---- The page ----

  const subtitle = document.getElementById("files");
  subtitle.append(`${names.map((name) => shorten(name)).join(", ")} compared with the gold file ${shorten(data.gold, 80)}:`
    + ` ${count(data.sentences.total, "sentence")}, ${count(data.scores[0].words, "word")}`);
  if (data.scores[0].scored < data.scores[0].words)
    subtitle.append(`, of which ${data.scores[0].scored.toLocaleString("en")} count as not punctuation`);
  const sections = {
    overview: showOverview, curves: showCurves, tables: showTables, confusions: showConfusions,
    calibration: showCalibration, agreement: showAgreement,
    sentences: (parent) => parent.append(form, result, list), about: showAbout,
  };
  for (const [id, show] of Object.entries(sections)) {
    const section = document.getElementById(id);
    if (show(section.querySelector(".content")) === false) continue;
    section.hidden = false;
    const title = section.querySelector("h2").textContent;
    document.getElementById("links").append(make("li", {}, make("a", { href: `#${id}` }, title)));
  }

  /** Show what the fragment of the address asks for: a section, a sentence or a filter. */
  function follow(event) {
    const fragment = location.hash.slice(1);
    const single = fragment.match(/^sentence-(\d+)$/);
    only = single ? Number(single[1]) : null;
    if (fragment.startsWith("sentences?")) filter = parse(fragment.slice("sentences?".length));
    else if (!single && event) return;
    const isTyping = form.contains(document.activeElement);
    writeForm();
    writeList();
    form.dataset.fragment = location.hash; // what is shown now
    if (fragment.startsWith("sentences?") || single) {
      const heading = document.querySelector("#sentences h2");
      if (!isTyping) {
        heading.scrollIntoView();
        heading.focus({ preventScroll: true });
      }
    }
  }
  window.addEventListener("hashchange", follow);
  follow();

  let shownWidth = list.clientWidth;
  let timer = 0;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (list.clientWidth !== shownWidth) {
        shownWidth = list.clientWidth;
        writeList();
      }
    }, 150);
  });
})();
