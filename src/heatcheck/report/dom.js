// Elements, numbers, tooltip. Text from data enters as text nodes only: nothing here ever parses HTML.

const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, name), attributes, children);
}

// Control characters have no shape of their own; each becomes its picture. What turns the direction of all that
// follows becomes its number (visible.py): a page would show the letters of a word in another order.
function visible(text) {
  const picture = (found) => String.fromCharCode(0x2400 + found.charCodeAt(0));
  const number = (found) => `‹U+${found.charCodeAt(0).toString(16).toUpperCase()}›`;
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, picture).replace(/\u007f/g, "\u2421")
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, number);
}

function clipped(text, most) {
  const start = text.slice(0, 2 * most);  // a code point has at most two units: no need to split a huge text
  const points = Array.from(start);
  return points.length > most ? points.slice(0, most - 1).join("") + "…" : start;
}

// From the middle: long class names often differ at their ends.
function shortened(name, most) {
  const points = Array.from(name);
  if (points.length <= most) return name;
  const tail = points.slice(points.length - Math.floor((most - 1) / 2));
  return `${points.slice(0, Math.floor(most / 2)).join("")}…${tail.join("")}`;
}

// The same digits as figures.py.
function figure(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size > 0 && size < 0.0005) return value > 0 ? "<0.001" : ">−0.001";
  return value.toFixed(size > 0 && size < 0.0995 ? 3 : 2).replace("-", "−");
}

function brief(value) {
  return String(Number(value.toFixed(2))).replace("-", "−");
}

function countOf(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

const tip = document.getElementById("tip");

function showTip(lines, x, y) {
  tip.replaceChildren(...lines.map((line) => element("div", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, x - box.width / 2), document.documentElement.clientWidth - box.width - 8);
  tip.style.left = `${left}px`;
  tip.style.top = `${y - box.height - 14 < 8 ? y + 18 : y - box.height - 14}px`;
}

function hideTip() {
  tip.hidden = true;
}

// A part of a chart that can be pointed at, focused and chosen.
function makeChoosable(node, label, lines, choose) {
  const atNode = () => {
    const box = node.getBoundingClientRect();
    showTip(lines, box.left + box.width / 2, box.top);
  };
  fill(node, {
    role: "button", "aria-label": label,
    onmousemove: (event) => showTip(lines, event.clientX, event.clientY),
    onmouseleave: hideTip, onfocus: atNode, onblur: hideTip,
    onclick: () => choose(node),
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(node);
    },
  }, []);
  return node;
}

// One tab stop for many parts; arrow keys move between them.
function rove(nodes) {
  nodes.forEach((node, index) => {
    node.setAttribute("tabindex", index === 0 ? "0" : "-1");
    node.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = step && nodes[index + step];
      if (!next) return;
      event.preventDefault();
      node.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  });
}

// A row of radio buttons that looks like one control.
function choice(name, legend, options, onchange) {
  const buttons = options.map((option, index) => element("label", {},
    element("input",
      { type: "radio", name, value: String(index), checked: index === 0, onchange: () => onchange(option) }),
    element("span", {}, option)));
  return element("fieldset", { class: "choice" }, element("legend", {}, legend), element("div", {}, ...buttons));
}

function place(name) {
  return document.querySelector(`[data-drawing="${name}"]`);
}

// On paper nothing can be opened.
addEventListener("beforeprint", () => {
  for (const node of document.querySelectorAll("#provenance details")) node.open = true;
});
