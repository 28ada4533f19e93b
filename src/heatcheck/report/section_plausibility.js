// Plausibility: methods against the words that people marked.

function drawPlausibility(host, { variants }) {
  const chart = element("div", { class: "chart-host" });
  let current = variants[0];
  const redraw = responsive(chart, (width) => drawDots(width, {
    ...current, within: [0, 1], label: `${current.axis}, with 95% intervals` }));
  const show = (wanted, changed) => {
    current = fitting(variants, wanted, changed);
    showVariant(host, current.key);
    redraw();
  };
  host.append(...variantChoices("plausibility", variants, [["measure", "Measure"]], () => current, show), chart);
  show({ measure: current.measure }, "measure");
}

drawPlausibility(place("plausibility"), DATA.charts.plausibility);
