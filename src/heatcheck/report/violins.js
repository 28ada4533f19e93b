// Violins of one value per text, in rows of maximum attention, a lane for each predicted class.

const LANE = DATA.panels.length > 3 ? 34 : 46;
const BIN_HEAD = 24;

function binName(edges, row) {
  return row === edges.length - 2 ? `${edges[row]} to 1` : `${edges[row]} to under ${edges[row + 1]}`;
}

function cellTitle(edges, row, panel, rest) {
  return `Predicted ${DATA.panels[panel].name}, largest weight ${binName(edges, row)}: ${rest}`;
}

// `rows` hold a cell for each panel; `what` is the word for a value; `bound` is the most a value can be.
function drawViolins(width, { rows, edges, choose, ticks, axis, what, label, bound }) {
  const lanes = rows.map((row) => (row.some((cell) => cell.n) ? row.length : 0));
  const height = lanes.reduce((sum, count) => sum + BIN_HEAD + LANE * count, 0) + 50;
  const x = scale([ticks[0], ticks[ticks.length - 1]], [width < 480 ? 88 : 120, width - 14]);
  const svg = canvas(width, height, label);
  const parts = [];
  let top = 0;
  for (let row = rows.length - 1; row >= 0; row -= 1) {  // strongest attention on top, as on the paper's axis
    svg.append(line(0, top + 1, width, top + 1, "grid"), binTitle(edges, row, top, lanes[row]));
    top += BIN_HEAD;
    const upright = (at, kind) => line(x(at), top, x(at), top + LANE * lanes[row], kind);  // not through the titles
    svg.append(...ticks.map((tick) => upright(tick, "grid")), ...(bound ? [upright(bound, "bound")] : []));
    for (let panel = 0; panel < lanes[row]; panel += 1) {
      const cell = rows[row][panel];
      const node = lane({ cell, panel, middle: top + LANE / 2, x, width, bin: binName(edges, row), what },
        (chosen) => choose(chosen, row, panel));
      if (cell.n) parts.push(node);
      fill(node, { "data-row": row, "data-panel": panel, "data-count": cell.n }, []);
      svg.append(node);
      top += LANE;
    }
  }
  rove(parts);
  svg.append(axisBelow(x, ticks, height - 48, axis, everyOther(width, ticks)));
  return svg;
}

// Where there is little room every other tick has its number.
function everyOther(width, ticks) {
  return (tick) => (width < 480 && ticks.length > 5 && ticks.indexOf(tick) % 2 ? "" : brief(tick));
}

function binTitle(edges, row, top, lanes) {
  const title = `largest weight ${binName(edges, row)}${lanes ? "" : ": no texts"}`;
  return lettering(0, top + 17, "start", title, "panel-title strong");
}

function lane({ cell, panel, middle, x, width, bin, what }, choose) {
  const name = DATA.panels[panel].name;
  const group = shape("g", { class: `violin panel-${panel}` },
    shape("rect", { x: 0, y: middle - LANE / 2, width, height: LANE, class: "hit" }),
    lettering(0, middle - 1, "start", shortened(name, width < 480 ? 11 : 15), "lane-name"),
    lettering(0, middle + 13, "start", countOf(cell.n, "text"), "lane-count"));
  if (!cell.n) return group;
  group.append(...(cell.points ? cell.points.map((point) => dot(x(point), middle)) : violinShape(cell, middle, x)));
  const [low, median, high] = cell.quartiles.map(figure);
  const texts = countOf(cell.n, "text");
  const spread = `median ${what} ${median}, middle half ${low} to ${high}`;
  return makeChoosable(group, `${name}, largest weight ${bin}: ${texts}, ${spread}`,
    [`${shortened(name, 30)}, ${texts}`, spread, "choose to read them"], choose);
}

function dot(x, y) {
  return shape("circle", { cx: x, cy: y, r: 3.5, class: "fill" });
}

function violinShape({ grid, density, quartiles }, middle, x) {
  const half = LANE / 2 - 4;
  const upper = grid.map((at, index) => `${x(at).toFixed(1)} ${(middle - half * density[index]).toFixed(1)}`);
  const lower = grid.map((at, index) => `${x(at).toFixed(1)} ${(middle + half * density[index]).toFixed(1)}`).reverse();
  return [shape("path", { d: `M${[...upper, ...lower].join("L")}Z`, class: "fill" }),
    line(x(quartiles[0]), middle, x(quartiles[2]), middle, "quartiles"),
    shape("circle", { cx: x(quartiles[1]), cy: middle, r: 4, class: "median" })];
}

function textsInCell(key, edges, row, panel) {
  const last = edges.length - 2;
  return textsWhere((index) => {
    const peak = TEXTS.max_attention[index];
    if (peak === null || valueOf(key, index) === null || !inPanel(index, panel)) return false;
    return (peak >= edges[row] || row === 0) && (peak < edges[row + 1] || row === last);
  }).sort((one, other) => valueOf(key, one) - valueOf(key, other) || one - other);
}
