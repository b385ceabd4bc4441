// Charts of several systems, whose colours, dashes and markers differ.

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
  // The interval of a bin with few words may be very long. The part of it that is more than 10 below
  // all points is cut off.
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
