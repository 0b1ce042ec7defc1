// The panel over the page that shows one question.

const panel = (() => {
  const dialog = make("dialog", { class: "detail wide", "aria-labelledby": "detail-title" });
  document.body.append(dialog);
  let step = () => {};

  const button = (label, key, by) => make("button", { type: "button", "aria-keyshortcuts": key, title: `${label} (${key})`, onclick: () => step(by) }, label);

  // `beside` goes to the question before (-1) or after (1).
  const show = (name, content, beside) => {
    step = beside;
    const closer = make("button", { type: "button", class: "close", title: "Close (Escape)", onclick: () => dialog.close() }, "Close");
    dialog.replaceChildren(
      make("div", { class: "bar" }, button("Previous", "p", -1), button("Next", "n", 1), make("span", { class: "grow" }), closer),
      make("div", { class: "content" }, ...content),
    );
    dialog.dataset.row = name;
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    sources.settle(dialog);
    byId("detail-title")?.focus({ preventScroll: true });
  };

  const close = () => {
    if (dialog.open) dialog.close();
  };

  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const steps = [...dialog.querySelectorAll(".step")];
      const at = steps.findIndex((each) => each.classList.contains("is-here"));
      steps[at + (event.key === "ArrowRight" ? 1 : -1)]?.click();
    } else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    const name = dialog.dataset.row;
    delete dialog.dataset.row;
    if (address.state.open) address.go({ open: "" });
    const node = document.querySelector(`[data-trial="${CSS.escape(name ?? "")}"]`);
    (node?.closest("[role=listbox]") ?? node)?.focus({ preventScroll: true });
  });

  return { show, close, get isOpen() { return dialog.open; } };
})();
