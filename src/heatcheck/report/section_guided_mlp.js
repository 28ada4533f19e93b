// Guided network: F1 by the weights it was told, and what they add to equal weights.

function drawGuided(host, { f1, difference }) {
  const [left, right] = [element("div", { class: "chart-host" }), element("div", { class: "chart-host" })];
  host.append(element("div", { class: "pair" }, element("div", {}, element("h3", {}, "F1 by guide"), left),
    difference.length ? element("div", {}, element("h3", {}, "More than with equal weights"), right) : ""));
  responsive(left, (width) => drawDots(width, {
    rows: f1, guides: [], within: rangeWithout(f1), axis: "F1",
    label: "F1 of the network by its guide, with 95% intervals" }));
  if (difference.length) {
    responsive(right, (width) => drawDots(width, {
      rows: difference, guides: [["equal weights", 0]], within: [-0.01, 0.01], steps: 3, axis: "difference in F1",
      label: "Difference in F1 between each guide and equal weights, with 95% intervals" }));
  }
}

drawGuided(place("guided_mlp"), DATA.charts.guided_mlp);
