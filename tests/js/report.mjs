// Shared by the judges in the folders here: their command line, and the report of their checks.
import { setTimeout as sleep } from 'node:timers/promises';

/** `--name value`, as often as wanted; `--header 'NAME: VALUE'` and `--timeout SECONDS` for all judges. */
export function commandLine(argv = process.argv.slice(2)) {
  const all = name => argv.flatMap((a, i) => (a === name ? [argv[i + 1]] : []));
  const one = (name, fallback) => all(name).at(-1) ?? fallback;
  const split = (t, sign) => [t.slice(0, t.indexOf(sign)), t.slice(t.indexOf(sign) + 1)];
  const pairs = name => Object.fromEntries(all(name).map(t => split(t, '=')));
  const headers = Object.fromEntries(all('--header').map(h => split(h, ':').map(part => part.trim())));
  return { has: name => argv.includes(name), all, one, pairs, headers, timeout: Number(one('--timeout', 30)) * 1000 };
}

/** What the agent under test is asked: the name of each question, unless `--say slow="..."` replaces it or `own` does. */
export function words(args, own = {}) {
  const said = { ...own, ...args.pairs('--say') };
  return new Proxy({}, { get: (_, name) => said[name] ?? String(name) });
}

export class Report {
  /** `exactly`: `--only` and `--skip` take whole names of groups, not beginnings. */
  constructor(args, { title, exactly = false } = {}) {
    this.json = args.has('--json'); this.title = title; this.results = [];
    this.only = args.all('--only'); this.without = args.all('--skip');
    this.names = (wanted, group) => (exactly ? wanted === group : group.startsWith(wanted));
    this.timeout = args.timeout;
  }
  /** One line per check. `reason` is said only when it failed. */
  check(name, ok, reason = '') {
    this.results.push({ name, ok: !!ok, ...(!ok && { reason: text(reason) }) });
    if (!this.json) console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}${ok || reason === '' ? '' : `: ${text(reason)}`}`);
    return !!ok;
  }
  note(line) { this.results.push({ note: line }); if (!this.json) console.log(`note ${line}`); }
  /** A group of checks: what it throws is a failure of the group, and so is more than the time limit. */
  async group(name, run) {
    const named = wanted => wanted.some(one => this.names(one, name));
    if ((this.only.length && !named(this.only)) || named(this.without)) return;
    const check = (what, ok, reason) => this.check(`${name}: ${what}`, ok, reason);
    try { await within(run(check), this.timeout, 'the checks'); } catch (e) { this.check(`${name}: goes through`, false, e); }
  }
  finish() {
    const checks = this.results.filter(r => 'ok' in r), failed = checks.filter(r => !r.ok).length;
    const whole = { title: this.title, ok: failed === 0 && checks.length > 0, results: this.results };
    console.log(this.json ? JSON.stringify(whole, null, 2) : `${checks.length - failed} passed, ${failed} failed`);
    process.exit(failed || !checks.length ? 1 : 0);
  }
}

function text(reason) {
  const whole = reason instanceof Error ? `${reason.name}: ${reason.message}` : typeof reason === 'string' ? reason : JSON.stringify(reason) ?? String(reason);
  return whole.replace(/\s+/g, ' ').slice(0, 400);
}

export function within(promise, ms, what) {
  let timer;
  const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error(`${what} did not end within ${ms / 1000} s`)), ms); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export async function until(condition, ms, what) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(10)) { const v = await condition(); if (v) return v; }
  throw new Error(`${what} did not happen within ${ms / 1000} s`);
}
