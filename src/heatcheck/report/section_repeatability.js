// Repeatability: each method's stability, and how it grows with the samples.

function drawRepeatability(host, { dots, mark, least }) {
  const chart = element("div", { class: "chart-host" });
  host.append(element("h3", {}, "As the methods were used"), chart);
  responsive(chart, (width) => drawDots(width, {
    ...dots, guides: [[`settled ${brief(mark)}`, mark, true], [`ranked from ${brief(least)}`, least, true]],
    within: [0, 1],
    axis: "rank stability (Kendall τ)", label: "Rank stability of each method, with 95% intervals",
  }));
}

function drawSamples(host, { curves, mark }) {
  const chart = element("div", { class: "chart-host" });
  const lines = curves.filter(({ points }) => points.length);
  const most = Math.max(1, ...lines.flatMap(({ points }) => points.map(([at]) => at)));
  const ticks = [1];
  while (2 * ticks[ticks.length - 1] <= most) ticks.push(2 * ticks[ticks.length - 1]);
  host.append(element("h3", {}, "With fewer and more samples"), chart);
  responsive(chart, (width) => drawCurves(width, {
    lines, mark, label: "Rank stability of each method by number of samples",
    x: { ticks, end: Math.max(most, 2), from: Math.log2, title: "samples, times the smallest number", format: (tick) => `${tick}×`,
      point: ([, samples]) => countOf(samples, "sample") },
    y: { within: [0, 1], title: "rank stability (Kendall τ)" },
  }));
}

drawRepeatability(place("repeatability"), DATA.charts.repeatability);
showVariant(place("repeatability"), DATA.charts.repeatability.dots.key);
if (place("repeatability-samples")) drawSamples(place("repeatability-samples"), DATA.charts.repeatability);
