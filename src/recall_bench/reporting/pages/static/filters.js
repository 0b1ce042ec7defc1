// The bar above the table: a search and a choice for each column.

const filters = (() => {
  let trials;
  const controls = new Map();

  const choice = (key, label, options) => {
    const select = make("select", { id: `filter-${key}` });
    select.append(make("option", { value: "" }, `${label}: all`));
    for (const [value, title, count] of options) {
      select.append(make("option", { value }, count === undefined ? title : `${title} (${whole(count)})`));
    }
    select.addEventListener("change", () => address.go({ [key]: select.value }, { at: "questions" }));
    controls.set(key, select);
    return make("label", {}, make("span", { class: "visually-hidden" }, label), select);
  };

  // How many trials have each value, in one pass.
  const tally = (length, value) => {
    const counts = new Array(length).fill(0);
    for (let row = 0; row < trials.count; row += 1) {
      const place = value(row);
      if (place >= 0) counts[place] += 1;
    }
    return counts;
  };

  const search = () => {
    const box = make("input", {
      type: "search",
      id: "filter-q",
      placeholder: "Search questions, references, answers, ids",
      "aria-label": "Search questions, references, answers and ids",
      "aria-keyshortcuts": "/",
      autocomplete: "off",
      spellcheck: "false",
    });
    let waiting = 0;
    const look = () => {
      clearTimeout(waiting);
      waiting = 0;
      address.go({ q: box.value }, { at: "questions" });
    };
    box.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 120);
    });
    // Whoever goes on before the pause is over has typed all the same.
    box.addEventListener("blur", () => {
      if (waiting) look();
    });
    controls.set("q", box);
    return box;
  };

  const listed = () => {
    const { page, questions, columns } = trials;
    const leaves = tally(page.leaves.length, (row) => columns.leaf[row]);
    const misses = leaves.reduce((sum, count) => sum + count, 0);
    const invented = tally(2, (row) => columns.invented[row]);
    const leaked = tally(2, (row) => columns.leaked[row]);
    const results = tally(RESULTS.length, (row) => trials.results[row]);
    const categories = tally(page.categories.length, (row) => questions.category[columns.question[row]]);
    const named = (pairs, counts) => pairs.map((pair, place) => [...pair, counts[place]]).filter((each) => each[2]);
    const bar = [];
    if (page.personas.length > 1) bar.push(choice("persona", "Persona", page.personas.map((name) => [name, name])));
    bar.push(choice("category", "Category", named(page.categories.map((name) => [name, spelled(name)]), categories)));
    bar.push(choice("at", "Checkpoint", page.checkpoints.map(([label]) => [label, label])));
    bar.push(choice("result", "Result", named(RESULTS, results)));
    bar.push(choice("invented", "Invented", named([["no", "no"], ["yes", "yes"]], invented)));
    if (leaked[0] + leaked[1]) bar.push(choice("leaked", "Leaked", named([["no", "no"], ["yes", "yes"]], leaked)));
    if (columns.split) bar.push(choice("split", "Judges", named([["no", "agree"], ["yes", "split"]], tally(2, (row) => columns.split[row]))));
    if (misses) {
      bar.push(choice("leaf", "Cause", [["any", "any miss", misses], ...named(page.leaves.map(([name, title]) => [name, title]), leaves)]));
    }
    return bar;
  };

  const start = (given, root) => {
    trials = given;
    const clear = make("button", { type: "button", class: "clear" }, "Clear");
    const nothing = Object.fromEntries([...["q", "persona", "category", "at", "result", "invented", "leaked", "split", "leaf"]].map((key) => [key, ""]));
    clear.addEventListener("click", () => address.go(nothing, { at: "questions" }));
    root.append(make("div", { class: "filters", role: "search" }, search(), ...listed(), clear));
    const follow = (state) => {
      let isAny = false;
      for (const [key, control] of controls) {
        const value = state[key] ?? "";
        isAny ||= value !== "";
        if (document.activeElement !== control || control.tagName === "SELECT") control.value = value;
        control.classList.toggle("is-set", value !== "");
      }
      clear.hidden = !isAny;
    };
    address.onChange(follow);
    follow(address.state);
  };

  return { start, focus: () => controls.get("q").focus() };
})();
