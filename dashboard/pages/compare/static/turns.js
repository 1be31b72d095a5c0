/* A table of thousands of cells changes: the first rows of its window come first, the rest in
   turns, a frame each, so that keys are answered between them. What still waits has
   data-far, which leaves it out of the layout. */

/* Rows that come in the first frame; the next come a few in a turn, as far as a browser
   lays rows out (some beyond its window, to be ready), and the others many. */
const FIRST = 4;
const NEAR = 36;
const TURN = 3;
const FAR_TURN = 16;

/* The columns that a table's window shows, as the places of their cells in a row. */
const columnsInSight = (grid) => {
  const { scrollLeft, clientWidth } = grid.parentElement;
  const width = grid.querySelector("tbody td")?.offsetWidth || clientWidth;
  const first = Math.floor(Math.abs(scrollLeft) / width);
  return [first, first + Math.ceil(clientWidth / width)];
};

/* After the next frame, when nothing is asked for, or when so long has passed. */
const MOST_MS = 200;
const idle = window.requestIdleCallback ?? setTimeout;
const painted = () => new Promise((done) => requestAnimationFrame(() => idle(done, { timeout: MOST_MS })));

const bring = (row) => {
  row.removeAttribute("data-far");
  for (const cell of row.cells) cell.removeAttribute("data-far");
};

let waiting = [];
let near = 0;
let bringing = null;

const bringAll = async () => {
  while (waiting.length) {
    await painted();
    const count = near > 0 ? TURN : FAR_TURN;
    near -= count;
    waiting.splice(0, count).forEach(bring);
  }
  bringing = null;
};

/* Ends when nothing is left out of the layout. */
const bringInTurns = () => {
  if (waiting.length) bringing ??= bringAll(); // Without rows it would end before it is known.
  return bringing;
};

/* Leave rows out of the layout until those that wait already have come. */
const putOff = (rows) => {
  for (const row of rows) row.setAttribute("data-far", "");
  waiting.push(...rows);
  bringInTurns();
};

/* Show of some rows those about a place, and of these the columns in sight. */
const showFirst = (rows, at, [from, to]) => {
  const byDistance = rows.map((row, place) => [Math.abs(place - at), row]).sort(([one], [other]) => one - other);
  for (const [distance, row] of byDistance) {
    row.toggleAttribute("data-far", distance > FIRST);
    if (distance > FIRST) continue;
    let place = -1; // The heading of the row is always in sight.
    for (const cell of row.cells) {
      cell.toggleAttribute("data-far", place >= 0 && (place < from || place > to));
      place += 1;
    }
  }
  const mine = byDistance.map(([, row]) => row);
  const those = new Set(mine);
  waiting = [...mine, ...waiting.filter((row) => !those.has(row))];
  near = NEAR;
  bringInTurns();
};
