// Every query of the dashboards and rules against a real Prometheus that scrapes a coordinator and two workers during a real
// run: `node live.mjs GABFEST FOLDER`. A query without a result, or with only NaN, is an error.
import { spawnSync } from 'node:child_process';

import { ask, playRun } from './fleet.mjs';
import { poll, stopAll } from './process.mjs';
import { panelQueries, ruleQuery, variableQueries } from './queries.mjs';

const [gabfest, place] = process.argv.slice(2);
const problems = [];
// After a timeout or Ctrl-C: draining workers would outlive this process.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stopAll().then(() => process.exit(1)));
try {
  const { coordinator, workers, prometheus } = await playRun(gabfest, place);
  await allAnswer(prometheus);
  for (const url of [coordinator, workers[0]]) lint(await (await fetch(url)).text());
} catch (error) {
  problems.push(error.message);
} finally {
  await stopAll();
}
problems.forEach((problem) => console.error(problem));
process.exit(problems.length > 0 ? 1 : 0);

async function allAnswer(prometheus) {
  const { groups } = await ask(prometheus, 'rules');
  const rules = groups.flatMap((group) => group.rules);
  for (const rule of rules) if (rule.health === 'err') problems.push(`rules: ${rule.name}: ${rule.lastError}`);
  const panels = panelQueries();
  const queries = [...panels, ...rules.map(ruleQuery)].map(({ where, expr }) => ({
    where: `${where}: ${expr}`,
    answers: async () => (await ask(prometheus, 'query', { query: expr })).result.some(({ value }) => !Number.isNaN(Number(value[1]))),
  }));
  const variables = variableQueries().map(({ where, metric, label }) => ({
    where: `${where}: the values of ${label} in ${metric}`,
    answers: async () => (await ask(prometheus, `label/${label}/values`, { 'match[]': metric })).length > 0,
  }));
  // The last scrape and the rules after it need a moment.
  let silent = [...queries, ...variables];
  const quiet = async () => {
    const answers = await Promise.all(silent.map(async (one) => (await one.answers().catch(refuse(one))) ?? true));
    silent = silent.filter((_, at) => !answers[at]);
    return silent.length === 0;
  };
  await poll('every query to answer', quiet, 20_000).catch(() => silent.forEach(({ where }) => problems.push(`no answer: ${where}`)));
  console.log(`${panels.length} queries of panels, ${variables.length} of variables and ${rules.length} of rules were asked`);
}

function refuse({ where }) {
  return (error) => void problems.push(`${where}: ${error.message}`);
}

/** What Prometheus' own linter says of names, units and help texts. */
function lint(metrics) {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: metrics, encoding: 'utf8' });
  if (status !== 0) problems.push(`promtool check metrics: ${stdout}${stderr}`);
}
