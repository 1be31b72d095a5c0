/* Render charts when they become visible, because Plotly is large. */
(() => {
  const CONFIG = { displaylogo: false, responsive: true, displayModeBar: false };
  // Dragging is off: it would zoom for mice only and block scrolling on touch screens.
  const NARROW_PX = 820;
  const LABEL_LINE_PX = 16;
  const FRAME_PX = 96;
  const CHARACTER_PX = 6.2;
  const WAIT_MS = 30_000;
  let loading = null;

  const plotly = (src) => {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = src;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => {
        loading = null; // Let the next attempt load it again.
        script.remove();
        reject(new Error(src));
      };
      document.head.append(script);
    });
    return loading;
  };

  /* Return the values of the color tokens in the current theme. */
  const readColors = (parent) => {
    const probe = document.createElement("span");
    // Series must stay distinguishable in forced-colors mode.
    probe.style.forcedColorAdjust = "none";
    parent.append(probe);
    const readColor = (token) => {
      probe.style.color = `var(${token})`;
      return getComputedStyle(probe).color;
    };
    const tokens = ["ink", "ink-2", "ink-3", "line", "line-strong", "surface", "raised", "sunken"];
    const colors = Object.fromEntries(tokens.map((name) => [name, readColor(`--${name}`)]));
    colors.token = readColor;
    return { colors, done: () => probe.remove() };
  };

  /* Place labels above their dots on narrow screens. */
  const narrowLayout = (traces, layout, width, unit) => {
    const names = layout.yaxis.ticktext.map((text) => text.split("<br>"));
    const maxCharacters = Math.floor(width / CHARACTER_PX / unit);
    const shorten = (text) => (text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text);
    const labelHeight = Math.max(...names.map((lines) => lines.length)) * LABEL_LINE_PX * unit;
    // The fraction of a row that its label takes.
    const labelFraction = labelHeight / ((layout.height - FRAME_PX * unit) / names.length + labelHeight);
    return [
      traces.map((trace) => ({ ...trace, y: trace.y.map((y) => Math.round(y) + labelFraction / 2 + (y - Math.round(y)) * (1 - labelFraction)) })),
      {
        ...layout,
        height: layout.height + names.length * labelHeight,
        margin: { ...layout.margin, l: 2, r: 10 },
        // With labels inside the axis, Plotly omits the ticks of the other axis.
        yaxis: { ...layout.yaxis, showticklabels: false },
        annotations: names.map((lines, index) => ({ text: lines.map(shorten).join("<br>"), align: "left", x: 0, xref: "paper", xanchor: "left", y: index - 0.5, yanchor: "top", showarrow: false, font: layout.font })),
      },
    ];
  };

  /* Return the layout that all charts share: font, backgrounds and axes. */
  const baseLayout = (layout, colors, element) => {
    // Plotly uses pixels, but the page scales its root font size with the window.
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const font = { family: getComputedStyle(element).fontFamily, size: 12 * unit, color: colors["ink-2"] };
    const axis = { gridcolor: colors.line, zeroline: false, linecolor: colors["line-strong"], automargin: true };
    const axes = Object.entries(layout).filter(([name]) => /^[xy]axis/.test(name)).map(([name, axisLayout]) => [name, { ...axis, ...axisLayout, title: { ...axisLayout.title, font: { ...font }, standoff: 10 } }]);
    return {
      unit,
      fullLayout: {
        ...layout,
        ...Object.fromEntries(axes),
        separators: document.documentElement.dataset.separators,
        height: layout.height * unit,
        font,
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        dragmode: false,
        margin: { l: 8, r: 16, t: 16, b: 48 },
        hoverlabel: { bgcolor: colors.raised, bordercolor: colors["line-strong"], font: { ...font, color: colors.ink }, align: "left" },
      },
    };
  };

  /* Replace color tokens with the colors of the current theme. */
  const applyColors = ({ data, layout }, colors, element, width) => {
    const resolvedColors = new Map();
    const resolveColor = (token) => resolvedColors.get(token) ?? resolvedColors.set(token, colors.token(token)).get(token);
    const resolved = (value, key = "") => {
      if (Array.isArray(value)) return value.map((item) => resolved(item, key));
      if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item, name)]));
      return key.endsWith("color") && `${value}`.startsWith("--") ? resolveColor(value) : value;
    };
    const { unit, fullLayout } = baseLayout(resolved(layout), colors, element);
    const traces = resolved(data).map((trace) => (trace.marker?.size ? { ...trace, marker: { ...trace.marker, size: trace.marker.size * unit } } : trace));
    return width < NARROW_PX && layout.meta?.above ? narrowLayout(traces, fullLayout, width, unit) : [traces, fullLayout];
  };

  /* Zoom the axes to the given ranges, with automatic ticks. */
  const applyZoom = (layout, ranges) => {
    for (const [name, range] of Object.entries(ranges)) {
      const { ticktext, ...axis } = layout[name];
      layout[name] = { ...layout[name], range, autorange: false, ...(axis.tickvals && !ticktext && { tickmode: "auto" }) };
    }
    return layout;
  };

  /* Return data and layout for a width, without hidden series and outside the zoom. */
  const buildFigure = ({ source, view }, element, width) => {
    const { colors, done } = readColors(element);
    const [data, layout] = applyColors(source, colors, element, width);
    done();
    const traces = data.map((trace, index) => (view.hiddenSeries.has(index) ? { ...trace, visible: false } : trace));
    return [traces, applyZoom(layout, view.ranges)];
  };

  /* Read the data of the chart from the page, or fetch it. */
  const loadSource = async (figure) => {
    if (!figure.dataset.chartSrc) return JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const response = await fetch(figure.dataset.chartSrc, { signal: AbortSignal.timeout(WAIT_MS) });
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    return response.json();
  };

  /* Expose the canvas as an image to screen readers: named by its heading, described by
     the sentences next to it. The table holds the numbers. */
  let sentences = 0;
  const labelCanvas = (canvas, figure) => {
    const section = figure.closest("section, article");
    const heading = section?.querySelector("h2, h3");
    canvas.setAttribute("role", "img");
    // Hide ticks, labels and Plotly's scratch element from screen readers.
    for (const element of [...canvas.children, document.getElementById("js-plotly-tester")]) element?.setAttribute("aria-hidden", "true");
    canvas.setAttribute("aria-label", heading?.textContent.trim() ?? "");
    const descriptions = [heading?.nextElementSibling, ...(section?.querySelectorAll(":scope > .summary-sentence") ?? [])].filter((element) => element?.matches("p"));
    for (const element of descriptions) element.id ||= `chart-sentence-${(sentences += 1)}`;
    if (descriptions.length) canvas.setAttribute("aria-describedby", descriptions.map(({ id }) => id).join(" "));
  };

  const render = async (figure) => {
    const canvas = figure.querySelector(".chart-canvas");
    const [source, Plotly] = await Promise.all([loadSource(figure), plotly(figure.dataset.plotlySrc)]);
    // A search may match no ratio; that is not an error.
    if (!source.data) return figure.closest("section").remove();
    const chart = { source, canvas, view: { hiddenSeries: new Set(), ranges: {} } };
    chart.plainText = (text) => new DOMParser().parseFromString((text ?? "").replace(/<br>/g, " "), "text/html").documentElement.textContent;
    chart.figureAt = (width) => buildFigure(chart, canvas, width);
    chart.repaint = () => {
      const [data, layout] = chart.figureAt(canvas.clientWidth);
      // Series are toggled by buttons, because Plotly's legend works with a mouse only.
      return Plotly.react(canvas, data, { ...layout, showlegend: false }, CONFIG);
    };
    canvas.replaceChildren();
    await chart.repaint();
    labelCanvas(canvas, figure);
    canvas.removeAttribute("aria-busy");
    figure.chart = chart;
    figure.dataset.rendered = "";
    figure.dispatchEvent(new CustomEvent("chartrendered", { bubbles: true }));
  };

  const tryRender = async (figure) => {
    const canvas = figure.querySelector(".chart-canvas");
    const errorBox = figure.querySelector(".chart-error");
    const isRetry = !errorBox.hidden;
    errorBox.hidden = true;
    canvas.hidden = false;
    canvas.setAttribute("aria-busy", "true");
    try {
      await render(figure);
    } catch (error) {
      console.warn(error);
      canvas.hidden = true;
      errorBox.hidden = false;
    }
    if (!isRetry) return;
    // The button that had the focus is hidden now, unless the retry failed.
    canvas.tabIndex = -1;
    (canvas.hidden ? errorBox.querySelector("button") : canvas).focus();
  };

  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-chart-retry]")) tryRender(target.closest("[data-chart]"));
  });

  const visibilityObserver = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      visibilityObserver.unobserve(target);
      tryRender(target);
    }
  });

  const observeCharts = (root) => {
    for (const figure of root.querySelectorAll("[data-chart]")) visibilityObserver.observe(figure);
  };

  const repaintAll = () => {
    for (const figure of document.querySelectorAll("[data-rendered]")) figure.chart.repaint();
  };

  observeCharts(document);
  document.addEventListener("htmx:afterSwap", ({ target }) => observeCharts(target));
  document.addEventListener("themechange", repaintAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaintAll);
})();
