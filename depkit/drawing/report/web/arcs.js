// Dependency trees as arcs from heads to words. An arc has a word and a head, both numbered from 0;
// the head -1 is the root, or no head.

/** The arc of a word; head: numbered from 1, 0 for the root, -1 for no head; mark: a text before its label. */
function makeArc(word, head, relation, kind, mark = "") {
  const label = head < 0 ? "no head" : relation === "_" ? "" : shorten(relation, 24);
  return { word, head: head - 1, label: `${mark}${label}`, kind };
}

const ARCS = {
  leavesRows: true,

  /** The arcs that begin or end in a row. */
  layOut(arcs, { centre, end }) {
    const parts = [];
    for (const { word, head, label, kind } of arcs) {
      const [hasWord, hasHead] = [centre.has(word), centre.has(head)];
      if (!hasWord && !hasHead) continue;
      const shift = head < word ? 5 : -5; // a head's arcs leave beside the arrow of its own arc
      const part = { label, kind, arrow: hasWord ? centre.get(word) : null };
      if (head < 0 || head === word) {
        part.ends = [centre.get(word), centre.get(word)];
        part.label = head === word ? `↻ ${label}` : label;
      } else if (hasWord && hasHead) {
        part.ends = [centre.get(head) + shift, centre.get(word)];
      } else if (hasWord) {
        part.ends = [head < word ? 0 : end, centre.get(word)];
        part.label = `${label} from ${head + 1}`;
        part.open = 0;
      } else {
        part.ends = [centre.get(head) + shift, head < word ? end : 0];
        part.label = `${label} to ${word + 1}`;
        part.open = 1;
      }
      const [low, high] = [Math.min(...part.ends), Math.max(...part.ends)];
      parts.push({ ...part, span: high - low, ...placeLabel(part, low, high, end) });
    }
    // Short arcs are the lowest. The vertical arcs of roots come last, so that their labels are at the top.
    return parts.sort((a, b) => (a.span === 0) - (b.span === 0) || a.span - b.span);
  },

  drawLine({ ends: [start, stop], open, arrow }, base, far, direction) {
    const tip = base + direction * 2;
    const sign = Math.sign(stop - start);
    const corner = Math.min(8, Math.abs(stop - start) / 2);
    let line = `M${stop} ${tip}V${far}`;
    if (sign) {
      const near = far - direction * corner;
      line = open === 0 ? `M${start} ${far}` : `M${start} ${tip}V${near}Q${start} ${far} ${start + sign * corner} ${far}`;
      line += open === 1 ? `H${stop}` : `H${stop - sign * corner}Q${stop} ${far} ${stop} ${near}V${tip}`;
    }
    return { line, arrow: arrow === null ? null : `M${arrow} ${base}l-4 ${direction * 7}h8z` };
  },
};
