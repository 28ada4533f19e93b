// Heatmaps: scores unpacked (see heat.py) and laid over the original text, with its own spacing and case.

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT = Object.fromEntries(Array.from(ALPHABET, (character, value) => [character, value]));
const METHODS = Object.fromEntries(DATA.methods.map((method) => [method.id, method]));

// Share of the largest score, -1..1; null where the method has none.
function shares(packed) {
  const found = [];
  for (let at = 0; at < packed.length; at += 2) {
    const code = 64 * DIGIT[packed[at]] + DIGIT[packed[at + 1]];
    found.push(code === 0 ? null : (code - 2048) / 2047);
  }
  return found;
}

function hasHeat(index, method) {
  return Boolean(DATA.heat[index] && DATA.heat[index].methods[method]);
}

function methodsOf(index) {
  return DATA.methods.map((method) => method.id).filter((method) => hasHeat(index, method));
}

// Offsets count code points as Python does; a JavaScript string counts UTF-16 units, hence Array.from.
function segmentPieces(text, spans) {
  const points = Array.from(text);
  const pieces = [];
  let at = 0;
  for (let number = 0; number < spans.length; number += 2) {
    const start = at + spans[number];
    const end = start + spans[number + 1];
    pieces.push({ between: points.slice(at, start).join(""), token: points.slice(start, end).join("") });
    at = end;
  }
  return { pieces, rest: points.slice(at).join("") };
}

function tokenSpan(token, share, largest, scale) {
  if (share === null) return element("span", { class: "token unscored", title: "no score" }, visible(token));
  const kind = share < 0 ? "token negative" : "token";
  const span = element("span", { class: kind, title: scoreText(share * largest) }, visible(token));
  span.style.setProperty("--share", Math.abs(share * largest / scale).toFixed(3));
  return span;
}

function segment(text, spans, take, largest, scale) {
  const block = element("div", { class: "heat", dir: "auto" });
  const { pieces, rest } = segmentPieces(text, spans);
  for (const piece of pieces) block.append(visible(piece.between), tokenSpan(piece.token, take(piece.token), largest, scale));
  block.append(visible(rest));
  return block;
}

function heatmap(index, method) {
  const { spans, methods } = DATA.heat[index];
  const [largest, packed, onMarks = 0] = methods[method];
  const all = shares(packed);
  const scale = Math.max(largest, onMarks) || 1;
  const ranked = [];
  let number = 0;
  const take = (token) => {
    const share = all[number++];
    if (share !== null) ranked.push({ token, share });
    return share;
  };
  const pair = DATA.texts.pair[index];
  const blocks = [segment(DATA.texts.text[index], spans[0], take, largest, scale)];
  if (pair !== null) blocks.push(segment(pair, spans[1], take, largest, scale));
  return element("div", { class: "method", "data-method": method },
    element("div", { class: "method-name" }, METHODS[method].name),
    element("div", {}, ...blocks, strongest(ranked, largest, onMarks)));
}

function strongest(ranked, largest, onMarks) {
  const top = ranked.filter(({ share }) => share !== 0)
    .sort((one, other) => Math.abs(other.share) - Math.abs(one.share)).slice(0, 3);
  const words = top.flatMap(({ token, share }, place) => [place ? ", " : "",
    element("bdi", {}, `“${visible(clipped(token, 24))}”`), ` ${scoreText(share * largest)}`]);
  return element("p", { class: "strongest" },
    words.length ? "strongest: " : "no word has a score other than 0", ...words,
    onMarks ? ` · on marks like [CLS], which are not shown: ${percentage(onMarks)}` : "");
}

// Two digits that count, however small, as in heatmap.py: "<0.001" three times would rank nothing.
function scoreText(score) {
  if (score === 0) return "0";
  return score.toPrecision(Math.abs(score) < 10 ? 2 : 3).replaceAll("-", "−");
}

function legend() {
  const step = (share, kind) => {
    const box = element("span", { class: `token ${kind}` }, "word");
    box.style.setProperty("--share", String(share));
    return box;
  };
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => step(share, ""));
  const parts = ["score: 0 ", ...steps, " largest of the text and method"];
  const unsigned = DATA.methods.filter((method) => !method.signed);
  if (unsigned.length < DATA.methods.length) {
    parts.push(" · against the class ", step(1, "negative"));
    if (unsigned.length) parts.push(` · no sign, so for or against: ${unsigned.map((method) => method.name).join(", ")}`);
  }
  return element("p", { class: "legend" }, ...parts);
}
