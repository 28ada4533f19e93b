// Uniform attention: F1 with attention and with equal weights, and the difference against the margin.

function drawUniform(host, { f1, difference, margin }) {
  const [left, right] = [element("div", { class: "chart-host" }), element("div", { class: "chart-host" })];
  host.append(element("div", { class: "pair" }, element("div", {}, element("h3", {}, "F1 of each model"), left),
    element("div", {}, element("h3", {}, "What attention adds"), right)));
  responsive(left, (width) => drawDots(width, {
    rows: f1, guides: [], within: rangeWithout(f1), axis: "F1",
    label: "F1 with attention and with equal weights, with 95% intervals" }));
  responsive(right, (width) => drawDots(width, {
    rows: difference, guides: [["no difference", 0], [`margin ${brief(margin)}`, margin]],
    within: [-margin, 2 * margin], steps: 3, axis: "difference in F1", label: "Difference in F1 between attention and equal weights, with its 95% interval" }));
}

drawUniform(place("uniform_attention"), DATA.charts.uniform_attention);
