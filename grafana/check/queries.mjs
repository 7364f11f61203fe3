// Prepares every query of the dashboards and rules: variables have values, and "a day ago" is seconds ago, because the run
// is only seconds old.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../dashboards', import.meta.url));

/** `{ where, expr }` of each query of each panel and annotation. */
export function panelQueries() {
  return boards().flatMap(({ file, board }) => {
    const values = Object.fromEntries(board.templating.list.map(({ name, allValue, current }) => [name, allValue ?? current?.value]));
    const panels = board.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ refId, expr }) => ({ where: `${file}: "${title}" ${refId}`, expr: recent(unpadded(filled(expr, values))) })),
    );
    // What an annotation marks need not have happened: its comparison answers 0 or 1 instead of nothing.
    const annotations = (board.annotations?.list ?? []).map(({ name, expr }) => ({ where: `${file}: annotation "${name}"`, expr: answering(filled(expr, values)) }));
    return [...panels, ...annotations];
  });
}

/** `{ where, metric, label }` of each variable that lists the values of a label. */
export function variableQueries() {
  return boards().flatMap(({ file, board }) =>
    board.templating.list
      .filter(({ type }) => type === 'query')
      .map(({ name, query }) => {
        const [, metric, label] = query.query.match(/^label_values\((\w+), (\w+)\)$/);
        return { where: `${file}: variable ${name}`, metric, label };
      }),
  );
}

/** The expression of a rule; an alert's comparisons answer 0 or 1 instead of nothing while all is well. */
export function ruleQuery({ name, type, query }) {
  const expr = type === 'alerting' ? answering(query) : query;
  return { where: `rules: ${name}`, expr: recent(expr) };
}

function boards() {
  return readdirSync(folder).map((file) => ({ file, board: JSON.parse(readFileSync(join(folder, file), 'utf8')) }));
}

function filled(expr, values) {
  const own = { __rate_interval: '1m', __range: '5m' };
  return expr.replace(/\$(__)?([a-z_]+)/g, (all) => own[all.slice(1)] ?? values[all.slice(1)] ?? all);
}

/** Without the 0 that a panel shows where there is nothing: with it, a query of anything at all would answer. */
function unpadded(expr) {
  return expr.replace(/ or (label_replace\()?vector\(0\).*$/, '');
}

function recent(expr) {
  return expr.replace(/offset \d+[dw]/g, 'offset 3s');
}

function answering(expr) {
  // Selectors and texts have their own comparisons.
  const parts = expr.split(/(\{[^}]*\}|"[^"]*")/);
  return parts.map((part, at) => (at % 2 ? part : part.replace(/>=|<=|==|!=|>|</g, '$& bool'))).join('');
}
