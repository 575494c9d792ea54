// Plots, their controls, and tables that sort. Everything that it needs is in the page.
(() => {
  "use strict";

  const narrow = () => document.documentElement.clientWidth < 520;

  // Lines and letters have the colour of the text around them, in light, in dark and on paper.
  const config = (columns) => ({
    background: "transparent",
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: "currentColor", titleColor: "currentColor", domainColor: "currentColor",
      tickColor: "currentColor", gridColor: "currentColor", gridOpacity: 0.15,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: narrow() ? 110 : 220,
      labelSeparation: 6,
    },
    legend: {
      labelColor: "currentColor", titleColor: "currentColor", orient: "bottom",
      columns, labelFontSize: 12, labelLimit: 200, title: null,
    },
    text: { color: "currentColor", fontSize: 12 },
    rule: { color: "currentColor" },
    tick: { color: "currentColor" },
  });

  const unpacked = (column) => (column.texts ? column.at.map((place) => column.texts[place]) : column);

  const rowsOf = (packed) => {
    const names = Object.keys(packed);
    const data = Object.fromEntries(names.map((name) => [name, unpacked(packed[name])]));
    const length = names.length ? data[names[0]].length : 0;
    return Array.from({ length }, (_, row) =>
      Object.fromEntries(names.map((name) => [name, data[name][row]])));
  };

  // As many columns as fit beside the longest name of the legend.
  const columnsFor = (figure, rows) => {
    const names = rows.flatMap((row) => [row.name, row.part]).filter((one) => typeof one === "string");
    const longest = Math.min(names.reduce((most, one) => Math.max(most, one.length), 1), 28);
    const fitting = Math.floor((0.85 * figure.clientWidth) / (7 * longest + 40));
    return Math.max(1, Math.min(6, fitting));
  };

  const number = (value) =>
    value.toLocaleString("en", { maximumFractionDigits: value < 1000 ? 1 : 0 });

  const valueOf = (control) =>
    control.dataset.values ? JSON.parse(control.dataset.values)[control.value] : control.value;

  const describe = (control) => {
    if (!control.dataset.texts) return;
    const text = JSON.parse(control.dataset.texts)[control.value];
    control.setAttribute("aria-valuetext", text);
    control.closest(".controls").querySelector(`output[for="${control.id}"]`).value = text;
  };

  const read = (figure, readout, rows) => {
    const place = figure.querySelector(".readout");
    const chosen = Object.fromEntries(
      [...figure.querySelectorAll("[data-parameter]")].map((one) => [one.dataset.parameter, valueOf(one)]));
    const found = rows.filter((row) => readout.where.every((name) => row[name] === chosen[name]));
    place.replaceChildren(...found.map((row) => {
      const item = document.createElement("span");
      const name = document.createElement("bdi");
      name.textContent = row[readout.by];
      item.append(name, ` ${number(row[readout.field])} ${readout.unit} `);
      return item;
    }));
  };

  // The slider follows the pointer: it takes the value that is nearest on the y axis.
  const follow = (view, slider) => {
    const values = JSON.parse(slider.dataset.values);
    view.addEventListener("pointermove", (event) => {
      const svg = view.container().querySelector("svg");
      const box = svg.getBoundingClientRect();
      const inside = ((event.clientY - box.top) * svg.viewBox.baseVal.height) / box.height;
      const y = view.scale("y").invert(inside - view.padding().top - view.origin()[1]);
      if (!Number.isFinite(y)) return;
      let nearest = 0;
      values.forEach((value, place) => {
        if (Math.abs(value - y) < Math.abs(values[nearest] - y)) nearest = place;
      });
      if (String(nearest) === slider.value) return;
      slider.value = nearest;
      slider.dispatchEvent(new Event("input"));
    });
  };

  const draw = async (figure) => {
    const content = JSON.parse(figure.querySelector("script").textContent);
    const rows = rowsOf(content.data);
    const spec = { ...content.spec, data: { values: rows } };
    const embedded = await vegaEmbed(figure.querySelector(".view"), spec, {
      actions: false, renderer: "svg", logLevel: 1, config: config(columnsFor(figure, rows)), tooltip: { theme: "custom", disableDefaultStyle: true },
    });
    for (const control of figure.querySelectorAll("[data-parameter]")) {
      control.addEventListener("input", () => {
        describe(control);
        embedded.view.signal(control.dataset.parameter, valueOf(control)).run();
        if (content.readout) read(figure, content.readout, rows);
      });
      if (control.dataset.values) follow(embedded.view, control);
    }
    if (content.readout) read(figure, content.readout, rows);
    figure.dataset.drawn = "yes";
  };

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
  };

  const isMissing = (key) => key === "\u2013" || key === "";

  // Numbers before texts, and what is missing last, in either direction.
  const compare = (a, b, sign) => {
    if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  };

  const sortable = (table) => {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      const name = heading.querySelector("span");
      name.replaceWith(button);
      button.append(name);
      button.addEventListener("click", () => {
        const order = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort((a, b) => compare(keyOf(a, column), keyOf(b, column), sign)));
      });
    });
  };

  document.querySelectorAll("table").forEach((table) => {
    if (table.tBodies[0].rows.length > 1) sortable(table);
  });

  // A link to a folded section opens it, and paper shows everything.
  const open = (place) => place.querySelectorAll("details").forEach((one) => { one.open = true; });
  const openTarget = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) open(target);
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));

  (async () => {
    for (const figure of document.querySelectorAll("figure.plot")) {
      try {
        await draw(figure);
      } catch (error) {
        figure.querySelector(".view").textContent = "This plot could not be drawn; its numbers are in the tables.";
        console.error(error);
      }
    }
    document.documentElement.dataset.ready = "yes";
  })();
})();
