"use strict";
/* Small helpers: elements, numbers as text, the clipboard. Names and levels of the data reach the
   page only as text of elements, never as markup. */

const byId = (id) => document.getElementById(id);

/* An element with attributes and children; "on..." attributes are listeners. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

const MINUS = "\u2212";
const NONE = "\u2013";

function show(x, digits = 4) {
  if (x == null || !Number.isFinite(x)) return NONE;
  const size = Math.abs(x);
  const far = size !== 0 && (size >= 1e7 || size < 1e-4);
  const text = far ? x.toExponential(2) : plain(Number(x.toPrecision(digits)));
  return text.replace("-", MINUS);
}

function plain(x) {
  return Math.abs(x) >= 1e4 ? x.toLocaleString("en-GB", { maximumFractionDigits: 2 }) : String(x);
}

/* Text with a sign and a fixed number of decimals, so that columns line up. */
function signed(x, decimals) {
  const text = Math.abs(x).toFixed(decimals);
  return (x < 0 && Number(text) !== 0 ? MINUS : "+") + text;
}

/* Decimals that give the largest of some numbers three significant digits or more. */
function decimalsFor(numbers) {
  const top = Math.max(...numbers.map(Math.abs), 1e-6);
  return Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(top))));
}

function percent(share, decimals = 0) {
  return `${(100 * share).toFixed(decimals)}\u202f%`;
}

function count(n, noun) {
  return `${n.toLocaleString("en-GB")} ${noun}${n === 1 ? "" : "s"}`;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const toast = byId("toast");
  toast.textContent = `${what} copied`;
  toast.classList.add("shown");
  setTimeout(() => toast.classList.remove("shown"), 1600);
}

/* A bar to the left or to the right of a middle line, or from the left if nothing is negative. */
function bar(from, to, low, high, kind) {
  const place = (x) => (100 * (x - low)) / (high - low || 1);
  const fill = make("span", { class: `fill ${kind}` });
  fill.style.left = `${Math.min(place(from), place(to))}%`;
  fill.style.width = `${Math.abs(place(to) - place(from))}%`;
  const line = make("span", { class: "zero" });
  line.style.left = `${place(0)}%`;
  return make("span", { class: "bar-box", "aria-hidden": "true" }, low < 0 ? line : null, fill);
}

const kindOf = (x) => (x < 0 ? "less" : "more");

/* The text of a rule as elements, conditions kept apart. */
function ruleText(term) {
  if (term.line) return make("span", { class: "rule" }, term.text);
  if (!term.conditions.length) return make("span", { class: "rule" }, "always");
  const parts = term.conditions.flatMap((c, i) => [
    ...(i ? [make("span", { class: "and" }, " and ")] : []),
    make("span", { class: "condition" }, c.text),
  ]);
  return make("span", { class: "rule" }, ...parts);
}
