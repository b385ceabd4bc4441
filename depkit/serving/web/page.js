// Replaces corrected trees without loading the page anew, and copies and saves trees.
"use strict";

const FORMATS = {
  conllu: ["CoNLL-U", "text/plain", (article) => article.querySelector("[name=sentence]").value],
  svg: ["SVG", "image/svg+xml", drawingOf],
  tex: ["TikZ", "text/plain", (article) => `${article.querySelector(".tikz pre").textContent}\n`],
};

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

/** Return the drawing as the server has made it, without the marks of this script. */
function drawingOf(article) {
  const drawing = article.querySelector("svg").cloneNode(true);
  for (const text of drawing.querySelectorAll(".forms text")) text.removeAttribute("class");
  return `${new XMLSerializer().serializeToString(drawing)}\n`;
}

/** Add what needs a script; earlier: the article that this one replaces, if any. */
function setUp(article, earlier) {
  const status = make("p", { class: "status", role: "status" });
  const say = (text, isError) => {
    status.textContent = text;
    status.classList.toggle("error", Boolean(isError));
  };
  addTools(article, say);
  const form = article.querySelector("form");
  (form ?? article).append(status);
  if (!form) return say;
  const { word, head } = form.elements;
  const words = [...article.querySelectorAll(".forms text")];
  let chosen = 0; // the number of the word whose head is chosen next, 0 if there is none

  const choose = (number) => {
    chosen = number;
    words.forEach((text, i) => text.classList.toggle("chosen", i + 1 === number));
    if (!number) return say("");
    word.value = number;
    head.value = word.selectedOptions[0].dataset.head;
    say(`Click on the new head of “${words[number - 1].textContent}” in the tree, or choose it here.`);
  };
  const send = async (hasFocus) => {
    if (article.ariaBusy === "true") return;
    article.ariaBusy = "true";
    const [next, problem] = await fetchArticle(form);
    article.ariaBusy = "false";
    if (problem) return say(problem, true);
    choose(0); // Undo can bring this article back.
    replace(article, next, hasFocus);
    setUp(next, article)("The tree is the best one with what is set.");
  };
  head.value = word.selectedOptions[0].dataset.head;
  word.addEventListener("change", () => choose(Number(word.value)));
  words.forEach((text, i) => text.addEventListener("click", () => {
    if (!chosen || chosen === i + 1) return choose(chosen ? 0 : i + 1);
    head.value = i + 1;
    send(false);
  }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(true);
  });
  if (earlier) {
    const undo = () => replace(article, earlier, true);
    form.querySelector("button").after(make("button", { type: "button", class: "undo", onclick: undo }, "Undo"));
  }
  return say;
}

/** Send the form of a tree; return the new article and "", or null and what is wrong. */
async function fetchArticle(form) {
  try {
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(form.getAttribute("action"), { method: "POST", body });
    const text = await response.text();
    if (!response.ok) return [null, text];
    return [new DOMParser().parseFromString(text, "text/html").querySelector("article"), ""];
  } catch {
    return [null, "The server does not answer."];
  }
}

function replace(old, next, hasFocus) {
  const left = old.querySelector(".scroll").scrollLeft;
  const open = [...old.querySelectorAll("details")].map((details) => details.open);
  old.replaceWith(next);
  next.querySelector(".scroll").scrollLeft = left;
  next.querySelectorAll("details").forEach((details, i) => { details.open = open[i]; });
  if (hasFocus) next.querySelector("[name=word]").focus();
}

/** Add the buttons that copy and save a tree. */
function addTools(article, say) {
  const names = Object.keys(FORMATS).filter((name) => name === "conllu" || article.querySelector("svg"));
  const format = make("select", { name: "format" },
    ...names.map((name) => make("option", { value: name }, FORMATS[name][0])));
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(FORMATS[format.value][2](article));
      say(`The tree is copied as ${FORMATS[format.value][0]}.`);
    } catch {
      say("The browser does not allow this page to copy; download the tree.", true);
    }
  };
  const download = () => {
    const [, type, textOf] = FORMATS[format.value];
    const address = URL.createObjectURL(new Blob([textOf(article)], { type }));
    make("a", { href: address, download: `tree.${format.value}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  };
  article.append(make("p", { class: "tools" }, make("label", {}, "Tree as ", format),
    make("button", { type: "button", class: "copy", onclick: copy }, "Copy"),
    make("button", { type: "button", class: "download", onclick: download }, "Download")));
}

document.body.classList.add("live");
for (const article of document.querySelectorAll("article")) setUp(article);
