/* Keyboard access to a rendered chart: step through its points and zoom in on one. */
(() => {
  const KEYS = { ArrowLeft: "-1", ArrowRight: "1" };

  /* Return all points with hover texts, in the order of the series. */
  const points = ({ canvas }) =>
    canvas.data.flatMap((trace, curve) => {
      if (trace.visible === false || trace.hoverinfo === "skip" || trace.type === "box") return [];
      return Array.from(trace.x, (x, index) => ({ curve, index, trace })).filter(({ index }) => trace.x[index] != null && trace.y[index] != null && (trace.text?.[index] ?? " ") !== "");
    });

  const axes = ({ canvas }, { trace }) =>
    [["x", trace.xaxis ?? "x"], ["y", trace.yaxis ?? "y"]].map(([direction, id]) => [direction, id.replace(/^./, `${direction}axis`), canvas._fullLayout[id.replace(/^./, `${direction}axis`)]]);

  /* Return whether an axis names rows instead of showing numbers. */
  const hasRows = ({ range, tickvals, type }) => Boolean(range && tickvals && type !== "log");

  /* Return the axes that can be zoomed. Lengths of bars and rows must stay complete. */
  const zoomableAxes = ({ source, canvas }) => {
    const bars = source.data.filter(({ type }) => type === "bar").map((trace) => (trace.orientation === "h" ? "xaxis" : `yaxis${(trace.yaxis ?? "y").slice(1)}`));
    return Object.entries(source.layout)
      .filter(([name, axisLayout]) => /^[xy]axis/.test(name) && !bars.includes(name) && !hasRows(axisLayout))
      .map(([name]) => [name, canvas._fullLayout[name]]);
  };

  const limits = (axis) => axis.range.map((end) => axis.r2l(end));

  /* Return a range of this length around a position, within the full range. */
  const rangeAround = ([first, last], middle, length) => {
    const whole = last - first;
    const signed = Math.sign(whole) * Math.min(length, Math.abs(whole));
    const [low, high] = [first, last - signed].sort((a, b) => a - b);
    const start = Math.min(Math.max(middle - signed / 2, low), high);
    return [start, start + signed];
  };

  const announce = (figure, text) => {
    figure.querySelector(".chart-announcement").textContent = text;
  };

  /* Return the text of Plotly's hover label with the row names of the axes. */
  const labelText = ({ canvas, source, plainText }, { trace, index }) => {
    const label = canvas.querySelector(".hovertext .nums");
    // The first of several lines names the point; the others form a sentence.
    const [first, ...rest] = [...(label?.querySelectorAll("tspan.line") ?? [])].map((line) => line.textContent);
    const text = first ? [first, rest.join(" ")].filter(Boolean).join(": ") : label?.textContent ?? "";
    const names = ["y", "x"].map((direction) => {
      const axisLayout = source.layout[(trace[`${direction}axis`] ?? direction).replace(/^./, `${direction}axis`)];
      return hasRows(axisLayout) ? plainText(axisLayout.ticktext[axisLayout.tickvals.indexOf(Math.round(trace[direction][index]))]) : "";
    });
    return [...names, plainText(trace.name)].filter((name) => name && !text.includes(name)).concat(text).join(": ");
  };

  const fullRanges = (chart) => {
    chart.fullRanges ??= Object.fromEntries(zoomableAxes(chart).map(([name, axis]) => [name, limits(axis)]));
    return chart.fullRanges;
  };

  /* Move the zoomed range so that it contains a point. */
  const scrollIntoRange = async (chart, point) => {
    const isInRange = ([first, last], place) => (place - first) * (place - last) <= 0;
    const axesToMove = axes(chart, point).filter(([direction, name, axis]) => chart.view.ranges[name] && !isInRange(limits(axis), axis.d2l(point.trace[direction][point.index])));
    for (const [direction, name, axis] of axesToMove) {
      const [first, last] = limits(axis);
      chart.view.ranges[name] = rangeAround(chart.fullRanges[name], axis.d2l(point.trace[direction][point.index]), Math.abs(last - first)).map((end) => axis.l2r(end));
    }
    if (axesToMove.length) await chart.repaint();
  };

  const step = async (figure, offset) => {
    const { chart } = figure;
    const allPoints = points(chart);
    if (!allPoints.length) return;
    const last = allPoints.findIndex(({ curve, index }) => curve === chart.point?.curve && index === chart.point?.index);
    const position = last < 0 ? (offset < 0 ? allPoints.length - 1 : 0) : Math.min(Math.max(last + offset, 0), allPoints.length - 1);
    chart.point = allPoints[position];
    await scrollIntoRange(chart, chart.point);
    const { curve, index, trace } = chart.point;
    window.Plotly.Fx.hover(chart.canvas, [{ curveNumber: curve, pointNumber: index }], `${trace.xaxis ?? "x"}${trace.yaxis ?? "y"}`);
    const { point } = figure.querySelector(".chart-announcement").dataset;
    announce(figure, point.replace("{at}", position + 1).replace("{n}", allPoints.length).replace("{text}", () => labelText(chart, chart.point)));
  };

  /* Zoom around the current point, or the middle; factor 0 shows the full chart. */
  const zoom = async (figure, factor) => {
    const { chart } = figure;
    const pointAxes = chart.point ? axes(chart, chart.point) : [];
    let magnification = 1;
    const parts = Object.entries(fullRanges(chart)).map(([name, whole]) => {
      const axis = chart.canvas._fullLayout[name];
      const [first, last] = limits(axis);
      const [direction] = pointAxes.find(([, axisName]) => axisName === name) ?? [];
      const middle = direction ? axis.d2l(chart.point.trace[direction][chart.point.index]) : (first + last) / 2;
      const range = factor ? rangeAround(whole, middle, Math.abs(last - first) * factor) : whole;
      magnification = Math.round(Math.abs((whole[1] - whole[0]) / (range[1] - range[0])));
      return [name, range.map((end) => axis.l2r(end))];
    });
    chart.view.ranges = magnification > 1 ? Object.fromEntries(parts) : {};
    if (magnification === 1) delete chart.fullRanges; // Hiding series changes them.
    await chart.repaint();
    const { zoomed: closer, whole } = figure.querySelector(".chart-announcement").dataset;
    announce(figure, magnification > 1 ? closer.replace("{times}", magnification) : whole);
  };

  const clearHover = (figure) => {
    window.Plotly.Fx.unhover(figure.chart.canvas);
    announce(figure, "");
  };

  document.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-chart-step], [data-chart-zoom]");
    const figure = pressed?.closest("[data-rendered]");
    if (!figure) return;
    if ("chartStep" in pressed.dataset) step(figure, Number(pressed.dataset.chartStep));
    else zoom(figure, Number(pressed.dataset.chartZoom));
  });

  document.addEventListener("keydown", ({ target, key }) => {
    const figure = target.closest("[data-chart-points]")?.closest("[data-rendered]");
    if (!figure) return;
    if (KEYS[key]) figure.querySelector(`[data-chart-step="${KEYS[key]}"]`).click();
    if (key === "Escape") clearHover(figure);
  });

  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    const figure = target.closest("[data-chart-points]")?.closest("[data-rendered]");
    if (figure && !figure.contains(relatedTarget)) clearHover(figure);
  });
})();
