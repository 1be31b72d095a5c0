/* From point to point of a drawn chart, and closer to one: what hovering tells, by keys. */
(() => {
  const KEYS = { ArrowLeft: "-1", ArrowRight: "1" };

  /* Every point that tells something, one series after the other. */
  const points = ({ canvas }) =>
    canvas.data.flatMap((trace, curve) => {
      if (trace.visible === false || trace.hoverinfo === "skip" || trace.type === "box") return [];
      return Array.from(trace.x, (x, at) => ({ curve, at, trace })).filter(({ at }) => trace.x[at] != null && trace.y[at] != null && (trace.text?.[at] ?? " ") !== "");
    });

  const axes = ({ canvas }, { trace }) =>
    [["x", trace.xaxis ?? "x"], ["y", trace.yaxis ?? "y"]].map(([side, id]) => [side, id.replace(/^./, `${side}axis`), canvas._fullLayout[id.replace(/^./, `${side}axis`)]]);

  /* Whether an axis names rows instead of counting. */
  const hasRows = ({ range, tickvals, type }) => Boolean(range && tickvals && type !== "log");

  /* Bars are compared by their length, rows by their place: neither is cut off. */
  const zoomed = ({ source, canvas }) => {
    const bars = source.data.filter(({ type }) => type === "bar").map((trace) => (trace.orientation === "h" ? "xaxis" : `yaxis${(trace.yaxis ?? "y").slice(1)}`));
    return Object.entries(source.layout)
      .filter(([name, own]) => /^[xy]axis/.test(name) && !bars.includes(name) && !hasRows(own))
      .map(([name]) => [name, canvas._fullLayout[name]]);
  };

  const limits = (axis) => axis.range.map((end) => axis.r2l(end));

  /* A part as long as `size` around a place, inside of the whole. */
  const around = ([first, last], middle, size) => {
    const whole = last - first;
    const signed = Math.sign(whole) * Math.min(size, Math.abs(whole));
    const [low, high] = [first, last - signed].sort((one, other) => one - other);
    const start = Math.min(Math.max(middle - signed / 2, low), high);
    return [start, start + signed];
  };

  const say = (figure, text) => {
    figure.querySelector(".chart-said").textContent = text;
  };

  /* The text of the label that Plotly shows, with what it leaves to the axes. */
  const told = ({ canvas, source, plain }, { trace, at }) => {
    const label = canvas.querySelector(".hovertext .nums");
    // Of several lines the first names the point, the others are one sentence.
    const [first, ...rest] = [...(label?.querySelectorAll("tspan.line") ?? [])].map((line) => line.textContent);
    const text = first ? [first, rest.join(" ")].filter(Boolean).join(": ") : label?.textContent ?? "";
    const names = ["y", "x"].map((side) => {
      const own = source.layout[(trace[`${side}axis`] ?? side).replace(/^./, `${side}axis`)];
      return hasRows(own) ? plain(own.ticktext[own.tickvals.indexOf(Math.round(trace[side][at]))]) : "";
    });
    return [...names, plain(trace.name)].filter((each) => each && !text.includes(each)).concat(text).join(": ");
  };

  const wholes = (chart) => {
    chart.wholes ??= Object.fromEntries(zoomed(chart).map(([name, axis]) => [name, limits(axis)]));
    return chart.wholes;
  };

  /* Move what is looked at so that a point lies in it. */
  const reach = async (chart, point) => {
    const isIn = ([first, last], place) => (place - first) * (place - last) <= 0;
    const moved = axes(chart, point).filter(([side, name, axis]) => chart.view.ranges[name] && !isIn(limits(axis), axis.d2l(point.trace[side][point.at])));
    for (const [side, name, axis] of moved) {
      const [first, last] = limits(axis);
      chart.view.ranges[name] = around(chart.wholes[name], axis.d2l(point.trace[side][point.at]), Math.abs(last - first)).map((end) => axis.l2r(end));
    }
    if (moved.length) await chart.repaint();
  };

  const step = async (figure, by) => {
    const { chart } = figure;
    const found = points(chart);
    if (!found.length) return;
    const last = found.findIndex(({ curve, at }) => curve === chart.point?.curve && at === chart.point?.at);
    const next = last < 0 ? (by < 0 ? found.length - 1 : 0) : Math.min(Math.max(last + by, 0), found.length - 1);
    chart.point = found[next];
    await reach(chart, chart.point);
    const { curve, at, trace } = chart.point;
    window.Plotly.Fx.hover(chart.canvas, [{ curveNumber: curve, pointNumber: at }], `${trace.xaxis ?? "x"}${trace.yaxis ?? "y"}`);
    const { point } = figure.querySelector(".chart-said").dataset;
    say(figure, point.replace("{at}", next + 1).replace("{n}", found.length).replace("{text}", () => told(chart, chart.point)));
  };

  /* Twice as close to the point last seen, or to the middle; 0 is the whole chart. */
  const zoom = async (figure, factor) => {
    const { chart } = figure;
    const own = chart.point ? axes(chart, chart.point) : [];
    let times = 1;
    const parts = Object.entries(wholes(chart)).map(([name, whole]) => {
      const axis = chart.canvas._fullLayout[name];
      const [first, last] = limits(axis);
      const [side] = own.find(([, each]) => each === name) ?? [];
      const middle = side ? axis.d2l(chart.point.trace[side][chart.point.at]) : (first + last) / 2;
      const part = factor ? around(whole, middle, Math.abs(last - first) * factor) : whole;
      times = Math.round(Math.abs((whole[1] - whole[0]) / (part[1] - part[0])));
      return [name, part.map((end) => axis.l2r(end))];
    });
    chart.view.ranges = times > 1 ? Object.fromEntries(parts) : {};
    if (times === 1) delete chart.wholes; // They change with the series that are seen.
    await chart.repaint();
    const { zoomed: closer, whole } = figure.querySelector(".chart-said").dataset;
    say(figure, times > 1 ? closer.replace("{times}", times) : whole);
  };

  const leave = (figure) => {
    window.Plotly.Fx.unhover(figure.chart.canvas);
    say(figure, "");
  };

  document.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-chart-step], [data-chart-zoom]");
    const figure = pressed?.closest("[data-drawn]");
    if (!figure) return;
    if ("chartStep" in pressed.dataset) step(figure, Number(pressed.dataset.chartStep));
    else zoom(figure, Number(pressed.dataset.chartZoom));
  });

  document.addEventListener("keydown", ({ target, key }) => {
    const figure = target.closest("[data-chart-points]")?.closest("[data-drawn]");
    if (!figure) return;
    if (KEYS[key]) figure.querySelector(`[data-chart-step="${KEYS[key]}"]`).click();
    if (key === "Escape") leave(figure);
  });

  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    const figure = target.closest("[data-chart-points]")?.closest("[data-drawn]");
    if (figure && !figure.contains(relatedTarget)) leave(figure);
  });
})();
