// Correlation: which rankings, over which words; the histogram; the texts behind a bar.

function drawCorrelation(host, { variants }) {
  const list = element("div", { class: "behind" });
  const chart = element("div", { class: "chart-host" });
  const scale = element("p", { class: "note scale" });
  const missing = element("p", { class: "note" });
  const marks = chooser();
  let current = variants[0];

  const redraw = responsive(chart, (width) => drawHistogram(width, {
    histogram: current.histogram, ticks: current.ticks, axis: current.axis, label: current.label,
    choose: (node, panel, bin) => {
      marks.choose(node);
      listTexts(list, {
        title: binTitleText(current.histogram, panel, bin, current.value),
        indexes: textsInBin(current.key, current.histogram, panel, bin), total: current.histogram.counts[panel][bin],
        methods: current.methods, key: current.key, close: () => marks.clear(),
      });
    },
  }));

  function show(wanted) {
    const fits = (variant) => Object.entries(wanted).every(([name, value]) => variant[name] === value);
    current = variants.find(fits) ?? variants.find((variant) => variant.measure === wanted.measure);
    scale.textContent = current.reading;
    missing.textContent = current.missing ?? "";
    marks.clear();
    list.replaceChildren();
    showVariant(host, current.key);
    redraw();
  }
  const choices = correlationChoices(variants, () => current, show);
  host.closest(".split").before(element("div", { class: "choices" }, ...choices));
  host.append(chart, scale, missing);
  host.closest("section").append(list);
  show({ measure: current.measure, setting: current.setting });
}

function correlationChoices(variants, current, show) {
  const distinct = (name) => [...new Set(variants.map((variant) => variant[name]))];
  const offer = (name, legend) => {
    const change = (value) => show({ measure: current().measure, setting: current().setting, [name]: value });
    return distinct(name).length < 2 ? [] : [choice(`correlation-${name}`, legend, distinct(name), change)];
  };
  return [...offer("measure", "Agreement between"), ...offer("setting", "Over")];
}

start("correlation", DATA.charts.correlation, drawCorrelation);
