// A person marks answers: right, wrong, invented, leaked, or that the question is bad.

const label = (() => {
  const LABELS = [
    ["right", "Right"],
    ["wrong", "Wrong"],
    ["invented", "Invented"],
    ["leaked", "Leaked"],
    ["bad-question", "The question is bad"],
  ];
  let root;
  let loaded = null; // The trials of a run and its labels.
  let queue = [];

  const run = runs.shown;

  const kept = () => {
    try {
      return localStorage.getItem("recall-bench-labeller") ?? "";
    } catch {
      return "";
    }
  };
  const person = () => address.state.who ?? kept();
  const name = (value) => {
    try {
      localStorage.setItem("recall-bench-labeller", value);
    } catch {
      // It is in the address all the same.
    }
    address.go({ who: value });
  };

  const mine = (trial) => loaded.given.labels.find((each) => each.trial === trial && each.by === person());

  const select = () => {
    const { trials } = loaded;
    const { show, category } = address.state;
    const done = new Set(loaded.given.labels.filter((each) => each.by === person()).map((each) => each.trial));
    const any = new Set(loaded.given.labels.map((each) => each.trial));
    const found = [];
    for (let row = 0; row < trials.count; row += 1) {
      if (!trials.isAnswered(row)) continue;
      if (category && trials.page.categories[trials.questions.category[trials.columns.question[row]]] !== category) continue;
      const trial = trials.name(row);
      if (show === "mine" && !done.has(trial)) continue;
      if (show === "labelled" && !any.has(trial)) continue;
      if (!show && done.has(trial) && trial !== address.state.open) continue;
      found.push(row);
    }
    return found;
  };

  const current = () => {
    const { trials } = loaded;
    const wanted = trials.find(address.state.open ?? "");
    return queue.includes(wanted) ? wanted : (queue[0] ?? -1);
  };

  const step = (by) => {
    const next = queue[queue.indexOf(current()) + by];
    if (next !== undefined) address.go({ open: loaded.trials.name(next) });
  };

  const send = async (value) => {
    const row = current();
    if (row < 0) return;
    if (!person()) {
      byId("labeller").focus();
      byId("label-status").textContent = "Say who labels first.";
      return;
    }
    const trial = loaded.trials.name(row);
    const comment = byId("label-comment").value;
    const now = mine(trial);
    const wanted = now?.label === value && now.comment === comment ? "withdrawn" : value;
    const reply = await fetch(`labels/${loaded.id}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ trial, label: wanted, by: person(), comment }),
    });
    if (!reply.ok) {
      byId("label-status").textContent = `Not saved: ${await reply.text()}`;
      return;
    }
    loaded.given = await reply.json();
    const next = queue[queue.indexOf(row) + 1] ?? row;
    const isSame = wanted === "withdrawn" || next === row;
    address.go({ open: loaded.trials.name(isSame ? row : next) });
    if (isSame) await paint();
  };

  const agreement = () => {
    const { labels, agreement: pairs } = loaded.given;
    const people = [...new Set(labels.map((each) => each.by))];
    if (!people.length) return make("p", { class: "quiet" }, "No answer of this run has a label yet.");
    const counts = people.map((each) => `${each}: ${whole(labels.filter((given) => given.by === each).length)}`);
    const lines = pairs.map((each) => {
      const ends = each.interval ? ` [${each.interval.map((end) => fixed(end, 2)).join(", ")}]` : "";
      const kappa = each.kappa === null ? "" : `, kappa ${fixed(each.kappa, 2)}${ends} for right or not`;
      return make("p", { class: "agreement untrusted-text" }, `${each.first} and ${each.second}: the same label for ${whole(each.same)} of ${counted(each.answers, "answer")}${kappa}`);
    });
    return make("div", {}, make("p", { class: "quiet untrusted-text" }, `Labels by ${counts.join(", ")}`), ...lines);
  };

  const buttons = (trial) => {
    const now = mine(trial);
    return make(
      "div",
      { class: "labels", role: "group", "aria-label": "Label" },
      ...LABELS.map(([value, title], number) =>
        make("button", { type: "button", class: now?.label === value ? "action is-here" : "action", "aria-pressed": String(now?.label === value), "aria-keyshortcuts": String(number + 1), disabled: !blocks.isServed, onclick: () => send(value) }, make("kbd", {}, String(number + 1)), ` ${title}`),
      ),
    );
  };

  const filterBar = () => {
    const { trials } = loaded;
    const pick = (key, words, options) => {
      const box = make("select", { id: `label-${key}`, "aria-label": words }, ...options.map(([value, title]) => make("option", { value, selected: (address.state[key] ?? "") === value }, title)));
      box.addEventListener("change", () => address.go({ [key]: box.value, open: "" }));
      return box;
    };
    const who = make("input", { type: "text", id: "labeller", placeholder: "Your name", "aria-label": "Your name", maxlength: "80", value: person() });
    who.addEventListener("change", () => name(who.value.trim()));
    return make(
      "div",
      { class: "filters" },
      who,
      pick("show", "Which answers", [["", "Not labelled by me"], ["mine", "Labelled by me"], ["labelled", "Labelled by any person"], ["all", "All answers"]]),
      pick("category", "Category", [["", "Category: all"], ...trials.page.categories.map((each) => [each, spelled(each)])]),
    );
  };

  const card = async (row) => {
    const { trials } = loaded;
    const trial = trials.name(row);
    const known = await parts.read(trials, row);
    const comment = make("textarea", { id: "label-comment", rows: "2", maxlength: "4000", placeholder: "Comment", "aria-label": "Comment", disabled: !blocks.isServed });
    comment.value = mine(trial)?.comment ?? "";
    const others = loaded.given.labels.filter((each) => each.trial === trial && each.by !== person());
    return make(
      "article",
      { class: "label-card", "data-trial": trial },
      parts.asked(trials, row, known.about, known.place),
      make("div", { class: "pair" }, parts.reference(trials, known.about, known.place), parts.answer(trials, row, known.told, known.text)),
      buttons(trial),
      comment,
      // The verdict and other people's labels would lead the person who labels.
      make(
        "details",
        {},
        make("summary", {}, "Verdict of the judge, and labels of others"),
        parts.verdict(trials, row, known.told),
        ...others.map((each) => make("p", { class: "untrusted-text" }, `${each.by}: ${each.label}${each.comment ? ` (${each.comment})` : ""}`)),
      ),
      known.cited,
    );
  };

  const paint = async () => {
    queue = select();
    const row = current();
    const place = queue.indexOf(row);
    const content = row < 0 ? make("p", { class: "missing" }, "There is no answer left to label here.") : await card(row);
    const turn = (by, title, key) => make("button", { type: "button", class: "action", "aria-keyshortcuts": key, disabled: queue[place + by] === undefined, onclick: () => step(by) }, title);
    const isTyping = document.activeElement?.id;
    root.replaceChildren(
      make("div", { class: "heading" }, make("h2", {}, "Label")),
      make("div", { class: "pickers" }, make("div", { class: "picked" }, runs.choose("Run", loaded.id, (id) => address.go({ run: id, open: "" })), make("a", { href: `run/${loaded.id}/report.html` }, "Report"))),
      blocks.isServed ? agreement() : make("div", {}, agreement(), make("p", { class: "notice" }, "These files show labels; recall-bench view takes new ones.")),
      filterBar(),
      make("p", { class: "pager" }, turn(-1, "Previous", "p"), row < 0 ? "" : ` ${whole(place + 1)} of ${whole(queue.length)} `, turn(1, "Next", "n")),
      make("p", { id: "label-status", class: "missing", role: "status" }),
      content,
      make("p", { class: "quiet keys" }, "Keys: 1 to 5 label and go on, the same key again takes the label back; n and p move, m writes a comment."),
    );
    sources.settle(root);
    if (isTyping) byId(isTyping)?.focus();
  };

  const follow = async () => {
    const id = run();
    if (!id) {
      root.replaceChildren(make("p", { class: "missing" }, runs.absent()));
      return;
    }
    if (loaded?.id !== id) {
      const [trials, given] = await Promise.all([runs.trials(id), blocks.json(`${id}/labels`, { isFresh: true })]);
      loaded = { id, trials, given };
    }
    await paint();
  };

  const onKey = (event) => {
    const number = Number(event.key);
    if (number >= 1 && number <= LABELS.length && blocks.isServed) send(LABELS[number - 1][0]);
    else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
    else if (event.key === "m") byId("label-comment")?.focus();
    else return false;
    return true;
  };

  const mount = async (given) => {
    root = given;
    loaded = null;
    root.replaceChildren(make("p", { class: "missing" }, "Reading the answers…"));
    if (!runs.known.length) await runs.load();
    await follow();
  };

  return { mount, follow, onKey };
})();
