/* Download a rendered chart as an image or as CSV (the buttons of `_chart.html`). */
(() => {
  const SIZE = { width: 1200, scale: 2 };
  const FRAME_PX = 70;
  const LEGEND_ENTRY_PX = 20;

  /* Return the background color behind an element. */
  const backgroundOf = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return color === "rgba(0, 0, 0, 0)" && element.parentElement ? backgroundOf(element.parentElement) : color;
  };

  /* Convert localized numbers within a text: decimal points, no thousands separators.
     That separator may be a space, so whitespace is collapsed last. */
  const [decimal, thousands] = document.documentElement.dataset.separators;
  const escapeForRegExp = (sign) => sign.replace(/[.]/, "\\.");
  const localizedNumber = new RegExp(
    `(?<=^|[\\s([×±])([-+\u2212]?)(\\d{1,3}(?:${escapeForRegExp(thousands)}\\d{3})+|\\d+)(?:${escapeForRegExp(decimal)}(\\d+))?(?=$|[\\s)\\];:%]|[.,](?:\\s|$))`,
    "g",
  );
  const toPlainNumbers = (text) =>
    text
      .replace(localizedNumber, (_, sign, integer, fraction) => {
        const number = integer.replaceAll(thousands, "") + (fraction ? `.${fraction}` : "");
        return (sign === "\u2212" ? "-" : sign) + number;
      })
      .replace(/\s+/g, " ");

  /* Quote a field by RFC 4180; prefix formulas with an apostrophe for spreadsheets. */
  const csvField = (value) => {
    if (typeof value === "number") return String(value);
    const text = toPlainNumbers(String(value ?? ""));
    const isNumber = /^[+-]?\d+([.,]\d+)*$/.test(text);
    const harmless = /^[=+\-@\t\r]/.test(text) && !isNumber ? `'${text}` : text;
    return /[",\r\n]/.test(harmless) ? `"${harmless.replace(/"/g, '""')}"` : harmless;
  };

  /* Return the tick label of a position if the axis names rows, else the position. */
  const tickLabel = (axis, position) => {
    const rows = axis.type === "log" || !axis.tickvals ? -1 : axis.tickvals.indexOf(Math.round(position));
    return rows < 0 ? position : axis.ticktext[rows];
  };

  const csvLines = (rows) => rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join("");

  const seriesName = ({ legendgroup, name }) => (legendgroup && legendgroup !== name ? `${legendgroup}: ${name}` : name);

  const chartCsv = ({ source: { data, layout }, plainText }) => {
    const { xaxis, yaxis } = layout;
    const header = ["series", plainText(xaxis.title?.text) || "x", plainText(yaxis.title?.text) || "row"];
    const toPlainText = (value) => (typeof value === "string" ? plainText(value) : value);
    const rows = data.flatMap((trace) =>
      Array.from(trace.x ?? [], (x, index) => [seriesName(trace), trace.customdata?.[index] ?? tickLabel(xaxis, x), tickLabel(yaxis, trace.y[index])].map(toPlainText)));
    return csvLines([header, ...rows]);
  };

  /* Dates are in ISO 8601 in files. */
  const cellText = (cell) => {
    const copy = cell.cloneNode(true);
    for (const time of copy.querySelectorAll("time")) time.replaceWith(time.dateTime);
    return copy.textContent.trim();
  };

  const tableCsv = ({ rows }) =>
    csvLines(Array.from(rows, ({ cells }) => Array.from(cells, cellText)));

  const download = (text, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-chart-file]");
    const figure = button?.closest("[data-rendered]");
    if (!figure) return;
    const name = figure.dataset.name || "virtlab-chart";
    if (button.dataset.chartFile === "csv") {
      const chartTable = figure.closest("section, article")?.querySelector("table");
      if (chartTable) {
        download(tableCsv(chartTable), `${name}.csv`);
        return;
      }
      download(chartCsv(figure.chart), `${name}.csv`);
      return;
    }
    // An image needs the full legend and an opaque background.
    const { canvas, figureAt } = figure.chart;
    const [data, layout] = figureAt(SIZE.width);
    const groups = new Set(data.map((trace) => trace.legendgroup)).size;
    const legend = LEGEND_ENTRY_PX * (data.length + 2 * groups);
    const isAbove = layout.legend?.orientation === "h";
    const height = isAbove ? layout.height + legend : Math.max(layout.height, FRAME_PX + legend);
    const fullLayout = { ...layout, height, width: SIZE.width, autosize: false, paper_bgcolor: backgroundOf(canvas) };
    Plotly.downloadImage({ data, layout: fullLayout }, { ...SIZE, height, format: button.dataset.chartFile, filename: name });
  });
})();
