// AtteFa: each adversary's ratio with its interval, and the two distances that it is made of.

const RAYS = [0.1, 0.25, 0.5, 1];

function drawAtteFa(host, { variants, marks, kinds, bound }) {
  const [left, right] = [element("div", { class: "chart-host" }), element("div", { class: "chart-host" })];
  const meaning = element("p", { class: "caption" });
  let current = variants[0];
  const redraw = responsive(left, (width) => drawDots(width, {
    rows: current.rows, guides: [], within: [0, ...rangeWithout(current.rows)], axis: `AtteFa, ${current.name}`,
    label: `AtteFa, ${current.name}, of each adversary, with 95% intervals` }));
  const show = (name) => {
    current = variants.find((variant) => variant.name === name);
    meaning.textContent = current.meaning;
    showVariant(host, current.key);
    redraw();
  };
  const plane = marks.length ? element("div", {}, element("h3", {}, "The two distances behind it"), right,
    planeKey(kinds),
    element("p", { class: "caption" }, `Grey lines: AtteFa, as published, is ${RAYS.join(", ")}.`)) : "";
  host.append(choice("attefa-variant", "AtteFa", variants.map(({ name }) => name), show),
    element("div", { class: "pair" },
      element("div", {}, element("h3", {}, "AtteFa by adversary"), left, meaning), plane));
  if (marks.length) {
    responsive(right, (width) => drawPlane(width, {
      marks, bound, rays: RAYS, label: "Output change over distance of attention of each adversary" }));
  }
  show(current.name);
}

drawAtteFa(place("attefa"), DATA.charts.attefa);
if (place("attefa-lies")) drawLies(place("attefa-lies"), DATA.charts.attefa.lies);
