// Models by two distances from the one under test: of attention (JSD, to the right) and of output (TVD, up).

const PLANE_HEIGHT = 300;
const PLANE_TICKS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
// Filled shapes, and strokes for the last two.
const PLANE_SYMBOLS = {
  seed: "M0-5.4L5 3.6H-5Z", uniform: "M-4.2-4.2H4.2V4.2H-4.2Z", adversarial: "M-5.5 0H5.5M0-5.5V5.5",
  attefa: "M-4.4-4.4L4.4 4.4M4.4-4.4L-4.4 4.4", itself: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
};

function drawPlane(width, { lines = [], marks = [], rays = [], bound, label }) {
  const left = 42;
  const bottom = PLANE_HEIGHT + 24;
  const all = [...lines.flatMap(({ points }) => points), ...marks];
  const ticks = ticksOver([0, ...all.map(({ tvd }) => tvd[2] ?? tvd[0])]);
  const x = scale([0, 0.7], [left, width - 14]);
  const y = scale([0, ticks[ticks.length - 1]], [bottom, 44]);
  const svg = canvas(width, bottom + 46, label);
  const named = [];
  svg.append(lettering(0, 12, "start", "output change (TVD)", "title"), axisLeft(y, ticks, left, width - 14, brief),
    line(x(bound), 32, x(bound), bottom, "bound"),
    lettering(x(bound) + 6, 27, "end", "ln 2 = 0.69, the most there can be", "bound-label"),
    ...rays.map((ray) => planeRay(ray, x, y, bound, ticks[ticks.length - 1], all, named)));
  svg.append(...lines.map(({ points }, number) => planePath(points, number, x, y)), planeMark("itself", x(0), y(0)));
  const nodes = [
    ...lines.flatMap((one, number) => one.points.map((point) =>
      planePoint(one, number, point, x, y, lines.length > 1))),
    ...marks.map((mark) => planeOther(mark, x, y)),
  ];
  rove(nodes);
  svg.append(...nodes, ...planeLabels(lines, all, x, y, width),
    axisBelow(x, PLANE_TICKS, bottom, "distance of attention (JSD)", everyOther(width, PLANE_TICKS)));
  return svg;
}

function planeMark(kind, x, y) {
  const transform = `translate(${x.toFixed(1)} ${y.toFixed(1)})`;
  return shape("path", { d: PLANE_SYMBOLS[kind], transform, class: `other ${kind}` });
}

// From the model itself, which is at no distance from itself, through the adversaries by growing distance.
function planePath(points, number, x, y) {
  const places = points.map(({ jsd, tvd }) => `L${x(jsd[0]).toFixed(1)} ${y(tvd[0]).toFixed(1)}`);
  return shape("path", { d: `M${x(0)} ${y(0)}${places.join("")}`, class: `path panel-${number % 8}` });
}

// Where AtteFa has one value: TVD as large as that part of JSD / ln 2. Named at its end, or before models that stand there; if it
// ends at the top, only apart from those that do.
function planeRay(value, x, y, bound, top, models, named) {
  const end = Math.min(bound, (bound * top) / value);
  const height = (value * end) / bound;
  const cut = height >= top - 1e-9;
  const text = brief(value);
  const far = (part) => models.every(({ jsd, tvd }) =>
    Math.abs(x(jsd[0]) - x(end * part) + 5 + 3.5 * text.length) > 3.5 * text.length + 7
    || Math.abs(y(tvd[0]) - y(height * part) + 9) > 13);
  const at = cut ? 1 : [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4].find(far) ?? 1;
  const apart = !cut || named.every((other) => Math.abs(other - x(end)) > 26);
  if (cut && apart) named.push(x(end));
  const above = cut && x(bound) - x(end) > 18; // else the line at ln 2 would go through it
  return shape("g", { class: "ray" }, line(x(0), y(0), x(end), y(height), ""),
    apart ? lettering(x(end * at) - (above ? 0 : 5), y(height * at) - 5, above ? "middle" : "end", text) : null);
}

function planeWhiskers({ jsd, tvd }, x, y) {
  const [across, up] = [jsd, tvd].map(([, low, high]) => low !== null && high !== null);
  return [
    across ? line(x(jsd[1]), y(tvd[0]), x(jsd[2]), y(tvd[0]), "whisker") : null,
    up ? line(x(jsd[0]), y(tvd[1]), x(jsd[0]), y(tvd[2]), "whisker") : null,
  ];
}

function bracketed([value, low, high]) {
  return `${figure(value)}${low === null || high === null ? "" : ` [${figure(low)}, ${figure(high)}]`}`;
}

function planeLines(name, { jsd, tvd, f1 }) {
  return [name, `attention: JSD ${bracketed(jsd)}`, `output: TVD ${bracketed(tvd)}`,
    ...(f1 ? [`F1 ${bracketed(f1)}`] : [])];
}

// The same digits as trained.py.
function lambdaText(at) {
  if (at === null) return "–";
  return at > 0 && at < 1e-4 ? at.toExponential() : String(at);
}

function planePoint(one, number, point, x, y, several) {
  const [across, up] = [x(point.jsd[0]), y(point.tvd[0])];
  const name = `λ = ${lambdaText(point.at)}${several ? `, ${one.name}` : ""}`;
  return makeReadable(shape("g", { class: `plane-point panel-${number % 8}`, "data-at": point.at },
    ...planeWhiskers(point, x, y), shape("circle", { cx: across, cy: up, r: 11, class: "hit" }),
    shape("circle", { cx: across, cy: up, r: 4, class: "fill" })), planeLines(name, point));
}

function planeOther(mark, x, y) {
  const [across, up] = [x(mark.jsd[0]), y(mark.tvd[0])];
  return makeReadable(shape("g", { class: "plane-mark", "data-kind": mark.kind },
    ...planeWhiskers(mark, x, y), shape("circle", { cx: across, cy: up, r: 11, class: "hit" }),
    planeMark(mark.kind, across, up)), planeLines(mark.name, mark));
}

// Every few pixels of the curves.
function alongPaths(lines, x, y) {
  return lines.flatMap(({ points }) => {
    const places = [[x(0), y(0)], ...points.map(({ jsd, tvd }) => [x(jsd[0]), y(tvd[0])])];
    return places.slice(1).flatMap(([across, up], number) => {
      const [from, start] = places[number];
      const steps = Math.ceil(Math.hypot(across - from, up - start) / 3);
      return Array.from({ length: steps + 1 }, (_, step) =>
        [from + (across - from) * step / (steps || 1), start + (up - start) * step / (steps || 1)]);
    });
  });
}

// λ beside its point where there is room and no other point is nearer, off the curves if that can be; the others are in the
// table.
function planeLabels(lines, all, x, y, width) {
  const points = all.map(({ jsd, tvd }) => [x(jsd[0]), y(tvd[0])]);
  const taken = [...points, [x(0), y(0)]]
    .map(([across, up]) => ({ x: across - 6, y: up - 6, width: 12, height: 12 }));
  const clear = (one, other) => one.x + one.width < other.x || other.x + other.width < one.x
    || one.y + one.height < other.y || other.y + other.height < one.y;
  const free = (box) => box.x > 40 && box.x + box.width < width - 2 && box.y + box.height < y(0)
    && taken.every((other) => clear(box, other));
  const curve = alongPaths(lines, x, y);
  const crossed = (box) => curve.some(([across, up]) =>
    across > box.x && across < box.x + box.width && up > box.y && up < box.y + box.height);
  const placed = [];
  lines.forEach((one, number) => one.points.forEach(({ jsd, tvd, at }) => {
    const text = placed.length ? lambdaText(at) : `λ = ${lambdaText(at)}`;
    const [across, up, room] = [x(jsd[0]), y(tvd[0]), 7 * text.length];
    const middle = across - room / 2;
    const nearest = (box) => {
      const far = ([a, u]) => Math.hypot(a - box.x - room / 2, u - box.y - 6);
      return points.every((point) => far(point) > far([across, up]) - 0.01);
    };
    const spots = [[middle, up - 21], [middle, up + 9], [across + 9, up - 6], [across - room - 9, up - 6]]
      .map(([left, top]) => ({ x: left, y: top, width: room, height: 12 }))
      .filter((box) => free(box) && nearest(box));
    const spot = spots.find((box) => !crossed(box)) ?? spots[0];
    if (!spot) return;
    taken.push({ x: spot.x - 4, y: spot.y - 2, width: room + 8, height: 16 });
    placed.push(lettering(spot.x + room / 2, spot.y + 11, "middle", text,
      lines.length > 1 ? `lambda panel-${number % 8}` : "lambda"));
  }));
  return placed;
}

function planeKey(kinds, names = []) {
  const frame = { viewBox: "-7 -7 14 14", width: 15, height: 15, "aria-hidden": "true", class: "chart" };
  const symbol = (...parts) => shape("svg", frame, ...parts);
  const line = (number) => symbol(shape("path", { d: "M-7 0H7", class: `path panel-${number % 8}` }),
    shape("circle", { cx: 0, cy: 0, r: 3.6, class: `fill panel-${number % 8}` }));
  return element("p", { class: "key" },
    ...names.map((name, number) => element("span", {}, line(number), name)),
    ...[...kinds, ["itself", "this model"]].map(([kind, name]) =>
      element("span", {}, symbol(planeMark(kind, 0, 0)), name)));
}

// Heatmaps of the model and of an adversary that gives (nearly) the same output.
function drawLies(host, { methods, texts }) {
  const said = ({ jsd, tvd }) => element("p", { class: "moved" },
    "The adversary’s attention is ", element("b", {}, `JSD\u00a0${figure(jsd)}`), " away, its output ",
    element("b", {}, `TVD\u00a0${figure(tvd)}`), ".");
  host.append(legend(), element("div", { class: "text-cards" }, ...texts.filter(({ id }) => INDEX_OF.has(id))
    .map((text) => textCard(INDEX_OF.get(text.id), methods, null, said(text)))));
}

// What an axis must hold if no row has a value.
function rangeWithout(rows) {
  return rows.some(({ cell }) => cell[0] !== null) ? [] : [0, 1];
}
