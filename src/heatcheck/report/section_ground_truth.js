// Ground truth: methods against the words that were planted.

function drawGroundTruth(host, { variants }) {
  const chart = element("div", { class: "chart-host" });
  let current = variants[0];
  const redraw = responsive(chart, (width) => drawDots(width, {
    ...current, within: [0, 1], label: `${current.axis}, ${current.texts}, with 95% intervals` }));
  const show = (wanted, changed) => {
    current = fitting(variants, wanted, changed);
    showVariant(host, current.key);
    redraw();
  };
  const offered = [["measure", "Measure"], ["texts", "Texts where the model is"]];
  host.append(element("div", { class: "choices" },
    ...variantChoices("ground-truth", variants, offered, () => current, show)), chart);
  show({ measure: current.measure, texts: current.texts }, "measure");
}

drawGroundTruth(place("ground_truth"), DATA.charts.ground_truth);
