import test from 'ava';
import { completedConversation } from '../../../helpers/domain.ts';
import { openNoteTaker } from '../../../helpers/note-taker.ts';
import { openRest, PLAIN } from '../../../helpers/rest.ts';

const PATH = '/v1/summary-templates';
const LIST = '/v1/dev/user/conversations';
const DRAFT = { name: 'Stand-up', instructions: 'Who does what.', categories: ['work'] };

test('Summary templates are created, listed before those of the server, changed and deleted', async t => {
  const { send, clock } = await openRest(t);
  const { body: made } = await send('POST', PATH, { ...DRAFT, name: '  Stand-up ' });
  t.like(made, { ...DRAFT, built_in: false });
  clock.advance(1000);
  const changed = await send('PATCH', `${PATH}/${made.id}`, { categories: [] });
  t.like(changed.body, { ...DRAFT, categories: [], created_at: made.created_at });
  t.true(changed.body.updated_at > made.updated_at);
  t.deepEqual((await send('GET', `${PATH}/${made.id}`)).body, changed.body);
  const { body: listed } = await send('GET', PATH);
  t.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    [made.id, 'meeting', 'doctor', 'lecture', 'journal'],
  );
  t.like((await send('GET', `${PATH}/doctor`)).body, { built_in: true, categories: ['health'] });
  t.deepEqual((await send('DELETE', `${PATH}/${made.id}`)).body, { success: true });
  t.is((await send('GET', `${PATH}/${made.id}`)).status, 404);
  const refused = await send('PATCH', `${PATH}/meeting`, { name: 'Mine' });
  t.like(refused, { status: 409, body: { detail: 'Meeting comes with the server: copy it to change it' } });
});

test('At most 50 summary templates, of bounded size', async t => {
  const { send, issues } = await openRest(t);
  for (let count = 0; count < 50; count += 1) t.is((await send('POST', PATH, DRAFT)).status, 200);
  t.is((await send('POST', PATH, DRAFT)).status, 409);
  t.deepEqual(await issues('POST', PATH, { name: '', instructions: 'x'.repeat(1001), categories: ['tea'] }), {
    'body.name': 'string_too_short',
    'body.instructions': 'string_too_long',
    'body.categories.0': 'enum',
  });
});

test('The language of summaries is the user’s choice', async t => {
  const { send, issues } = await openRest(t);
  const settings = '/v1/users/summary-settings';
  t.deepEqual((await send('GET', settings)).body, { language: null });
  t.deepEqual((await send('PATCH', settings, { language: 'pt-br' })).body, { language: 'pt-BR' });
  t.deepEqual((await send('GET', settings)).body, { language: 'pt-BR' });
  t.deepEqual((await send('PATCH', settings, { language: null })).body, { language: null });
  t.deepEqual(await issues('PATCH', settings, { language: 'multi' }), { 'body.language': 'value_error' });
});

test('A conversation is summarised again with the template of its category, or the one that its owner chose', async t => {
  const rest = await openRest(t);
  const { send, user, models, run, processed } = rest;
  const taker = await openNoteTaker(t);
  models.push(taker.llm);
  const { id } = await completedConversation(rest, user.id, ['We decided to paint the boat green.']);
  const { body: own } = await send('POST', PATH, DRAFT);
  await send('PATCH', '/v1/users/summary-settings', { language: 'de' });
  run([taker, PLAIN]);
  const again = async (body: object) => {
    const done = processed(1);
    t.is((await send('POST', `/v1/conversations/${id}/reprocess`, body)).status, 200);
    await done;
    return JSON.stringify(taker.server.asked.at(-1)?.messages);
  };
  const byCategory = await again({});
  t.regex(byCategory, /depends on the category\. work: Who does what\.; business: First what was decided/);
  t.regex(byCategory, /Write everything in German/);
  t.regex(await again({ template_id: 'journal' }), /Its form: As a diary/);
  t.regex(await again({}), /Its form: As a diary/, 'the choice is forgotten');
  t.regex(await again({ template_id: own.id }), /Its form: Who does what/);
  await send('DELETE', `${PATH}/${own.id}`);
  t.regex(await again({}), /depends on the category\. work, business: First/);
  t.notRegex(await again({ template_id: null }), /Its form: /);
  t.like((await send('GET', `${LIST}/${id}`)).body, {
    status: 'completed',
    structure_by: { plugin: 'llm-understanding', provisional: false },
  });
});

test('Content edited by the owner stays, however a model words it the next time', async t => {
  const rest = await openRest(t);
  const { send, user, run, processed, actionItems } = rest;
  const wordings = [
    ['Send the drawings to Ben', 'Call the dentist in the morning', 'Buy paint'],
    ['Send Ben drawings', 'Call dentist in the morning', 'Buy paint'],
    ['Buy green paint'],
    ['Send Ben the drawings!', 'Call a dentist this morning', 'Buy green paint'],
  ];
  const understand = async ([first]: readonly { id: string }[]) => ({
    ...{ discard: false, category: 'work', events: [], memories: [] },
    title: { text: 'Made title', from: [] },
    overview: [{ text: 'Talk.', from: [first?.id ?? ''] }],
    tasks: (wordings.shift() ?? []).map(text => ({ text, dueAt: null, from: [first?.id ?? ''] })),
  });
  run([{ name: 'p', understanding: { understand } }]);
  const { body } = await send('POST', `${LIST}/from-segments`, {
    transcript_segments: [{ text: 'So much to do', start: 0, end: 1 }],
  });
  const tasks = async () => actionItems.list(user.id, { limit: 9, offset: 0 });
  const [call, draw] = ['Call', 'Send'].map(
    word => async () => (await tasks()).find(({ description }) => description.startsWith(word))?.id ?? '',
  );
  await send('PATCH', `${LIST}/${body.id}`, { title: 'My title' });
  await actionItems.remove(user.id, (await draw?.()) ?? '');
  rest.clock.advance(1000);
  await actionItems.edit(user.id, (await call?.()) ?? '', { description: 'Ring Doctor Tooth' });
  for (let run = 0; run < 3; run += 1) {
    const done = processed(1);
    await send('POST', `/v1/conversations/${body.id}/reprocess`, {});
    await done;
  }
  t.deepEqual((await tasks()).map(({ description }) => description).sort(), [
    'Buy green paint',
    'Ring Doctor Tooth',
  ]);
  t.is((await send('GET', `${LIST}/${body.id}`)).body.structured.title, 'My title');
});
