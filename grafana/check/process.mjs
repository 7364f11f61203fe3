// Programs of the check: they run in this process group, end with it, and their output is kept for error messages.
import { spawn } from 'node:child_process';

const started = [];

export class Process {
  constructor(command, args, options = {}) {
    this.name = [command.split('/').pop(), args[0]].join(' ');
    this.output = '';
    this.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    this.ended = new Promise((resolve) => {
      this.child.on('error', (error) => resolve((this.output += String(error), this.code = 127)));
      this.child.on('close', (code) => resolve((this.code = code ?? 1)));
    });
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (data) => (this.output += data));
    started.push(this);
  }

  /** The first group of the pattern, as soon as the program has printed it. */
  async says(pattern) {
    return poll(`${this.name} to print ${pattern}`, () => {
      const found = this.output.match(pattern);
      if (!found && this.code !== undefined) throw new Error(`${this.name} ended with ${this.code}:\n${this.output}`);
      return found?.[1];
    });
  }
}

/** Asks until there is an answer, for half a minute. */
export async function poll(what, ask, patience_ms = 30_000) {
  const deadline = Date.now() + patience_ms;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${patience_ms / 1000} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export async function stopAll() {
  for (const { child, code } of started) if (code === undefined) child.kill('SIGTERM');
  const patience = setTimeout(() => started.forEach(({ child, code }) => code === undefined && child.kill('SIGKILL')), 5_000);
  await Promise.all(started.map((process) => process.ended));
  clearTimeout(patience);
}
