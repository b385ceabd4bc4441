// Elements with texts and tables, for all pages. All texts of the treebank reach a page through
// `visible` and as text nodes, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const LONGEST = 40; // characters of a text in a table or a drawing
const SVG = "http://www.w3.org/2000/svg";

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
const softwareText = () => Object.entries(data.software).map(([name, version]) => `${name} ${version}`).join(", ");
const distinct = (values) => [...new Set(values)];

function select(label, options, value, change, attributes = {}) {
  const box = make("select", { onchange: (event) => change(event.target.value), ...attributes });
  for (const [key, text] of options) box.append(brief("option", { value: key }, text, 64));
  box.value = value;
  return make("label", {}, label, " ", box);
}

/** Options for the values of a condition. */
const optionsOf = (values) =>
  [["", "any"], ...[...values].sort((a, b) => a.localeCompare(b)).map((text) => [text, text])];

/** Content that is made again whenever the value of one of its choices changes. */
function chooser(parent, choices, show) {
  const values = choices.map((choice) => choice.options[0][0]);
  const content = make("div");
  const update = () => content.replaceChildren(...show(...values));
  const boxes = choices.map((choice, i) =>
    choice.options.length > 1 && select(choice.label, choice.options, values[i], (value) => {
      values[i] = value;
      update();
    }),
  ).filter(Boolean);
  if (boxes.length) parent.append(make("p", { class: "choice" }, ...boxes));
  parent.append(content);
  update();
}

/** A box that is scrolled sideways if its content is too wide, also by the keyboard. */
function scrollBox(label, content) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, content);
}

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
        if (a === null || b === null) return (a === null) - (b === null); // cells without a value come last
        const sign = typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
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
  return scrollBox(caption || header.join(", "), make("table", {}, ...parts));
}
