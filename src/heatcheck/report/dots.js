// Methods in rows, a dot with its interval each; references as upright lines. Also what lines and dots share.

const ROW = 27;
const MARK = "†";

function markedName({ name, why }) {
  return why ? `${name}${MARK}` : name;
}

// On two lines where one is too short, settings together; only what two lines cannot hold is cut.
function inTwo(name, most) {
  if (name.length <= most) return [name];
  const spaces = [...name.matchAll(/ /g)].map(({ index }) => index).filter((at) => at <= most);
  const at = spaces.find((one) => name[one + 1] === "(") ?? spaces.at(-1) ?? most - 1;
  const rest = name.slice(at + 1);
  const fitting = rest.length <= most ? rest : rest.replace(/ \([^()]*=.*\)$/, " (…)");
  return [name.slice(0, at + 1).trim(), clipped(fitting, most)];
}

// Cut at the end, so that a mark and a number stay; narrow screens get smaller letters.
function methodLabel(method, right, middle, narrow) {
  const tail = `${method.why ? MARK : ""}${method.number ? ` ${method.number}` : ""}`;
  const lines = inTwo(method.name, (narrow ? 17 : 24) - tail.length);
  const kind = narrow ? "lane-name small" : "lane-name";
  if (lines.length === 1) return lettering(right, middle + 4, "end", lines[0] + tail, kind);
  return shape("text", { y: middle - 2, "text-anchor": "end", class: kind },
    shape("tspan", { x: right }, lines[0]), shape("tspan", { x: right, dy: "1.05em" }, lines[1] + tail));
}

function intervalText([value, low, high, n]) {
  if (value === null) return [`no value: ${low}`];
  const bounds = low === null || high === null ? [] : [`95% interval ${figure(low)} to ${figure(high)}`];
  return [`mean ${figure(value)}`, ...bounds, countOf(n, "text")];
}

function methodLines(method, cell) {
  return [markedName(method), ...intervalText(cell), ...(method.why ? [method.why] : [])];
}

// Something to point at or focus, with nothing behind it.
function makeReadable(node, lines) {
  const box = () => node.getBoundingClientRect();
  return fill(node, {
    role: "img", "aria-label": lines.join(", "),
    onmousemove: (event) => showTip(lines, event.clientX, event.clientY),
    onmouseleave: hideTip, onblur: hideTip,
    onfocus: () => showTip(lines, box().left + box().width / 2, box().top),
  }, []);
}

// Round steps that hold all values.
function ticksOver(values, least = 4) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1].find((one) => (high - low) / one <= least + 1) ?? 1;
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const count = Math.max(1, last - first);
  return Array.from({ length: count + 1 }, (_, index) => Number(((first + index) * step).toFixed(2)));
}

// `steps`: about how many ticks there is room for, if numbers are long.
function drawDots(width, { rows, guides, axis, label, within, steps = 5 }) {
  const narrow = width < 480;
  const left = narrow ? 118 : 200;
  const known = rows.flatMap(({ cell, reversed }) => [cell, reversed ?? [null]])
    .filter(([value]) => value !== null).flatMap(([value, low, high]) => [value, low ?? value, high ?? value]);
  const ticks = ticksOver([...within, ...known, ...guides.map(([, at]) => at)], narrow ? 3 : steps);
  const x = scale([ticks[0], ticks[ticks.length - 1]], [left, width - (narrow ? 50 : 56)]);
  const top = guides.length ? 8 + 15 * guides.length : 8;
  const bottom = top + ROW * rows.length;
  const svg = canvas(width, bottom + 46, label);
  for (const tick of ticks) svg.append(line(x(tick), top, x(tick), bottom, "grid"));
  guides.forEach(([name, at, before], place) => {
    svg.append(guideLine(name, x(at), 12 + 15 * place, bottom, left, width, before));
  });
  const lanes = rows.map((row, place) => dotLane(row, top + ROW * (place + 0.5), x, left, width));
  rove(lanes);
  svg.append(...lanes, axisBelow(x, ticks, bottom, ""),
    lettering(narrow ? width / 2 : (left + width) / 2, bottom + 36, "middle", axis, "title"));
  return svg;
}

function guideLine(name, x, y, bottom, left, width, before = false) {
  const fits = !before && x + 7 * name.length < width - 4;
  return shape("g", { class: "guide" }, line(x, y + 3, x, bottom, "bound"),
    lettering(fits ? x + 4 : x - 4, y + 2, fits ? "start" : "end", name, "bound-label"));
}

function dotLane(row, middle, x, left, width) {
  const [value, low, high] = row.cell;
  const kind = `dot-lane${row.why ? " unranked" : ""}${row.part ? " part" : ""}`;
  const group = shape("g", { class: kind, "data-method": row.id },
    shape("rect", { x: 0, y: middle - ROW / 2, width, height: ROW, class: "hit" }),
    methodLabel(row, left - 8, middle, left < 150));
  const lines = methodLines(row, row.cell);
  if (value !== null) {
    if (row.reversed && row.reversed[0] !== null) {
      group.append(shape("path", { d: `M${x(row.reversed[0])} ${middle}m-4 -4l8 8m0 -8l-8 8`, class: "reversed" }));
      lines.push(`reversed order: ${figure(row.reversed[0])}`);
    }
    if (low !== null && high !== null) group.append(line(x(low), middle, x(high), middle, "whisker"));
    group.append(shape("circle", { cx: x(value), cy: middle, r: 4.5, class: "dot" }));
  }
  group.append(lettering(width - 2, middle + 4, "end", figure(value), "lane-value"));
  return makeReadable(group, lines);
}

// Charts whose radio buttons choose one of several variants by its properties.
function variantChoices(id, variants, offered, current, show) {
  return offered.flatMap(([name, legend]) => {
    const options = [...new Set(variants.map((variant) => variant[name]))];
    const wanted = (value) => ({ ...Object.fromEntries(offered.map(([key]) => [key, current()[key]])), [name]: value });
    return options.length < 2 ? [] : [choice(`${id}-${name}`, legend, options, (value) => show(wanted(value), name))];
  });
}

function fitting(variants, wanted, changed) {
  const fits = (variant) => Object.entries(wanted).every(([name, value]) => variant[name] === value);
  return variants.find(fits) ?? variants.find((variant) => variant[changed] === wanted[changed]) ?? variants[0];
}
