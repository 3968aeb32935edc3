// Block tables, labels and the codes of cells at any step, from the nearest stored copy and the
// operations since (block_ops.h and report_cells.h have their formats).

const COPY_EVERY = 50;

function emptyState() {
  return { scheduler: new Map(), worker: new Map(), labels: new Map(), codes: new Map() };
}

function copyState(state) {
  const copy = (tables) => new Map([...tables].map(([key, blocks]) => [key, blocks.slice()]));
  return { scheduler: copy(state.scheduler), worker: copy(state.worker),
           labels: new Map(state.labels), codes: new Map(state.codes) };
}

function tableKey(request, group) { return request + "/" + group; }

function setColumns(tables, key, column, blocks) {
  let table = tables.get(key);
  if (!table) tables.set(key, table = []);
  while (table.length < column) table.push(0);
  blocks.forEach((block, i) => { table[column + i] = block; });
}

// Applies `ops`, those of tables to `tables` if there are any. If given, `changed` collects the cells
// and blocks they touch.
function applyOps(state, tables, ops, changed) {
  for (let i = 0; ops && i < ops.length;) {
    const op = ops[i];
    if (op === 0 || op === 1) {
      const [request, group, column, count] = ops.slice(i + 1, i + 5);
      const blocks = op === 0 ? ops.slice(i + 5, i + 5 + count)
                              : Array.from({ length: count }, (_, k) => ops[i + 5] + k);
      const key = tableKey(request, group);
      if (tables) setColumns(tables, key, column, blocks);
      if (changed) blocks.forEach((_, k) => changed.cells.add(key + "/" + (column + k)));
      i += 5 + (op === 0 ? count : 1);
    } else if (op === 2) {
      const key = tableKey(ops[i + 1], ops[i + 2]);
      if (tables) {
        state.scheduler.delete(key);
        state.worker.delete(key);
        state.codes.delete(key);
      }
      i += 3;
    } else if (op === 3) {
      state.labels.set(ops[i + 1], { request: ops[i + 2], group: ops[i + 3], tokens: ops[i + 4] });
      if (changed) changed.labelled.add(ops[i + 1]);
      i += 5;
    } else {
      state.labels.delete(ops[i + 1]);
      if (changed) changed.evicted.add(ops[i + 1]);
      i += 2;
    }
  }
}

// One code for each column of the tables that are told.
function applyCodes(state, told) {
  for (let i = 0; told && i < told.length;) {
    const [request, group, count] = told.slice(i, i + 3);
    const codes = [];
    for (let k = 0; k < count; ++k)
      for (let left = told[i + 4 + 2 * k]; left > 0; --left) codes.push(told[i + 3 + 2 * k]);
    state.codes.set(tableKey(request, group), codes);
    i += 3 + 2 * count;
  }
}

const stateCopies = new Map();  // index of a step -> the state before it

function stateBefore(place) {
  let from = place - place % COPY_EVERY;
  while (from > 0 && !stateCopies.has(from)) from -= COPY_EVERY;
  if (!stateCopies.has(from)) {
    const start = emptyState();
    applyOps(start, start.scheduler, data.start);
    applyOps(start, start.worker, data.start_worker);
    stateCopies.set(0, start);
    from = 0;
  }
  const state = copyState(stateCopies.get(from));
  for (let at = from; at < place; ++at) {
    if (at % COPY_EVERY === 0 && !stateCopies.has(at)) stateCopies.set(at, copyState(state));
    applyOps(state, state.scheduler, steps[at].e);
    applyOps(state, state.worker, steps[at].w);
    applyCodes(state, steps[at].u);
    applyOps(state, state.scheduler, steps[at].ce);
  }
  return state;
}

// The state of a step: tables after its cache events and before its commit events, labels at its
// end, what changed, and how many columns hold each block.
function stateDuring(place) {
  const state = stateBefore(place);
  const changed = { cells: new Set(), labelled: new Set(), evicted: new Set() };
  applyOps(state, state.scheduler, steps[place].e, changed);
  applyOps(state, state.worker, steps[place].w);
  applyCodes(state, steps[place].u);
  applyOps(state, null, steps[place].ce);
  const holders = new Map();
  for (const blocks of state.scheduler.values())
    for (const block of blocks) if (block !== 0) holders.set(block, (holders.get(block) || 0) + 1);
  return { ...state, changed, holders };
}
