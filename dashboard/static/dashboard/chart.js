/* Draw the charts of a page once they come near the window: Plotly is large. */
(() => {
  const CONFIG = { displaylogo: false, responsive: true, displayModeBar: false };
  // Nothing is dragged: a zoom would be for mice only, and stop a finger that scrolls.
  const NARROW = 820;
  const LEGEND_LINE = 17;
  const LABEL = 16;
  const LETTER = 6.2;
  const WAIT_MS = 30_000;
  let loading = null;

  const plotly = (src) => {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = src;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => {
        loading = null; // The next attempt asks again.
        script.remove();
        reject(new Error(src));
      };
      document.head.append(script);
    });
    return loading;
  };

  /* A token of the style sheet as the colour it stands for in the present theme. */
  const paint = (element) => {
    const probe = document.createElement("span");
    element.append(probe);
    const read = (token) => {
      probe.style.color = `var(${token})`;
      return getComputedStyle(probe).color;
    };
    const tokens = ["ink", "ink-2", "ink-3", "line", "line-strong", "surface", "raised", "sunken"];
    const colours = Object.fromEntries(tokens.map((name) => [name, read(`--${name}`)]));
    colours.series = (number) => read(`--series-${number}`);
    colours.token = read;
    return { colours, done: () => probe.remove() };
  };

  const shapes = (list, colours) =>
    list.map((shape) =>
      shape.name === "band"
        ? { ...shape, fillcolor: colours.sunken, opacity: 0.6 }
        : { ...shape, line: { color: colours.ink, width: 1, dash: "4px,3px" } });

  /* On a phone labels stand above their dots, and the legend below everything. */
  const narrowed = (traces, layout, lines, width) => {
    const across = layout.legend.orientation === "h";
    const below = (across ? Math.ceil(traces.length / 2) + 1 : lines) * LEGEND_LINE;
    const rows = layout.yaxis.tickvals.length;
    const room = Math.floor(width / LETTER);
    const cut = (text) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);
    const names = (text) => text.replace(/, (?=[^,]*,[^,]*$)/, ",<br>");
    return [
      traces.map((trace) => ({ ...trace, name: names(trace.name), y: trace.y.map((y) => Math.round(y) + 0.16 + (y - Math.round(y)) * 0.7) })),
      {
        ...layout,
        height: layout.height + rows * LABEL + below,
        margin: { ...layout.margin, l: 2, r: 10, b: 56 + below },
        // Labels inside the axis would make Plotly leave out the other axis' ticks.
        yaxis: { ...layout.yaxis, showticklabels: false },
        annotations: layout.yaxis.ticktext.map((text, at) => ({ text: cut(text), x: 0, xref: "paper", xanchor: "left", y: at - 0.5, yanchor: "top", showarrow: false, font: layout.font })),
        legend: { ...layout.legend, x: 0, y: 0, yref: "container", yanchor: "bottom" },
      },
    ];
  };

  /* A figure that names its colours as tokens wherever it has any. */
  const tokened = ({ data, layout }, element) => {
    const { colours, done } = paint(element);
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const font = { family: getComputedStyle(element).fontFamily, size: 12 * unit, color: colours["ink-2"] };
    const known = new Map();
    const colour = (token) => known.get(token) ?? known.set(token, colours.token(token)).get(token);
    const resolved = (value, key = "") => {
      if (Array.isArray(value)) return value.map((each) => resolved(each, key));
      if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(each, name)]));
      return key.endsWith("color") && `${value}`.startsWith("--") ? colour(value) : value;
    };
    const axis = { gridcolor: colours.line, zeroline: false, linecolor: colours["line-strong"] };
    const axes = Object.entries(layout).filter(([name]) => /^[xy]axis/.test(name)).map(([name, own]) => [name, { ...axis, automargin: true, ...own, title: { ...own.title, font: { ...font }, standoff: 8 } }]);
    const whole = {
      ...resolved(layout),
      separators: document.documentElement.dataset.separators,
      ...Object.fromEntries(axes),
      height: layout.height * unit,
      font,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      dragmode: false,
      margin: { l: 8, r: 16, t: 28, b: 40 },
      hoverlabel: { bgcolor: colours.raised, bordercolor: colours["line-strong"], font: { ...font, color: colours.ink }, align: "left" },
    };
    const traces = resolved(data);
    done();
    return [traces, whole];
  };

  const themed = ({ data, layout }, element) => {
    if (layout.meta?.tokens) return tokened({ data, layout }, element);
    const { colours, done } = paint(element);
    // Plotly counts in pixels, the page in units that grow with the window.
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const font = { family: getComputedStyle(element).fontFamily, size: 12 * unit, color: colours["ink-2"] };
    const axis = { gridcolor: colours.line, zeroline: false, linecolor: colours["line-strong"] };
    // Only a chart that has a line for every row can put its labels above them.
    const narrow = element.clientWidth < NARROW && layout.yaxis.tickvals;
    const groups = new Set(data.map((trace) => trace.legendgroup)).size;
    const lines = 2 * data.length + groups;
    const traces = data.map((trace) => ({
      ...trace,
      marker: {
        ...trace.marker,
        size: trace.marker.size * unit,
        color: colours.series(trace.meta.series),
        line: { color: colours.surface, width: 0.75 },
      },
      ...(trace.line && { line: { ...trace.line, color: colours.series(trace.meta.series) } }),
    }));
    const whole = {
      ...layout,
      separators: document.documentElement.dataset.separators,
      height: layout.height * unit,
      font,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      dragmode: false,
      margin: { l: 8, r: 16, t: 8, b: 48 },
      xaxis: { ...layout.xaxis, ...axis, title: { ...layout.xaxis.title, font: { ...font }, standoff: 12 } },
      yaxis: { ...layout.yaxis, ...axis, showgrid: Boolean(layout.yaxis.showgrid) },
      shapes: shapes(layout.shapes, colours),
      hoverlabel: { bgcolor: colours.raised, bordercolor: colours["line-strong"], font: { ...font, color: colours.ink }, align: "left" },
      legend: { ...layout.legend, groupclick: "toggleitem", itemsizing: "constant" },
    };
    done();
    return narrow ? narrowed(traces, whole, lines, element.clientWidth) : [traces, whole];
  };

  /* What to draw stands in the page, or is fetched once somebody comes near it. */
  const numbers = async (figure) => {
    if (!figure.dataset.source) return JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const answer = await fetch(figure.dataset.source, { signal: AbortSignal.timeout(WAIT_MS) });
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    return answer.json();
  };

  /* A picture to a screen reader, named by its heading: its table holds the numbers. */
  const named = (canvas, figure) => {
    const heading = figure.querySelector("h2, h3") ?? figure.closest("section, article")?.querySelector("h2, h3");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", heading?.textContent.trim() ?? "");
  };

  const draw = async (figure) => {
    const canvas = figure.querySelector(".chart-canvas");
    const [source, Plotly] = await Promise.all([numbers(figure), plotly(figure.dataset.plotly)]);
    const paintIt = () => {
      const [data, layout] = themed(source, canvas);
      return Plotly.react(canvas, data, layout, CONFIG);
    };
    canvas.replaceChildren();
    await paintIt();
    named(canvas, figure);
    canvas.removeAttribute("aria-busy");
    figure.dataset.drawn = "";
    figure.repaint = paintIt;
    figure.source = source;
  };

  const attempt = async (figure) => {
    const canvas = figure.querySelector(".chart-canvas");
    const trouble = figure.querySelector(".chart-trouble");
    const isAgain = !trouble.hidden;
    trouble.hidden = true;
    canvas.hidden = false;
    canvas.setAttribute("aria-busy", "true");
    try {
      await draw(figure);
    } catch (error) {
      console.warn(error);
      canvas.hidden = true;
      trouble.hidden = false;
    }
    if (!isAgain) return;
    // The button is gone, or it is needed once more.
    canvas.tabIndex = -1;
    (canvas.hidden ? trouble.querySelector("button") : canvas).focus();
  };

  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-chart-again]")) attempt(target.closest("[data-chart]"));
  });

  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      attempt(target);
    }
  }, { rootMargin: "400px" });

  const find = (root) => {
    for (const figure of root.querySelectorAll("[data-chart]")) {
      figure.hidden = false;
      near.observe(figure);
    }
  };

  const repaint = () => {
    for (const figure of document.querySelectorAll("[data-drawn]")) figure.repaint();
  };

  find(document);
  document.addEventListener("htmx:afterSwap", ({ target }) => find(target));
  document.addEventListener("themechange", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
})();

/* A drawn chart as a picture, or its numbers as CSV: the buttons of `_chart_files.html`. */
(() => {
  const SIZE = { width: 1200, scale: 2 };
  const FRAME = 70;
  const ENTRY = 20;

  /* The colour behind a chart, however far up it is set. */
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" && element.parentElement ? ground(element.parentElement) : colour;
  };

  const plain = (text) =>
    String(text ?? "").replace(/<br>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

  /* A number as files have it: a decimal point, and nothing between thousands. */
  const [decimal, thousands] = document.documentElement.dataset.separators;
  const part = (sign) => sign.replace(/[.]/, "\\.");
  const written = new RegExp(`^([-+\u2212]?)(\\d{1,3}(?:${part(thousands)}\\d{3})+|\\d+)(?:${part(decimal)}(\\d+))?(?=$|\\s)`);
  const pointed = (text) =>
    text.replace(written, (_, sign, whole, fraction) => {
      const number = whole.replaceAll(thousands, "") + (fraction ? `.${fraction}` : "");
      return (sign === "\u2212" ? "-" : sign) + number;
    });

  /* RFC 4180; a text that a spreadsheet would compute begins with an apostrophe. */
  const field = (value) => {
    if (typeof value === "number") return String(value);
    const text = pointed(plain(value));
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

  const numbers = ({ data, layout }) => {
    const { xaxis, yaxis } = layout;
    const head = ["series", plain(xaxis.title?.text) || "x", plain(yaxis.title?.text) || "row"];
    const rows = data.flatMap((trace) =>
      Array.from(trace.x ?? [], (x, at) => [series(trace), trace.customdata?.[at] ?? named(xaxis, x), named(yaxis, trace.y[at])]));
    return lines([head, ...rows]);
  };

  const table = ({ rows }) =>
    lines(Array.from(rows, ({ cells }) => Array.from(cells, (cell) => cell.textContent.trim().replace(/\s+/g, " "))));

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
      save(numbers(figure.source), `${name}.csv`);
      return;
    }
    const { data, layout, clientHeight } = figure.querySelector(".chart-canvas");
    // On paper a legend cannot be scrolled, and there is nothing behind the picture.
    const legend = FRAME + ENTRY * (data.length + 2 * new Set(data.map((trace) => trace.legendgroup)).size);
    const height = Math.max(clientHeight, legend);
    const whole = { ...layout, height, width: SIZE.width, autosize: false, paper_bgcolor: ground(figure) };
    Plotly.downloadImage({ data, layout: whole }, { ...SIZE, height, format: button.dataset.chartFile, filename: name });
  });
})();
