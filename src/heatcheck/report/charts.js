// What all charts share: drawing at the width there is, axes, marks.

// Redrawn when the width changes, so that lettering keeps its size on every screen.
function responsive(host, draw) {
  let last = 0;
  const redraw = () => {
    const width = Math.floor(host.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      host.replaceChildren(draw(width));
    }
  };
  new ResizeObserver(redraw).observe(host);
  redraw();
  return () => { last = 0; redraw(); };
}

function canvas(width, height, label, role = "group") {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role, "aria-label": label, class: "chart" });
}

function scale(domain, range) {
  const slope = (range[1] - range[0]) / (domain[1] - domain[0]);
  return (value) => range[0] + (value - domain[0]) * slope;
}

function lettering(x, y, anchor, text, kind = "") {
  return shape("text", { x, y, "text-anchor": anchor, class: kind }, text);
}

function line(x1, y1, x2, y2, kind) {
  return shape("line", { x1, y1, x2, y2, class: kind });
}

function axisBelow(x, ticks, y, title, format = brief) {
  const [left, right] = [x(ticks[0]), x(ticks[ticks.length - 1])];
  return shape("g", { class: "axis" }, line(left, y, right, y, "base"),
    ...ticks.flatMap((tick) => [
      line(x(tick), y, x(tick), y + 4, "base"), lettering(x(tick), y + 17, "middle", format(tick))]),
    lettering((left + right) / 2, y + 36, "middle", title, "title"));
}

function axisLeft(y, ticks, left, right, format) {
  return shape("g", { class: "axis" }, ...ticks.flatMap((tick) => [
    line(left, y(tick), right, y(tick), "grid"), lettering(left - 6, y(tick) + 4, "end", format(tick))]));
}

// A round step that gives two or three ticks.
function shareTicks(largest) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5].find((one) => largest / one <= 3) ?? 0.5;
  const ticks = [0];
  while (ticks[ticks.length - 1] < largest) ticks.push(Number((ticks[ticks.length - 1] + step).toFixed(2)));
  return ticks;
}

function percentage(share) {
  return `${Math.round(100 * share)}%`;
}

// Chosen parts keep a mark; one at a time in a section.
function chooser() {
  let chosen = null;
  return {
    choose(node) {
      this.clear();
      chosen = node;
      node.classList.add("chosen");
    },
    clear() {
      if (chosen) chosen.classList.remove("chosen");
      chosen = null;
    },
  };
}

// The table beside a chart has a body for each variant; only the chosen one is shown, and then needs no name.
function showVariant(host, key) {
  for (const body of host.closest("section").querySelectorAll("tbody[data-variant]")) {
    body.hidden = body.dataset.variant !== key;
    body.querySelector(".which").hidden = true;
  }
}

// Without texts there is nothing to draw, only tables.
function start(name, chart, draw) {
  const host = place(name);
  if (host && DATA.panels.length && chart.variants.length) draw(host, chart);
}
