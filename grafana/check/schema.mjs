// Checks the dashboards against Grafana's published TypeScript types: `node schema.mjs FOLDER`, where FOLDER has node_modules.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const place = process.argv[2];
const here = fileURLToPath(new URL('.', import.meta.url));
const dashboards = join(here, '..', 'dashboards');

copyFileSync(join(here, 'shape.ts'), join(place, 'shape.ts'));
const sources = readdirSync(dashboards).map((file) => {
  // As a literal, because the compiler accepts unknown keys in an imported JSON file.
  const json = readFileSync(join(dashboards, file), 'utf8');
  const name = `${basename(file, '.json')}.ts`;
  writeFileSync(join(place, name), `import type { Dashboard } from './shape';\nexport const dashboard: Dashboard = ${json};\n`);
  return name;
});
const options = ['--noEmit', '--skipLibCheck', '--strict', '--target', 'es2022', '--module', 'es2022'];
try {
  execFileSync('node_modules/.bin/tsc', [...options, '--moduleResolution', 'bundler', ...sources], { cwd: place, stdio: 'inherit' });
} catch {
  process.exit(1);
}
console.log(`${sources.length} dashboards are what Grafana's schema says`);
