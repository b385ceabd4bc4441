// Constituency trees as lines that span the words of each constituent. A bracket has a first word and
// the word after its last one, both numbered from 0. Brackets are in the order in which they open.

const DROP = 6; // the length of the ends of a line, which point to the words

const BRACKETS = {
  leavesRows: false,

  /** The parts of brackets in a row; those of longer brackets, and of outer ones, come later. */
  layOut(brackets, { first, last, left, end }) {
    const parts = [];
    brackets.forEach((bracket, order) => {
      if (bracket.start > last || bracket.end <= first) return;
      const ends = [left.get(Math.max(bracket.start, first)) + 4, left.get(Math.min(bracket.end, last + 1)) - 4];
      const open = [bracket.start < first, bracket.end > last + 1];
      parts.push({ ...bracket, order, ends, open, ...placeLabel(bracket, ...ends, end) });
    });
    return parts.sort((a, b) => a.end - a.start - (b.end - b.start) || b.order - a.order);
  },

  drawLine({ ends: [start, stop], open }, base, far, direction) {
    const foot = far - direction * DROP;
    const line = `M${start} ${open[0] ? far : foot}V${far}H${stop}${open[1] ? "" : `V${foot}`}`;
    return { line, arrow: null };
  },
};
