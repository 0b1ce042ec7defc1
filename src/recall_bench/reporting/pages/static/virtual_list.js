// A list of any length: only the rows in sight are in the document. It is one stop of the Tab key; arrows
// move within it, Enter opens.

const virtualList = ({ box, body, height, headHeight = () => 0, prefix = box.id, row, open }) => {
  const TALLEST = 8_000_000; // Browsers cut off what is taller than some multiple of this.
  let count = 0;
  let active = 0;
  let isPending = false;

  const scale = () => Math.max(1, (count * height()) / TALLEST);

  const paint = () => {
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      // A list that was replaced may have lost what its rows are made of.
      if (!box.isConnected) return;
      const tall = height();
      const first = Math.max(0, Math.floor((box.scrollTop * scale()) / tall) - 4);
      const last = Math.min(count, first + Math.ceil(box.clientHeight / tall) + 9);
      const nodes = [];
      for (let position = first; position < last; position += 1) {
        const node = row(position, position === active);
        node.id = `${prefix}-${position}`;
        node.dataset.position = String(position);
        node.setAttribute("aria-selected", String(position === active));
        node.classList.toggle("is-active", position === active);
        nodes.push(node);
      }
      const shift = first * tall - box.scrollTop * (scale() - 1);
      body.style.height = `${Math.min(count * tall, TALLEST)}px`;
      body.replaceChildren(make("div", { class: "window", role: "presentation" }, ...nodes));
      body.firstChild.style.transform = `translateY(${shift}px)`;
      if (active >= first && active < last) box.setAttribute("aria-activedescendant", `${prefix}-${active}`);
      else box.removeAttribute("aria-activedescendant");
    });
  };

  const reveal = () => {
    const top = active * height();
    const room = box.clientHeight - headHeight() - height();
    const now = box.scrollTop * scale();
    if (top < now) box.scrollTop = top / scale();
    else if (top > now + room) box.scrollTop = (top - room) / scale();
    paint();
  };

  const move = (to) => {
    active = Math.max(0, Math.min(count - 1, to));
    reveal();
  };

  const enter = (position) => {
    if (!count) return;
    move(position);
    open(active);
  };

  const onKey = (event) => {
    if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
    const jump = Math.max(1, Math.floor(box.clientHeight / height()) - 1);
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + jump, PageUp: active - jump, Home: 0, End: count - 1 };
    if (event.key in moves) move(moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") enter(active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  // Show this many rows from the first on.
  const show = (many) => {
    count = many;
    active = 0;
    box.scrollTop = 0;
    box.classList.toggle("is-empty", count === 0);
    paint();
  };

  box.addEventListener("scroll", paint, { passive: true });
  box.addEventListener("keydown", onKey);
  body.addEventListener("click", (event) => {
    const node = event.target.closest("[data-position]");
    if (node) enter(Number(node.dataset.position));
  });
  new ResizeObserver(paint).observe(box);

  return { box, show, paint, move, get active() { return active; }, focus: () => box.focus({ preventScroll: true }) };
};
