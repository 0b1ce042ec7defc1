// The story day by day: what was stated, what was asked, how it went, and what was true.

const travel = (() => {
  const PAGE = 40;
  let root;
  let controls;
  let shown;
  let loaded = null; // The trials of the run, which of them were known, and the story of one persona.
  let drawn = "";
  let listed = null; // What was asked at the checkpoint, as rows and as a list.

  const run = runs.shown;

  const read = async () => {
    const id = run();
    if (!id) return null;
    const trials = await runs.trials(id);
    const wanted = trials.page.personas.indexOf(address.state.whose);
    const persona = Math.max(0, wanted);
    const key = `${id} ${persona}`;
    if (loaded?.key !== key) {
      const [known, story] = await Promise.all([trials.block("known"), trials.block(`story-${persona}`)]);
      const last = Math.max(...trials.page.checkpoints.map(([, days]) => days), 1);
      // Later days were never fed.
      const fed = story.days.filter((day) => day <= last);
      const days = fed.length ? fed : Array.from({ length: last }, (_, place) => place + 1);
      loaded = { key, id, trials, known, story, persona, days };
    }
    return loaded;
  };

  // The day in the address, or the nearest before it.
  const placeOf = (day) => {
    const { days } = loaded;
    let place = days.findIndex((each) => each > day);
    place = place < 0 ? days.length - 1 : place - 1;
    return Math.max(0, place);
  };
  const today = () => loaded.days[placeOf(Number(address.state.day) || 1)];
  const goDay = (day) => address.go({ day: String(day) });
  const step = (by) => {
    const place = placeOf(today()) + by;
    if (place >= 0 && place < loaded.days.length) goDay(loaded.days[place]);
  };

  // The last checkpoint up to a day, or the first.
  const checkpointAt = (day) => {
    const { checkpoints } = loaded.trials.page;
    let found = 0;
    checkpoints.forEach(([, days], place) => {
      if (days <= day) found = place;
    });
    return found;
  };

  const LIFE = { known: "known", lost: "lost", regained: "regained", unknown: "not known", open: "no verdict" };

  // What became of a question: one word for each time it was asked.
  const life = (rows) => {
    let before = false;
    let isLost = false;
    return rows.map((row) => {
      const now = loaded.known[row];
      if (now < 0) return [row, "open"];
      const word = now ? (isLost ? "regained" : "known") : before ? "lost" : "unknown";
      if (now) [before, isLost] = [true, false];
      else if (before) isLost = true;
      return [row, word];
    });
  };

  const strip = (rows, here) => {
    const { trials } = loaded;
    return make(
      "span",
      { class: "life" },
      ...life(rows).map(([row, word]) => {
        const label = trials.page.checkpoints[trials.columns.checkpoint[row]][0];
        return make("span", { class: row === here ? `beat ${word} is-here` : `beat ${word}`, title: `${label}: ${LIFE[word]}`, "aria-label": `${label}: ${LIFE[word]}` }, { known: "●", lost: "✕", regained: "◐", unknown: "○", open: "–" }[word]);
      }),
    );
  };

  const dayText = async (day) => {
    const { story, trials, persona } = loaded;
    const place = story.days.indexOf(day);
    if (place < 0) return null;
    const number = blocks.holding(story.starts, place);
    const part = await trials.block(`days-${persona}-${number}`);
    return part[place - story.starts[number]];
  };

  const question = (place, row) => {
    const { trials } = loaded;
    const rows = trials.siblings(row);
    return [
      make("span", { class: "line-one" }, parts.chip(trials, row), make("span", { class: "asked" }, trials.questions.text[place])),
      make("span", { class: "line-two" }, make("small", { class: "quiet" }, spelled(trials.page.categories[trials.questions.category[place]])), strip(rows, row)),
    ];
  };
  const go = (row) => address.go({ open: loaded.trials.name(row) }, { isStep: true });

  const rowsOf = (place) => {
    const { trials } = loaded;
    const row = trials.columns.question.indexOf(place);
    return row < 0 ? [] : trials.siblings(row);
  };

  const loadDay = async (day) => {
    const { story, trials } = loaded;
    const place = story.days.indexOf(day);
    const title = make("h3", {}, place < 0 ? `Day ${whole(day)}` : `Day ${whole(day)} · ${story.dates[place]}`);
    const text = await dayText(day);
    const marks = story.marks[day] ?? [];
    const body = text === null
      ? make("p", { class: "missing" }, trials.page.missing ?? "The text of this day is not at hand.")
      : sources.marked(text, marks.filter(([start]) => start >= 0));
    const places = [...new Set(marks.map(([, , each]) => each))];
    const asked = places.map((each) => [each, rowsOf(each)[0]]).filter(([, row]) => row !== undefined);
    return make(
      "section",
      { class: "told" },
      title,
      body,
      asked.length ? make("h4", {}, `Asked about this day (${whole(asked.length)})`) : make("p", { class: "quiet" }, "No question is about this day."),
      asked.length ? make("ol", { class: "pairs" }, ...asked.slice(0, PAGE).map(([each, row]) => make("li", {}, make("button", { type: "button", class: "pair-row", "data-trial": trials.name(row), onclick: () => go(row) }, ...question(each, row))))) : null,
    );
  };

  const holds = (label) => {
    const found = loaded.story.holdings[label];
    if (!found) return make("p", { class: "quiet" }, "The memory did not say what it holds.");
    const words = [];
    if (found.fault) words.push(`It could not be inspected: ${found.fault}.`);
    else if (found.lost === null) words.push("It does not report which days it holds.");
    else words.push(found.lost.length ? `It holds nothing of ${counted(found.lost.length, "day")}: ${found.lost.slice(0, 20).join(", ")}${found.lost.length > 20 ? " …" : ""}.` : "It holds something of every day it was fed.");
    if (found.size !== null) words.push(`${whole(Math.round(found.size / 1024))} KiB.`);
    return make("p", { class: "quiet" }, words.join(" "));
  };

  const asked = (day) => {
    const { trials, known, persona } = loaded;
    const at = checkpointAt(day);
    const [label, days] = trials.page.checkpoints[at];
    const rows = [];
    for (let row = 0; row < trials.count; row += 1) {
      if (trials.columns.checkpoint[row] === at && trials.persona(row) === persona) rows.push(row);
    }
    const wanted = address.state.show;
    const words = new Map(rows.map((row) => [row, life(trials.siblings(row)).find(([each]) => each === row)[1]]));
    const found = wanted ? rows.filter((row) => words.get(row) === wanted) : rows;
    const counts = {};
    for (const word of words.values()) counts[word] = (counts[word] ?? 0) + 1;
    const pick = make("select", { id: "life", "aria-label": "Which questions" }, make("option", { value: "" }, `All questions (${whole(rows.length)})`));
    for (const [key, word] of Object.entries(LIFE)) {
      if (counts[key]) pick.append(make("option", { value: key, selected: key === wanted }, `${word} (${whole(counts[key])})`));
    }
    pick.addEventListener("change", () => address.go({ show: pick.value }));
    const row = (position) => make("div", { class: "pair-row", "data-trial": trials.name(found[position]) }, ...question(trials.columns.question[found[position]], found[position]));
    listed = { rows: found, list: questionList({ id: "asked", label: "Questions", name: "lives", row, open: (position) => go(found[position]) }) };
    return make(
      "section",
      { class: "asked-here" },
      make("h3", {}, `${days > day ? "First asked" : "Asked"} at ${label}, after ${counted(days, "day")}`),
      holds(label),
      make("div", { class: "filters" }, pick),
      make("p", { class: "quiet legend" }, "● known  ✕ lost  ◐ regained  ○ not known  – no verdict, at each checkpoint"),
      listed.list.box,
    );
  };

  const facts = (day) => {
    const { story, days } = loaded;
    if (story.problem) return make("p", { class: "notice loud untrusted-text" }, `The facts cannot be read: ${story.problem}`);
    if (!story.facts.length) return null;
    const last = days.at(-1);
    const words = (address.state.fact ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const isFound = ([name, states]) => {
      const text = [name, ...states.map(([value]) => value)].join("\n").toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const isRevised = ([, states]) => states.filter(([, start]) => start <= day).length > 1;
    // The latest news first.
    const news = ([, states]) => Math.max(...states.map(([, start]) => (start <= day ? start : 0)));
    const found = story.facts.filter((fact) => news(fact) > 0 && (words.length ? isFound(fact) : isRevised(fact))).sort((one, other) => news(other) - news(one));
    const search = make("input", { type: "search", id: "fact", placeholder: "Search all facts", "aria-label": "Search all facts", value: address.state.fact ?? "" });
    search.addEventListener("change", () => address.go({ fact: search.value }));
    const line = ([name, states]) => {
      const bar = make("div", { class: "timeline", "aria-hidden": "true" });
      states.forEach(([value, start, end], number) => {
        const piece = make("i", { class: `state n${number % 4}${start <= day && (end === null || day <= end) ? " is-now" : ""}`, title: `${value}: day ${start} to ${end ?? "the end"}` });
        const until = end ?? states[number + 1]?.[1] ?? last;
        piece.style.left = `${(100 * (start - 1)) / last}%`;
        piece.style.width = `${Math.max(0.6, (100 * (until - start + 1)) / last)}%`;
        bar.append(piece);
      });
      const now = make("b");
      now.style.left = `${(100 * (day - 0.5)) / last}%`;
      bar.append(now);
      const values = states.filter(([, start]) => start <= day).map(([value, start, end]) => {
        const isNow = end === null || day <= end;
        return make(isNow ? "b" : "s", { class: "untrusted-text" }, `${value} (day ${start})`);
      });
      return make("li", {}, make("div", { class: "fact-name untrusted-text" }, name), bar, make("div", { class: "fact-values" }, ...values.flatMap((each, number) => (number ? [" → ", each] : [each]))));
    };
    return make(
      "section",
      { class: "facts-here" },
      make("h3", {}, "Facts, as they were stated"),
      search,
      make("p", { class: "quiet" }, `${counted(found.length, words.length ? "fact" : "revised fact")} by day ${whole(day)} of ${whole(story.facts.length)} in all${found.length > PAGE ? `; the latest ${PAGE}` : ""}`),
      make("ol", { class: "facts-list" }, ...found.slice(0, PAGE).map(line)),
    );
  };

  const slider = () => {
    const { days, trials } = loaded;
    const range = make("input", { type: "range", id: "day", min: "0", max: String(days.length - 1), "aria-label": "Day of the story" });
    range.addEventListener("input", () => goDay(days[Number(range.value)]));
    const ticks = trials.page.checkpoints.map(([label, at]) => make("button", { type: "button", class: "action tick", onclick: () => goDay(days[placeOf(at)]) }, label));
    return make(
      "div",
      { class: "slider" },
      make("button", { type: "button", class: "action", title: "The day before (←)", onclick: () => step(-1) }, "←"),
      range,
      make("button", { type: "button", class: "action", title: "The next day (→)", onclick: () => step(1) }, "→"),
      make("div", { class: "ticks" }, make("span", { class: "quiet" }, "Checkpoints"), ...ticks),
    );
  };

  const moveSlider = (day) => {
    const range = byId("day");
    range.value = String(placeOf(day));
    range.setAttribute("aria-valuetext", `day ${day}`);
    [...controls.querySelectorAll(".tick")].forEach((tick, place) => tick.classList.toggle("is-here", place === checkpointAt(day)));
  };

  const openTrial = async () => {
    const { trials } = loaded;
    const row = trials.find(address.state.open);
    if (row < 0) return;
    const known = await parts.read(trials, row);
    const beside = (by) => {
      const position = listed.rows.indexOf(row) + by;
      if (listed.rows[position] === undefined) return;
      listed.list.move(position);
      address.go({ open: trials.name(listed.rows[position]) });
    };
    panel.show(
      trials.name(row),
      [
        parts.asked(trials, row, known.about, known.place),
        parts.strip(trials, row, (each) => address.go({ open: trials.name(each) })),
        make("div", { class: "pair" }, parts.reference(trials, known.about, known.place), parts.answer(trials, row, known.told, known.text)),
        parts.verdict(trials, row, known.told),
        known.cited,
        known.found,
      ],
      beside,
    );
  };

  const follow = async () => {
    const now = await read();
    if (!now) {
      shown.replaceChildren(make("p", { class: "missing" }, runs.absent()));
      return;
    }
    const { open, ...rest } = address.state;
    const wanted = JSON.stringify([now.key, rest]);
    if (wanted !== drawn) {
      drawn = wanted;
      const day = today();
      const personas = now.trials.page.personas;
      const whose = make("select", { "aria-label": "Persona" }, ...personas.map((name, place) => make("option", { value: name, selected: place === now.persona }, name)));
      whose.addEventListener("change", () => address.go({ whose: whose.value, day: "" }));
      const text = await loadDay(day);
      if (drawn !== wanted) return;
      // A slider that was replaced while it is dragged would let go.
      if (controls.dataset.key !== now.key) {
        controls.dataset.key = now.key;
        controls.replaceChildren(
          make("h2", {}, "Time travel"),
          make("div", { class: "pickers" }, make("div", { class: "picked" }, runs.choose("Run", now.id, (id) => address.go({ run: id, whose: "", day: "" })), make("a", { href: `run/${now.id}/report.html` }, "Report")), personas.length > 1 ? whose : null),
          slider(),
        );
      }
      moveSlider(day);
      shown.replaceChildren(make("div", { class: "travel" }, text, make("div", {}, ...[asked(day), facts(day)].filter(Boolean))));
      listed.list.show(listed.rows.length);
      sources.settle(shown);
    }
    if (open) await openTrial();
    else panel.close();
  };

  const onKey = (event) => {
    // The slider moves by the arrow keys itself.
    if (event.target.id === "day") return false;
    if (listed && moveBy(event, listed.list)) return true;
    if (event.key === "ArrowLeft") step(-1);
    else if (event.key === "ArrowRight") step(1);
    else if (event.key === "/" && byId("fact")) byId("fact").focus();
    else return false;
    return true;
  };

  const mount = async (given) => {
    root = given;
    [controls, shown] = [make("div"), make("div")];
    drawn = "";
    shown.append(make("p", { class: "missing" }, "Reading the story…"));
    root.replaceChildren(controls, shown);
    if (!runs.known.length) await runs.load();
    await follow();
  };

  return { mount, follow, onKey };
})();
