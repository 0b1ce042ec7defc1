// The heatmap: a grid to walk in with the arrow keys; Enter lists the trials of a cell, or goes to the
// section on degradation for the same questions.

const heatmap = (() => {
  const WIDE = 26; // With more columns than this, a cell is too narrow for its figure.
  let page;
  let shown;
  let grid;
  let focus = [0, 0];

  const scopes = () => page.heatmaps.map((each) => each.persona ?? "");

  const nameOf = (row) => (row.kind === "total" ? row.name.toUpperCase() : spelled(row.name));

  const isMeasured = (cell) => Array.isArray(cell);

  const colour = (cell) => (isMeasured(cell) ? cell[1] : cell > 0 ? "unmeasured" : "ineligible");

  const isSmall = (cell) => isMeasured(cell) && cell[4] < page.few;

  const spoken = (row, cell, [label, days]) => {
    const lines = [`${nameOf(row)} at ${label}`];
    if (!isMeasured(cell)) {
      if (row.note) return [...lines, row.absent];
      const why = cell > 0
        ? `Not measured: the story supports ${counted(cell, "question")} by then, and none has a verdict.`
        : `Nothing to ask yet: the story supports no such question by day ${whole(days)}.`;
      return [...lines, why];
    }
    const [, , mean, interval, questions, trials, missing, eligible] = cell;
    lines.push([row.kind === "figure" ? row.name : "score", mean]);
    lines.push(["95 % interval", interval]);
    lines.push(["different questions", !row.note && eligible > questions ? `${whole(questions)} of ${whole(eligible)} there are` : whole(questions)]);
    lines.push(["trials", missing ? `${whole(trials)}, ${whole(missing)} missing` : whole(trials)]);
    if (row.note) lines.push(row.note);
    if (questions === 1) lines.push("A single question says nothing about others.");
    else if (isSmall(cell)) lines.push(`Fewer than ${page.few} questions: the interval is unreliable.`);
    return lines;
  };

  const oneLine = (lines) => lines.map((line) => (Array.isArray(line) ? line.join(" ") : line)).join("; ");

  const cellNode = (row, place, cell, column) => {
    const lines = spoken(row, cell, column);
    const node = make("div", {
      role: "gridcell",
      class: `cell ${colour(cell)}${isSmall(cell) ? " small" : ""}`,
      tabindex: "-1",
      "aria-label": oneLine(lines),
      "aria-colindex": String(place + 2),
    });
    if (shown.columns.length <= WIDE) node.append(make("span", {}, isMeasured(cell) ? cell[0] : ""));
    node.told = lines;
    return node;
  };

  // Silence and ceiling, which are no cells: they have no trials to list.
  const BOUNDS = ["silence", "ceiling"];
  const boundNodes = (row, count) =>
    BOUNDS.map((name, place) =>
      make("div", { role: "gridcell", class: "bound", "aria-label": `${name} ${row.bounds?.[place] ?? "none"}`, "aria-colindex": String(count + 2 + place) }, row.bounds?.[place] ?? ""),
    );

  const build = (scope) => {
    shown = page.heatmaps.find((each) => (each.persona ?? "") === scope) ?? page.heatmaps[0];
    const columns = shown.columns;
    const isWide = columns.length <= WIDE;
    const step = isWide ? 1 : Math.ceil(columns.length / 16);
    const head = make("div", { role: "row", class: "row head" }, make("div", { role: "columnheader", class: "corner" }));
    columns.forEach(([label], place) => {
      head.append(
        make("div", { role: "columnheader", class: "label", title: label, "aria-label": label }, place % step === 0 ? label : ""),
      );
    });
    const hasBounds = shown.rows.some((row) => row.bounds);
    if (hasBounds) head.append(...BOUNDS.map((name) => make("div", { role: "columnheader", class: "label bound" }, name)));
    const rows = shown.rows.map((row) => {
      const kind = `row ${row.kind}`;
      const title = row.unit ? `${nameOf(row)}, ${row.unit}` : nameOf(row);
      const node = make("div", { role: "row", class: kind }, make("div", { role: "rowheader", class: "name", title: row.name }, title));
      row.cells.forEach((cell, place) => node.append(cellNode(row, place, cell, columns[place])));
      if (hasBounds) node.append(...boundNodes(row, columns.length));
      return node;
    });
    grid = make(
      "div",
      {
        role: "grid",
        class: `grid ${isWide ? "wide" : "narrow"}${hasBounds ? " has-bounds" : ""}`,
        "aria-label": "Score by category and checkpoint, in points of 100",
        "aria-colcount": String(columns.length + 1 + (hasBounds ? BOUNDS.length : 0)),
        "aria-rowcount": String(rows.length + 1),
      },
      head,
      ...rows,
    );
    grid.style.setProperty("--columns", columns.length);
    focus = [Math.min(focus[0], rows.length - 1), Math.min(focus[1], columns.length - 1)];
    at(...focus)?.setAttribute("tabindex", "0");
    listen();
    byId("heatmap-grid").replaceChildren(grid);
  };

  const at = (row, column) => grid.children[row + 1]?.children[column + 1];

  const placeOf = (node) => {
    const line = node.parentElement;
    return [[...grid.children].indexOf(line) - 1, [...line.children].indexOf(node) - 1];
  };

  const move = (row, column) => {
    const next = at(row, column);
    if (!next || row < 0 || column < 0 || column >= shown.columns.length) return;
    at(...focus)?.setAttribute("tabindex", "-1");
    focus = [row, column];
    next.setAttribute("tabindex", "0");
    next.focus();
  };

  const list = (node) => {
    const [row, column] = placeOf(node);
    const line = shown.rows[row];
    tooltip.hide();
    const { section, ...filters } = line.opens;
    if (section) {
      // The section is about all personas together.
      if (shown !== page.heatmaps[0]) return;
      address.go({}, { at: section, isStep: true });
      showSection(section);
      byId(section).focus({ preventScroll: true });
      return;
    }
    const wanted = {
      q: "", result: "", leaf: "", open: "", category: "", invented: "", leaked: "",
      ...filters,
      persona: shown.persona ?? "",
      at: shown.columns[column][0],
    };
    address.go(wanted, { at: "questions", isStep: true });
    showSection("questions");
    byId("trials-grid").focus({ preventScroll: true });
  };

  const onKey = (event) => {
    const [row, column] = focus;
    const last = shown.columns.length - 1;
    const moves = {
      ArrowRight: [row, column + 1],
      ArrowLeft: [row, column - 1],
      ArrowDown: [row + 1, column],
      ArrowUp: [row - 1, column],
      Home: [event.ctrlKey ? 0 : row, 0],
      End: [event.ctrlKey ? shown.rows.length - 1 : row, last],
    };
    if (moves[event.key]) move(...moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") list(at(row, column));
    else return;
    event.preventDefault();
  };

  const listen = () => {
    const over = (event) => {
      const cell = event.target.closest?.(".cell");
      if (cell) tooltip.show(cell.told, cell.getBoundingClientRect());
    };
    grid.addEventListener("pointerover", over);
    grid.addEventListener("pointerleave", tooltip.hide);
    grid.addEventListener("focusin", (event) => {
      // After the scrolling that focus causes, which would hide it again.
      requestAnimationFrame(() => requestAnimationFrame(() => over(event)));
    });
    grid.addEventListener("focusout", tooltip.hide);
    grid.addEventListener("keydown", onKey);
    grid.addEventListener("click", (event) => {
      const cell = event.target.closest(".cell");
      if (!cell) return;
      focus = placeOf(cell);
      list(cell);
    });
  };

  const legend = () => {
    const steps = (kind, count) =>
      make("span", { class: "ramp", "aria-hidden": "true" }, ...Array.from({ length: 13 }, (_, n) => make("i", { class: `${kind}${Math.round((n / 12) * count)}` })));
    return make(
      "div",
      { class: "legend" },
      make("span", {}, "0", steps("s", 60), "100 points"),
      // Small rates are told apart better than large ones, so the middle of the scale is no half.
      make("span", {}, "0", steps("h", 50), "100 % invented or leaked (the middle is 25 %)"),
      make("span", {}, make("i", { class: "key cell s40 small" }), `fewer than ${page.few} questions`),
      make("span", {}, make("i", { class: "key cell unmeasured" }), "not measured"),
      make("span", {}, make("i", { class: "key cell ineligible" }), "nothing to ask yet"),
    );
  };

  const start = (given) => {
    page = given;
    const root = byId("heatmap");
    if (!root) return; // Nothing over time.
    if (!page.heatmaps.length) {
      root.append(make("p", { class: "missing" }, "No checkpoint was reached, so there is nothing to show."));
      return;
    }
    const select = make("select", { id: "heatmap-scope" }, ...scopes().map((scope) => make("option", { value: scope }, scope || "All personas together")));
    select.addEventListener("change", () => address.go({ scope: select.value }));
    const tools = make("div", { class: "heatmap-tools" });
    if (page.heatmaps.length > 1) tools.append(make("label", {}, "Show ", select));
    root.append(tools, make("div", { id: "heatmap-grid", class: "scrolls" }), legend());
    let before = null;
    const follow = (state) => {
      const wanted = scopes().includes(state.scope ?? "") ? (state.scope ?? "") : scopes()[0];
      if (wanted === before) return;
      before = wanted;
      select.value = wanted;
      build(wanted);
    };
    address.onChange(follow);
    follow(address.state);
  };

  return { start };
})();
