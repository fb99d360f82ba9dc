/** Conversations of a household, for screenshots and for tests that need data. */
import { accountOf } from './accounts.ts';
import type { TestServer } from './services.ts';

const MINUTE = 60_000;

interface Talk {
  /** How long ago the conversation began. */
  minutesAgo: number;
  said: readonly (readonly [speaker: number, text: string])[];
  where?: { latitude: number; longitude: number; address?: string };
}

const TALKS: readonly Talk[] = [
  {
    minutesAgo: 95,
    said: [
      [0, 'Good morning. Did the plumber say when he comes?'],
      [1, 'On Thursday at nine. He wants to look at the boiler first, and then at the tap in the kitchen.'],
      [0, 'Then I have to move the call with Jonas. I will write to him today.'],
      [1, 'And please buy descaler for the kettle, it is full of lime again.'],
      [0, 'I will buy descaler on the way home. What about dinner tonight?'],
      [1, 'My mother comes at seven. I thought of lasagne, the one with spinach that she likes.'],
      [0, 'Lovely. I will get the spinach and some bread, and I will call her about the train.'],
    ],
  },
  {
    minutesAgo: 60 * 5,
    where: { latitude: 53.5503, longitude: 10.0006, address: 'Alter Wall 12, Hamburg' },
    said: [
      [0, 'So for the release we still miss the figures from the field test.'],
      [2, 'Mara has them. Battery life went from nine to eleven hours with the new firmware.'],
      [0, 'That is more than we promised. I will put that into the report by Friday.'],
      [2, 'The appointment with the notified body is on Tuesday at ten, in their office.'],
      [0, 'Good. I have to bring the test protocol and two devices.'],
    ],
  },
  {
    minutesAgo: 60 * 26,
    said: [
      [0, 'How was the hike?'],
      [1, 'Wet, but beautiful. We saw two eagles above the ridge, and Ada slipped into the stream.'],
      [0, 'Is she all right?'],
      [1, 'Yes, only her shoes are not. We have to get her new ones before the school trip.'],
    ],
  },
  {
    minutesAgo: 60 * 30,
    said: [
      [0, 'I would like to pick up the prescription for my father.'],
      [3, 'It is ready. Two tablets a day, after a meal, and please come again in four weeks.'],
      [0, 'I will tell him. Thank you.'],
    ],
  },
  {
    minutesAgo: 60 * 52,
    where: { latitude: 53.5601, longitude: 9.9731 },
    said: [
      [0, 'The choir rehearses for the concert on Sunday, we still look for a second tenor.'],
      [2, 'Ask Tom, he used to sing. I can give you his number.'],
      [0, 'I will call Tom tomorrow.'],
    ],
  },
];

const MEMORIES = [
  'Ada is seven and afraid of deep water.',
  'Grandmother likes the lasagne with spinach.',
  'The boiler was built in 2009; the plumber is called Brandt.',
  'Jonas prefers calls in the afternoon.',
  'Drinks tea without milk.',
];

export async function fillHome(server: TestServer): Promise<void> {
  const { post } = await accountOf(server, 'owner');
  for (const { minutesAgo, said, where } of TALKS.toReversed()) {
    let at = 0;
    const transcript_segments = said.map(([speaker, text]) => {
      const start = at;
      at += 2 + text.length / 14;
      return { text, start, end: at - 1, speaker: `SPEAKER_0${speaker}`, is_user: speaker === 0 };
    });
    const started_at = new Date(Date.now() - minutesAgo * MINUTE).toISOString();
    await post('/v1/dev/user/conversations/from-segments', {
      ...{ transcript_segments, started_at, source: 'omi', language: 'en' },
      ...(where && { geolocation: where }),
    });
  }
  await post('/v1/places', { name: 'Allotment', latitude: 53.5872, longitude: 10.0443 });
  for (const content of MEMORIES) await post('/v1/dev/user/memories', { content, category: 'core' });
  const inHours = (hours: number) => new Date(Date.now() + hours * 60 * MINUTE).toISOString();
  await post('/v1/dev/user/action-items', { description: 'Renew the library card', due_at: inHours(20) });
  await post('/v1/dev/user/action-items', { description: 'Return the ladder to Eve', due_at: inHours(90) });
  await post('/v1/dev/keys', { name: 'Kitchen tablet', scopes: ['conversations:read', 'action_items:read'] });
  await post('/v1/users/developer/webhook/memory_created', { url: 'https://hooks.example.org/earshot' });
}
