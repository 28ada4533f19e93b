// A matrix of numbers as coloured cells: blue above 0, red below, the stronger the fuller.

const TREE = 110;
const TINY = 20;
const SMALL = 0.1;

// Names need room, cells too; on a narrow screen the cells become upright and their digits small.
function matrixLayout(width, rows, columns, tree) {
  const narrow = width < 560;
  const labels = narrow ? 110 : 200;
  const branches = tree && !narrow ? TREE : 0;
  const cell = Math.min(52, (width - labels - branches) / Math.max(1, columns));
  const height = Math.min(36, Math.max(cell, 24));
  return { narrow, labels, branches, cell, height, top: 22, bottom: 22 + height * rows };
}

function drawMatrix(width, { rows, columns, cellAt, label, tree, choose, read }) {
  const layout = matrixLayout(width, rows.length, columns.length, tree);
  const svg = canvas(width, layout.bottom + 6, label);
  columns.forEach((name, column) => {
    const head = lettering(layout.labels + (column + 0.5) * layout.cell, layout.top - 7, "middle", name);
    head.style.fontSize = `${Math.min(12, 0.72 * layout.cell).toFixed(1)}px`;
    svg.append(head);
  });
  const grid = rows.map((method, row) => {
    const middle = layout.top + (row + 0.5) * layout.height;
    svg.append(methodLabel(method, layout.labels - 6, middle, layout.narrow));
    return columns.map((_, column) => matrixCell(layout, row, column, cellAt(row, column), choose, read));
  });
  svg.append(...grid.flat());
  roveGrid(grid);
  if (layout.branches) svg.append(treeShape(layout, columns.length, tree));
  return svg;
}

// `share` from -1 to 1 is the colour; a cell without lines is only a place.
function matrixCell({ labels, cell, height, top }, row, column, { share, text, name, lines }, choose, read) {
  const [x, y] = [labels + column * cell, top + row * height];
  const kind = share === null ? "empty" : share < 0 ? "negative" : "positive";
  const box = { x: x + 0.75, y: y + 0.75, width: Math.max(1, cell - 1.5), height: height - 1.5, rx: 2 };
  const background = shape("rect", { ...box, class: `back ${kind}` });
  if (share !== null) background.style.setProperty("--share", Math.abs(share).toFixed(3));
  const group = shape("g", { class: "cell", "data-row": row, "data-column": column }, background);
  const size = Math.min(13, (1.45 * cell) / Math.max(2, text.length));
  const written = shape("text", { x: x + cell / 2, y: y + height / 2 + size * 0.36, "text-anchor": "middle" }, text);
  written.style.fontSize = `${size.toFixed(1)}px`;
  group.append(written, shape("rect", { ...box, class: "hit" }));
  if (!lines) return group;
  const chosen = (node) => { read(lines); if (choose) choose(node, row, column); };
  return makeChoosable(group, `${name}: ${lines.slice(1).join(", ")}`, lines, chosen);
}

// Digits as in a table. In a small cell without the 0 in front; in a tiny one only where there is something to see.
function cellText(value, room) {
  if (room < TINY && Math.abs(value) < SMALL) return "";
  const digits = value.toFixed(2).replace("-", "−").replace("−0.00", "0.00");
  return room < 40 ? digits.replace("0.", ".").replace("1.00", "1.0") : digits;
}

// One tab stop; arrow keys move in both directions over what can be chosen.
function roveGrid(grid) {
  const open = (node) => node && node.getAttribute("role") === "button";
  const nodes = grid.flat().filter(open);
  nodes.forEach((node, index) => node.setAttribute("tabindex", index === 0 ? "0" : "-1"));
  grid.forEach((line, row) => line.forEach((node, column) => node.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [0, 1], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowUp: [-1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    let [r, c] = [row + step[0], column + step[1]];
    while (grid[r] && grid[r][c] && !open(grid[r][c])) [r, c] = [r + step[0], c + step[1]];
    if (!grid[r] || !open(grid[r][c])) return;
    node.setAttribute("tabindex", "-1");
    grid[r][c].setAttribute("tabindex", "0");
    grid[r][c].focus();
  })));
}

// Branches meet the further right the less the groups agree.
function treeShape({ labels, cell, height, top }, columns, joins) {
  const left = labels + columns * cell + 8;
  const lowest = Math.min(0, ...joins.map(([, , at]) => at));
  const x = scale([1, lowest], [left, left + TREE - 14]);
  const y = (place) => top + (place + 0.5) * height;
  const path = joins.map(([[one, other], [from, to], at]) =>
    `M${x(from).toFixed(1)} ${y(one).toFixed(1)}H${x(at).toFixed(1)}V${y(other).toFixed(1)}H${x(to).toFixed(1)}`);
  return shape("path", { d: path.join(""), class: "tree", "aria-hidden": "true" });
}

function matrixKey(meaning, tiny = false) {
  const steps = [-1, -0.5, 0, 0.5, 1].map((share) => {
    const box = element("span", { class: `key-box ${share < 0 ? "negative" : "positive"}` }, brief(share));
    box.style.setProperty("--share", String(Math.abs(share)));
    return box;
  });
  return element("p", { class: "legend" }, ...steps, meaning, tiny ? ` no number: between −${SMALL} and ${SMALL}` : "");
}
