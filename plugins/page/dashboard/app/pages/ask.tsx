import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { Empty, Icon, messageOf, Page } from '../components.tsx';
import type { Answer } from '../data.ts';
import { dateTime } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

interface Turn {
  question: string;
  answer: Answer | null;
  problem: string;
}

/** Stays while the page is open; nothing of it is stored. */
const turns = signal<readonly Turn[]>([]);
const MOST = 30;

export function Ask() {
  const [question, setQuestion] = useState('');
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const asked: Turn = { question: question.trim(), answer: null, problem: '' };
    if (asked.question === '') return;
    setQuestion('');
    turns.value = [...turns.value, asked].slice(-MOST);
    const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const done: Partial<Turn> = await api<Answer>('POST', '/v1/dev/user/ask', {
      question: asked.question,
      time_zone: timeZone,
    }).then(
      answer => ({ answer }),
      error => ({ problem: messageOf(error) }),
    );
    turns.value = turns.value.map(turn => (turn === asked ? { ...turn, ...done } : turn));
  }
  return (
    <Page title={t.value.ask}>
      {turns.value.length === 0 && <Empty icon="ask" title={t.value.askTitle} text={t.value.askText} />}
      <div class="chat" aria-live="polite">
        {turns.value.map((turn, index) => (
          <section key={`${index} ${turn.question}`}>
            <p class="asked">{turn.question}</p>
            {turn.problem !== '' && <p class="problem">{turn.problem}</p>}
            {turn.problem === '' && !turn.answer && <p class="faint">{t.value.thinking}</p>}
            {turn.answer && <Answered answer={turn.answer} />}
          </section>
        ))}
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
        <button type="submit" class="primary" aria-label={t.value.ask}>
          <Icon name="send" />
        </button>
      </form>
    </Page>
  );
}

function Answered({ answer: { answer, model, sources } }: { answer: Answer }) {
  return (
    <div class="answer card">
      <p>{answer}</p>
      {model === null && <p class="faint">{t.value.noModel}</p>}
      {sources.length > 0 && (
        <>
          <h2 class="section">{t.value.sources}</h2>
          <ol class="sources">
            {sources.map(({ type, id, title, text, created_at }) => (
              <li key={`${type} ${id} ${text}`}>
                <a href={type === 'conversation' ? `/conversations/${id}` : '/memories'}>{title}</a>
                <span class="faint"> {dateTime(created_at)}</span>
                <blockquote>{text}</blockquote>
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}
