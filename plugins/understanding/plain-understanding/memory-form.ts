/** The types of sentences that state a lasting fact, in each language. */

export type Code = 'en' | 'de' | 'fr' | 'es';

/** A form of sentence, identified by the words after its subject. */
export interface Predicate {
  /**
   * Matches the text after the subject. The group `value`, if there is one, is extended to the end of the
   * clause.
   */
  after: RegExp;
  /** Sentence in the third person; `{}` is the value. */
  say: string;
  /** Topic for which only one memory can exist. */
  topic?: string;
  /** Said of a person, animal or thing of theirs: `Boss`. */
  of?: RegExp;
  /** Required beginning of the value, which is kept; the rest is omitted. */
  is?: RegExp;
  /** Required part of the value. */
  holds?: RegExp;
  /** Must occur neither in the value nor after it in its clause. */
  not?: RegExp;
  minWords?: number;
  maxWords?: number;
  /** The value begins with a verb. */
  isVerb?: boolean;
}

/** Words that distinguish a fact from other talk in a language. */
export interface Grammar {
  /** Pronouns of the speaker, of the listener, and of a third person. */
  own: ReadonlySet<string>;
  listener: ReadonlySet<string>;
  third: ReadonlySet<string>;
  /** The polite pronoun for the listener, if it also means other people. */
  polite: string | null;
  /** Verbs in the second person, as predicates expect them. */
  second: Readonly<Record<string, string>>;
  /** Possessives of the speaker: "my". */
  possessives: ReadonlySet<string>;
  /** Between a possessive and its noun: "little". */
  adjectives: ReadonlySet<string>;
  /** Words before a clause that rule out a fact: reported, asked, wished, past or conditional. */
  noFactBefore: RegExp;
  /** A question. */
  asked: RegExp;
  /** Words that begin another subject. */
  turn: RegExp;
  /** The start of another subject. */
  end: RegExp;
  /** Words with which a fact never ends. */
  looseEnd: RegExp;
  /** Pronouns that have no meaning outside of the conversation. */
  unclear: RegExp;
  vagueEnd: RegExp;
  /** A temporary statement: an appointment or a note, not a lasting fact. */
  passing: RegExp;
  /** Gives each clause a subject that is a separate word. */
  prepare(text: string): string;
  /** Converts the rest of a clause into the form that predicates expect. `said` precedes the subject. */
  follow(rest: string, said: string): string;
  /** "Ben's wife". */
  theirs(name: string, relation: string): string;
  /** Puts a note about several people into the plural. */
  plural(text: string): string;
}
