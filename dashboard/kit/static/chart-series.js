/* The series of a drawn chart as buttons that take them out and put them in again. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  // Plotly's marks, so that a button looks like what it stands for.
  const MARKS = {
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

  const token = ({ marker, line }) =>
    [line?.color, marker?.color].flat().find((each) => `${each}`.startsWith("--")) ?? "--ink";

  const draw = (name, isOpen, dash) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", MARKS[name]);
    if (name === "line") path.setAttribute("stroke-dasharray", { dash: "5 3", dot: "2 3" }[dash] ?? "none");
    path.setAttribute("class", isOpen || name === "line" ? "open" : "full");
    return path;
  };

  /* What a button stands for, as it is drawn. */
  const fill = (svg, trace) => {
    svg.replaceChildren();
    svg.style.setProperty("--paint", `var(${token(trace)})`);
    if (trace.type === "bar") return svg.append(draw("bar"));
    const symbols = [trace.marker?.symbol ?? "circle"].flat();
    if (/lines/.test(trace.mode)) svg.append(draw("line", false, trace.line?.dash));
    // A mark beyond the edge is an arrow: the series' own is another's.
    const known = symbols.filter((each) => MARKS[each.replace("-open", "")]);
    // Single marks are open where they give no verdict: the button shows a full one.
    const symbol = known.find((each) => !each.endsWith("-open")) ?? known[0] ?? "circle";
    if (/markers/.test(trace.mode)) svg.append(draw(symbol.replace("-open", ""), symbol.endsWith("-open")));
  };

  const traces = (figure) => [...figure.querySelectorAll("[data-chart-trace]")];

  /* Say on the buttons what is seen. */
  const tell = (figure) => {
    const { unseen } = figure.chart.view;
    for (const each of traces(figure)) each.setAttribute("aria-pressed", String(!unseen.has(Number(each.dataset.chartTrace))));
    const all = figure.querySelector("[data-chart-all]");
    if (all) all.textContent = unseen.size ? all.dataset.show : all.dataset.hide;
  };

  document.addEventListener("chartdrawn", ({ target: figure }) => {
    for (const each of traces(figure)) fill(each.querySelector("svg"), figure.chart.source.data[each.dataset.chartTrace]);
  });

  document.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-chart-trace], [data-chart-all]");
    const figure = pressed?.closest("[data-drawn]");
    if (!figure) return;
    const { view, repaint } = figure.chart;
    const places = traces(figure).map((each) => Number(each.dataset.chartTrace));
    const changed = "chartTrace" in pressed.dataset ? [Number(pressed.dataset.chartTrace)] : places;
    const isShown = "chartTrace" in pressed.dataset ? view.unseen.has(changed[0]) : view.unseen.size > 0;
    for (const at of changed) isShown ? view.unseen.delete(at) : view.unseen.add(at);
    tell(figure);
    repaint();
  });
})();
