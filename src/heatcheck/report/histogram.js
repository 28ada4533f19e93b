// Histograms of one value per text: a panel for each predicted class over a common axis.

// Many classes get lower panels, so that all can be seen together.
const PANEL_HEIGHT = DATA.panels.length > 4 ? 60 : 104;
const PANEL_STEP = PANEL_HEIGHT + 30;

function drawHistogram(width, { histogram, axis, ticks, bound, label, choose }) {
  const { edges, counts, mean } = histogram;
  const totals = counts.map((row) => row.reduce((sum, count) => sum + count, 0));
  const largest = Math.max(...counts.flatMap((row, panel) => row.map((count) => count / Math.max(1, totals[panel]))));
  const shares = shareTicks(Math.max(largest, 0.01));
  const above = bound ? 18 : 0;
  const height = above + counts.length * PANEL_STEP + 44;
  const x = scale([edges[0], edges[edges.length - 1]], [42, width - 12]);
  const svg = canvas(width, height, label);
  counts.forEach((row, panel) => {
    const top = above + panel * PANEL_STEP + 26;
    const y = scale([0, shares[shares.length - 1]], [top + PANEL_HEIGHT, top]);
    svg.append(axisLeft(y, shares, x(edges[0]), x(edges[edges.length - 1]), percentage),
      panelTitle(panel, top, totals[panel], mean[panel], width));
    const bars = row.map((count, bin) => bar({ panel, bin, count, edges, x, y, top, total: totals[panel], choose }));
    rove(bars.filter((_, bin) => row[bin] > 0));
    svg.append(...bars);
    if (mean[panel] !== null) svg.append(meanMark(x(mean[panel]), top));
    if (bound) svg.append(line(x(bound.at), top - (panel ? 4 : 24), x(bound.at), top + PANEL_HEIGHT, "bound"));
  });
  if (bound) svg.append(lettering(x(bound.at) + 4, 12, "end", bound.label, "bound-label"));
  svg.append(axisBelow(x, ticks, height - 44, axis));
  return svg;
}

function panelTitle(panel, top, total, mean, width) {
  const name = shortened(DATA.panels[panel].name, width < 480 ? 14 : 40);
  return shape("g", {},
    shape("rect", { x: 42, y: top - 17, width: 10, height: 10, rx: 2, class: `fill panel-${panel}` }),
    shape("text", { x: 57, y: top - 8, class: "panel-title" }, shape("tspan", { class: "strong" }, name),
      total ? ` · ${countOf(total, "text")} · mean ${figure(mean)}` : " · no texts"));
}

function meanMark(x, top) {
  const y = top + PANEL_HEIGHT;
  const triangle = `M${x - 5} ${y + 7}L${x + 5} ${y + 7}L${x} ${y}Z`;
  return shape("g", { class: "mean" }, line(x, top, x, y, ""), shape("path", { d: triangle }));
}

function bar({ panel, bin, count, edges, x, y, top, total, choose }) {
  const [left, right] = [x(edges[bin]), x(edges[bin + 1])];
  const height = y(0) - y(count / Math.max(1, total));
  const range = `${brief(edges[bin])} to ${brief(edges[bin + 1])}`;
  const group = shape("g", { class: `bar panel-${panel}`, "data-bin": bin, "data-panel": panel, "data-count": count },
    shape("rect", { x: left, y: top, width: right - left, height: PANEL_HEIGHT, class: "hit" }),
    shape("rect", { x: left + 0.75, y: y(0) - height, width: Math.max(1, right - left - 1.5), height, class: "fill" }));
  if (count === 0) return group;
  const name = DATA.panels[panel].name;
  const texts = countOf(count, "text");
  const lines = [`${range}: ${texts} (${percentage(count / total)} of ${shortened(name, 30)})`, "choose to read them"];
  return makeChoosable(group, `${name}, ${range}: ${texts}`, lines, (node) => choose(node, panel, bin));
}

// The texts of a bar: [low, high), the last bin closed, as shapes.py counts.
function textsInBin(key, { edges }, panel, bin) {
  const last = edges.length - 2;
  return textsWhere((index) => {
    const value = valueOf(key, index);
    if (value === null || !inPanel(index, panel)) return false;
    const inside = Math.min(Math.max(value, edges[0]), edges[last + 1]);
    return inside >= edges[bin] && (inside < edges[bin + 1] || (bin === last && inside === edges[bin + 1]));
  }).sort((one, other) => valueOf(key, one) - valueOf(key, other) || one - other);
}

function binTitleText({ edges, counts }, panel, bin, name) {
  const range = `${brief(edges[bin])} to ${brief(edges[bin + 1])}`;
  return `Predicted ${DATA.panels[panel].name}, ${name} from ${range}: ${countOf(counts[panel][bin], "text")}`;
}
