import test, { type ExecutionContext } from 'ava';
import type { SpokenSegment } from '../../../../core/contract/plugin.ts';
import { MAX_MARKS } from '../../../../core/domain/conversations/marks.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest, PLAIN } from '../../../helpers/rest.ts';

const LIST = '/v1/conversations';
/** Delay from the last mark to the processing of an ended conversation. */
const SOON_MS = 10_000;

type Rest = Awaited<ReturnType<typeof start>>;

async function start(t: ExecutionContext, open?: Parameters<typeof openRest>[1]) {
  const rest = await openRest(t, open);
  const { send, conversations, clock, user } = rest;
  const good = async (method: string, path: string, body?: object) => {
    const answer = await send(method, path, body);
    t.is(answer.status, 200, `${method} ${path} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const running = async (deviceId: string) =>
    (
      await conversations.open({
        ...{ userId: user.id, source: 'omi', deviceId, language: 'en', timeoutMs: 120_000 },
      })
    ).id;
  const say = async (conversationId: string, text: string) => {
    const at = clock.now();
    const pieces = [{ text, startAt: at, endAt: at + 2000, speaker: 'SPEAKER_00', sttProvider: null }];
    await conversations.append({ userId: user.id, conversationId, stream: null, startedAt: at, pieces });
  };
  return { ...rest, good, running, say };
}

const iso = (at: number) => new Date(at).toISOString();

for (const { name, open } of await openDatabases(test)) {
  const on = (title: string, run: (t: ExecutionContext, rest: Rest) => Promise<void>) =>
    test.serial(`${name}: ${title}`, async t => run(t, await start(t, open)));

  on('a mark without a conversation is set now, in the most recent running one', async (t, rest) => {
    const { good, send, running, say, clock, told, user } = rest;
    t.like(await send('POST', '/v1/marks', {}), {
      status: 404,
      body: { detail: 'No conversation is running now' },
    });
    const [first, second] = [await running('a'), await running('b')];
    await say(second, 'one');
    clock.advance(5000);
    await say(first, 'two');
    clock.advance(3000);
    const mark = await good('POST', '/v1/marks', {});
    t.like(mark, { conversation_id: first, at: iso(clock.now()), created_at: iso(clock.now()) });
    t.deepEqual(await good('GET', `${LIST}/${first}/marks`), [mark]);
    t.deepEqual(await good('GET', `${LIST}/${second}/marks`), []);
    t.like(told.marked, [{ mark: { id: mark.id, userId: user.id }, change: 'created' }]);
    await good('DELETE', `/v1/marks/${mark.id}`);
    t.is((await send('DELETE', `/v1/marks/${mark.id}`)).status, 404);
    t.deepEqual(await good('GET', `${LIST}/${first}/marks`), []);
    t.is(told.marked.at(-1)?.change, 'removed');
  });

  on('a moment outside the conversation is moved to its start or its end', async (t, rest) => {
    const { good, user, clock } = rest;
    const begin = clock.now();
    const { id: conversation_id } = await completedConversation(rest, user.id, ['one', 'two']);
    clock.advance(3_600_000);
    const moments = ['2000-01-01T00:00:00Z', iso(begin + 5000), undefined];
    for (const at of moments) await good('POST', '/v1/marks', { conversation_id, ...(at && { at }) });
    const marks: { at: string }[] = await good('GET', `${LIST}/${conversation_id}/marks`);
    t.deepEqual(
      marks.map(({ at }) => at),
      [begin, begin + 5000, begin + 12_000].map(iso),
    );
  });

  on('a conversation has at most 200 marks, and they are deleted with it', async (t, rest) => {
    const { good, send, user, storage } = rest;
    const { id: conversation_id } = await completedConversation(rest, user.id);
    const marks = [];
    for (let count = 0; count < MAX_MARKS; count += 1)
      marks.push(await good('POST', '/v1/marks', { conversation_id }));
    const refused = await send('POST', '/v1/marks', { conversation_id });
    t.is(refused.status, 409);
    t.regex(refused.body.detail, /200 marks/);
    t.is((await good('GET', `${LIST}/${conversation_id}/marks`)).length, MAX_MARKS);
    await good('DELETE', `/v1/dev/user/conversations/${conversation_id}`);
    t.is((await send('GET', `${LIST}/${conversation_id}/marks`)).status, 404);
    t.is(await storage.marks.get(user.id, marks[0].id), null);
  });

  on(
    'conversations and marks of others look like missing ones; a locked conversation cannot be marked',
    async (t, rest) => {
      const { good, send, user, users, storage } = rest;
      await users.add('eve');
      const eve = await users.token('eve');
      const { id: conversation_id } = await completedConversation(rest, user.id);
      const mark = await good('POST', '/v1/marks', { conversation_id });
      t.is((await send('GET', `${LIST}/${conversation_id}/marks`, undefined, eve)).status, 404);
      t.is((await send('POST', '/v1/marks', { conversation_id }, eve)).status, 404);
      t.is((await send('DELETE', `/v1/marks/${mark.id}`, undefined, eve)).status, 404);
      await storage.conversations.update(user.id, conversation_id, { locked: true });
      t.is((await send('GET', `${LIST}/${conversation_id}/marks`)).status, 404);
      t.is((await send('POST', '/v1/marks', { conversation_id })).status, 423);
      t.is((await send('DELETE', `/v1/marks/${mark.id}`)).status, 423);
      const rows = await storage.marks.list(user.id, conversation_id, 9);
      t.is(rows.length, 1);
    },
  );

  on('marks stay at their moment when conversations are split and merged', async (t, rest) => {
    const { good, user, clock, processed, run } = rest;
    const begin = clock.now();
    const texts = ['the budget', 'the garden', 'the kitchen'];
    const { id: conversation_id, segments } = await completedConversation(rest, user.id, texts);
    for (const seconds of [2, 12, 22])
      await good('POST', '/v1/marks', { conversation_id, at: iso(begin + seconds * 1000) });
    const at = async (id: string) =>
      (await good('GET', `${LIST}/${id}/marks`)).map((mark: { at: string }) => Date.parse(mark.at) - begin);
    const part = await good('POST', `${LIST}/${conversation_id}/split`, { segment_id: segments[1]?.id });
    t.deepEqual([await at(conversation_id), await at(part.id)], [[2000], [12_000, 22_000]]);
    const done = processed(2);
    run();
    await done;
    await good('POST', `${LIST}/${conversation_id}/merge`, { with: part.id });
    t.deepEqual(await at(conversation_id), [2000, 12_000, 22_000]);
  });

  on('speech at a mark and in the 10 s before it is flagged for the summary', async (t, rest) => {
    const { good, send, user, clock, run, processed } = rest;
    const begin = clock.now();
    const texts = Array.from({ length: 30 }, (_, number) => `Well that is what I said, number ${number}.`);
    texts[10] = 'The supplier raised the invoice.';
    texts[25] = 'We dispute the invoice of the supplier.';
    const { id: conversation_id } = await completedConversation(rest, user.id, texts);
    const mark = await good('POST', '/v1/marks', { conversation_id, at: iso(begin + 205_000) });
    const seen: SpokenSegment[][] = [];
    const { understanding } = PLAIN;
    run([
      {
        name: PLAIN.name,
        understanding: {
          understand: (transcript, ...rest) => {
            seen.push([...transcript]);
            return understanding.understand(transcript, ...rest);
          },
        },
      },
    ]);
    const again = async () => {
      const done = processed(1);
      clock.advance(SOON_MS);
      await done;
      return (await good('GET', `/v1/dev/user/conversations/${conversation_id}`)).structured.overview;
    };
    t.regex(await again(), /invoice.* number 20\./);
    const markedTexts = (transcript: SpokenSegment[] = []) =>
      transcript.filter(({ isMarked }) => isMarked).map(({ text }) => text);
    t.deepEqual(markedTexts(seen.at(-1)), [texts[20]]);
    t.is((await send('DELETE', `/v1/marks/${mark.id}`)).status, 200);
    t.notRegex(await again(), /number 20/);
    t.deepEqual(markedTexts(seen.at(-1)), []);
  });
}
