// Two runs or more, side by side: differences with intervals, and every question that both were asked.

const compare = (() => {
  const FILTERS = [
    ["", "All questions"],
    ["better", "Better in B"],
    ["worse", "Worse in B"],
    ["both-wrong", "Wrong in both"],
    ["only-first", "Only A answered"],
    ["only-second", "Only B answered"],
    ["different", "Different answers"],
  ];
  let root;
  let head;
  let differences;
  let list;
  let shownRuns = "";
  let shownList = "";
  let both = null; // The trials of A and of the other, and the rows that pair.
  let found = []; // The pairs that match.
  let questions = null; // The list of them.

  const ids = () => {
    const all = (address.state.runs ?? "").split(",").filter((id) => runs.find(id));
    // Written files hold each comparison once, in the order of the table.
    return blocks.isServed ? all : runs.known.map((run) => run.id).filter((id) => all.includes(id));
  };
  const other = () => {
    const all = ids();
    return all.includes(address.state.with) && address.state.with !== all[0] ? address.state.with : all[1];
  };
  const letter = (id) => String.fromCharCode(65 + ids().indexOf(id));
  const change = (place, id) => {
    const all = ids();
    if (id) all[place] = id;
    else all.splice(place, 1);
    address.go({ runs: [...new Set(all)].join(","), open: "" });
  };

  const pickers = () => {
    const all = ids();
    const boxes = all.map((id, place) =>
      make("div", { class: "picked" }, make("b", { class: `letter l${place % 6}` }, letter(id)), runs.choose(place ? `Run ${letter(id)}` : "Baseline A", id, (next) => change(place, next), true), make("a", { href: `run/${id}/report.html` }, "Report")),
    );
    const more = runs.choose(all.length ? "Add a run" : "Choose a run", "", (id) => change(all.length, id), true);
    return make("div", { class: "pickers" }, ...boxes, make("div", { class: "picked" }, more));
  };

  // A difference as a line with its interval around zero.
  const forest = (row, widest) => {
    const line = make("div", { class: "forest", "aria-hidden": "true" });
    const at = (value) => `${50 + (50 * value) / widest}%`;
    if (row.low !== null) {
      const band = make("i");
      band.style.left = at(row.low);
      band.style.width = `${(50 * (row.high - row.low)) / widest}%`;
      line.append(band);
    }
    const mark = make("b");
    mark.style.left = at(row.value);
    line.append(mark);
    return line;
  };

  const table = (title, rows, name, go) => {
    if (!rows.length) return null;
    const widest = Math.max(1, ...rows.flatMap((row) => [row.value, row.low ?? 0, row.high ?? 0].map(Math.abs)));
    const hasTest = rows.some((row) => row.p);
    const heads = [title, "questions", "A", name, `${name} − A`, "", "95 % interval", hasTest ? "p" : ""];
    const line = (row) =>
      make(
        "tr",
        { class: row.is_clear ? "is-clear" : null },
        make("th", { scope: "row" }, go ? make("button", { type: "button", class: "opener", onclick: () => go(row.name) }, row.title) : row.title),
        ...[row.questions, row.first, row.second, row.difference].map((text) => make("td", { class: "number" }, text)),
        make("td", { class: "line" }, forest(row, widest)),
        make("td", {}, row.interval || "–"),
        make("td", { class: "number" }, row.p),
      );
    return make("div", { class: "scrolls" }, make("table", { class: "plain differences" }, make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, ...rows.map(line))));
  };

  const contrast = (each) => {
    const id = ids()[each.letter.charCodeAt(0) - 65];
    const look = (changes) => () => {
      address.go({ with: id, ...changes }, { isStep: true });
      list.scrollIntoView({ behavior: motion() });
    };
    return make(
      "section",
      { class: "contrast" },
      make("h3", {}, `${each.letter} against A`),
      make("p", { class: "lead" }, each.conclusion),
      ...each.notes.map((note) => make("p", { class: "quiet" }, note)),
      table(each.measure, each.overall, each.letter),
      table("by category", each.categories, each.letter, (name) => look({ category: name, at: "" })()),
      table("by checkpoint", each.checkpoints, each.letter, (name) => look({ at: name, category: "" })()),
      each.personas.length > 1 ? table("by persona", each.personas, each.letter) : null,
    );
  };

  const problem = (words) => {
    const isCommon = address.state.scope === "common";
    const shown = [make("p", { class: "notice loud", role: "alert" }, make("strong", {}, "These runs cannot be compared. "), words)];
    if (!isCommon) shown.push(make("button", { type: "button", class: "action", onclick: () => address.go({ scope: "common" }) }, "Compare what they have in common"));
    return shown;
  };

  const showDifferences = async (all) => {
    const kind = address.state.scope === "common" ? "common" : "compare";
    const view = await blocks.json(`${kind}/${all.join(".")}`);
    if (all.join() !== ids().join()) return;
    if (view.problem) {
      differences.replaceChildren(...problem(view.problem));
      return;
    }
    const cards = view.runs.map(([name, system, words]) => make("p", { class: "card-line" }, make("b", { class: `letter l${(name.charCodeAt(0) - 65) % 6}` }, name), " ", make("b", { class: "untrusted-text" }, system), " ", make("span", { class: "quiet" }, words)));
    const note = kind === "common" ? make("p", { class: "notice" }, "Only the trials that these runs have in common.") : null;
    differences.replaceChildren(...[note, ...cards, ...view.contrasts.map(contrast)].filter(Boolean));
  };

  const value = (trials, row) => {
    const { points, score } = trials.columns;
    if (points[row] >= 0) return points[row] / trials.page.best;
    return score?.[row] ?? null;
  };
  const isWrong = (trials, row) => ["wrong", "unanswered"].includes(RESULTS[trials.results[row]][0]);
  const TESTS = {
    better: (a, b, one, two) => value(a, one) !== null && value(b, two) > value(a, one),
    worse: (a, b, one, two) => value(b, two) !== null && value(b, two) < value(a, one),
    "both-wrong": (a, b, one, two) => isWrong(a, one) && isWrong(b, two),
    "only-first": (a, b, one, two) => a.isAnswered(one) && !b.isAnswered(two),
    "only-second": (a, b, one, two) => !a.isAnswered(one) && b.isAnswered(two),
    different: (a, b, one, two) => a.isAnswered(one) && b.isAnswered(two) && a.answerNow(one) !== b.answerNow(two),
  };

  const readAll = async (trials) => {
    await trials.locate();
    await Promise.all(trials.page.answerBlocks.map((_, number) => trials.loadAnswers(number)));
  };

  const select = async () => {
    const { a, b, pairs } = both;
    const { show, category, at, persona, q } = address.state;
    const words = (q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    if (show === "different" || words.length) await Promise.all([readAll(a), readAll(b)]);
    const test = TESTS[show];
    const places = [];
    const text = (one, two) => {
      const place = a.columns.question[one];
      return [a.questions.text[place], a.questions.reference[place], a.questions.id[place], a.answerNow(one), b.answerNow(two)].join("\n").toLowerCase();
    };
    for (let number = 0; number < pairs.first.length; number += 1) {
      const [one, two] = [pairs.first[number], pairs.second[number]];
      const place = a.columns.question[one];
      if (category && a.page.categories[a.questions.category[place]] !== category) continue;
      if (persona && a.page.personas[a.questions.persona[place]] !== persona) continue;
      if (at && a.page.checkpoints[a.columns.checkpoint[one]][0] !== at) continue;
      if (test && !test(a, b, one, two)) continue;
      if (words.length) {
        const heard = text(one, two);
        if (!words.every((word) => heard.includes(word))) continue;
      }
      places.push(number);
    }
    return places;
  };

  const said = (trials, row, node) => {
    const now = trials.answerNow(row);
    if (now === undefined) trials.answer(row).then(questions.paint);
    node.textContent = now === undefined ? "…" : now === null ? "(no answer)" : now.slice(0, 300) || "(an empty answer)";
    return node;
  };

  const item = (number) => {
    const { a, b, pairs, name } = both;
    const [one, two] = [pairs.first[number], pairs.second[number]];
    const place = a.columns.question[one];
    const facts = [spelled(a.page.categories[a.questions.category[place]]), a.page.personas[a.questions.persona[place]], `at ${a.page.checkpoints[a.columns.checkpoint[one]][0]}`];
    if (a.page.repeats > 1) facts.push(`#${a.columns.repeat[one] + 1}`);
    const line = (trials, row, letters) => make("div", { class: "said-line" }, make("b", {}, letters), parts.chip(trials, row), said(trials, row, make("span", { class: "said" })));
    return make(
      "div",
      { class: "pair-row", "data-trial": a.name(one) },
      make("span", { class: "asked" }, a.questions.text[place]),
      make("small", { class: "quiet untrusted-text" }, facts.join(" · ")),
      line(a, one, "A"),
      line(b, two, name),
    );
  };

  const filterBar = () => {
    const { a, b, pairs, name } = both;
    const pick = (key, label, options) => {
      const box = make("select", { "aria-label": label, id: `pair-${key}` });
      for (const [each, words] of options) box.append(make("option", { value: each, selected: (address.state[key] ?? "") === each }, words));
      box.classList.toggle("is-set", Boolean(address.state[key]));
      box.addEventListener("change", () => address.go({ [key]: box.value }));
      return box;
    };
    const count = (key) => {
      if (!key) return whole(pairs.first.length);
      if (key === "different") return null;
      let sum = 0;
      for (let number = 0; number < pairs.first.length; number += 1) sum += TESTS[key](a, b, pairs.first[number], pairs.second[number]);
      return whole(sum);
    };
    const named = FILTERS.map(([key, words]) => {
      const many = count(key);
      return [key, words.replace(/\bB\b/, name) + (many === null ? "" : ` (${many})`)];
    });
    const search = make("input", { type: "search", id: "pair-q", placeholder: "Search questions, references, answers", "aria-label": "Search questions, references and answers", value: address.state.q ?? "" });
    search.addEventListener("change", () => address.go({ q: search.value }));
    const all = (label, names) => [["", `${label}: all`], ...names.map((each) => [each, spelled(each)])];
    return make(
      "div",
      { class: "filters", role: "search" },
      search,
      ids().length > 2 ? pick("with", "Against A", ids().slice(1).map((id) => [id, `${letter(id)} against A`])) : null,
      pick("show", "Which", named),
      pick("category", "Category", all("Category", a.page.categories)),
      pick("at", "Checkpoint", all("Checkpoint", a.page.checkpoints.map(([label]) => label))),
      a.page.personas.length > 1 ? pick("persona", "Persona", [["", "Persona: all"], ...a.page.personas.map((each) => [each, each])]) : null,
    );
  };

  const showList = async () => {
    found = await select();
    const { pairs, name } = both;
    const left = [];
    if (pairs.only_first) left.push(`${whole(pairs.only_first)} trials of A`);
    if (pairs.only_second) left.push(`${whole(pairs.only_second)} of ${name}`);
    // An earlier list may still be painted while the next one is selected.
    const rows = found;
    questions = questionList({
      id: "pairs",
      label: "Questions",
      name: "pairs",
      row: (position) => item(rows[position]),
      open: (position) => address.go({ open: both.a.name(pairs.first[rows[position]]) }, { isStep: true }),
    });
    list.replaceChildren(
      make("h2", {}, "Questions"),
      filterBar(),
      make("p", { class: "count", "aria-live": "polite" }, `${counted(found.length, "trial")}${left.length ? ` · left out, as the other run has no such trial: ${left.join(" and ")}` : ""}`),
      questions.box,
    );
    questions.show(rows.length);
  };

  const side = (trials, row, known, letters) =>
    make(
      "div",
      { class: "side" },
      make("h3", { class: "side-title" }, make("b", { class: "letter" }, letters), " ", make("span", { class: "untrusted-text" }, trials.page.system), " ", parts.chip(trials, row)),
      parts.answer(trials, row, known.told, known.text),
      parts.verdict(trials, row, known.told),
      known.found,
    );

  const beside = (step) => {
    const { a, pairs } = both;
    const now = found.findIndex((number) => a.name(pairs.first[number]) === address.state.open);
    const next = found[now + step];
    if (next === undefined) return;
    questions.move(now + step);
    address.go({ open: a.name(pairs.first[next]) });
  };

  const openPair = async () => {
    const { a, b, pairs, name } = both;
    const one = a.find(address.state.open);
    const number = pairs.first.indexOf(one);
    if (number < 0) {
      panel.close();
      return;
    }
    const two = pairs.second[number];
    const [ours, theirs] = await Promise.all([parts.read(a, one), parts.read(b, two)]);
    const here = (row) => address.go({ open: a.name(row) });
    panel.show(
      a.name(one),
      [
        parts.asked(a, one, ours.about, ours.place),
        parts.strip(a, one, here),
        parts.reference(a, ours.about, ours.place),
        make("div", { class: "sides" }, side(a, one, ours, "A"), side(b, two, theirs, name)),
        ours.cited,
      ],
      beside,
    );
  };

  const readPair = async (all) => {
    const pair = `${all[0]}.${other()}`;
    if (both?.key === pair) return true;
    list.replaceChildren(make("p", { class: "missing" }, "Reading the questions…"));
    const [a, b, pairs] = await Promise.all([runs.trials(all[0]), runs.trials(other()), blocks.json(`pairs/${pair}`)]);
    if (pair !== `${ids()[0]}.${other()}`) return false;
    both = { key: pair, a, b, pairs, name: letter(other()) };
    return true;
  };

  const follow = async () => {
    const all = ids();
    const key = `${all.join(".")} ${address.state.scope ?? ""}`;
    const isNew = key !== shownRuns;
    if (isNew) {
      shownRuns = key;
      head.replaceChildren(make("h2", {}, "Compare"), pickers());
      [both, questions] = [null, null];
      shownList = "";
      list.replaceChildren();
      const words = all.length < 2 ? "Choose two runs or more; the first is the baseline." : "Comparing…";
      differences.replaceChildren(make("p", { class: "missing" }, words));
    }
    if (all.length < 2 || !(await readPair(all))) return;
    const { show, category, at, persona, q } = address.state;
    const wanted = JSON.stringify([both.key, show, category, at, persona, q]);
    if (wanted !== shownList) {
      shownList = wanted;
      await showList();
    }
    if (address.state.open) await openPair();
    else panel.close();
    // Intervals of long runs take longer than their questions.
    if (isNew) showDifferences(all).catch((error) => differences.replaceChildren(...problem(error.message)));
  };

  const onKey = (event) => {
    if (questions && moveBy(event, questions)) return true;
    if (event.key === "/" && byId("pair-q")) byId("pair-q").focus();
    else return false;
    return true;
  };

  const mount = async (given) => {
    root = given;
    [head, differences, list] = [make("div"), make("div"), make("section", { class: "questions" })];
    root.replaceChildren(head, differences, list);
    shownRuns = "";
    shownList = "";
    [both, questions] = [null, null];
    if (!runs.known.length) await runs.load();
    await follow();
  };

  return { mount, follow, onKey };
})();
