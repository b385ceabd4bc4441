// The decisions about suspects: they are kept in the browser, and downloaded as corrections.
//
// A decision has a choice, "accept", "reject" or "other", and the annotation that is to be set: for
// "other" that of the annotator, else the proposed one. The script of the page defines `suspects`.

const CHOICES = [["", "undecided"], ["accept", "accept"], ["reject", "reject"], ["other", "other value"]];
const STORE = `depkit-suspects-${data.digest}`;

const decisions = new Map(); // by the number of the suspect
const boxes = new Map(); // by the number of a shown suspect, its fields and the function that sets them
let isKept = true; // whether the browser keeps the decisions
let isSaved = true; // whether they have been kept or downloaded
const summary = make("div", { role: "status" });
const notice = make("p", { role: "status" });

const choiceOf = (suspect) => decisions.get(suspect.number)?.choice ?? "";

/** The cells that a decision sets, by their column; none if it sets nothing. */
function cellsOf(suspect) {
  const { choice, value } = decisions.get(suspect.number) ?? { choice: "" };
  if (!choice || choice === "reject" || (choice === "other" && valueProblem(suspect, value))) return {};
  return suspect.kind === "head" ? { head: headOf(value), deprel: valueOf("head", value) } : { [suspect.kind]: value };
}

/** What is wrong with a value that the annotator has written; "" if nothing is. */
function valueProblem({ kind, word, forms, heads }, value) {
  const text = valueOf(kind, value);
  if (!text) return "Write a value.";
  if (/\s/.test(text)) return "The value has a space.";
  if (kind === "feats" && data.universal && !/^(_|[^=|]+=[^=|]+(\|[^=|]+=[^=|]+)*)$/.test(text)) return "Features are written as Case=Nom|Number=Sing.";
  if (kind !== "head" && kind !== "deprel") return "";
  const head = kind === "head" ? headOf(value) : null;
  if (head !== null && !(head >= 0 && head <= forms.length && head !== word + 1)) return "Choose a head.";
  const isRoot = (head ?? heads[word]) === 0;
  if (data.universal && isRoot !== (text.split(":")[0] === "root")) return "The root, and no other word, has the relation root.";
  return "";
}

/** What is wrong with the tree of a sentence after all decisions; "" if nothing is. */
function treeProblem(sentence, own) {
  const [, forms, , gold] = packed.rows[sentence];
  const name = (words) => words.map((word) => `${word + 1} ${shorten(packed.forms[forms[word]], 24)}`).join(", ");
  const heads = [...gold];
  for (const suspect of own) {
    const { head } = cellsOf(suspect);
    if (head !== undefined) heads[suspect.word] = head;
  }
  if (heads.every((head, word) => head === gold[word])) return "";
  const seen = new Array(heads.length).fill(-1); // the word from which each word was reached first
  for (let start = 0; start < heads.length; start++) {
    let word = start;
    while (word >= 0 && seen[word] < 0) {
      seen[word] = start;
      word = heads[word] - 1;
    }
    if (word >= 0 && seen[word] === start) {
      const cycle = [word];
      while (heads[cycle.at(-1)] - 1 !== word) cycle.push(heads[cycle.at(-1)] - 1);
      return `the heads of the words ${name(cycle.sort((a, b) => a - b))} would form a cycle`;
    }
  }
  const rootsOf = (numbers) => numbers.flatMap((head, word) => (head === 0 ? [word] : []));
  const roots = rootsOf(heads);
  if (data.universal && roots.length > Math.max(1, rootsOf(gold).length)) return `the words ${name(roots)} would all be roots`;
  return data.universal && !roots.length ? "no word would be the root" : "";
}

// ---- Keeping decisions ----

/** Take the decisions of a stored text; what is not valid is left out. */
function restore(text) {
  const stored = JSON.parse(text) ?? {};
  decisions.clear();
  for (const suspect of suspects) {
    const { choice, value } = stored[suspect.number] ?? {};
    if (CHOICES.some(([name]) => name && name === choice) && typeof value === "string")
      decisions.set(suspect.number, { choice, value });
  }
}

function save() {
  isSaved = false;
  try {
    localStorage.setItem(STORE, JSON.stringify(Object.fromEntries(decisions)));
    isKept = isSaved = true;
  } catch {
    isKept = false;
  }
}

function load() {
  try {
    const text = localStorage.getItem(STORE);
    if (text) restore(text);
    localStorage.setItem(STORE, text ?? "{}");
  } catch {
    isKept = false;
  }
}

/** Decide about a suspect. Other decisions that set the same cell to another value become "reject". */
function decide(suspect, choice, value) {
  if (choice) decisions.set(suspect.number, { choice, value });
  else decisions.delete(suspect.number);
  const cells = cellsOf(suspect);
  const contrary = suspects.filter((other) => other !== suspect
    && other.sentence === suspect.sentence && other.word === suspect.word
    && Object.entries(cellsOf(other)).some(([column, text]) => column in cells && cells[column] !== text));
  for (const other of contrary) decisions.set(other.number, { choice: "reject", value: other.alternative });
  notice.replaceChildren(contrary.length ? `Rejected, because it contradicts your last decision: suspect ${contrary.map(({ number }) => number).join(", ")}.` : "");
  save();
  showDecisions();
}

// ---- Files ----

const keyOf = ({ sent_id, line, word, kind, gold }, proposed) => JSON.stringify([sent_id || line, word, kind, gold, proposed]);

/** The corrections as a text in JSON, one in a line, in the order of the treebank. */
function correctionsText() {
  const decided = suspects.filter((suspect) => decisions.has(suspect.number) && !(choiceOf(suspect) === "other" && valueProblem(suspect, decisions.get(suspect.number).value)));
  decided.sort((a, b) => a.sentence - b.sentence || a.word - b.word || a.number - b.number);
  const rows = decided.map((suspect) => {
    const { choice, value } = decisions.get(suspect.number);
    const { file, line, sent_id, word, forms, kind, gold, alternative } = suspect;
    return JSON.stringify({
      decision: choice === "reject" ? "reject" : "accept", file, line, sent_id, word: word + 1, form: packed.forms[forms[word]], kind, gold,
      alternative: value, proposed: alternative });
  });
  return `{"corrections": [\n${rows.join(",\n")}\n]}\n`;
}

function download() {
  const address = URL.createObjectURL(new Blob([correctionsText()], { type: "application/json" }));
  make("a", { href: address, download: FILE }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  isSaved = true;
}

/** Take over the decisions of a file of corrections that a page of suspects has made. */
async function loadFile(file) {
  try {
    const rows = JSON.parse(await file.text()).corrections;
    const index = new Map(suspects.map((suspect) => [keyOf({ ...suspect, word: suspect.word + 1 }, suspect.alternative), suspect]));
    let loaded = 0;
    for (const row of rows) {
      const suspect = index.get(keyOf(row, row.proposed));
      if (!suspect || !["accept", "reject"].includes(row.decision) || typeof row.alternative !== "string") continue;
      const isOther = row.decision === "accept" && row.alternative !== suspect.alternative;
      decisions.set(suspect.number, { choice: isOther ? "other" : row.decision, value: row.alternative });
      loaded += 1;
    }
    const rest = rows.length - loaded;
    notice.replaceChildren(`${count(loaded, "decision")} loaded.${rest ? ` ${count(rest, "row")} of the file ${rest === 1 ? "is" : "are"} not about a suspect of this page.` : ""}`);
    save();
  } catch {
    notice.replaceChildren("This is not a file of corrections from a page of suspects.");
  }
  showDecisions();
}

// ---- What is shown ----

const NAME = data.treebank.split(/[/\\]/).at(-1).replace(/(\.conllu?)?(\.gz|\.xz)?$/, "").replace(/^-+/, "");
const FILE = `${NAME || "treebank"}.corrections.json`;
/** Quote an argument for a shell. */
const quote = (text) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const downloadButton = make("button", { type: "button", onclick: download }, "Download the corrections");

/** Show the number of decisions, and what is wrong with them. */
function showDecisions() {
  const numbers = { accept: 0, reject: 0 };
  const bySentence = new Map();
  const problems = [];
  const linkTo = ({ number }) => make("a", { href: `#${LIST.item}-${number}` }, `suspect ${number}`);
  for (const suspect of suspects) {
    const decision = decisions.get(suspect.number);
    if (!decision) continue;
    const problem = decision.choice === "other" ? valueProblem(suspect, decision.value) : "";
    if (problem) problems.push(make("li", {}, linkTo(suspect), `: it is not in the file. ${problem}`));
    else numbers[decision.choice === "reject" ? "reject" : "accept"] += 1;
    if (cellsOf(suspect).head !== undefined) bySentence.set(suspect.sentence, [...(bySentence.get(suspect.sentence) ?? []), suspect]);
  }
  for (const [sentence, own] of bySentence) {
    const problem = treeProblem(sentence, own);
    if (!problem) continue;
    const links = (some) => some.flatMap((suspect, i) => [i ? ", " : "", linkTo(suspect)]);
    const others = suspects.filter((other) => other.sentence === sentence && other.kind === "head" && !decisions.has(other.number)).slice(0, 10);
    problems.push(make("li", {}, ...links(own), `: ${problem}. depkit edit refuses this sentence; reject a suspect${others.length ? ", or decide on the other heads of the sentence: " : "."}`, ...links(others)));
  }
  const decided = numbers.accept + numbers.reject;
  downloadButton.disabled = !decided;
  summary.replaceChildren(
    make("p", {}, `${numbers.accept.toLocaleString("en")} accepted, ${numbers.reject.toLocaleString("en")} rejected, ${(suspects.length - decided).toLocaleString("en")} undecided.`),
    make("p", isKept ? { class: "faint" } : { class: "error" }, isKept
      ? "This browser keeps the decisions, also when the page is loaded again."
      : "This browser does not keep the decisions: download them before you close or reload the page. The file can be loaded again."));
  if (problems.length) summary.append(make("p", { class: "error" }, "Problems"), make("ul", {}, ...problems));
  for (const [number, { element, show }] of boxes) {
    if (element.isConnected) show();
    else boxes.delete(number);
  }
}

function showSection(parent) {
  if (!suspects.length) return false;
  const used = (kind) => distinct([...suspects.filter((suspect) => suspect.kind === kind).flatMap(({ goldValue, otherValue }) => [goldValue, otherValue]),
    ...{ upos: packed.tags, deprel: packed.relations }[kind] ?? []]);
  for (const kind of ["deprel", "upos", "xpos", "feats"])
    parent.append(make("datalist", { id: `values-${kind}` }, ...used(kind).filter((text) => text !== "_").sort().map((value) => make("option", { value: visible(value) }))));
  parent.append(summary, notice,
    make("p", { class: "choice" }, downloadButton,
      make("label", {}, "Load a file of corrections ", make("input", { type: "file", accept: ".json", onchange: (event) => {
        if (event.target.files.length) loadFile(event.target.files[0]);
        event.target.value = "";
      } }))),
    make("p", {}, "Apply the file: ", make("code", {}, `depkit edit ${quote(FILE)} ${quote(data.treebank)} -o corrected.conllu`)));
  window.addEventListener("storage", ({ key, newValue }) => {
    if (key !== STORE || !newValue) return;
    restore(newValue); // another tab shows the same page
    showDecisions();
  });
  window.addEventListener("beforeunload", (event) => {
    if (!isKept && !isSaved) event.preventDefault();
  });
  load();
  showDecisions();
  return true;
}

/** The fields with which the annotator decides about a suspect. */
function decisionBox(suspect) {
  const problem = make("span", { class: "error" });
  const own = make("span", { class: "own" });
  const radios = CHOICES.map(([choice, text]) => {
    const radio = make("input", { type: "radio", name: `decision-${suspect.number}`, value: choice, onchange: () => {
      const kept = decisions.get(suspect.number)?.value;
      decide(suspect, choice, choice === "other" && kept ? kept : suspect.alternative);
    } });
    return [radio, make("label", {}, radio, ` ${text}`)];
  });
  const show = () => {
    const { choice, value } = decisions.get(suspect.number) ?? { choice: "", value: "" };
    for (const [radio] of radios) radio.checked = radio.value === choice;
    if (choice !== "other") own.replaceChildren();
    else if (!own.childElementCount) own.append(...valueFields(suspect, value));
    problem.replaceChildren(choice === "other" ? valueProblem(suspect, value) : "");
  };
  const element = make("fieldset", {}, make("legend", {}, `Decision on suspect ${suspect.number}`), ...radios.map(([, label]) => label), own, problem);
  boxes.set(suspect.number, { element, show });
  show();
  return element;
}

/** The fields for a value of the annotator: of heads, a head and a relation. */
function valueFields(suspect, value) {
  const { kind, forms, word } = suspect;
  const isHead = kind === "head";
  const set = () => decide(suspect, "other", isHead ? `${head.value}:${text.value.trim()}` : text.value.trim());
  const text = make("input", { type: "text", list: `values-${isHead ? "deprel" : kind}`, value: valueOf(kind, value), autocomplete: "off", spellcheck: "false", oninput: set });
  const fields = [make("label", {}, `${isHead ? "Relation" : "Value"} `, text)];
  const head = isHead && make("select", { onchange: set }, make("option", { value: 0 }, "0 (the root)"),
    ...forms.flatMap((form, i) => (i === word ? [] : [make("option", { value: i + 1 }, `${i + 1} ${shorten(packed.forms[form], 24)}`)])));
  if (isHead) {
    head.value = headOf(value);
    fields.unshift(make("label", {}, "Head ", head));
  }
  return fields;
}
