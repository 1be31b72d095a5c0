/* A drawn chart as a picture, or its numbers as CSV: the buttons of `_figure.html`. */
(() => {
  const SIZE = { width: 1200, scale: 2 };
  const FRAME = 70;
  const ENTRY = 20;

  /* The colour behind a chart, however far up it is set. */
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" && element.parentElement ? ground(element.parentElement) : colour;
  };

  /* Numbers as files have them, wherever they stand in a text: a decimal point, and
     nothing between thousands. A sign for those may be a space, so spaces go last. */
  const [decimal, thousands] = document.documentElement.dataset.separators;
  const part = (sign) => sign.replace(/[.]/, "\\.");
  const written = new RegExp(
    `(?<=^|[\\s([×±])([-+\u2212]?)(\\d{1,3}(?:${part(thousands)}\\d{3})+|\\d+)(?:${part(decimal)}(\\d+))?(?=$|[\\s)\\];:%]|[.,](?:\\s|$))`,
    "g",
  );
  const pointed = (text) =>
    text
      .replace(written, (_, sign, whole, fraction) => {
        const number = whole.replaceAll(thousands, "") + (fraction ? `.${fraction}` : "");
        return (sign === "\u2212" ? "-" : sign) + number;
      })
      .replace(/\s+/g, " ");

  /* RFC 4180; a text that a spreadsheet would compute begins with an apostrophe. */
  const field = (value) => {
    if (typeof value === "number") return String(value);
    const text = pointed(String(value ?? ""));
    const isNumber = /^[+-]?\d+([.,]\d+)*$/.test(text);
    const harmless = /^[=+\-@\t\r]/.test(text) && !isNumber ? `'${text}` : text;
    return /[",\r\n]/.test(harmless) ? `"${harmless.replace(/"/g, '""')}"` : harmless;
  };

  /* What an axis calls a place: its tick if places are rows, else the number itself. */
  const named = (axis, place) => {
    const rows = axis.type === "log" || !axis.tickvals ? -1 : axis.tickvals.indexOf(Math.round(place));
    return rows < 0 ? place : axis.ticktext[rows];
  };

  const lines = (rows) => rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");

  const series = ({ legendgroup, name }) => (legendgroup && legendgroup !== name ? `${legendgroup}: ${name}` : name);

  const numbers = ({ source: { data, layout }, plain }) => {
    const { xaxis, yaxis } = layout;
    const head = ["series", plain(xaxis.title?.text) || "x", plain(yaxis.title?.text) || "row"];
    const word = (value) => (typeof value === "string" ? plain(value) : value);
    const rows = data.flatMap((trace) =>
      Array.from(trace.x ?? [], (x, at) => [series(trace), trace.customdata?.[at] ?? named(xaxis, x), named(yaxis, trace.y[at])].map(word)));
    return lines([head, ...rows]);
  };

  const table = ({ rows }) =>
    lines(Array.from(rows, ({ cells }) => Array.from(cells, (cell) => cell.textContent.trim())));

  const save = (text, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-chart-file]");
    const figure = button?.closest("[data-drawn]");
    if (!figure) return;
    const name = figure.dataset.name || "virtlab-chart";
    if (button.dataset.chartFile === "csv") {
      const twin = figure.closest("section, article")?.querySelector("table");
      if (twin) {
        save(table(twin), `${name}.csv`);
        return;
      }
      save(numbers(figure.chart), `${name}.csv`);
      return;
    }
    // On paper a legend cannot be scrolled, and there is nothing behind the picture.
    const { canvas, painted } = figure.chart;
    const [data, layout] = painted(SIZE.width);
    const groups = new Set(data.map((trace) => trace.legendgroup)).size;
    const legend = ENTRY * (data.length + 2 * groups);
    const isAbove = layout.legend?.orientation === "h";
    const height = isAbove ? layout.height + legend : Math.max(layout.height, FRAME + legend);
    const whole = { ...layout, height, width: SIZE.width, autosize: false, paper_bgcolor: ground(canvas) };
    Plotly.downloadImage({ data, layout: whole }, { ...SIZE, height, format: button.dataset.chartFile, filename: name });
  });
})();
