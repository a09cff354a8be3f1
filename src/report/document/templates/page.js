"use strict";
// Sorts and filters the tables of a report. Without it all of them are shown.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const facets = (element) => JSON.parse(element.dataset.facets);

  // A figure, its signs left out: "≥412.0 ±37.9", "×1.94", "−26.0%", "4,407,102".
  const figure = (text) => {
    const plain = text.replace(/[≥×+,▲=✕\s]/g, "").replace(/^−/, "-");
    return /^-?[\d.]/.test(plain) ? parseFloat(plain) : NaN;
  };

  const names = new Intl.Collator("en", { numeric: true });

  const compare = (a, b) => {
    const [x, y] = [figure(a), figure(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return names.compare(a, b);
  };

  const sort = (table, column, header) => {
    const body = table.tBodies[0];
    const rows = all("tr", body);
    rows.forEach((row, place) => { row.dataset.place ??= String(place); });
    const before = header.getAttribute("aria-sort");
    const next = before === "ascending" ? "descending" : before === "descending" ? null : "ascending";
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    if (next) header.setAttribute("aria-sort", next);
    const text = (row) => row.cells[column].textContent.trim();
    const sign = next === "descending" ? -1 : 1;
    rows.sort((a, b) => {
      const place = a.dataset.place - b.dataset.place;
      if (!next) return place;
      // What is missing stands last, whichever way.
      const missing = (text(a) === "—") - (text(b) === "—");
      return missing || sign * compare(text(a), text(b)) || place;
    });
    body.append(...rows);
  };

  for (const table of all("table[data-sortable]")) {
    const headers = all("thead tr:last-child th", table);
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, column, header));
    });
  }

  // The second column that stays in view stands beside the first.
  const place = () => {
    for (const table of all("table.keys-2")) {
      const first = table.querySelector("tbody th");
      if (first?.offsetWidth) table.style.setProperty("--first", `${first.offsetWidth}px`);
    }
  };
  place();
  addEventListener("resize", place);

  const form = document.getElementById("filters");
  const boxes = all("input[type=checkbox]", form);
  const shown = document.getElementById("shown");
  const rows = all("tr[data-facets]").map((row) => [row, facets(row)]);
  const blocks = all(".block[data-facets], section[data-facets]").map((block) => [block, facets(block)]);
  const grouped = all("table").filter((table) => table.querySelector("[data-group]"));

  const chosen = () => {
    const chosen = new Map();
    for (const box of boxes.filter((box) => box.checked)) {
      chosen.set(box.name, [...(chosen.get(box.name) ?? []), box.value]);
    }
    return chosen;
  };

  const fits = (of, chosen) => [...chosen].every(([facet, values]) =>
    !(facet in of) || of[facet].length === 0 || of[facet].some((value) => values.includes(value)));

  // Columns of targets that are not chosen; the heading over them is as wide as
  // what is left.
  const showColumns = (targets) => {
    for (const table of grouped) {
      for (const cell of all("[data-group]", table)) {
        cell.hidden = Boolean(targets) && !targets.includes(cell.dataset.group);
      }
    }
  };

  const apply = (remember = true) => {
    const now = chosen();
    let count = 0;
    for (const [row, of] of rows) {
      row.hidden = !fits(of, now);
      if (!row.hidden) count += 1;
    }
    for (const [block, of] of blocks) block.hidden = !fits(of, now);
    showColumns(now.get("target"));
    // A table of which no row is left is left out.
    for (const block of all(".block")) {
      const body = block.querySelector("tbody");
      const own = block.dataset.facets ? fits(facets(block), now) : true;
      block.hidden = !own || (body.rows.length > 0 && [...body.rows].every((row) => row.hidden));
    }
    shown.textContent = now.size ? `${count} of ${rows.length} rows` : "";
    place();
    if (remember) write(now);
  };

  // The address has the place and the filters: #tier-8?class=mix&tier=8
  const read = () => {
    const [id, query = ""] = decodeURI(location.hash.slice(1)).split("?");
    return [id, new URLSearchParams(query)];
  };

  const write = (now) => {
    const query = new URLSearchParams();
    for (const [facet, values] of now) values.forEach((value) => query.append(facet, value));
    const text = query.toString();
    const hash = `#${read()[0]}${text ? `?${text}` : ""}`;
    history.replaceState(null, "", hash === "#" ? location.href.split("#")[0] : hash);
  };

  const restore = () => {
    const [id, query] = read();
    for (const box of boxes) box.checked = query.getAll(box.name).includes(box.value);
    apply(false);
    if (id) document.getElementById(id)?.scrollIntoView();
  };

  if (boxes.length) {
    form.hidden = false;
    form.addEventListener("change", () => apply());
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(apply));
    addEventListener("hashchange", () => {
      // A link within the page names a place only: the filters stay.
      if (location.hash.includes("?")) restore(); else write(chosen());
    });
    if (location.hash.includes("?")) restore();
  }

  // The contents are shut on a small screen, all is open on paper.
  const contents = document.querySelector(".contents details");
  if (matchMedia("(max-width: 68rem)").matches) contents.open = false;
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])", document.querySelector("main"));
    folded.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));

  // The value under the pointer, for titles that a browser shows late or, on a
  // touch screen, never.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const titled = (target) => {
    for (let at = target; at && at.closest?.(".drawing svg"); at = at.parentElement) {
      if (at.tagName.toLowerCase() === "svg") return null;
      const title = [...at.children].find((child) => child.tagName.toLowerCase() === "title");
      if (title) return title.textContent;
    }
    return null;
  };
  for (const drawing of all(".drawing")) {
    const show = (event) => {
      const text = titled(event.target);
      tip.hidden = !text;
      if (!text) return;
      tip.textContent = text;
      const left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8);
      tip.style.left = `${Math.max(8, left)}px`;
      tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
    };
    drawing.addEventListener("pointermove", show);
    drawing.addEventListener("pointerdown", show);
    drawing.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
})();
