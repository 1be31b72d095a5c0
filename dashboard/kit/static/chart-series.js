/* Buttons that hide and show the series of a rendered chart. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  // Plotly's symbols, so that a button looks like its series.
  const SYMBOLS = {
    circle: "M5,0A5,5 0 1,1 -5,0A5,5 0 1,1 5,0Z",
    square: "M-4.5,-4.5H4.5V4.5H-4.5Z",
    diamond: "M0,-6L6,0L0,6L-6,0Z",
    "triangle-up": "M0,-5.5L5.5,4.5H-5.5Z",
    cross: "M-5.5,-2H-2V-5.5H2V-2H5.5V2H2V5.5H-2V2H-5.5Z",
    x: "M0,-2.8L2.8,-5.6L5.6,-2.8L2.8,0L5.6,2.8L2.8,5.6L0,2.8L-2.8,5.6L-5.6,2.8L-2.8,0L-5.6,-2.8L-2.8,-5.6Z",
    "triangle-down": "M0,5.5L5.5,-4.5H-5.5Z",
    pentagon: "M0,-5.5L5.2,-1.7L3.2,4.5H-3.2L-5.2,-1.7Z",
    star: "M0,-6L1.4,-1.9L5.7,-1.9L2.3,0.7L3.5,4.9L0,2.4L-3.5,4.9L-2.3,0.7L-5.7,-1.9L-1.4,-1.9Z",
    hexagon: "M0,-5.5L4.8,-2.8V2.8L0,5.5L-4.8,2.8V-2.8Z",
    bar: "M-9,-5H9V5H-9Z",
    line: "M-11,0H11",
  };

  const colorToken = ({ marker, line }) =>
    [line?.color, marker?.color].flat().find((color) => `${color}`.startsWith("--")) ?? "--ink";

  const symbolPath = (name, isOpen, dash) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", SYMBOLS[name]);
    if (name === "line") path.setAttribute("stroke-dasharray", { dash: "5 3", dot: "2 3" }[dash] ?? "none");
    path.setAttribute("class", isOpen || name === "line" ? "open" : "full");
    return path;
  };

  /* Draw the symbol of a series into its button. */
  const drawSymbol = (svg, trace) => {
    svg.replaceChildren();
    svg.style.setProperty("--color", `var(${colorToken(trace)})`);
    if (trace.type === "bar") return svg.append(symbolPath("bar"));
    const symbols = [trace.marker?.symbol ?? "circle"].flat();
    if (/lines/.test(trace.mode)) svg.append(symbolPath("line", false, trace.line?.dash));
    // Skip the arrows of points beyond the edge; they are not the symbol of the series.
    const knownSymbols = symbols.filter((symbol) => SYMBOLS[symbol.replace("-open", "")]);
    // Symbols of points without a verdict are open. Prefer a filled one for the button.
    const symbol = knownSymbols.find((symbol) => !symbol.endsWith("-open")) ?? knownSymbols[0] ?? "circle";
    if (/markers/.test(trace.mode)) svg.append(symbolPath(symbol.replace("-open", ""), symbol.endsWith("-open")));
  };

  const seriesButtons = (figure) => [...figure.querySelectorAll("[data-chart-series-index]")];

  /* Show on the buttons which series are visible. */
  const updateButtons = (figure) => {
    const { hiddenSeries } = figure.chart.view;
    for (const button of seriesButtons(figure)) button.setAttribute("aria-pressed", String(!hiddenSeries.has(Number(button.dataset.chartSeriesIndex))));
    const all = figure.querySelector("[data-chart-all]");
    if (all) all.textContent = hiddenSeries.size ? all.dataset.show : all.dataset.hide;
  };

  document.addEventListener("chartrendered", ({ target: figure }) => {
    for (const button of seriesButtons(figure)) drawSymbol(button.querySelector("svg"), figure.chart.source.data[button.dataset.chartSeriesIndex]);
  });

  document.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-chart-series-index], [data-chart-all]");
    const figure = pressed?.closest("[data-rendered]");
    if (!figure) return;
    const { view, repaint } = figure.chart;
    const indexes = seriesButtons(figure).map((button) => Number(button.dataset.chartSeriesIndex));
    const changed = "chartSeriesIndex" in pressed.dataset ? [Number(pressed.dataset.chartSeriesIndex)] : indexes;
    const isShown = "chartSeriesIndex" in pressed.dataset ? view.hiddenSeries.has(changed[0]) : view.hiddenSeries.size > 0;
    for (const index of changed) isShown ? view.hiddenSeries.delete(index) : view.hiddenSeries.add(index);
    updateButtons(figure);
    repaint();
  });
})();
