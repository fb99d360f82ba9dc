import test from 'ava';
import { replaced, shareOut } from '../../../../core/domain/conversations/final-text.ts';

const live = (text: string, at = 0) => ({ segmentId: 'one', at, text });

test('the live text of an utterance is replaced in place, and neighbouring text is not', t => {
  t.is(
    replaced('so we meat at ten and then', live('we meat at ten', 3), 'We meet at ten.'),
    'so We meet at ten. and then',
  );
  t.is(replaced('yes yes yes', live('yes', 4), 'Yes.'), 'yes Yes. yes', 'the one that is nearest');
  t.is(
    replaced('a yes b yes', live('yes', 9), 'Yes!'),
    'a yes b Yes!',
    'also where what stands before it has changed',
  );
});

test("the owner's corrections and unchanged text are not replaced", t => {
  t.is(replaced('we meet at eleven', live('we meat at ten'), 'We meet at ten.'), null);
  t.is(replaced('yesterday', live('yes'), 'Yes.'), null, 'part of a word is not the utterance');
  t.is(replaced('we meet', live('we meet'), 'we meet'), null);
  t.is(
    replaced('we meet', live('we meet'), ''),
    null,
    'a second recogniser that heard nothing takes nothing away',
  );
});

test('words of the whole utterance are assigned to the segments in which they were spoken', t => {
  t.deepEqual(shareOut(['good morning'], ' Good  morning! '), ['Good morning!']);
  t.deepEqual(shareOut(['how r you', 'i am find', 'grate'], 'How are you? I am fine. Great!'), [
    'How are you?',
    'I am fine.',
    'Great!',
  ]);
  t.deepEqual(shareOut(['one two', 'three'], 'Three'), ['', 'Three']);
  t.deepEqual(shareOut(['one', 'two'], ''), ['', '']);
  const long = 'word '.repeat(2000);
  t.is(shareOut([long, long], long), null, 'too much to be compared');
});
