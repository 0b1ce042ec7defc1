// Bring the page to life: first what is seen first.

const showError = (words) => {
  const node = byId("script-error");
  node.textContent = words;
  node.hidden = false;
};

const walkSections = () => {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.dataset.section, link]));
  for (const [name, link] of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      address.go({}, { at: name });
      showSection(name);
      byId(name).focus({ preventScroll: true });
    });
  }
  const seen = new Set();
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) seen.add(entry.target.id);
        else seen.delete(entry.target.id);
      }
      // Where two meet in the middle of the window, the one that begins there.
      const here = [...links.keys()].filter((name) => seen.has(name)).at(-1);
      for (const [name, link] of links) link.classList.toggle("is-here", name === here);
    },
    { rootMargin: "-45% 0px -50% 0px" },
  );
  for (const name of links.keys()) watcher.observe(byId(name));
};

const openers = (trials) => {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest?.(".opener");
    if (!opener) return;
    if (opener.dataset.leaf) {
      address.go({ q: "", persona: "", category: "", at: "", result: "", invented: "", leaked: "", split: "", leaf: opener.dataset.leaf }, { at: "questions", isStep: true });
      showSection("questions");
      table.focus();
      return;
    }
    const { persona, question, checkpoint, repeat } = opener.dataset;
    const rows = trials.questionRows(persona, question);
    const { columns, page } = trials;
    const wanted = rows.find((row) => page.checkpoints[columns.checkpoint[row]][0] === checkpoint && String(columns.repeat[row]) === repeat);
    const row = wanted ?? rows.find((each) => columns.invented[each] === 1 || columns.leaked[each] === 1) ?? rows[0];
    if (row !== undefined) address.go({ open: trials.name(row) }, { isStep: true });
  });
};

const keys = () => {
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !isTyping && !byId("detail").open) {
      event.preventDefault();
      filters.focus();
    }
    if (event.key === "Escape" && event.target.id === "filter-q") {
      // Some browsers would empty the search.
      event.preventDefault();
      table.focus();
    }
  });
};

const live = async () => {
  settings.start();
  if (typeof DecompressionStream !== "function") {
    showError("This browser is too old to unpack the page: any released since 2023 can.");
    return;
  }
  address.start();
  walkSections();
  const wanted = ["page", "questions", "trials"].map((name) => blocks.json(name));
  const page = await wanted[0];
  heatmap.start(page);
  const trials = new Trials(page, await wanted[1], await wanted[2]);
  const explorer = byId("explorer");
  filters.start(trials, explorer);
  table.start(trials, explorer);
  detail.start(trials);
  openers(trials);
  keys();
  if (address.section) byId(address.section)?.scrollIntoView();
  performance.mark("interactive");
  document.documentElement.dataset.ready = "yes";
  // Charts last: their script is the largest part of the page.
  setTimeout(() => charts.start(page));
};

live().catch((error) => {
  showError(`The page could not be built (${error.message}); what is written above and below still holds.`);
  throw error;
});
