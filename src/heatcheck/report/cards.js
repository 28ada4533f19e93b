// Texts as cards, and lists of them that grow on demand.

const TEXTS = DATA.texts;
const SERIES = Object.fromEntries(DATA.series.map((series) => [series.key, series]));
const PANEL_OF = {};
DATA.panels.forEach((panel, number) => {
  for (const name of panel.classes) PANEL_OF[DATA.classes.indexOf(name)] = number;
});
const INDEX_OF = new Map(TEXTS.id.map((id, index) => [id, index]));
const PAGE = 10;

function valueOf(key, index) {
  return SERIES[key] ? SERIES[key].values[index] : null;
}

function whyMissing(key, index) {
  const reason = SERIES[key].reason[index];
  return reason === undefined ? "not measured" : `none: ${SERIES[key].reasons[reason]}`;
}

// What the ends of a number mean, where its name does not say.
function scaleOf(key) {
  return SERIES[key].scale ? ` (${SERIES[key].scale})` : "";
}

function panelSwatch(panel) {
  return element("span", { class: `swatch panel-${panel}`, "aria-hidden": "true" });
}

function isWrong(index) {
  return TEXTS.label[index] !== TEXTS.predicted[index];
}

function chips(index, key) {
  const label = DATA.classes[TEXTS.label[index]] ?? "unknown";
  const value = key ? valueOf(key, index) : null;
  return element("div", { class: "chips" },
    element("span", { class: "chip" }, panelSwatch(PANEL_OF[TEXTS.predicted[index]]),
      `predicted ${DATA.classes[TEXTS.predicted[index]]}`, ` (${figure(TEXTS.probability[index])})`),
    isWrong(index) ? element("span", { class: "chip wrong" }, `✕ label ${label}`)
      : element("span", { class: "chip" }, `✓ label ${label}`),
    key && SERIES[key] ? element("span", { class: "chip value" },
      `${SERIES[key].label} `, ...(value === null ? [whyMissing(key, index)]
        : [element("b", {}, figure(value)), scaleOf(key)])) : null,
    element("span", { class: "chip id" }, clipped(visible(TEXTS.id[index]), 40)));
}

function plainText(index) {
  const blocks = [TEXTS.text[index], TEXTS.pair[index]].filter((text) => text !== null);
  return element("div", {}, ...blocks.map((text) => element("div", { class: "heat", dir: "auto" }, visible(text))));
}

function heatmaps(index, methods) {
  const there = methods.filter((method) => hasHeat(index, method));
  return there.length ? there.map((method) => heatmap(index, method)) : [plainText(index)];
}

function numbers(index) {
  const rows = [["tokens", TEXTS.tokens[index]?.toLocaleString("en") ?? "–"],
    ["max attention", figure(TEXTS.max_attention[index])],
    ...DATA.series.map(({ key, label }) => {
      const value = valueOf(key, index);
      return [label + scaleOf(key), value === null ? whyMissing(key, index) : figure(value)];
    })];
  return element("dl", { class: "text-numbers" },
    ...rows.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

// Built when opened: thousands of heatmaps at once would freeze the page.
function onFirstOpen(details, build) {
  details.addEventListener("toggle", () => {
    if (details.open && !details.dataset.built) {
      details.dataset.built = "yes";
      details.append(...build());
    }
  });
  return details;
}

function textCard(index, methods, key, ...extra) {
  const others = methodsOf(index).filter((method) => !methods.includes(method));
  const more = element("details", { class: "more" },
    element("summary", {}, others.length ? "Other heatmaps and numbers" : "Numbers"));
  return element("article", { class: "text", "data-id": TEXTS.id[index] },
    chips(index, key), ...extra, ...heatmaps(index, methods),
    onFirstOpen(more, () => [...others.map((method) => heatmap(index, method)), numbers(index)]));
}

// The texts behind a part of a chart. `total` counts also those that are not in the file.
function listTexts(host, { title, indexes, total, methods, key, close }) {
  const cards = element("div", { class: "text-cards" });
  const more = element("button", { type: "button", class: "plain", onclick: () => grow() });
  let shown = 0;
  function grow() {
    cards.append(...indexes.slice(shown, shown + PAGE).map((index) => textCard(index, methods, key)));
    shown = Math.min(shown + PAGE, indexes.length);
    more.hidden = shown >= indexes.length;
    more.textContent = `Show ${Math.min(PAGE, indexes.length - shown)} more of ${indexes.length - shown}`;
  }
  const shut = () => {
    host.replaceChildren();
    close();
  };
  const absent = total - indexes.length;
  host.replaceChildren(
    element("div", { class: "list-head" }, element("h3", { role: "status" }, title),
      element("button", { type: "button", class: "plain", onclick: shut }, "Close")),
    absent > 0 ? element("p", { class: "note" }, `${countOf(absent, "more text")} of this group not in the file.`) : "",
    indexes.length ? legend() : "", cards, more);
  grow();
  host.scrollIntoView({ block: "nearest" });
}

function inPanel(index, panel) {
  return PANEL_OF[TEXTS.predicted[index]] === panel;
}

function textsWhere(test) {
  return TEXTS.id.map((_, index) => index).filter(test);
}
