// One small card beside the pointer or the focus.

const tooltip = (() => {
  const card = byId("tooltip");

  // `lines` are texts, or pairs of a label and a text; the first is a title.
  const show = (lines, box) => {
    card.replaceChildren(
      ...lines.map((line, number) => {
        if (Array.isArray(line)) {
          return make("div", { class: "pair" }, make("span", {}, line[0]), make("b", {}, line[1]));
        }
        return make("div", { class: number === 0 ? "title" : "line" }, line);
      }),
    );
    card.hidden = false;
    const size = card.getBoundingClientRect();
    const gap = 10;
    const left = Math.min(Math.max(gap, box.left + box.width / 2 - size.width / 2), innerWidth - size.width - gap);
    const above = box.top - size.height - gap;
    card.style.left = `${Math.max(gap, left)}px`;
    card.style.top = `${above > gap ? above : box.bottom + gap}px`;
  };

  const hide = () => {
    card.hidden = true;
  };

  addEventListener("scroll", hide, { passive: true, capture: true });
  return { show, hide };
})();
