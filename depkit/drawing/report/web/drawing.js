// Drawings of sentences: words in as many rows as needed, with lines above and below them.

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

/** A word of a drawing; lines: those whose labels need room above or below this word. */
function column(form, tag, lines, attributes = {}) {
  const [text, small] = [shorten(form, 30), tag === "_" ? "" : tag];
  const sizes = lines.map(({ label, kind }) => textWidth(label, 12, kind) + 16);
  return { form, text, tag: small, width: Math.max(textWidth(text, 14), textWidth(small, 11), ...sizes) + GAP, ...attributes };
}

/**
 * Draw a sentence.
 *
 * columns: its words, made by `column`; `isMatched` underlines a word, `class` is that of its form.
 * above, below: lines, which have a label and a kind ("", "wrong" or "missed").
 * shape: { leavesRows, layOut, drawLine }: whether lines need room where they leave a row; a
 *   function that returns the parts of some lines in a row; and one that returns the path of a part
 *   and its arrow, if it has one. A part has a label, a kind, an extent (from, to) and the middle of
 *   its label. Parts are drawn in their order, each above all earlier parts that it overlaps.
 */
function drawSentence(title, columns, above, below, shape) {
  const available = Math.max(240, (list.clientWidth || 900) - 4);
  const total = columns.reduce((sum, { width }) => sum + width, 0);
  const edges = total > available && shape.leavesRows ? Math.min(90, available / 6) : 0;
  const rows = [[]];
  let used = 0;
  columns.forEach(({ width }, word) => {
    if (used + width > available - 2 * edges && rows.at(-1).length) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1).push(word);
    used += width;
  });
  const image = draw("svg", { class: "tree", role: "img", "aria-label": title });
  let [y, right] = [0, 0];
  for (const [index, words] of rows.entries()) {
    const row = { first: words[0], last: words.at(-1), left: new Map(), centre: new Map() };
    let x = index ? edges : 0;
    for (const word of words) {
      row.left.set(word, x);
      row.centre.set(word, x + columns[word].width / 2);
      x += columns[word].width;
    }
    row.left.set(row.last + 1, x);
    row.end = index < rows.length - 1 ? x + edges : x;
    const [upper, lower] = [above, below].map((lines) => setLevels(shape.layOut(lines, row)));
    const base = y + upper.height;
    drawLines(image, upper.parts, base, -1, shape);
    for (const word of words) {
      const { form, text, tag, isMatched, class: name } = columns[word];
      const at = row.centre.get(word);
      const element = draw("text", { class: name, x: at, y: base + 16 }, text);
      element.append(draw("title", {}, visible(form.slice(0, 1000))));
      image.append(element, draw("text", { class: "small", x: at, y: base + 31 }, rows.length > 1 ? `${word + 1} ${tag}` : tag));
      if (isMatched) {
        const half = Math.max(8, textWidth(text, 14) / 2);
        image.append(draw("path", { class: "matched", d: `M${at - half} ${base + 20}h${2 * half}` }));
      }
    }
    drawLines(image, lower.parts, base + 37, 1, shape);
    y = base + 37 + lower.height + 14;
    right = Math.max(right, row.end);
  }
  fill(image, { width: right, height: y, viewBox: `0 0 ${right} ${y}` }, []);
  return scrollBox("tree", image);
}

/** Put a label in the middle between two positions, but within a row, and return the extent of both. */
function placeLabel({ label, kind }, low, high, end) {
  const half = textWidth(label, 12, kind) / 2 + 3;
  const middle = Math.max(half, Math.min(end - half, (low + high) / 2));
  return { middle, from: Math.min(low, middle - half), to: Math.max(high, middle + half) };
}

function setLevels(parts) {
  for (const [i, part] of parts.entries()) {
    part.level = 1;
    for (const lower of parts.slice(0, i))
      if (part.from < lower.to && lower.from < part.to) part.level = Math.max(part.level, lower.level + 1);
  }
  return { parts, height: LEVEL * Math.max(0, ...parts.map((part) => part.level)) + 12 };
}

/** direction: -1 above the words, 1 below them. */
function drawLines(image, parts, base, direction, shape) {
  const labels = [];
  for (const part of parts) {
    const far = base + direction * LEVEL * part.level;
    const { line, arrow } = shape.drawLine(part, base, far, direction);
    image.append(draw("path", { class: part.kind || null, d: line }));
    if (arrow) image.append(draw("path", { class: `arrow ${part.kind}`, d: arrow }));
    const width = textWidth(part.label, 12, part.kind) + 4;
    if (part.label) labels.push(draw("rect", { x: part.middle - width / 2, y: far - 7, width, height: 14 }));
    const name = `label ${part.kind}${part.isMatched ? " chosen" : ""}`;
    labels.push(draw("text", { class: name, x: part.middle, y: far + 4 }, part.label));
  }
  image.append(...labels); // above all lines
}
