// The list of a page, of sentences or suspects. A form has the conditions of a search; the fragment
// of the address contains them, so that a link to a search can be shared.
//
// The script of each page defines LIST:
//   id, item: the id of the section, and the name of an item, as in #sentences and #sentence-3;
//   items: each with its number from 1; text(item): the text that is shown;
//   searched(item): what is searched: the text and, on a line of its own, the words with spaces
//     between them;
//   filters, defaults: the names of the conditions in the address, and default values other than "";
//   check(filter): corrects conditions that come from an address;
//   fields(box): the fields of the form; box(label, name, options) makes one for a condition;
//   matcher(filter): returns a function that maps an item to the set of its parts that fulfil the
//     conditions; null if there are no conditions. part(filter): the name of such a part;
//   orders: [name, text, a function that returns the function that compares two items];
//   article(item, matched, filter): the element of an item; without filter, the item is shown alone.

const PAGE = 20; // items on a page of the list
const SEARCH_SECONDS = 10; // after this time, the search for a regular expression is stopped
const NO_WORKER = "This browser does not allow the page to search for regular expressions.";

function link(filter) {
  const parameters = new URLSearchParams();
  for (const key of LIST.filters)
    if (filter[key] !== undefined && filter[key] !== "" && String(filter[key]) !== LIST.defaults[key])
      parameters.set(key, filter[key]);
  return `#${LIST.id}?${parameters}`;
}

function parse(fragment) {
  const parameters = new URLSearchParams(fragment);
  const values = {};
  for (const key of LIST.filters) values[key] = parameters.get(key) ?? LIST.defaults[key] ?? "";
  LIST.check(values);
  return values;
}

let filter = {};
let only = null; // the number of the only item to show
const form = make("form", { "aria-label": "Conditions", onsubmit: (event) => event.preventDefault() });
const result = make("div", { "aria-live": "polite" });
const list = make("div");

const change = (changes) => {
  only = null;
  location.replace(link({ ...filter, page: "", ...changes }));
};

// ---- Regular expressions ----

// Some expressions take time that is exponential in the length of the text. A worker searches, so
// that the page stays usable and the search can be stopped.
let searched = { pattern: "", found: [], problem: "" }; // found: whether each item has the pattern
let stopSearch = () => {};

/** The whole script of the worker. */
function searchTexts({ data: { pattern, texts } }) {
  try {
    const expression = new RegExp(pattern, "imu");
    postMessage({ pattern, found: texts.map((text) => expression.test(text)), problem: "" });
  } catch (error) {
    postMessage({ pattern, found: [], problem: `This is not a regular expression: ${error.message}` });
  }
}

function startSearch(pattern) {
  const finish = (outcome) => {
    stopSearch();
    searched = outcome;
    writeList();
  };
  const fail = (problem) => finish({ pattern, found: [], problem });
  const address = URL.createObjectURL(new Blob([`onmessage = ${searchTexts}`], { type: "text/javascript" }));
  let worker;
  try {
    worker = new Worker(address);
  } catch {
    fail(NO_WORKER);
    return;
  }
  const timer = setTimeout(() => fail(`The search was stopped after ${SEARCH_SECONDS} seconds: this regular`
    + " expression takes too long. Nested repetitions, as in (a+)+, are often the reason."), SEARCH_SECONDS * 1000);
  stopSearch = () => {
    worker.terminate();
    clearTimeout(timer);
    URL.revokeObjectURL(address);
    stopSearch = () => {};
  };
  worker.onmessage = ({ data: outcome }) => finish(outcome);
  worker.onerror = () => fail(NO_WORKER);
  worker.postMessage({ pattern, texts: LIST.items.map(LIST.searched) });
}

// ---- The form and the list ----

function writeForm() {
  const box = (label, key, options) => select(label, options, filter[key], (value) => change({ [key]: value }), { name: key });
  const parts = [
    ...LIST.fields(box),
    make("label", {}, "Text or words (regular expression) ", make("input", {
      name: "words", type: "search", value: filter.words, autocomplete: "off", spellcheck: "false",
      onchange: (event) => change({ words: event.target.value }) })),
    box("Order", "order", LIST.orders.map(([name, text]) => [name, text])),
    make("button", { type: "button", onclick: () => change(Object.fromEntries(LIST.filters.map((key) => [key, ""]))) }, "Clear all"),
  ];
  const focused = document.activeElement?.form === form ? document.activeElement.name : null;
  form.replaceChildren(...parts.filter(Boolean));
  if (focused) form.elements[focused]?.focus();
}

function writeList() {
  stopSearch();
  if (only === null && filter.words && searched.pattern !== filter.words) {
    result.replaceChildren(make("p", {}, "Searching…"));
    startSearch(filter.words); // calls this function again at the end
    return;
  }
  if (only === null) writeFound();
  else {
    const item = LIST.items.find((candidate) => candidate.number === only);
    const back = make("a", { href: link(filter) }, "Back to the list");
    const text = `${LIST.item[0].toUpperCase()}${LIST.item.slice(1)} ${only}${item ? "" : " is not in this page"}. `;
    result.replaceChildren(make("p", {}, text, back));
    list.replaceChildren(...(item ? [LIST.article(item, new Set())] : []));
  }
  form.dataset.fragment = location.hash; // what is shown now
}

function writeFound() {
  const problem = filter.words ? searched.problem : "";
  const matcher = LIST.matcher(filter);
  const found = [];
  let matches = 0;
  LIST.items.forEach((item, index) => {
    if (problem || (filter.words && !searched.found[index])) return;
    const matched = matcher ? matcher(item) : new Set();
    if (matcher && !matched.size) return;
    matches += matched.size;
    found.push({ item, matched });
  });
  const order = LIST.orders.find(([name]) => name === filter.order)?.[2];
  if (order) {
    const compare = order(filter);
    found.sort((a, b) => compare(a.item, b.item));
  }
  const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
  const page = Math.min(Math.max(0, (parseInt(filter.page, 10) || 1) - 1), last);
  const text = `${count(found.length, LIST.item)}${matcher && LIST.part ? ` with ${count(matches, LIST.part(filter))}` : ""}.`;
  result.replaceChildren(problem ? make("p", { class: "error", role: "alert" }, problem) : make("p", {}, text));
  if (LIST.note) result.append(make("p", { class: "faint" }, LIST.note));
  const turn = (target, label) => make("button", {
    type: "button", disabled: target < 0 || target > last ? "" : null,
    onclick: () => { location.hash = link({ ...filter, page: target + 1 }); } }, label);
  const pages = () => make("div", { class: "pages" }, turn(page - 1, "Previous"), `Page ${page + 1} of ${last + 1}`, turn(page + 1, "Next"));
  const shown = found.slice(page * PAGE, (page + 1) * PAGE);
  const articles = shown.map(({ item, matched }) => LIST.article(item, matched, filter));
  list.replaceChildren(...(last ? [pages(), ...articles, pages()] : articles));
}

/** An item of the list, with a title that leads to its own address. */
function makeArticle(number, title, place, ...content) {
  const address = `${LIST.item}-${number}`;
  return make("article", { id: address },
    make("h3", {}, make("a", { href: `#${address}` }, title)),
    make("p", { class: "faint" }, place), ...content);
}

// ---- The page ----

/** Show the sections of a page, whose functions return false if they have nothing to show. */
function showPage(subtitle, sections) {
  document.getElementById("subtitle").append(subtitle);
  const shows = { ...sections, [LIST.id]: (parent) => parent.append(form, result, list) };
  for (const section of document.querySelectorAll("main > section")) {
    if (shows[section.id](section.querySelector(".content")) === false) continue;
    section.hidden = false;
    const title = section.querySelector("h2").textContent;
    document.getElementById("links").append(make("li", {}, make("a", { href: `#${section.id}` }, title)));
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
}

/** Show what the fragment of the address asks for: a section, an item or a search. */
function follow(event) {
  const fragment = location.hash.slice(1);
  const prefix = `${LIST.id}?`;
  const single = fragment.startsWith(`${LIST.item}-`) ? fragment.slice(LIST.item.length + 1).match(/^\d+$/) : null;
  only = single ? Number(single[0]) : null;
  if (fragment.startsWith(prefix) || !event) filter = parse(fragment.startsWith(prefix) ? fragment.slice(prefix.length) : "");
  else if (!single) return;
  const isTyping = form.contains(document.activeElement);
  writeForm();
  writeList();
  if (fragment.startsWith(prefix) || single) {
    const heading = document.querySelector(`#${LIST.id} h2`);
    if (!isTyping) {
      heading.scrollIntoView();
      heading.focus({ preventScroll: true });
    }
  }
}
