// Randomisation: methods by number of random layers.

function drawRandomisation(host, { methods, steps, cells }) {
  const chart = element("div", { class: "chart-host" });
  const hint = "Columns: number of layers made random. Point at a cell for its interval.";
  const reading = element("p", { class: "reading-line", role: "status" }, hint);
  responsive(chart, (width) => {
    const { cell: room } = matrixLayout(width, methods.length, steps.length, null);
    return drawMatrix(width, {
      rows: methods, columns: steps.map(({ at }) => (at === null ? "" : brief(at))), tree: null,
      label: "Correlation with the explanation of the trained model, by method and number of random layers",
      cellAt: (row, column) => {
        const cell = cells[row][column];
        const name = `${markedName(methods[row])}, ${steps[column].name}`;
        const lines = [name, ...intervalText(cell), ...(methods[row].why ? [methods[row].why] : [])];
        const value = cell[0];
        return { share: value, text: value === null ? "–" : cellText(value, room), name, lines };
      },
      read: (lines) => { reading.textContent = lines.join(" · "); },
    });
  });
  host.append(chart, matrixKey(" 1: nothing changed · 0: another explanation"), reading);
}

drawRandomisation(place("randomisation"), DATA.charts.randomisation);
