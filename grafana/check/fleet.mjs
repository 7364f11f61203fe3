// Starts a real run: `gabfest mock` as agent, simulated user and judge over HTTP, a coordinator, two workers, and a
// Prometheus that scrapes them with the rules of this folder.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { poll, Process } from './process.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const METRICS = /(http:\/\/\S+\/metrics)/;

/** The addresses of `{ coordinator, workers }`, and of Prometheus, once the run has ended. */
export async function playRun(gabfest, place) {
  const program = (...args) => new Process(gabfest, args, { cwd: place, env: environment() });
  // Flaky, so that cases fail and flake, and slow enough for several scrapes during the run.
  const mock = '{ latency: { kind: uniform, min_ms: 40, max_ms: 160 }, pass: [{ probability: 0.97 }], error_rate: 0.01 }';
  const behaviour = join(place, 'mock.yaml');
  writeFileSync(behaviour, `endpoints: { mock: { kind: mock, mock: ${mock} } }\n`);
  const url = await program('mock', '--listen', '127.0.0.1:0', '--config', behaviour).says(/(http:\/\/[^,\s]+\/v1)/);
  // The mock learns from the trace headers which role it plays.
  const endpoint = (model) =>
    `{ url: ${url}, model: ${model}, stream: true, trace: true, limits: { concurrency: 3 }, price: { input_per_million: 1, output_per_million: 4 } }`;
  const settings = `endpoints: { small: ${endpoint('small')}, large: ${endpoint('large')} }
agents: { shop: { endpoint: small } }
roles: { agent: shop, user_sim: large, judge: large }
models: { TEXT_LARGE: large }
`;
  writeFileSync(join(place, 'gabfest.yaml'), settings);

  const coordinator = program('coordinator', '--listen', '127.0.0.1:0', '--metrics-listen', '127.0.0.1:0');
  const address = await coordinator.says(/coordinator at (http:\/\/[^,\s]+)/);
  const worker = () => program('worker', '--coordinator', address, '--slots', '4', '--metrics-listen', '127.0.0.1:0');
  const workers = [worker(), worker()];
  const targets = {
    coordinator: await coordinator.says(METRICS),
    workers: await Promise.all(workers.map((one) => one.says(METRICS))),
  };
  const prometheus = await startPrometheus(place, targets);
  const scenarios = ['billing-refund', 'return-policy'].map((name) => join(root, 'scenarios', 'eliza', `${name}.scenario.yaml`));
  const plan = ['--repeats', '12', '--personas', 'patient-regular,terse-expert', '--name', 'nightly'];
  // More than the slots can play, so that starts are dropped.
  const paced = ['--rate', '8/s', '--duration', '5s', '--name', 'load'];
  const load = program('submit', ...scenarios, ...paced, '--coordinator', address, '--watch');
  if (![0, 1, 3].includes(await load.ended)) throw new Error(`the load ended with ${load.code}:\n${load.output}`);
  const submit = program('submit', ...scenarios, ...plan, '--coordinator', address, '--watch');
  const code = await submit.ended;
  if (![0, 1].includes(code)) throw new Error(`the run ended with ${code}:\n${submit.output}`);
  return { ...targets, prometheus };
}

async function startPrometheus(place, { coordinator, workers }) {
  const job = (name, urls) =>
    `  - { job_name: ${name}, static_configs: [{ targets: [${urls.map((url) => `'${new URL(url).host}'`)}] }] }\n`;
  const rules = ['recording', 'alerts'].map((name) => join(root, 'grafana', 'rules', `${name}.yml`));
  const config = join(place, 'prometheus.yml');
  writeFileSync(
    config,
    `global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }\nrule_files: [${rules}]\n` +
      `scrape_configs:\n${job('gabfest-coordinator', [coordinator])}${job('gabfest-worker', workers)}`,
  );
  const address = `127.0.0.1:${await freePort()}`;
  const flags = [`--config.file=${config}`, `--storage.tsdb.path=${join(place, 'tsdb')}`, `--web.listen-address=${address}`];
  const prometheus = new Process('prometheus', [...flags, '--log.level=warn'], { cwd: place });
  const up = async () => {
    if (prometheus.code !== undefined) throw new Error(`prometheus ended with ${prometheus.code}:\n${prometheus.output}`);
    // It listens before it answers.
    if (!(await fetch(`http://${address}/-/ready`)).ok) return false;
    return (await ask(`http://${address}`, 'query', { query: 'count(up == 1) == 3' })).result.length;
  };
  await poll('prometheus to scrape the coordinator and both workers', () => up().catch((error) => refused(error)));
  return `http://${address}`;
}

/** The data of an answer of Prometheus' HTTP API. */
export async function ask(prometheus, what, parameters = {}) {
  const answer = await fetch(`${prometheus}/api/v1/${what}?${new URLSearchParams(parameters)}`);
  const { data, error } = await answer.json();
  if (error) throw new Error(error);
  return data;
}

function refused(error) {
  if (error.cause?.code !== 'ECONNREFUSED') throw error;
}

/** Prometheus does not say which port it took when it is given none. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A collector that nobody runs: what cannot be sent is dropped and counted, and the run does not mind. */
function environment() {
  return { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', NO_COLOR: '1' };
}
