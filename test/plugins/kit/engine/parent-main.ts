/** Starts a recogniser, says which process it runs in, and stays. */
import pocketsphinx from '../../../../plugins/stt/pocketsphinx/index.ts';
import { pidOf, run } from '../../stt/context.ts';

const { logged, stt } = await run(pocketsphinx);
await stt.open({ language: 'en', signal: new AbortController().signal });
process.stdout.write(`${pidOf(logged)}\n`);
