// Elements and words. Whatever a system said becomes text here, never markup.

const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") node.addEventListener("click", value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

const byId = (id) => document.getElementById(id);

const whole = (number) => number.toLocaleString("en");

const counted = (number, word) => `${whole(number)} ${word}${number === 1 ? "" : "s"}`;

// Halves go away from zero, as in `format_number` of formats.py: page and terminal agree.
const fixed = (number, digits) => {
  const size = 10 ** digits;
  const rounded = Math.floor(Math.abs(number) * size + 0.5 + 1e-6) / size;
  return (number < 0 && rounded ? "-" : "") + rounded.toFixed(digits);
};

const spelled = (name) => name.replaceAll("-", " ");

const seconds = (value) => (value >= 1 ? `${fixed(value, 1)} s` : `${Number((value * 1000).toPrecision(3))} ms`);

const motion = () =>
  matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";

// Scroll to a section. Charts are drawn when they come near, which moves what is below them: so once
// more when the scrolling has ended, unless the reader has gone on by then.
const showSection = (() => {
  let before = new AbortController();
  return (id) => {
    before.abort();
    const mine = (before = new AbortController());
    byId(id).scrollIntoView({ behavior: motion() });
    addEventListener("scrollend", () => byId(id).scrollIntoView(), { once: true, signal: mine.signal });
    for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) {
      addEventListener(kind, () => mine.abort(), { once: true, passive: true, signal: mine.signal });
    }
    setTimeout(() => mine.abort(), 2000);
  };
})();
