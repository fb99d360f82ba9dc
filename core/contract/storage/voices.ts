import type { Person, Voice, VoiceAssignment, VoiceChange, VoiceSample } from '../model.ts';

export interface VoiceStore {
  /** Lists voices of a conversation; the one that changed last comes last, ties by `speakerId`. */
  list(userId: string, conversationId: string): Promise<Voice[]>;
  /** Inserts, or replaces by conversation and speaker. Rejects with `not_found` if the conversation does not exist. */
  put(voice: Voice): Promise<void>;
  /** Removes this person from voices. */
  forgetPerson(userId: string, personId: string): Promise<void>;
  /** Moves voices and samples of a person to another one. */
  movePerson(userId: string, from: string, to: string): Promise<void>;
  /**
   * Lists voices that one model has made a vector of, in conversations that began at `since` or later, by conversation
   * and speaker, from the one after `after` on.
   */
  page(
    userId: string,
    space: string,
    page: { since: number; after: Pick<Voice, 'conversationId' | 'speakerId'> | null; limit: number },
  ): Promise<Voice[]>;
  /** Inserts, or replaces by id. */
  putAssignment(assignment: VoiceAssignment): Promise<void>;
  assignment(userId: string, id: string): Promise<VoiceAssignment | null>;
  /** Newest first, ties by id. */
  assignments(userId: string, limit: number): Promise<VoiceAssignment[]>;
  /** Inserts; existing rows stay. Rejects with `not_found` if the assignment or conversation does not exist. */
  putChange(change: VoiceChange): Promise<void>;
  /** Lists the changes of one assignment, by conversation and speaker. */
  changes(userId: string, assignmentId: string): Promise<VoiceChange[]>;
  /** Deletes assignments made before this instant (epoch ms), with their changes. */
  pruneAssignments(before: number): Promise<void>;
  /**
   * Lists samples of all people of this user, oldest first, of one model or of any. Deleting a person deletes their
   * samples.
   */
  samples(userId: string, space?: string): Promise<VoiceSample[]>;
  /** Inserts, or replaces by id. Rejects with `not_found` if its person does not exist. */
  putSample(sample: VoiceSample): Promise<void>;
  /** Resolves to whether it existed. */
  removeSample(userId: string, id: string): Promise<boolean>;
  /** Deletes all voice data, including samples. */
  forget(userId: string): Promise<void>;
}

export interface PersonStore {
  insert(person: Person): Promise<void>;
  get(userId: string, id: string): Promise<Person | null>;
  /** `createdAt` ascending, ties by id. */
  list(userId: string): Promise<Person[]>;
  /** Resolves to whether it exists. */
  rename(userId: string, id: string, name: string): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Removes the people among these ids whom no segment and no voice names. At most 1000 ids. */
  removeUnnamed(userId: string, ids: string[]): Promise<void>;
}
