/* Lay out a table of thousands of cells in steps: visible rows first, the others a few per
   frame, so that input is handled in between. Deferred rows and cells have data-deferred,
   which excludes them from the layout. */

/* Rows in the first frame; then a few per frame for the next rows, which the browser lays
   out beyond the visible part, and many per frame for the others. */
const FIRST_ROWS = 4;
const NEAR_ROWS = 36;
const ROWS_PER_FRAME = 3;
const FAR_ROWS_PER_FRAME = 16;

/* Return the indexes of the first and last visible column. */
const visibleColumns = (grid) => {
  const { scrollLeft, clientWidth } = grid.parentElement;
  const width = grid.querySelector("tbody td")?.offsetWidth || clientWidth;
  const first = Math.floor(Math.abs(scrollLeft) / width);
  return [first, first + Math.ceil(clientWidth / width)];
};

/* Resolve when the browser is idle after the next frame, at the latest after this time. */
const MAX_IDLE_MS = 200;
const idle = window.requestIdleCallback ?? setTimeout;
const nextIdle = () => new Promise((resolve) => requestAnimationFrame(() => idle(resolve, { timeout: MAX_IDLE_MS })));

const revealRow = (row) => {
  row.removeAttribute("data-deferred");
  for (const cell of row.cells) cell.removeAttribute("data-deferred");
};

let deferredRows = [];
let nearRowsLeft = 0;
let loading = null;

const loadAllDeferred = async () => {
  while (deferredRows.length) {
    await nextIdle();
    const count = nearRowsLeft > 0 ? ROWS_PER_FRAME : FAR_ROWS_PER_FRAME;
    nearRowsLeft -= count;
    deferredRows.splice(0, count).forEach(revealRow);
  }
  loading = null;
};

/* Resolve when no row is deferred any more. */
const loadDeferredRows = () => {
  if (deferredRows.length) loading ??= loadAllDeferred(); // With no rows, the promise would resolve before it is assigned.
  return loading;
};

/* Defer rows behind those that are deferred already. */
const deferRows = (rows) => {
  for (const row of rows) row.setAttribute("data-deferred", "");
  deferredRows.push(...rows);
  loadDeferredRows();
};

/* Show the rows nearest to an index, with the visible columns only; defer the others. */
const showNearest = (rows, index, [first, last]) => {
  const byDistance = rows.map((row, i) => [Math.abs(i - index), row]).sort(([a], [b]) => a - b);
  for (const [distance, row] of byDistance) {
    row.toggleAttribute("data-deferred", distance > FIRST_ROWS);
    if (distance > FIRST_ROWS) continue;
    let column = -1; // The row heading is always visible.
    for (const cell of row.cells) {
      cell.toggleAttribute("data-deferred", column >= 0 && (column < first || column > last));
      column += 1;
    }
  }
  const sortedRows = byDistance.map(([, row]) => row);
  const sortedSet = new Set(sortedRows);
  deferredRows = [...sortedRows, ...deferredRows.filter((row) => !sortedSet.has(row))];
  nearRowsLeft = NEAR_ROWS;
  loadDeferredRows();
};
