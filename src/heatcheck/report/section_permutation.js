// Permutation: violins of the median output change, in rows of maximum attention.

const LANE = DATA.panels.length > 3 ? 34 : 46;
const BIN_HEAD = 24;

function drawPermutation(host, { variants, edges }) {
  const list = element("div", { class: "behind" });
  const chart = element("div", { class: "chart-host" });
  const marks = chooser();
  const current = variants[0];
  const choose = (node, row, panel) => {
    marks.choose(node);
    const total = current.rows[row][panel].n;
    listTexts(list, {
      title: `Predicted ${DATA.panels[panel].name}, largest weight ${binName(edges, row)}: `
        + `${countOf(total, "text")}, smallest change first`,
      indexes: textsInCell(current.key, edges, row, panel), total,
      methods: ["attention"], key: current.key, close: () => marks.clear(),
    });
  };
  showVariant(host, current.key);
  host.append(chart, current.missing ? element("p", { class: "note" }, current.missing) : "");
  host.closest("section").append(list);
  responsive(chart, (width) => drawViolins(width, current.rows, edges, choose));
}

function binName(edges, row) {
  return row === edges.length - 2 ? `${edges[row]} to 1` : `${edges[row]} to under ${edges[row + 1]}`;
}

function drawViolins(width, rows, edges, choose) {
  const lanes = rows.map((row) => (row.some((cell) => cell.n) ? row.length : 0));
  const height = lanes.reduce((sum, count) => sum + BIN_HEAD + LANE * count, 0) + 50;
  const x = scale([0, 1], [width < 480 ? 88 : 120, width - 14]);
  const svg = canvas(width, height, "Output change under shuffled attention, by largest weight and predicted class");
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) svg.append(line(x(tick), 4, x(tick), height - 48, "grid"));
  const parts = [];
  let top = 0;
  for (let row = rows.length - 1; row >= 0; row -= 1) {  // strongest attention on top, as on the paper's axis
    svg.append(line(0, top + 1, width, top + 1, "grid"), binTitle(edges, row, top, lanes[row]));
    top += BIN_HEAD;
    for (let panel = 0; panel < lanes[row]; panel += 1) {
      const cell = rows[row][panel];
      const node = lane({ cell, panel, middle: top + LANE / 2, x, width, bin: binName(edges, row) },
        (chosen) => choose(chosen, row, panel));
      if (cell.n) parts.push(node);
      fill(node, { "data-row": row, "data-panel": panel, "data-count": cell.n }, []);
      svg.append(node);
      top += LANE;
    }
  }
  rove(parts);
  svg.append(axisBelow(x, [0, 0.25, 0.5, 0.75, 1], height - 48, "median output change (TVD)"));
  return svg;
}

function binTitle(edges, row, top, lanes) {
  const title = `largest weight ${binName(edges, row)}${lanes ? "" : ": no texts"}`;
  return lettering(0, top + 17, "start", title, "panel-title strong");
}

function lane({ cell, panel, middle, x, width, bin }, choose) {
  const name = DATA.panels[panel].name;
  const group = shape("g", { class: `violin panel-${panel}` },
    shape("rect", { x: 0, y: middle - LANE / 2, width, height: LANE, class: "hit" }),
    lettering(0, middle - 1, "start", shortened(name, width < 480 ? 11 : 15), "lane-name"),
    lettering(0, middle + 13, "start", countOf(cell.n, "text"), "lane-count"));
  if (!cell.n) return group;
  group.append(...(cell.points ? cell.points.map((point) => dot(x(point), middle)) : violinShape(cell, middle, x)));
  const [low, median, high] = cell.quartiles.map(figure);
  const texts = countOf(cell.n, "text");
  const spread = `median change ${median}, middle half ${low} to ${high}`;
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

start("permutation", DATA.charts.permutation, drawPermutation);
