"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const sort = (column) => {
    const up = heads[column].getAttribute("aria-sort") === "descending";
    const key = (row) => row.cells[column].dataset.key;
    const number = [...body.rows].every((row) => key(row) !== "" && !isNaN(key(row)));
    const order = (a, b) =>
      number ? key(a) - key(b) : key(a).localeCompare(key(b), undefined, { numeric: true });
    const rows = [...body.rows].sort((a, b) => (up ? order(a, b) : order(b, a)));
    body.append(...rows);
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(column));
    head.replaceChildren(button);
  });
}
