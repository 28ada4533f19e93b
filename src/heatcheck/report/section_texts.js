// The texts browser: search, filter, sort; a heatmap is drawn when its text is opened.

const BROWSER_PAGE = 25;

function drawTexts(host) {
  const status = element("p", { class: "status", role: "status" });
  const list = element("div", { class: "browser" });
  const more = element("button", { type: "button", class: "plain", onclick: () => grow() });
  const words = (index) => [TEXTS.text[index], TEXTS.pair[index] ?? "", TEXTS.id[index]].join("\n").toLowerCase();
  const searched = TEXTS.id.map((_, index) => words(index));
  let found = [];
  let shown = 0;
  let wanted = {};

  function grow() {
    list.append(...found.slice(shown, shown + BROWSER_PAGE).map((index) => browserEntry(index, wanted.sort)));
    shown = Math.min(shown + BROWSER_PAGE, found.length);
    more.hidden = shown >= found.length;
    more.textContent = `Show ${Math.min(BROWSER_PAGE, found.length - shown)} more of ${found.length - shown}`;
  }
  function update(next) {
    wanted = next;
    found = sortTexts(textsWhere((index) => matches(index, wanted, searched)), wanted);
    status.textContent = `${countOf(found.length, "text")} of ${TEXTS.id.length.toLocaleString("en")}`;
    shown = 0;
    list.replaceChildren();
    grow();
  }
  host.append(browserControls(update), status, legend(), list, more);
}

function matches(index, { words, predicted, label, wrong }, searched) {
  const fits = (wanted, actual) => wanted === "" || actual === Number(wanted);
  return fits(predicted, TEXTS.predicted[index]) && fits(label, TEXTS.label[index])
    && (!wrong || isWrong(index)) && searched[index].includes(words);
}

function sortValue(key, index) {
  return key in TEXTS ? TEXTS[key][index] : valueOf(key, index);
}

// Texts without a value come last in both directions.
function sortTexts(indexes, { sort, lowest }) {
  if (!sort) return indexes;
  const sign = lowest ? 1 : -1;
  return indexes.sort((one, other) => {
    const [first, second] = [sortValue(sort, one), sortValue(sort, other)];
    if (first === null || second === null) return (first === null) - (second === null) || one - other;
    return sign * (first - second) || one - other;
  });
}

function labelled(text, control) {
  return element("label", {}, element("span", {}, text), control);
}

function options(entries) {
  return entries.map(([value, text]) => element("option", { value }, clipped(text, 48)));
}

function browserControls(update) {
  const classes = DATA.classes.map((name, number) => [String(number), name]);
  const search = element("input", { type: "search", placeholder: "words or id", autocomplete: "off" });
  const predicted = element("select", {}, ...options([["", "any class"], ...classes]));
  const label = element("select", {}, ...options([["", "any label"], ...classes]));
  const wrong = element("input", { type: "checkbox" });
  const measured = DATA.series.map((series) => [series.key, series.label]);
  const sort = element("select", {}, ...options([["", "table order"], ...measured,
    ["max_attention", "max attention"], ["probability", "probability of the prediction"], ["tokens", "length"]]));
  const lowest = element("select", {}, ...options([["", "highest first"], ["yes", "lowest first"]]));
  const read = () => update({ words: search.value.trim().toLowerCase(), predicted: predicted.value, label: label.value,
    wrong: wrong.checked, sort: sort.value, lowest: lowest.value !== "" });
  let waiting = 0;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(read, 120); });
  for (const control of [predicted, label, wrong, sort, lowest]) control.addEventListener("change", read);
  const form = element("form", { class: "controls", onsubmit: (event) => { event.preventDefault(); read(); } },
    labelled("Search", search), labelled("Predicted", predicted), labelled("Label", label), labelled("Sort by", sort),
    labelled("Order", lowest),
    element("label", { class: "tick" }, wrong, element("span", {}, "wrong predictions only")));
  setTimeout(read, 0);
  return form;
}

function browserEntry(index, sort) {
  const preview = element("div", { class: "preview", dir: "auto" }, clipped(visible(TEXTS.text[index]), 220));
  const entry = element("details", { class: "text", "data-id": TEXTS.id[index] },
    element("summary", {}, preview, chips(index, SERIES[sort] ? sort : null)));
  return onFirstOpen(entry, () => [...heatmaps(index, methodsOf(index)), numbers(index)]);
}

if (place("texts")) drawTexts(place("texts"));
