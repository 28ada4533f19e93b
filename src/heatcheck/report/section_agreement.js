// Agreement: the matrix of all pairs, the texts behind a cell, the mean τ of each text.

function drawAgreement(host, { methods, tree, variants, behind }) {
  const list = element("div", { class: "behind" });
  const chart = element("div", { class: "chart-host" });
  const reading = element("p", { class: "reading-line", role: "status" });
  const marks = chooser();
  let current = variants[0];
  const choose = (node, row, column) => {
    marks.choose(node);
    const pair = [methods[row].id, methods[column].id];
    const indexes = (behind[[...pair].sort().join("/")] ?? []).map((id) => INDEX_OF.get(id))
      .filter((index) => index !== undefined);
    if (indexes.length === 0) return;
    listTexts(list, {
      title: `Where ${methods[row].name} and ${methods[column].name} differ most (lowest τ)`,
      indexes, total: indexes.length, methods: pair, key: null, close: () => marks.clear(),
    });
  };
  const agreementMatrix = (width) => ({
    rows: methods.map((method, place) => ({ ...method, number: place + 1 })),
    columns: methods.map((_, place) => String(place + 1)), tree,
    cellAt: agreementCell(methods, current, width), label: `${current.name} between all pairs of methods`,
    choose, read: (lines) => { reading.textContent = lines.join(" · "); },
  });
  const key = element("div");
  const redraw = responsive(chart, (width) => {
    key.replaceChildren(matrixKey("", matrixLayout(width, methods.length, methods.length, tree).cell < TINY));
    return drawMatrix(width, agreementMatrix(width));
  });
  const show = (wanted, changed) => {
    current = fitting(variants, wanted, changed);
    marks.clear();
    list.replaceChildren();
    reading.textContent = "Point at a cell for its interval; choose it for the texts behind it.";
    showVariant(host, current.key);
    redraw();
  };
  host.append(...variantChoices("agreement", variants, [["name", "Measure"]], () => current, show),
    chart, key, reading, list);
  show({ name: current.name }, "name");
}

// Cells come in the order of all pairs, of which each is drawn on both sides of the diagonal.
function agreementCell(methods, variant, width) {
  const n = methods.length;
  const { cell: room } = matrixLayout(width, n, n, true);
  const number = (row, column) => row * n - (row * (row + 1)) / 2 + column - row - 1;
  return (row, column) => {
    if (row === column) return { share: null, text: "" };
    const cell = variant.cells[number(Math.min(row, column), Math.max(row, column))];
    const name = `${markedName(methods[row])} and ${markedName(methods[column])}`;
    const why = [methods[row].why, methods[column].why].filter((reason) => reason);
    const lines = [name, ...intervalText(cell), ...why];
    if (cell[0] === null) return { share: null, text: "–", name, lines };
    return { share: cell[0], text: cellText(cell[0], room), name, lines };
  };
}

function drawMeanTau(host, { mean }) {
  const list = element("div", { class: "behind" });
  const chart = element("div", { class: "chart-host" });
  const marks = chooser();
  responsive(chart, (width) => drawHistogram(width, {
    histogram: mean.histogram, ticks: [-1, -0.5, 0, 0.5, 1], axis: "mean Kendall τ over all pairs of methods",
    label: "Histogram of the mean Kendall τ over all pairs of methods, by predicted class",
    choose: (node, panel, bin) => {
      marks.choose(node);
      const indexes = textsInBin(mean.key, mean.histogram, panel, bin);
      listTexts(list, {
        title: binTitleText(mean.histogram, panel, bin, "mean τ"), indexes,
        total: mean.histogram.counts[panel][bin], methods: DATA.charts.agreement.methods.slice(0, 3).map(({ id }) => id),
        key: mean.key, close: () => marks.clear(),
      });
    },
  }));
  host.append(chart, element("p", { class: "note" }, mean.missing ?? ""), list);
}

function drawLeastAgreed(host, { least, mean }) {
  const cards = least.filter(({ id }) => INDEX_OF.has(id))
    .map(({ id, methods }) => textCard(INDEX_OF.get(id), methods, mean.key));
  host.append(legend(), element("div", { class: "text-cards" }, ...cards));
}

drawAgreement(place("agreement"), DATA.charts.agreement);
if (place("agreement-texts") && DATA.panels.length) drawMeanTau(place("agreement-texts"), DATA.charts.agreement);
if (place("agreement-least")) drawLeastAgreed(place("agreement-least"), DATA.charts.agreement);
