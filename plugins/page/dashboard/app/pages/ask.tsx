import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type Message,
  messagesOf,
  newSession,
  removeSession,
  type Session,
  send,
  sessions,
} from '../chat.ts';
import { Empty, Icon, Page, sayError } from '../components.tsx';
import { on } from '../feed.ts';
import { dateTime } from '../format.ts';
import { Failure, messageOf, Skeleton } from '../notices.tsx';
import { t } from '../texts.ts';

/** A question whose answer is pending or failed. */
interface Pending {
  question: string;
  answer: string;
  problem: string;
}

export function Ask() {
  const [all, setAll] = useState<readonly Session[] | null>(null);
  const [session, setSession] = useState<string | null>(null);
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const [pending, setPending] = useState<Pending | null>(null);
  const [question, setQuestion] = useState('');
  const [failure, setFailure] = useState<unknown>(null);
  const leaving = useRef(new AbortController());
  const end = useRef<HTMLDivElement>(null);

  useEffect(() => {
    load();
    return () => leaving.current.abort();
  }, []);
  useEffect(() => (failure ? on('back', load) : undefined), [failure]);
  useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [messages, pending]);

  function load(): void {
    setFailure(null);
    sessions().then(open).catch(setFailure);
  }

  async function open(found: readonly Session[]) {
    setAll(found);
    await choose(found[0]?.id ?? null);
  }

  async function choose(id: string | null) {
    leaving.current.abort();
    leaving.current = new AbortController();
    setPending(null);
    setSession(id);
    setMessages(id === null ? [] : await messagesOf(id));
  }

  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const asked = question.trim();
    if (asked === '' || isBusy(pending)) return;
    setQuestion('');
    setPending({ question: asked, answer: '', problem: '' });
    const { signal } = leaving.current;
    try {
      const id = session ?? (await newSession()).id;
      setSession(id);
      await send(
        id,
        asked,
        piece => setPending(now => now && { ...now, answer: now.answer + piece }),
        signal,
      );
      const [kept, found] = await Promise.all([messagesOf(id), sessions()]);
      if (signal.aborted) return;
      setMessages(kept);
      setAll(found);
      setPending(null);
    } catch (error) {
      if (signal.aborted) return;
      setPending(now => now && { ...now, problem: messageOf(error) });
      setQuestion(typed => (typed === '' ? asked : typed));
    }
  }

  function remove() {
    if (session === null) return;
    removeSession(session).then(sessions).then(open).catch(sayError);
  }

  return (
    <Page title={t.value.ask}>
      {failure ? <Failure error={failure} retry={load} /> : all === null && <Skeleton rows={3} />}
      <div class="chat-bar">
        {all && all.length > 1 && (
          <select
            aria-label={t.value.chats}
            value={session ?? ''}
            onChange={event => choose(event.currentTarget.value).catch(sayError)}
          >
            {all.map(({ id, title }) => (
              <option key={id} value={id}>
                {title || t.value.newChat}
              </option>
            ))}
          </select>
        )}
        {messages.length > 0 && (
          <>
            <button type="button" onClick={() => choose(null)}>
              {t.value.newChat}
            </button>
            <button type="button" onClick={remove}>
              {t.value.clearChat}
            </button>
          </>
        )}
      </div>
      {all !== null && messages.length === 0 && !pending && (
        <>
          <Empty icon="ask" title={t.value.askTitle} text={t.value.askText} />
          <div class="examples">
            {t.value.askExamples.map(example => (
              <button key={example} type="button" onClick={() => setQuestion(example)}>
                {example}
              </button>
            ))}
          </div>
        </>
      )}
      <div class="chat" aria-live="polite" aria-busy={isBusy(pending)}>
        {messages.map(message => (
          <Said key={message.id} message={message} />
        ))}
        {pending && <Coming pending={pending} />}
        <div ref={end} />
      </div>
      <form class="inline composer" onSubmit={submit}>
        <input
          value={question}
          maxLength={1000}
          required
          placeholder={t.value.askPlaceholder}
          aria-label={t.value.question}
          onInput={event => setQuestion(event.currentTarget.value)}
        />
        <button type="submit" class="primary" aria-label={t.value.ask} disabled={isBusy(pending)}>
          <Icon name="send" />
        </button>
      </form>
    </Page>
  );
}

function isBusy(pending: Pending | null): boolean {
  return pending !== null && pending.problem === '';
}

function Coming({ pending: { question, answer, problem } }: { pending: Pending }) {
  return (
    <section>
      <p class="asked">{question}</p>
      {answer !== '' && (
        <div class="answer card">
          <p>{answer}</p>
        </div>
      )}
      {problem !== '' && <p class="problem">{problem}</p>}
      {problem === '' && answer === '' && <p class="faint">{t.value.thinking}</p>}
    </section>
  );
}

function Said({ message: { sender, text, model, sources } }: { message: Message }) {
  if (sender === 'human') return <p class="asked">{text}</p>;
  return (
    <div class="answer card">
      {/* without a language model, the text consists of the passages, which are listed below as sources */}
      <p>{model === null && sources.length > 0 ? text.split('\n')[0] : text}</p>
      {sources.length > 0 && (
        <>
          <h2 class="section">{t.value.sources}</h2>
          <ol class="sources">
            {sources.map(source => (
              <li key={`${source.type} ${source.id} ${source.text}`}>
                <a href={placeOf(source)}>{source.title}</a>
                <span class="faint"> {dateTime(source.created_at)}</span>
                <blockquote>{source.text}</blockquote>
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}

/** The moment that a source refers to. */
function placeOf({ type, id, segment_id }: Message['sources'][number]): string {
  if (type === 'memory') return '/memories';
  if (type === 'action_item') return '/tasks';
  return segment_id === null ? `/conversations/${id}` : `/conversations/${id}?segment=${segment_id}`;
}
