// Trained adversary: the curve of output change over distance of attention, for all texts or one class.

function drawTrainedAdversary(host, { views, bound }) {
  const chart = element("div", { class: "chart-host" });
  const key = element("div", {});
  let current = views[0];
  const redraw = responsive(chart, (width) => drawPlane(width, {
    ...current, bound, label: `Output change over distance of attention, ${current.name}` }));
  const show = (name) => {
    current = views.find((view) => view.name === name);
    key.replaceChildren(planeKey(current.kinds, current.lines.map((one) => `adversary, ${one.name}`)));
    redraw();
  };
  if (views.length > 1) host.append(choice("trained-texts", "Texts", views.map(({ name }) => name), show));
  host.append(chart, key);
  show(current.name);
}

drawTrainedAdversary(place("trained_adversary"), DATA.charts.trained_adversary);
if (place("trained_adversary-lies")) drawLies(place("trained_adversary-lies"), DATA.charts.trained_adversary.lies);
