// Ends a command together with the npm or npx that started it. Plain JavaScript for any Node from 18 on.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** How often to look whether npm still runs. */
const LOOK_MS = 1000;

/**
 * Calls `stop` once npm or npx, if one of them started this process, has ended. It may be killed without passing that
 * on, or pass a signal on to the shell in between alone.
 */
export function watchNpm(stop) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const npm = isShell(parent) ? parentOf(parent) : parent;
  const timer = setInterval(() => {
    if (process.ppid === parent && isRunning(npm)) return;
    clearInterval(timer);
    stop();
  }, LOOK_MS);
  timer.unref();
}

function isShell(pid) {
  return /\b(ba|da|k|z)?sh$/.test(tell(pid, 'comm'));
}

function parentOf(pid) {
  return Number(tell(pid, 'ppid'));
}

/** One column of what `ps` shows of a process; empty where it cannot tell. */
function tell(pid, column) {
  const { stdout } = spawnSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' });
  return stdout?.trim() || tellWithoutPs(pid, column);
}

/** Small containers have no `ps`. */
function tellWithoutPs(pid, column) {
  try {
    const [, comm, ppid] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return { comm, ppid }[column] ?? '';
  } catch {
    return '';
  }
}

function isRunning(pid) {
  try {
    return pid <= 1 || process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
