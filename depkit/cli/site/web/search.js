"use strict";

// The search of every page. The index is a script as well, because a page that is opened as a file
// cannot fetch JSON; it is loaded when somebody begins to search.
(() => {
  const MAX_RESULTS = 30;
  const MAX_TEXT = 120; // characters
  const input = document.getElementById("query");
  const box = document.getElementById("found");
  box.setAttribute("aria-live", "polite");
  let entries = null;
  let isRequested = false;

  // Called by search-index.js with [title, kind, address, text] of each entry.
  window.depkitIndex = (index) => {
    entries = index.map((entry) => [...entry, `${entry[0]} ${entry[3]}`.toLowerCase()]);
    show();
  };

  const load = () => {
    if (isRequested) return;
    isRequested = true;
    const script = document.createElement("script");
    script.src = "search-index.js";
    document.head.append(script);
  };

  // 0 for the best result, null for none. Every word of the query must be found.
  const rank = (entry, words) => {
    const title = entry[0].toLowerCase();
    const query = words.join(" ");
    if (!words.every((word) => entry[4].includes(word))) return null;
    if (title === query || title.endsWith(` ${query}`)) return 0;
    if (title.startsWith(query)) return 1;
    return words.every((word) => title.includes(word)) ? 2 : 3;
  };

  const make = (name, text, parent) => {
    const element = document.createElement(name);
    element.textContent = text;
    parent.append(element);
    return element;
  };

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    box.hidden = !words.length || !entries;
    if (box.hidden) return;
    const found = entries
      .map((entry) => [rank(entry, words), entry])
      .filter(([value]) => value !== null)
      .sort(([a], [b]) => a - b);
    box.replaceChildren();
    const more = found.length > MAX_RESULTS ? `, the first ${MAX_RESULTS} of them here` : "";
    make("p", `${found.length} found${more}`, box);
    const list = make("ul", "", box);
    for (const [, [title, kind, address, text]] of found.slice(0, MAX_RESULTS)) {
      const link = make("a", title, make("li", "", list));
      link.href = address;
      const start = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
      make("span", text ? `${kind}: ${start}` : kind, link);
    }
  };

  const links = () => [...box.querySelectorAll("a")];
  input.addEventListener("focus", load);
  input.addEventListener("input", () => { load(); show(); });
  input.form.addEventListener("submit", (event) => {
    const [first] = links();
    if (box.hidden || !first) return;
    event.preventDefault();
    first.click();
    box.hidden = true;
  });
  input.form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      box.hidden = true;
      input.focus();
    }
    if (box.hidden || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    const all = [input, ...links()];
    const step = event.key === "ArrowDown" ? 1 : -1;
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
  document.addEventListener("click", (event) => {
    if (!input.form.contains(event.target)) box.hidden = true;
  });
  const query = new URLSearchParams(location.search).get("q");
  if (query) {
    input.value = query;
    load();
  }
})();
