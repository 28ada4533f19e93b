// Permutation: violins of the median output change, in rows of maximum attention.

function drawPermutation(host, { variants, edges }) {
  const list = element("div", { class: "behind" });
  const chart = element("div", { class: "chart-host" });
  const marks = chooser();
  const current = variants[0];
  const choose = (node, row, panel) => {
    marks.choose(node);
    const total = current.rows[row][panel].n;
    listTexts(list, {
      title: cellTitle(edges, row, panel, `${countOf(total, "text")}, smallest change first`),
      indexes: textsInCell(current.key, edges, row, panel), total,
      methods: ["attention"], key: current.key, close: () => marks.clear(),
    });
  };
  showVariant(host, current.key);
  host.append(chart, current.missing ? element("p", { class: "note" }, current.missing) : "");
  host.closest("section").append(list);
  responsive(chart, (width) => drawViolins(width, {
    rows: current.rows, edges, choose, ticks: [0, 0.25, 0.5, 0.75, 1], axis: "median output change (TVD)",
    what: "change", label: "Output change under shuffled attention, by largest weight and predicted class",
  }));
}

start("permutation", DATA.charts.permutation, drawPermutation);
