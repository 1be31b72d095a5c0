/* Draw the charts of a page once they come into sight: Plotly is large. */
(() => {
  const CONFIG = { displaylogo: false, responsive: true, displayModeBar: false };
  // Nothing is dragged: a zoom would be for mice only, and stop a finger that scrolls.
  const NARROW = 820;
  const LABEL = 16;
  const FRAME = 96;
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
    // Where colours are forced on texts, series must still be told apart.
    probe.style.forcedColorAdjust = "none";
    element.append(probe);
    const read = (token) => {
      probe.style.color = `var(${token})`;
      return getComputedStyle(probe).color;
    };
    const tokens = ["ink", "ink-2", "ink-3", "line", "line-strong", "surface", "raised", "sunken"];
    const colours = Object.fromEntries(tokens.map((name) => [name, read(`--${name}`)]));
    colours.token = read;
    return { colours, done: () => probe.remove() };
  };

  /* On a phone labels stand above their dots. */
  const narrowed = (traces, layout, width, unit) => {
    const names = layout.yaxis.ticktext.map((text) => text.split("<br>"));
    const room = Math.floor(width / LETTER / unit);
    const cut = (text) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);
    const label = Math.max(...names.map((lines) => lines.length)) * LABEL * unit;
    // The share of a row that its name takes; its dots have the rest.
    const share = label / ((layout.height - FRAME * unit) / names.length + label);
    return [
      traces.map((trace) => ({ ...trace, y: trace.y.map((y) => Math.round(y) + share / 2 + (y - Math.round(y)) * (1 - share)) })),
      {
        ...layout,
        height: layout.height + names.length * label,
        margin: { ...layout.margin, l: 2, r: 10 },
        // Labels inside the axis would make Plotly leave out the other axis' ticks.
        yaxis: { ...layout.yaxis, showticklabels: false },
        annotations: names.map((lines, at) => ({ text: lines.map(cut).join("<br>"), align: "left", x: 0, xref: "paper", xanchor: "left", y: at - 0.5, yanchor: "top", showarrow: false, font: layout.font })),
      },
    ];
  };

  /* What all charts share: type, grounds, axes. */
  const framed = (layout, colours, element) => {
    // Plotly counts in pixels, the page in units that grow with the window.
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const font = { family: getComputedStyle(element).fontFamily, size: 12 * unit, color: colours["ink-2"] };
    const axis = { gridcolor: colours.line, zeroline: false, linecolor: colours["line-strong"], automargin: true };
    const axes = Object.entries(layout).filter(([name]) => /^[xy]axis/.test(name)).map(([name, own]) => [name, { ...axis, ...own, title: { ...own.title, font: { ...font }, standoff: 10 } }]);
    return {
      unit,
      whole: {
        ...layout,
        ...Object.fromEntries(axes),
        separators: document.documentElement.dataset.separators,
        height: layout.height * unit,
        font,
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        dragmode: false,
        margin: { l: 8, r: 16, t: 16, b: 48 },
        hoverlabel: { bgcolor: colours.raised, bordercolor: colours["line-strong"], font: { ...font, color: colours.ink }, align: "left" },
      },
    };
  };

  /* A figure in the colours of the present theme. */
  const coloured = ({ data, layout }, colours, element, width) => {
    const known = new Map();
    const colour = (token) => known.get(token) ?? known.set(token, colours.token(token)).get(token);
    const resolved = (value, key = "") => {
      if (Array.isArray(value)) return value.map((each) => resolved(each, key));
      if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(each, name)]));
      return key.endsWith("color") && `${value}`.startsWith("--") ? colour(value) : value;
    };
    const { unit, whole } = framed(resolved(layout), colours, element);
    const traces = resolved(data).map((trace) => (trace.marker?.size ? { ...trace, marker: { ...trace.marker, size: trace.marker.size * unit } } : trace));
    return width < NARROW && layout.meta?.above ? narrowed(traces, whole, width, unit) : [traces, whole];
  };

  /* The part of an axis that is looked at; its ticks are then no longer the whole's. */
  const looked = (layout, ranges) => {
    for (const [name, range] of Object.entries(ranges)) {
      const { ticktext, ...axis } = layout[name];
      layout[name] = { ...layout[name], range, autorange: false, ...(axis.tickvals && !ticktext && { tickmode: "auto" }) };
    }
    return layout;
  };

  /* Data and layout at a width, without the series and the parts that were put away. */
  const themed = ({ source, view }, element, width) => {
    const { colours, done } = paint(element);
    const [data, layout] = coloured(source, colours, element, width);
    done();
    const traces = data.map((trace, at) => (view.unseen.has(at) ? { ...trace, visible: false } : trace));
    return [traces, looked(layout, view.ranges)];
  };

  /* What to draw stands in the page, or is fetched once somebody comes near it. */
  const numbers = async (figure) => {
    if (!figure.dataset.source) return JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const answer = await fetch(figure.dataset.source, { signal: AbortSignal.timeout(WAIT_MS) });
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    return answer.json();
  };

  /* A picture to a screen reader, named by its heading and described by the sentences
     beside that, which say what it shows: its table holds the numbers. */
  let sentences = 0;
  const named = (canvas, figure) => {
    const place = figure.closest("section, article");
    const heading = place?.querySelector("h2, h3");
    canvas.setAttribute("role", "img");
    // Its ticks and labels would be read out one after the other, and Plotly's scratch pad.
    for (const each of [...canvas.children, document.getElementById("js-plotly-tester")]) each?.setAttribute("aria-hidden", "true");
    canvas.setAttribute("aria-label", heading?.textContent.trim() ?? "");
    const beside = [heading?.nextElementSibling, ...(place?.querySelectorAll(":scope > .finding") ?? [])].filter((each) => each?.matches("p"));
    for (const each of beside) each.id ||= `chart-sentence-${(sentences += 1)}`;
    if (beside.length) canvas.setAttribute("aria-describedby", beside.map(({ id }) => id).join(" "));
  };

  const draw = async (figure) => {
    const canvas = figure.querySelector(".chart-canvas");
    const [source, Plotly] = await Promise.all([numbers(figure), plotly(figure.dataset.plotly)]);
    // A search may leave no ratio: there is nothing to draw, and nothing went wrong.
    if (!source.data) return figure.closest("section").remove();
    const chart = { source, canvas, view: { unseen: new Set(), ranges: {} } };
    chart.plain = (text) => new DOMParser().parseFromString((text ?? "").replace(/<br>/g, " "), "text/html").documentElement.textContent;
    chart.painted = (width) => themed(chart, canvas, width);
    chart.repaint = () => {
      const [data, layout] = chart.painted(canvas.clientWidth);
      // Its series are buttons below: a legend in the picture answers the mouse alone.
      return Plotly.react(canvas, data, { ...layout, showlegend: false }, CONFIG);
    };
    canvas.replaceChildren();
    await chart.repaint();
    named(canvas, figure);
    canvas.removeAttribute("aria-busy");
    figure.chart = chart;
    figure.dataset.drawn = "";
    figure.dispatchEvent(new CustomEvent("chartdrawn", { bubbles: true }));
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
  });

  const find = (root) => {
    for (const figure of root.querySelectorAll("[data-chart]")) near.observe(figure);
  };

  const repaint = () => {
    for (const figure of document.querySelectorAll("[data-drawn]")) figure.chart.repaint();
  };

  find(document);
  document.addEventListener("htmx:afterSwap", ({ target }) => find(target));
  document.addEventListener("themechange", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
})();
