// Erasure: methods on one measure by one way of erasing, and the curve over the share of words.

function drawErasure(host, { variants, curves }) {
  const chart = element("div", { class: "chart-host" });
  const below = element("div", { class: "chart-host" });
  const title = element("h3", {});
  let current = variants[0];
  const redraw = responsive(chart, (width) => drawDots(width, {
    ...current, within: [0], label: `${current.axis}, words ${current.operator}, with 95% intervals` }));
  const lines = () => curves.find(({ measure, operator }) =>
    measure === current.curve && operator === current.operator);
  const redrawCurves = responsive(below, (width) => (lines() ? drawShares(width, lines()) : element("span")));
  const show = (wanted, changed) => {
    current = fitting(variants, wanted, changed);
    title.textContent = lines() ? `${current.curve} by share of words` : "";
    title.hidden = !lines();
    showVariant(host, current.key);
    redraw();
    redrawCurves();
  };
  const offered = [["measure", "Measure"], ["operator", "Words are"]];
  const crosses = variants.some(({ rows }) => rows.some(({ reversed }) => reversed));
  host.append(element("div", { class: "choices" }, ...variantChoices("erasure", variants, offered, () => current, show)),
    element("div", { class: "pair" }, element("div", {}, chart,
      crosses ? element("p", { class: "caption" }, "● the method’s order, × the same order reversed") : ""),
    element("div", {}, title, below)));
  show({ measure: current.measure, operator: current.operator }, "measure");
}

function drawShares(width, { lines, measure, operator }) {
  const shares = [...new Set(lines.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const most = Math.max(...shares);
  const step = most > 0.6 ? 0.25 : most > 0.3 ? 0.1 : 0.05;
  const ticks = [0];
  while (ticks[ticks.length - 1] < most - 1e-9) ticks.push(Number((ticks[ticks.length - 1] + step).toFixed(2)));
  return drawCurves(width, {
    lines, label: `${measure} of each method by share of words, words ${operator}`,
    x: { ticks, from: (share) => share, title: measure === "sufficiency" ? "share of words kept" : "share of words erased",
      format: percentage, point: ([share]) => percentage(share) },
    y: { within: [0], title: measure },
  });
}

drawErasure(place("erasure"), DATA.charts.erasure);
