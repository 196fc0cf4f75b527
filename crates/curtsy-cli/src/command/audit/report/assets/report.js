"use strict";
// The page is whole without this; it adds sorting, a filter, and opens what is linked to.
(() => {
  document.documentElement.classList.add("scripted");
  const table = document.getElementById("servers");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const value = (row, column) =>
    column === 0 ? row.cells[0].textContent : Number(row.cells[column].dataset.by);

  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const column = Number(head.dataset.column);
      const first = column === 0 ? "ascending" : "descending";
      const other = column === 0 ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      rows.sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        return sign * (x < y ? -1 : x > y ? 1 : 0);
      });
      body.append(...rows);
    });
  }

  const filter = document.getElementById("filter");
  const shown = document.getElementById("shown");
  filter.addEventListener("input", () => {
    const text = filter.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(text);
      if (!row.hidden) count += 1;
    }
    shown.textContent = text ? `${count} of ${rows.length}` : "";
  });

  const open = () => {
    const linked = location.hash && document.getElementById(location.hash.slice(1));
    if (linked instanceof HTMLDetailsElement) {
      linked.open = true;
      linked.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();

  // On paper everything is open.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of closed) each.open = false;
  });
})();
