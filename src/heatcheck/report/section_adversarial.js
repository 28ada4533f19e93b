// Adversarial attention: histogram of the distance, scatter against maximum attention, the most telling texts.

const ORIGINAL_AND_OTHER = ["attention", "adversarial_attention"];
const BARS_CAPTION = "How far attention can move, by predicted class; choose a bar to read its texts.";
const MARKS_CAPTION = "One mark per text: its largest attention weight against how far its attention can move. If "
  + "concentrated attention were needed, the marks would fall to the right. Click a mark to read the text; by "
  + "keyboard, sort “The texts” by JSD.";

function drawAdversarial(host, { variants, bound }) {
  const list = element("div", { class: "behind" });
  const [bars, dots] = [element("div", { class: "chart-host" }), element("div", { class: "chart-host" })];
  const note = element("p", { class: "note" });
  const marks = chooser();
  let current = variants[0];
  const behind = (title, indexes, total) => listTexts(list, {
    title, indexes, total, methods: ORIGINAL_AND_OTHER, key: current.key, close: () => marks.clear(),
  });

  const redrawBars = responsive(bars, (width) => drawHistogram(width, {
    histogram: current.histogram, ticks: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], axis: "ε-max JSD",
    label: "Histogram of ε-max JSD by predicted class",
    bound: { at: bound, label: "ln 2 = 0.69, the most there can be" },
    choose: (node, panel, bin) => {
      marks.choose(node);
      behind(binTitleText(current.histogram, panel, bin, "JSD"), textsInBin(current.key, current.histogram, panel, bin),
        current.histogram.counts[panel][bin]);
    },
  }));
  const redrawDots = responsive(dots, (width) => drawScatter(width, current.key, bound, (indexes) => {
    marks.clear();
    behind(`${countOf(indexes.length, "text")} at this point`, indexes, indexes.length);
  }));
  function show(setting) {
    current = variants.find((variant) => variant.setting === setting);
    note.textContent = [current.meaning, current.missing].filter(Boolean).join(" ");
    marks.clear();
    list.replaceChildren();
    showVariant(host, current.key);
    redrawBars();
    redrawDots();
  }
  const settings = variants.map((variant) => variant.setting);
  if (settings.length > 1) host.append(choice("adversarial-setting", "Adversary", settings, show));
  host.append(element("div", { class: "pair" },
    element("figure", {}, bars, element("figcaption", {}, BARS_CAPTION)),
    element("figure", {}, dots, scatterKey(), element("figcaption", {}, MARKS_CAPTION))), note, list);
  show(settings[0]);
}

function drawTelling(host, { telling, variants }) {
  const { key, change } = variants[0];
  const moved = (index) => element("p", { class: "moved" },
    "Another attention, ", element("b", {}, `JSD\u00a0${figure(valueOf(key, index))}`),
    " away, changes the output by only ", element("b", {}, `Δŷ\u00a0=\u00a0${figure(valueOf(change, index))}`), ".");
  const indexes = telling.map((id) => INDEX_OF.get(id)).filter((index) => index !== undefined);
  host.append(legend(), element("div", { class: "text-cards" },
    ...indexes.map((index) => textCard(index, ORIGINAL_AND_OTHER, null, moved(index)))));
}

start("adversarial_attention", DATA.charts.adversarial_attention, drawAdversarial);
start("telling", DATA.charts.adversarial_attention, drawTelling);
