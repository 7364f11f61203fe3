// Checks what Grafana's schema cannot express: `node layout.mjs`. Panels fill the grid without overlaps and have
// descriptions; references resolve; each alert has a runbook and both kinds of tests.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const problems = [];
const seen = { uid: new Set(), title: new Set() };

for (const file of readdirSync(join(root, 'dashboards'))) {
  const board = JSON.parse(readFileSync(join(root, 'dashboards', file), 'utf8'));
  const wrong = (what) => problems.push(`dashboards/${file}: ${what}`);
  for (const key of ['uid', 'title']) {
    if (!board[key] || seen[key].has(board[key])) wrong(`${key} "${board[key]}" is missing or not the only one`);
    seen[key].add(board[key]);
  }
  grid(board.panels, wrong);
  for (const panel of board.panels) if (panel.type !== 'row') words(panel, (what) => wrong(`panel "${panel.title}": ${what}`));
  for (const key of ['id', 'title']) {
    const all = board.panels.map((panel) => panel[key]);
    all.filter((value, at) => all.indexOf(value) !== at).forEach((value) => wrong(`two panels have the ${key} "${value}"`));
  }
  variables(board, wrong);
}
alerts();

problems.forEach((problem) => console.error(problem));
if (problems.length > 0) process.exit(1);
console.log('the grid, the words and the names of dashboards and alerts are in order');

function grid(panels, wrong) {
  const taken = new Map();
  for (const { title, gridPos } of panels) {
    const { x, y, w, h } = gridPos;
    if (x < 0 || w < 1 || x + w > 24) wrong(`panel "${title}" does not fit into 24 columns`);
    for (let row = y; row < y + h; row += 1)
      for (let column = x; column < x + w; column += 1) {
        const place = `${column}/${row}`;
        if (taken.has(place)) return wrong(`panel "${title}" lies over "${taken.get(place)}"`);
        taken.set(place, title);
      }
  }
  const height = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  if (taken.size !== 24 * height) wrong(`${24 * height - taken.size} places of the grid are empty`);
}

function words(panel, wrong) {
  const { title, description = '', datasource, targets = [], fieldConfig, transformations = [] } = panel;
  if (!title) wrong('no title');
  const sentences = description.match(/[^.]\.(?= |$)/g) ?? [];
  if (!description.endsWith('.') || sentences.length > 3) wrong('the description should be one to three sentences');
  if (datasource?.uid !== '${datasource}') wrong('the data source should be the variable');
  if (!fieldConfig.defaults.unit) wrong('no unit');
  if (targets.length === 0) wrong('no query');
  if (new Set(targets.map((target) => target.refId)).size !== targets.length) wrong('two queries have the same refId');
  const steps = fieldConfig.defaults.thresholds?.steps ?? [{ value: null }];
  if (steps[0].value !== null || steps.slice(1).some((step, at) => at > 0 && step.value <= steps[at].value)) wrong('thresholds should rise');
  const renamed = transformations.flatMap((step) => Object.entries(step.options.renameByName ?? {}));
  for (const { matcher } of panel.type === 'table' ? fieldConfig.overrides : [])
    if (!renamed.some(([, name]) => name === matcher.options)) wrong(`no column is called "${matcher.options}"`);
  for (const [name] of renamed)
    if (!targets.some((target) => name === `Value #${target.refId}`)) wrong(`no query makes the column "${name}"`);
}

function variables(board, wrong) {
  const defined = board.templating.list.map((variable) => variable.name);
  const text = JSON.stringify(board.panels);
  const used = new Set([...text.matchAll(/\$\{?(?!__)([a-z_]+)/g)].map(([, name]) => name));
  for (const name of used) if (!defined.includes(name)) wrong(`the variable $${name} is not defined`);
  for (const name of defined) if (!used.has(name)) wrong(`nothing uses the variable $${name}`);
}

function alerts() {
  const rules = readFileSync(join(root, 'rules', 'alerts.yml'), 'utf8');
  const tests = readdirSync(join(root, 'rules', 'tests')).map((file) => readFileSync(join(root, 'rules', 'tests', file), 'utf8'));
  const headings = [...readFileSync(join(root, '..', 'docs', 'operations.md'), 'utf8').matchAll(/^#+ (.*)$/gm)];
  const anchors = headings.map(([, heading]) => heading.toLowerCase().replace(/[^\w -]/g, '').replaceAll(' ', '-'));
  const cases = tests.join('\n').split(/\n(?=  - name: )/);
  for (const rule of rules.split(/^ {6}- alert: /m).slice(1)) {
    const name = rule.match(/^\w+/)[0];
    const wrong = (what) => problems.push(`rules/alerts.yml: ${name}: ${what}`);
    for (const key of ['summary', 'description', 'runbook', 'severity']) if (!rule.includes(`${key}: `)) wrong(`no ${key}`);
    const runbook = rule.match(/runbook: docs\/operations\.md#(\S+)/)?.[1];
    if (!anchors.includes(runbook)) wrong(`docs/operations.md has no heading for #${runbook}`);
    const about = cases.filter((one) => one.includes(`alertname: ${name}`));
    if (!about.some((one) => one.includes('exp_labels'))) wrong('no test in which it fires');
    // A test that expects some labels also asserts that no other series fires.
    if (!about.some((one) => one.match(new RegExp(`alertname: ${name},.*exp_alerts: \\[\\]`)))) wrong('no test in which it must not fire');
  }
}
