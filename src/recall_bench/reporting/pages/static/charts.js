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

  // Fewer panels in a row, each with its own labels, and fewer names in a row of a legend.
  const narrowed = (spec, room) => {
    if (spec.concat) {
      const widest = Math.max(...spec.concat.map((panel) => panel.width));
      const columns = Math.floor((room * 1.25) / (widest + spec.spacing.column + 24));
      if (columns >= spec.columns) return spec;
      const own = JSON.parse(JSON.stringify(spec, (key, value) => (key === "labelOpacity" ? undefined : value)));
      own.columns = Math.max(1, columns);
      own.spacing.column += 24;
      own.concat.forEach((panel, place) => {
        panel.width = Math.min(panel.width, Math.max(room - 70, 120));
        // Below the last panel of each column alone, or it would be in the title of the next.
        if (place + own.columns < own.concat.length) {
          for (const layer of panel.layer) if (layer.encoding.x?.axis) layer.encoding.x.axis.title = null;
        }
      });
      return own;
    }
    const names = room < 520 ? 2 : null;
    return names ? JSON.parse(JSON.stringify(spec, (key, value) => (key === "legend" && value ? { ...value, columns: names } : value))) : spec;
  };

  // A label may stand beyond the frame: the picture becomes as wide as what is in it.
  const widened = (drawing) => {
    const { x, width } = drawing.getBBox();
    const frame = drawing.viewBox.baseVal;
    const left = Math.min(frame.x, x);
    const right = Math.max(frame.x + frame.width, x + width);
    if (right - left > frame.width + 1) drawing.setAttribute("viewBox", `${left} ${frame.y} ${right - left} ${frame.height}`);
  };

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
    entry.result = await embed(place, narrowed(page.charts[node.dataset.chart].spec, node.clientWidth), {
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
    if (drawing) widened(drawing);
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
    // The others one by one when nothing else is to do: drawing takes longer than a printer waits.
    const rest = async () => {
      for (const node of document.querySelectorAll("[data-chart]")) {
        await new Promise((free) => (window.requestIdleCallback ?? setTimeout)(free));
        await draw(node);
      }
    };
    settings.onChange(() => {
      for (const node of near) draw(node);
      rest();
    });
    rest();
  };

  return { start };
})();
