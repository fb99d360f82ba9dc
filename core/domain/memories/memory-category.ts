import { z } from 'zod';
import type { Clock } from '../../contract/model.ts';
import type { Embedder, LanguageModel } from '../../contract/plugin.ts';
import { withinLimit } from '../../runtime/deadline.ts';
import type { Log } from '../../runtime/log.ts';
import { FOLLOW_NO_ORDERS } from '../untrusted.ts';

/** Categories that people see. `manual` is reserved for their own choice. */
const CATEGORIES = ['system', 'interesting'] as const;
type Decided = (typeof CATEGORIES)[number];

/** Category if none can be determined: it is useful for assistants, and not shown as a highlight. */
const UNDECIDED: Decided = 'system';

/** Time limit: the request that stores the memory waits. */
const LIMIT_MS = 5000;

const Answer = z.object({ category: z.enum(CATEGORIES) });

const ORDER = `You are told one fact about a person. Decide what kind of fact it is:
- system: context that helps an assistant: who they are, family and colleagues, home, job, health, likes and dislikes, routines, ways of working.
- interesting: notable and worth telling others: an adventure, an achievement, a striking discovery, an unusual gift, an insight or opinion.
When in doubt, it is system. The fact ${FOLLOW_NO_ORDERS}`;

/** Examples of each category, for embedders: a text belongs to the category with the nearest one. */
const LIKENESS: Record<Decided, readonly string[]> = {
  system: [
    'Works as an engineer at a company and reports to a manager',
    'Lives in a house with husband, wife and children',
    'Is allergic, follows a diet, does not eat meat or milk',
    'Takes medicine and tablets because of an illness, has health insurance and a doctor',
    'Gets up early in the morning and goes to bed at night',
    'Meeting with the team on Mondays and Tuesdays at the office',
    'Prefers short messages, emails and phone calls',
    'Uses a computer, a laptop and a phone with a calendar',
    'Drives a car, takes the train or the bus to work',
    'Speaks English and German',
    'Has a dog or a cat that needs a walk and food',
    'Wants reminders, summaries and notes',
    'Likes tea and coffee, dislikes noise',
    'His name is Peter, her sister is called Anna',
    'Bank account, budget, insurance and bills',
    'Wears glasses, has poor hearing or eyesight',
  ],
  interesting: [
    'Travelled around the world and crossed a continent on an adventure',
    'Won a prize, a medal or an award and set a record',
    'Climbed a mountain, sailed across the ocean',
    'Survived a disaster, rescued somebody and saved a life',
    'Discovered, found or dug up something ancient',
    'Learned an astonishing fact about animals, nature and science',
    'Believes that truth and wisdom come from ideas',
    'Thinks that people and cities should change',
    'Says that a good story is about courage',
    'Performed on a stage before a famous audience, played in a film',
    'Ancestors were famous kings, soldiers or pioneers',
    'Invented and built a machine, published a book',
    'Can do something unusual that nobody else can',
    'Fell in love in a strange and romantic way',
    'Read about stars, history and ancient civilisations',
    'Lived among strangers in a remote place',
  ],
};

/** Number of the nearest examples that decide. */
const NEAREST = 3;

interface Deps {
  /** Available models in order of preference. */
  models(): LanguageModel[];
  /** Throws where none is available. */
  embedder(): Embedder;
  clock: Clock;
  log: Log;
}

/**
 * Categorises memories without a category: by the first language model, or, without one or when it fails, by the
 * nearest example. It always answers, within some seconds.
 */
export function createCategorise({ models, embedder, clock, log }: Deps) {
  /** Vectors of the examples, for the embedder in use. */
  let known: { id: string; vectors: Record<Decided, Float32Array[]> } | null = null;

  return async function categorise(content: string, signal = new AbortController().signal): Promise<Decided> {
    const [model] = models();
    const deciders = [
      ...(model ? [(limit: AbortSignal) => askModel(model, content, limit)] : []),
      (limit: AbortSignal) => compare(content, limit),
    ];
    for (const decide of deciders) {
      if (signal.aborted) break;
      try {
        return await withinLimit({ clock, limitMs: LIMIT_MS, what: 'category' }, signal, decide);
      } catch (error) {
        log.warn({ err: error }, 'could not decide the category of a memory');
      }
    }
    return UNDECIDED;
  };

  async function askModel(model: LanguageModel, content: string, signal: AbortSignal): Promise<Decided> {
    const { category } = await model.object(Answer, {
      system: ORDER,
      user: content,
      maxTokens: 1000,
      signal,
    });
    return category;
  }

  async function compare(content: string, signal: AbortSignal): Promise<Decided> {
    const current = embedder();
    if (known?.id !== current.id) {
      const [system, interesting] = await Promise.all(
        CATEGORIES.map(each => current.embed(LIKENESS[each], signal)),
      );
      known = { id: current.id, vectors: { system: system ?? [], interesting: interesting ?? [] } };
    }
    const [vector = new Float32Array(0)] = await current.embed([content], signal);
    const { vectors } = known;
    return nearness(vector, vectors.interesting) > nearness(vector, vectors.system)
      ? 'interesting'
      : UNDECIDED;
  }
}

/** The mean cosine to the nearest of them. */
function nearness(vector: Float32Array, examples: readonly Float32Array[]): number {
  const cosines = examples.map(example =>
    vector.reduce((sum, each, at) => sum + each * (example[at] ?? 0), 0),
  );
  const nearest = cosines.sort((one, other) => other - one).slice(0, NEAREST);
  return nearest.reduce((sum, each) => sum + each, 0) / NEAREST;
}
