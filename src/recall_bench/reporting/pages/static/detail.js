// One trial, opened: all there is to know about it, and the same question at other checkpoints.

const detail = (() => {
  const dialog = byId("detail");
  let trials;
  let shown = -1;

  const bar = (row) => {
    const jump = (step, label, key) =>
      make("button", { type: "button", "aria-keyshortcuts": key, title: `${label} (${key})`, onclick: () => beside(step) }, label);
    return make(
      "div",
      { class: "bar" },
      jump(-1, "Previous", "p"),
      jump(1, "Next", "n"),
      make("span", { class: "grow" }),
      make("button", { type: "button", class: "close", title: "Close (Escape)", onclick: () => dialog.close() }, "Close"),
    );
  };

  const show = async (row) => {
    shown = row;
    const { place, about, told, text, found, cited } = await parts.read(trials, row);
    if (shown !== row) return;
    const content = make(
      "div",
      { class: "content" },
      parts.asked(trials, row, about, place),
      parts.strip(trials, row, go),
      make("div", { class: "pair" }, parts.reference(trials, about, place), parts.answer(trials, row, told, text)),
      parts.verdict(trials, row, told),
      cited,
      found,
    );
    dialog.replaceChildren(bar(row), content);
    if (!dialog.open) dialog.showModal();
    sources.settle(dialog);
    byId("detail-title").focus({ preventScroll: true });
    dialog.dataset.row = String(row);
  };

  const go = (row) => address.go({ open: trials.name(row) });

  const beside = (step) => {
    const row = table.beside(shown, step);
    if (row >= 0) go(row);
  };

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    if (event.key in steps) {
      const all = trials.siblings(shown);
      const next = all[all.indexOf(shown) + steps[event.key]];
      if (next !== undefined) go(next);
    } else if (event.key === "n") beside(1);
    else if (event.key === "p") beside(-1);
    else return;
    event.preventDefault();
  };

  const follow = (state) => {
    const row = state.open ? trials.find(state.open) : -1;
    if (row < 0) {
      shown = -1;
      if (dialog.open) dialog.close();
    } else if (row !== shown) show(row);
  };

  const start = (given) => {
    trials = given;
    dialog.addEventListener("keydown", onKey);
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => {
      shown = -1;
      delete dialog.dataset.row;
      if (address.state.open) address.go({ open: "" });
      table.focus();
    });
    address.onChange(follow);
    follow(address.state);
  };

  return { start };
})();
