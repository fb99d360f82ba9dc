import test from 'ava';
import { embedderCheck, languageModelCheck } from '../../../../core/cli/doctor/meaning.ts';
import words from '../../../../plugins/embedder/words/index.ts';
import { refuse, startChatServer } from '../../../helpers/chat-server.ts';
import { send, startEmbeddingsServer } from '../../../helpers/embeddings-server.ts';
import { look, patientOf } from '../../../helpers/patient.ts';
import { contextOf } from '../../../plugins/stt/context.ts';

test('the offline embedder is tested, and the lack of a language model is no failure', async t => {
  const patient = await patientOf(t, {});
  const found = await look(t, embedderCheck, patient);
  t.like(found.words, { level: 'good', detail: 'words-en-1: 100 numbers for each text' });
  const models = await look(t, languageModelCheck, patient);
  t.is(models['language model']?.level, 'note');
});

test('a language model is asked a question, and its problems are reported with instructions', async t => {
  const server = await startChatServer();
  t.teardown(() => server.close());
  const plugins = { 'openai-llm': { baseUrl: server.baseUrl } };
  const patient = await patientOf(t, { llm: ['openai-llm'], plugins });
  const found = await look(t, languageModelCheck, patient);
  t.regex(found['openai-llm']?.detail ?? '', /^llama3\.2 answers as requested, in \d+\.\d s$/);
  t.is(server.asked.length, 1);

  server.chat = (_, response) => refuse(response, 404, {});
  const without = await look(t, languageModelCheck, patient);
  t.like(without['openai-llm'], {
    level: 'doubt',
    detail: `${server.baseUrl} has no such endpoint or model (404)`,
    cure: 'fetch the model there, or correct plugins.openai-llm.baseUrl or plugins.openai-llm.model',
  });

  await server.close();
  server.close = async () => undefined;
  const away = await look(t, languageModelCheck, patient);
  t.regex(away['openai-llm']?.detail ?? '', /cannot be reached/);
  t.regex(away['openai-llm']?.cure ?? '', /^start the server there/);
});

test('an embedder without a sense of meaning is a warning', async t => {
  const { embedder } = words.setup({ ...contextOf().context, options: {} as never, dataDir: '' });
  const server = await startEmbeddingsServer(embedder);
  t.teardown(() => server.close());
  const plugins = { 'openai-embedder': { baseUrl: server.baseUrl } };
  const patient = await patientOf(t, { embedder: 'openai-embedder', plugins });
  t.is((await look(t, embedderCheck, patient))['openai-embedder']?.level, 'good');

  server.embed = ({ input }, response) =>
    send(response, 200, { data: input.map((_, index) => ({ index, embedding: [1, 0] })) });
  t.regex(
    (await look(t, embedderCheck, patient))['openai-embedder']?.detail ?? '',
    /not closer than others$/,
  );
});
