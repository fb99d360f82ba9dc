/** The examination that `earshot doctor` makes, begun over the interface. */
import type { Clock } from '../contract/model.ts';
import type { Diagnosis } from '../contract/plugin.ts';
import { runGuarded } from '../runtime/guarded.ts';
import { onOneLine } from '../runtime/terminal.ts';

/** More than all its checks may take one after the other. */
const LIMIT_MS = 240_000;

export interface ExaminationState {
  isRunning: boolean;
  /** Epoch ms; null: none since the start of the server. */
  startedAt: number | null;
  /** In the order in which they were found. */
  findings: (Diagnosis & { group: string })[];
  /** Why it did not come to its end. */
  error: string | null;
}

/** @param request the configuration to examine, as the command line names it */
export function createExamination({
  request,
  environment,
  clock,
}: {
  request: { file?: string; dataDir: string };
  environment: NodeJS.ProcessEnv;
  clock: Pick<Clock, 'now'>;
}) {
  let state: ExaminationState = { isRunning: false, startedAt: null, findings: [], error: null };
  let ended: Promise<void> = Promise.resolve();
  const stopping = new AbortController();

  async function examine(): Promise<void> {
    const found = state;
    found.error = await runGuarded({
      entry: 'core/cli/doctor/doctor-main',
      request,
      environment,
      limitMs: LIMIT_MS,
      signal: stopping.signal,
      onMessage(message) {
        const { findings } = message as Pick<ExaminationState, 'findings'>; // it sends nothing else
        found.findings.push(...onOneLine(findings));
      },
    });
    found.isRunning = false;
  }

  return {
    state: (): ExaminationState => state,
    /** Begins one, unless one runs. */
    begin(): void {
      if (state.isRunning || stopping.signal.aborted) return;
      state = { isRunning: true, startedAt: clock.now(), findings: [], error: null };
      ended = examine();
    },
    /** Resolves once its process is gone. */
    async stop(): Promise<void> {
      stopping.abort();
      await ended;
    },
  };
}
