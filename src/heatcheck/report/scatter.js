// A mark for each text, by two of its numbers; classes differ in shape as well as in colour.

const SYMBOLS = [
  "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0Z", "M-3.3-3.3H3.3V3.3H-3.3Z", "M0-4.2L4 3.2H-4Z",
  "M0-4.6L4.6 0L0 4.6L-4.6 0Z", "M0 4.2L4-3.2H-4Z", "M-1.4-4.2H1.4V-1.4H4.2V1.4H1.4V4.2H-1.4V1.4H-4.2V-1.4H-1.4Z",
  "M-4.5-2H4.5V2H-4.5Z", "M-2-4.5H2V4.5H-2Z",
];
const NEAR = 9;
const SCATTER_HEIGHT = 286;

function mark(panel, transform) {
  return shape("path", { d: SYMBOLS[panel % SYMBOLS.length], transform, class: `point panel-${panel}` });
}

function drawScatter(width, key, bound, choose) {
  const x = scale([0, 1], [42, width - 12]);
  const y = scale([0, 0.7], [SCATTER_HEIGHT, 26]);
  const points = scatterPoints(key, x, y);
  const label = `Largest attention weight against ε-max JSD of ${countOf(points.length, "text")}`;
  const svg = canvas(width, SCATTER_HEIGHT + 44, label, "img");
  svg.append(axisLeft(y, [0, 0.2, 0.4, 0.6], x(0), x(1), brief),
    line(x(0), y(bound), x(1), y(bound), "bound"), lettering(x(0), 12, "start", "ε-max JSD", "title"),
    ...points.map((point) => mark(point.panel, `translate(${point.x.toFixed(1)} ${point.y.toFixed(1)})`)),
    axisBelow(x, [0, 0.25, 0.5, 0.75, 1], SCATTER_HEIGHT, "largest attention weight"));
  listenForPoints(svg, points, choose);
  return svg;
}

function scatterPoints(key, x, y) {
  return textsWhere((index) => valueOf(key, index) !== null && TEXTS.max_attention[index] !== null).map((index) => ({
    index, x: x(TEXTS.max_attention[index]), y: y(valueOf(key, index)), panel: PANEL_OF[TEXTS.predicted[index]],
  }));
}

function scatterKey() {
  const symbol = (panel) => shape("svg",
    { viewBox: "-6 -6 12 12", width: 14, height: 14, "aria-hidden": "true" }, mark(panel, null));
  const entries = DATA.panels.map(({ name }, panel) => element("span", {}, symbol(panel), shortened(name, 24)));
  return element("p", { class: "key" }, ...entries);
}

// Marks overlap: pointing means all within reach, the nearest first.
function listenForPoints(svg, points, choose) {
  const near = (event) => {
    const box = svg.getBoundingClientRect();
    const away = (point) => Math.hypot(point.x - event.clientX + box.left, point.y - event.clientY + box.top);
    return points.filter((point) => away(point) <= NEAR).sort((one, other) => away(one) - away(other))
      .map((point) => point.index);
  };
  svg.addEventListener("mousemove", (event) => {
    const found = near(event);
    svg.classList.toggle("over", found.length > 0);
    if (found.length) showTip(pointLines(found), event.clientX, event.clientY);
    else hideTip();
  });
  svg.addEventListener("mouseleave", hideTip);
  svg.addEventListener("click", (event) => {
    const found = near(event);
    if (found.length) choose(found);
  });
}

function pointLines([first, ...others]) {
  const predicted = DATA.classes[TEXTS.predicted[first]];
  const about = `predicted ${predicted}, largest weight ${figure(TEXTS.max_attention[first])}`;
  const beside = others.length ? [`and ${countOf(others.length, "text")} close by`] : [];
  return [clipped(visible(TEXTS.text[first]), 90), about, ...beside];
}
