// The sections: the address says which is shown, and of what.

const showError = (words) => {
  const node = byId("script-error");
  node.textContent = words;
  node.hidden = false;
};

const showSections = () => {
  const sections = { runs: runsTable, compare, travel, label };
  const KEYS = { r: "runs", c: "compare", t: "travel", l: "label" };
  const view = byId("view");
  let here = "";
  const links = [...document.querySelectorAll("nav a")];

  const failed = (error) => {
    view.replaceChildren(make("p", { class: "notice loud", role: "alert" }, error.message));
  };

  const follow = async () => {
    const wanted = address.section in sections ? address.section : "runs";
    for (const link of links) {
      const isHere = link.dataset.section === wanted;
      link.classList.toggle("is-here", isHere);
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.documentElement.dataset.ready = "no";
    if (wanted !== here) {
      here = wanted;
      panel.close();
      await sections[wanted].mount(view);
    } else await sections[wanted].follow();
    performance.mark("interactive");
    document.documentElement.dataset.ready = "yes";
  };

  const update = () => follow().catch(failed);

  const go = (name) => {
    const { runs: chosen, who } = address.state;
    const run = address.state.run || chosen?.split(",")[0];
    const empty = Object.fromEntries(Object.keys(address.state).map((key) => [key, ""]));
    address.go({ ...empty, runs: chosen, run, who }, { at: name, isStep: true });
    view.focus({ preventScroll: true });
  };

  for (const link of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(link.dataset.section);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || panel.isOpen) return;
    if (event.target.closest?.("input:not([type=checkbox], [type=range]), select, textarea")) return;
    if (sections[here]?.onKey(event)) event.preventDefault();
    else if (event.key in KEYS) go(KEYS[event.key]);
  });
  address.onChange(update);
  return update();
};

const live = async () => {
  settings.start();
  address.start();
  if (!address.section) address.go({}, { at: "runs" });
  await showSections();
};

live().catch((error) => {
  showError(`The page could not be built (${error.message}).`);
  throw error;
});
