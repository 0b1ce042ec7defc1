// The list of questions in a section, one option a row.
const questionList = ({ id, label, name, row, open }) => {
  const body = make("div", { class: "list-body", role: "presentation" });
  const box = make("div", { id, role: "listbox", class: `question-list ${name}`, tabindex: "0", "aria-label": `${label}: arrows move, Enter opens` }, body, make("p", { class: "none" }, "No question matches."));
  const height = () => Number.parseFloat(getComputedStyle(box).getPropertyValue("--row")) || 62;
  const made = (position) => {
    const node = row(position);
    node.setAttribute("role", "option");
    return node;
  };
  return virtualList({ box, body, height, row: made, open });
};

// The keys j and k move through a list from anywhere in its section.
const moveBy = (event, list) => {
  const by = { j: 1, k: -1 }[event.key];
  if (by === undefined) return false;
  list.move(document.activeElement === list.box ? list.active + by : list.active);
  list.focus();
  return true;
};
