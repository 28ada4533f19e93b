// Seeds: violins of the distance to the attention of other seeds, beside those of paper 1's adversary.

const SEED_TICKS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];

function drawSeeds(host, { variants, adversary, edges, bound }) {
  const list = element("div", { class: "behind" });
  const marks = chooser();
  let current = variants[0];
  const behind = (one) => (node, row, panel) => {
    marks.choose(node);
    const total = one().rows[row][panel].n;
    listTexts(list, {
      title: cellTitle(edges, row, panel, `${countOf(total, "text")}, smallest JSD first`),
      indexes: textsInCell(one().key, edges, row, panel), total,
      methods: one().methods, key: one().key, close: () => marks.clear(),
    });
  };
  const violins = (title, one) => {
    const chart = element("div", { class: "chart-host" });
    const head = element("h3", {}, title);
    const redraw = responsive(chart, (width) => drawViolins(width, {
      rows: one().rows, edges, bound, choose: behind(one), ticks: SEED_TICKS,
      axis: one().axis, what: "JSD", label: `${one().axis}, by largest weight and predicted class`,
    }));
    const missing = () => (one().missing ? element("p", { class: "note" }, one().missing) : "");
    return { redraw, node: element("div", {}, head, chart, missing()) };
  };
  const seeds = violins("Other seeds", () => current);
  const other = adversary ? violins("Paper 1’s adversary", () => adversary) : null;
  const show = (name) => {
    current = variants.find((variant) => variant.name === name);
    marks.clear();
    list.replaceChildren();
    seeds.redraw();
  };
  host.append(choice("seed-variant", "Of the seeds", variants.map(({ name }) => name), show),
    element("div", { class: "pair" }, seeds.node, other ? other.node : ""));
  host.closest("section").append(list);
}

start("seed_variance", DATA.charts.seed_variance, drawSeeds);
