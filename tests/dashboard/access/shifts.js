/* Record elements that move without user input, as browsers do for "cumulative layout
   shift": https://web.dev/articles/cls */
window.shifts = [];
new PerformanceObserver((list) => {
  for (const { hadRecentInput, value, startTime, sources } of list.getEntries()) {
    if (hadRecentInput) continue;
    const moved = sources.map(({ node, previousRect, currentRect }) =>
      `${node?.nodeName} ${node?.className?.baseVal ?? node?.className}: y ${previousRect.y} to ${currentRect.y}, height ${previousRect.height} to ${currentRect.height}`);
    window.shifts.push({ value, at: startTime, moved });
  }
}).observe({ type: "layout-shift", buffered: true });
