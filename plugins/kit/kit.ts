/** Helpers for authors of plugins: `import { postJson } from 'earshot/kit'`. */
export { deadline, orAborted } from '../../core/runtime/deadline.ts';
export { createBackgroundPace, type Pace } from '../../core/runtime/pace.ts';
export { retryAfter } from '../../core/runtime/retry.ts';
export { isAppError, postJson, type Reply, refusal, request, type Server } from './http.ts';
export { isRecord, parseJson } from './json.ts';
export { createPost } from './message/post.ts';
export { bodyOf, linesOf, muteLines, shorten } from './message/text.ts';
