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

const fixed = (number, digits) => number.toFixed(digits);

const percent = (share, digits = 1) => `${(share * 100).toFixed(digits)} %`;

const spelled = (name) => name.replaceAll("-", " ");

const seconds = (value) => (value >= 1 ? `${value.toFixed(1)} s` : `${Number((value * 1000).toPrecision(3))} ms`);

const motion = () =>
  matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
