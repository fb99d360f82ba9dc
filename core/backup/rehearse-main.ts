/** The process that restores a backup for a trial. */
import { unpack } from './restore.ts';
import { serveTask } from './task.ts';

await serveTask<'rehearse'>(unpack);
