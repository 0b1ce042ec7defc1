// Charts, drawn when they come into sight, and again when the look of the page changes.

const charts = (() => {
  let page;
  let loading = null;
  const drawn = new Map();

  // The script is part of the page, and its digest part of the policy of the page.
  const load = () => {
    loading ??= blocks.text("charting").then((code) => {
      const script = document.createElement("script");
      script.textContent = code;
      document.head.append(script);
      return window.vegaEmbed;
    });
    return loading;
  };

  const shownTip = (_, event, __, value) => {
    if (value === null || value === undefined || value === "") {
      tooltip.hide();
      return;
    }
    const lines = typeof value === "object"
      ? Object.entries(value).map(([label, text]) => [label, String(text)])
      : [String(value)];
    tooltip.show(lines, { left: event.clientX, top: event.clientY, bottom: event.clientY + 14, width: 0 });
  };

  const refused = () => Promise.reject(new Error("this page loads nothing"));

  const draw = async (node) => {
    const embed = await load();
    const look = `${settings.theme()} ${settings.colours()}`;
    if (drawn.get(node)?.look === look) return;
    drawn.get(node)?.result?.finalize();
    const entry = { look, result: null };
    drawn.set(node, entry);
    // It has to be in the page to know its width; the old one stays until it is done.
    const place = make("div", { class: "canvas is-coming" });
    node.append(place);
    entry.result = await embed(place, page.charts[node.dataset.chart].spec, {
      actions: false,
      ast: true,
      config: page.configs[look],
      defaultStyle: false,
      loader: { load: refused, sanitize: refused, http: refused, file: refused },
      mode: "vega-lite",
      renderer: "svg",
      tooltip: shownTip,
    });
    place.classList.remove("is-coming");
    node.replaceChildren(place);
    const drawing = place.querySelector("svg");
    // Panels have widths of their own: together they fill the room, up to a quarter larger.
    if (drawing && node.clientWidth && page.charts[node.dataset.chart].spec.width !== "container") {
      drawing.style.width = "100%";
      drawing.style.maxWidth = `${drawing.viewBox.baseVal.width * 1.25}px`;
    }
  };

  const table = (details) => {
    if (!details.open || details.querySelector("table")) return;
    const { columns, rows } = page.charts[details.dataset.table];
    const cell = (value) => make("td", { class: typeof value === "number" ? "number" : null }, said(value));
    details.append(
      make(
        "div",
        { class: "scrolls tall", tabindex: "0" },
        make(
          "table",
          { class: "plain" },
          make("thead", {}, make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)))),
          make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))),
        ),
      ),
    );
  };

  const said = (value) => {
    if (value === null) return "–";
    if (typeof value === "number") return Number.isInteger(value) ? whole(value) : String(Number(value.toPrecision(4)));
    return String(value);
  };

  const start = (given) => {
    page = given;
    const near = new Set();
    const watcher = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          if (entry.isIntersecting) {
            near.add(entry.target);
            draw(entry.target);
          } else near.delete(entry.target);
        }
      },
      { rootMargin: "300px" },
    );
    for (const node of document.querySelectorAll("[data-chart]")) watcher.observe(node);
    for (const node of document.querySelectorAll("details[data-table]")) {
      node.addEventListener("toggle", () => table(node));
    }
    settings.onChange(() => {
      for (const node of near) draw(node);
    });
    addEventListener("beforeprint", () => {
      for (const node of document.querySelectorAll("[data-chart]")) draw(node);
    });
  };

  return { start };
})();
