// One line for each method over a common axis, named at its right end. Pointing at a line brings it forward.

const CURVES_HEIGHT = 250;
const NAME_STEP = 14;

function drawCurves(width, { lines, x: along, y: up, label, mark }) {
  const narrow = width < 480;
  const right = width - (narrow ? 130 : 160);
  const height = Math.max(CURVES_HEIGHT, NAME_STEP * lines.length);
  const values = lines.flatMap((one) => one.points.map(([, , value]) => value));
  const ticks = ticksOver([...up.within, ...values]);
  const x = scale([along.from(along.ticks[0]), along.from(along.end ?? along.ticks[along.ticks.length - 1])], [40, right]);
  const place = (value) => x(along.from(value));
  const y = scale([ticks[0], ticks[ticks.length - 1]], [height + 20, 24]);
  const svg = canvas(width, height + 66, label);
  svg.append(lettering(0, 12, "start", up.title, "title"), axisLeft(y, ticks, 40, right, brief));
  if (mark !== undefined) {
    svg.append(line(40, y(mark), right, y(mark), "bound"));
  }
  const heights = apart(lines.map((one) => y(one.points[one.points.length - 1][2])), height + 20);
  const names = briefNames(lines).map((name) => clipped(name, narrow ? 20 : 22));
  const coloured = lines.filter((one) => !one.reference);
  const drawn = lines.map((one, number) => curve(one, coloured.indexOf(one), place, y, right, [names[number], heights[number]], along,
    narrow));
  rove(drawn);
  svg.append(...drawn, axisBelow(place, along.ticks, height + 20, along.title, along.format));
  return svg;
}

// Without their settings, where methods can be told apart all the same: the tip has them.
function briefNames(lines) {
  const brief = lines.map(({ name }) => name.replace(/ \([^()]*=.*\)$/, ""));
  return brief.map((name, index) => (brief.indexOf(name) === brief.lastIndexOf(name) ? name : lines[index].name));
}

// Names must not overlap: pushed down from the top, then up from the bottom.
function apart(heights, bottom) {
  const order = heights.map((_, index) => index).sort((one, other) => heights[one] - heights[other]);
  const placed = [...heights];
  order.forEach((index, rank) => {
    if (rank) placed[index] = Math.max(placed[index], placed[order[rank - 1]] + NAME_STEP);
  });
  let most = bottom;
  for (const index of [...order].reverse()) {
    placed[index] = Math.min(placed[index], most);
    most = placed[index] - NAME_STEP;
  }
  return placed;
}

// There are eight colours: the ninth method has the first one's, and hollow points; the seventeenth is dashed too.
function lineKind(one, colour) {
  const look = one.reference ? "reference" : `panel-${colour % 8} ring-${Math.floor(colour / 8)}`;
  return `curve ${look}${one.why ? " unranked" : ""}`;
}

function curve(one, colour, place, y, right, [name, nameY], along, narrow) {
  const points = one.points.map(([at, , value]) => `${place(at).toFixed(1)} ${y(value).toFixed(1)}`);
  const last = one.points[one.points.length - 1];
  const path = `M${points.join("L")}`;
  const lines = [markedName(one),
    ...one.points.map((point) => `${along.point(point)}: ${figure(point[2])}${boundsOf(point)}`),
    ...(one.why ? [one.why] : [])];
  return makeReadable(shape("g", { class: lineKind(one, colour), "data-method": one.id },
    shape("path", { d: path, class: "reach" }), shape("path", { d: path, class: "stroke" }),
    ...one.points.map(([at, , value]) => shape("circle", { cx: place(at), cy: y(value), r: 3, class: "fill" })),
    line(place(last[0]) + 4, y(last[2]), right + 12, nameY, "leader"),
    lettering(right + 15, nameY + 4, "start", name + (one.why ? MARK : ""), narrow ? "small" : "")), lines);
}

function boundsOf([, , , low, high]) {
  return low === null || high === null ? "" : ` [${figure(low)}, ${figure(high)}]`;
}
