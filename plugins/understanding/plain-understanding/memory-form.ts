/** The shape of the sentences that tell a lasting fact, in each language. */

/** A form of sentence, by what comes after its subject. */
export interface Predicate {
  /** Text after the subject. Its group `value`, if there is one, is read to the end of the clause. */
  after: RegExp;
  /** Sentence in the third person; `{}` is the value. */
  say: string;
  /** Topic that only one memory can have. */
  topic?: string;
  /** It is said of somebody or something of theirs: `Boss`. */
  of?: RegExp;
  /** Required beginning of the value, which is kept; the rest is left out. */
  is?: RegExp;
  /** Required part of the value. */
  holds?: RegExp;
  maxWords?: number;
  /** The value begins with a verb. */
  isVerb?: boolean;
}

/** Words that tell a fact from other talk in a language. */
export interface Grammar {
  /** Pronouns of the speaker, of the one who is spoken to, and of a third person. */
  own: ReadonlySet<string>;
  listener: ReadonlySet<string>;
  third: ReadonlySet<string>;
  /** The polite pronoun for who is spoken to, where it means others as well. */
  polite: string | null;
  /** Verbs of the second person, as predicates know them. */
  second: Readonly<Record<string, string>>;
  /** Possessives of the speaker: "my". */
  possessives: ReadonlySet<string>;
  /** Between a possessive and its noun: "little". */
  adjectives: ReadonlySet<string>;
  /** Words before a clause that show that it is no fact: reported, asked, wished, past, or conditional. */
  noFactBefore: RegExp;
  /** A question. */
  asked: RegExp;
  /** Words that begin another matter. */
  turn: RegExp;
  /** Something else begins. */
  end: RegExp;
  /** Nothing that a fact ends with. */
  looseEnd: RegExp;
  /** They stand for something else, so that nobody could tell later what was meant. */
  unclear: RegExp;
  vagueEnd: RegExp;
  /** A time that passes: an appointment or a note, and nothing that lasts. */
  passing: RegExp;
  /** Gives each clause a subject that is a word of its own. */
  prepare(text: string): string;
  /** Turns the rest of a clause into the form that predicates know. `said` comes before the subject. */
  follow(rest: string, said: string): string;
  /** "Ben's wife". */
  theirs(name: string, relation: string): string;
  /** Puts a note about several people into the plural. */
  plural(text: string): string;
}
