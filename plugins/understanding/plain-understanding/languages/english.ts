import { phrases, table, words } from '../tokens.ts';
import type { Holiday, Language, Verb } from './language.ts';

const UNITS =
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const ORDINAL_UNITS =
  'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth'.split(
    ' ',
  );
const WEEKDAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ');
const MONTHS = 'january february march april may june july august september october november december'.split(
  ' ',
);
const TENS: [string, string, number][] = [
  ['twenty', 'twentieth', 20],
  ['thirty', 'thirtieth', 30],
  ['forty', 'fortieth', 40],
  ['fifty', 'fiftieth', 50],
];

const numbers: [string, number][] = [
  ...UNITS.map((word, index): [string, number] => [word, index + 1]),
  ...TENS.flatMap(([tens, , value]) => [
    [tens, value] as [string, number],
    ...UNITS.slice(0, 9).map((unit, index): [string, number] => [`${tens} ${unit}`, value + index + 1]),
  ]),
  ...UNITS.slice(0, 9).map((unit, index): [string, number] => [`oh ${unit}`, index + 1]),
];

const ACTIONS = `add answer apply arrange ask assemble attach back bake book borrow bring build buy call cancel change
  charge check chop clean clear close collect confirm contact cook copy cut deliver deposit design discuss download
  draft drop email empty exchange feed fetch file fill find finish fix forward get give hand hang hire install invite
  invoice iron lend load lock look mail make measure mend mention message move mow open order organise organize pack
  paint pass pay phone pick plan plant polish post prepare present print pull put register remind remove renew rent
  repair replace reply report rescheduled reschedule reserve return review rewrite ring run save scan schedule sell
  send set sew share ship sign sort speak start submit swap switch take talk tell text tidy transfer translate try tune
  turn type update upload visit wash water weigh wire wrap write cover drive empty enrol enroll frame glue prune shovel
  stop swing sweep vacuum walk wind draw outline summarise summarize proofread edit correct amend publish announce circulate
  distribute notify inform warn thank congratulate negotiate estimate reimburse refund settle service unblock seal sand varnish drill
  saw trim rake weed label laminate photocopy resend
  unsubscribe subscribe enquire inquire dispute nominate donate redeem dispatch nip pop provide upgrade downgrade patch reset restart configure merge deploy test document translate rehearse tune chase grab hoover mop defrost recycle refill reorder unload unpack investigate research`;
/** Many are nouns as well, so that they count only after "I'll", "can you" and the like. */
const INFINITIVES = `accept acknowledge adjust advertise alert allocate approve assess assign authorise authorize bandage bin bleach
  boil bolt brief bump calculate calibrate cater certify chuck claim clarify clip collate combine compare compile
  complete compose convert coordinate darn debug declare decorate delegate delete detach dig dilute dismantle
  display ditch divide drain dry dump duplicate enable engrave enter erase escalate evaluate expand explain export
  extend fasten fax finalise finalize flag flatten flush fold follow format freeze fry gather generate grill
  handle harvest heat highlight identify implement import include inflate inspect insulate insure introduce
  itemise jot keep knit knock let locate lodge log loosen lower maintain marinate mash migrate mix mount nail
  notarise nudge obtain offer oversee peel photograph ping procure promote propose purchase raise rearrange
  reassign rebook rebuild recharge reconnect recruit redesign redo reduce reheat reinstall relocate remake rename
  repaint replant reprint research resolve respond restock restore resubmit retrieve revise reword rinse rotate
  sand scrap scrape screw scrub search secure select separate serve sharpen shorten shred sieve simplify sketch
  slice slot soak solder solve source specify split sponsor spray stack staple sterilise straighten strip suggest
  supply supervise tear thaw tighten tow transcribe transplant treat tutor unclog undo unhook uninstall unlock
  unplug untangle vaccinate vet view warm wax whitewash widen wipe withdraw zip settle`;
/** Counts as a plan only with a day, a time or an object. */
const WEAK = 'do study practise practice read learn';
const STATES = 'be come go have stay sleep eat drink sit leave meet see work';

const verbs = new Map<string, Verb>([
  ...[...words(ACTIONS)].map((verb): [string, Verb] => [verb, { infinitive: verb, isWeak: false }]),
  ...[...words(WEAK)].map((verb): [string, Verb] => [verb, { infinitive: verb, isWeak: true }]),
  ...[...words(STATES)].map((verb): [string, Verb] => [
    verb,
    { infinitive: verb, isWeak: true, isState: true },
  ]),
]);
const IRREGULAR_PARTICIPLES: readonly [string, string][] = [
  ...'send sent|bring brought|buy bought|pay paid|tell told|write written|make made|do done|give given|take taken'.split(
    '|',
  ),
  ...'ring rung|get got|put put|read read|cut cut|find found|sell sold|lend lent|hang hung|speak spoken|draw drawn'.split(
    '|',
  ),
  ...'build built|feed fed|set set|run run|sweep swept|wind wound|bake baked|cook cooked'.split('|'),
].map(pair => pair.split(' ') as [string, string]);

/** "Filled", "planned", "copied": after "you still haven't". */
function participleOf(verb: string): string {
  if (verb.endsWith('e')) return `${verb}d`;
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ied`;
  return /^[^aeiou]*[aeiou][bdgmnprt]$/.test(verb) ? `${verb}${verb.at(-1)}ed` : `${verb}ed`;
}

const infinitives = new Map<string, Verb>([
  ...[...words(INFINITIVES)].map((verb): [string, Verb] => [verb, { infinitive: verb, isWeak: false }]),
  ...verbs,
]);
const presents = new Map([...verbs].map(([form, verb]) => [form, { ...verb, isWeak: true }]));

/** "Making", "running", "sending": with every spelling that rules allow. */
function gerundsOf(verb: string): string[] {
  const doubled = /[^aeiou][aeiou][bdgmnprt]$/.test(verb) ? [`${verb}${verb.at(-1)}ing`] : [];
  return [...doubled, verb.endsWith('e') ? `${verb.slice(0, -1)}ing` : `${verb}ing`];
}

export const english: Language = {
  code: 'en',
  stopWords: words(`
    a about after again all also am an and any are as at be because been before being but by can could day did do does
    doing don't down each even few for from get go going gonna got had has have having he he's her here hers him his how
    i if in into is it its it's i'm i've i'll i'd just know let like made make many may me mean might more most much
    must my no nor not now of off oh ok okay on once one only or other our out over own please really right said same
    say see she should so some such take than that that's the their them then there these they they're thing things
    think this those through time to too two under until up us very want was way we we're we'll well were what when
    where which while who why will with would yes yeah you you're you'll your
    um uh er hmm mhm mm hello hi hey bye thanks thank morning good great nice sure alright actually basically anyway
    something somebody someone anything anybody everything everybody nothing nobody didn't doesn't isn't wasn't can't
    won't couldn't wouldn't today tomorrow yesterday tonight week lot bit kind sort maybe still already ever never
    always never back ago always yet because though although else around another every left went come came comes gets
    getting done shall there's what's let's who's how's where's last next first gone look looks never yourself myself said says
  `),
  contractions: new Map(
    `im i'm|ive i've|ill i'll|id i'd|youre you're|youll you'll|youve you've|hes he's|shes she's|theyre they're|theyll they'll|
    thats that's|whats what's|wheres where's|whos who's|theres there's|dont don't|doesnt doesn't|didnt didn't|cant can't|
    couldnt couldn't|wont won't|wouldnt wouldn't|isnt isn't|wasnt wasn't|arent aren't|havent haven't|hasnt hasn't|shouldnt shouldn't`
      .split('|')
      .map(pair => pair.trim().split(' ') as [string, string]),
  ),
  dates: {
    numbers: table(numbers),
    ordinals: table([
      ...ORDINAL_UNITS.map((word, index): [string, number] => [word, index + 1]),
      ...TENS.slice(0, 2).flatMap(([tens, ordinal, value]) => [
        [ordinal, value] as [string, number],
        ...ORDINAL_UNITS.slice(0, 9).map((unit, index): [string, number] => [
          `${tens} ${unit}`,
          value + index + 1,
        ]),
      ]),
    ]),
    weekdays: table([
      ...WEEKDAYS.map((word, index): [string, { weekday: number }] => [word, { weekday: index + 1 }]),
      ['thanksgiving|thanks giving', { weekday: 0 }],
    ]),
    months: table(MONTHS.map((word, index) => [word, index + 1])),
    days: table([
      ['today|later today', { days: 0 }],
      ['tonight|this evening|later tonight', { days: 0, minute: 20 * 60 }],
      ['this arvo', { days: 0, minute: 15 * 60 }],
      ['this morning', { days: 0, minute: 9 * 60 }],
      ['this afternoon', { days: 0, minute: 15 * 60 }],
      [
        'end of the day|end of day|the end of the day|close of business|close of play|end of play|before i go home|before i go home today',
        { days: 0, minute: 18 * 60 },
      ],
      [
        'close of business tomorrow|close of play tomorrow|end of play tomorrow|end of day tomorrow|end of the day tomorrow|the end of tomorrow',
        { days: 1, minute: 18 * 60 },
      ],
      ['tomorrow|to morrow', { days: 1 }],
      ['day after tomorrow|the day after tomorrow', { days: 2 }],
      ['first thing tomorrow', { days: 1, minute: 9 * 60 }],
    ]),
    parts: table([
      ['in the morning|first thing in the morning|first thing', 9 * 60],
      ['in the afternoon', 15 * 60],
      ['in the evening|at night', 20 * 60],
      ['at lunch|at lunchtime|over lunch|at lunch time', 12 * 60],
      ['after lunch', 13 * 60],
      ['by lunch|by lunchtime|before lunch|before lunchtime|around lunchtime', 12 * 60],
      ['after dinner', 20 * 60],
      ['mid morning|late morning|in the late morning', 11 * 60],
      ['mid afternoon|early afternoon', 14 * 60],
      [
        'late afternoon|in the late afternoon|teatime|at teatime|by teatime|around teatime|home time',
        17 * 60,
      ],
      ['early evening|in the early evening', 18 * 60],
      ['by the evening|by evening|before bed|before bedtime|by bedtime', 20 * 60],
    ]),
    dayParts: table([
      ['morning|first thing', 9 * 60],
      ['lunch|lunchtime', 12 * 60],
      ['afternoon|arvo', 15 * 60],
      ['evening|night', 20 * 60],
      ['mid morning|late morning', 11 * 60],
      ['late afternoon|teatime', 17 * 60],
      ['close of business|close of play|end of day|end of play', 18 * 60],
    ]),
    units: table([
      ['minute|minutes|mins|min', 'minute'],
      ['hour|hours', 'hour'],
      ['day|days', 'day'],
      ['week|weeks', 'week'],
      ['month|months', 'month'],
    ]),
    lengths: table([
      ['half an hour|a half hour', 30],
      ['a quarter of an hour', 15],
      ['three quarters of an hour', 45],
      ['an hour|one hour', 60],
      ['an hour and a half|one and a half hours', 90],
      ['two and a half hours', 150],
      ['a minute|a couple of minutes', 1],
      ['a day', 1440],
      ['a week', 7 * 1440],
      ['a fortnight', 14 * 1440],
      ['a couple of hours', 120],
      ['a couple of days', 2 * 1440],
      ['a couple of weeks', 14 * 1440],
    ]),
    within: phrases(
      'in|within|in about|within the next|in the next|over the next|in another|in like|in around',
    ),
    fromNow: phrases('from now|from today|time|time from now'),
    periods: table([
      ['this week', 'this week'],
      ['next week|after the weekend', 'next week'],
      ['the week after next|week after next', 'week after next'],
      ['the weekend|this weekend|weekend|at the weekend', 'weekend'],
      ['next weekend|the weekend after next', 'next weekend'],
      ["in a month|within a month|in a month's time|a month from now|a month from today", 'in a month'],
      ['end of the week|end of this week|the end of the week', 'end of week'],
      ['end of the month|end of this month|the end of the month|the month is out', 'end of month'],
      ['next month', 'next month'],
      ['end of the year|the end of the year', 'end of year'],
      ['christmas|xmas', 'christmas'],
      ["new year|new year's", 'new year'],
    ]),
    edges: table([
      [
        'the beginning of|beginning of|the start of|start of|early|early in|the first week of|first week of',
        'start',
      ],
      ['the middle of|middle of|mid|halfway through', 'middle'],
      ['the end of|end of|late|late in|the last week of|last week of', 'end'],
    ]),
    stretches: table([
      ['this week|the week|week', 'this week'],
      ['next week', 'next week'],
      ['the week after next', 'week after next'],
      ['this month|the month|month', 'this month'],
      ['next month', 'next month'],
      ['this year|the year|year', 'this year'],
      ['next year|the new year', 'next year'],
    ]),
    holidays: table<Holiday>([
      ['easter|easter sunday', { easter: 0 }],
      ['good friday', { easter: -2 }],
      ['easter saturday', { easter: -1 }],
      ['easter monday', { easter: 1 }],
      ['maundy thursday', { easter: -3 }],
      ['shrove tuesday|pancake day', { easter: -47 }],
      ['whit monday', { easter: 50 }],
      ["valentine's day|valentines day", { month: 2, day: 14 }],
      ["st patrick's day|paddy's day", { month: 3, day: 17 }],
      ["halloween|hallowe'en", { month: 10, day: 31 }],
      ['bonfire night', { month: 11, day: 5 }],
      ['christmas eve', { month: 12, day: 24 }],
      ['christmas day', { month: 12, day: 25 }],
      ['boxing day', { month: 12, day: 26 }],
      ["new year's eve|new years eve", { month: 12, day: 31 }],
      ["new year's day", { month: 1, day: 1 }],
    ]),
    last: phrases('last|since'),
    every: phrases('every|each|every other|every second|every third|every single'),
    nextBefore: phrases('next'),
    nextAfter: phrases('next'),
    nextIsNextWeek: true,
    laterBefore: table([
      ['a week from|a week on|a week|a week after|the week after', 7],
      ['two weeks from|a fortnight from|a fortnight on|two weeks on|a fortnight after|two weeks after', 14],
      ['the day after', 1],
      ['the day before', -1],
      ['a week before|the week before', -7],
    ]),
    laterAfter: table([
      ['week|after next', 7],
      ['fortnight', 14],
    ]),
    thatBefore: phrases('that'),
    relativeAfter: table([
      ['before', 'before'],
      ['after', 'after'],
    ]),
    relativeDays: table([
      ['the day before|the night before', -1],
      ['the day after|the following day|the next day', 1],
      ['a week before|the week before', -7],
      ['a week after|the following week', 7],
      ['two days before', -2],
      ['on the day|that day|the same day|next time|by then|before then|until then|till then', 0],
    ]),
    dayOfMonth: table([
      ['on the|by the|until the|before the|for the|till the|from the', { isStrong: true }],
      ['the', { isStrong: false }],
    ]),
    hasCardinalDays: false,
    ofMonth: phrases('of'),
    at: phrases('at|by|until|till|before|around|after|about|from|between|for'),
    oClock: phrases("o'clock|oclock|o clock"),
    oClockIsEnough: true,
    halfBefore: table([['half|half past|half passed', 30]]),
    quarter: table([['quarter|a quarter', 15]]),
    past: phrases('past|passed|after'),
    to: phrases('to|till'),
    hourTails: table([]),
    minuteJoins: table([]),
    namedTimes: table([
      ['noon|midday', 12 * 60],
      ['midnight', 24 * 60 - 1],
    ]),
    meridiem: table([
      ['am|a m', 'am'],
      ['pm|p m', 'pm'],
    ]),
    through: phrases('to|till|until|and'),
    corrections: phrases("no wait|i mean|let's say|make it|make that|or rather|sorry no|wait no|or better"),
    lead: words('by on at before until till around this from the for due next coming after within'),
    counted: words(
      'percent per degrees euros dollars pounds people years year times kilos grams milligrams miles pages hundred thousand eighths',
    ),
  },
  acts: {
    isVerbLast: false,
    firstPerson: presents,
    imperatives: verbs,
    secondPerson: verbs,
    infinitives,
    gerunds: new Map([
      ...[...infinitives].flatMap(([form, verb]) =>
        [...gerundsOf(form), participleOf(form)].map(each => [each, verb] as const),
      ),
      ...IRREGULAR_PARTICIPLES.flatMap(([form, participle]) => {
        const verb = verbs.get(form);
        return verb ? [[participle, verb] as const] : [];
      }),
    ]),
    subject: words('i'),
    listener: words('you'),
    clitics: words(''),
    particles: words(''),
    promises:
      phrases(`i'll|i will|i shall|i'm going to|i am going to|i'm gonna|i have to|i need to|i've got to|i got to|
      i must|i gotta|i mustn't forget to|i must remember to|i've to|i'd better|i better|i promised to|
      i promise to|i'm supposed to|i still have to|i still need to|i also need to|
      i also have to|i just need to|i really need to|i really have to|i really must|i'll have to|
      i'll need to|i will have to|i'll just|i'll also|remind me to|don't let me forget to|do not let me forget to|don't let me forget|do not let me forget|
      i'll go and|i'll try to|i'll make sure to|i'll remember to|i'm meant to|i'm to|i'll aim to|i'll be sure to|i've promised to|
      i've agreed to|it's my job to|it's my turn to|it's up to me to|it's on me to|i've yet to|i have yet to|i've still to|i still haven't got round to|
      i'm planning on|i'm planning to|i was planning on|i was planning to|i'm thinking of|i was meaning to|i've been meaning to|i keep meaning to|i've still got to|i still need to|i still have to|i just have to|don't let me leave without|don't let me go without|i'd better go and|i'll have to go and|
      i'm happy to|i'd be happy to|i'd be glad to|i'll happily|i'll gladly|i volunteer to`),
    wishes:
      phrases(`let me|i can|i want to|i should|i ought to|i really should|i plan to|i'd like to|i was going to|i agreed to|
      i've said i'll|i've said i'd|i said i'd|i said i'll|i said i would|i promised i'd|i promised i'll|i promised i would|i told you i'd|
      i told him i'd|i told her i'd|i told them i'd|i told you i'll|i told him i'll|i told her i'll|i told them i'll|i promised you i'd|
      i promised him i'd|i promised her i'd|i promised them i'd|i promised him to|i promised her to|i promised you to`),
    sharedPromises:
      phrases(`we'll|we will|we have to|we need to|we'd have to|we'd need to|we'd better|we ought to|we still have to|we still need to|we also need to|
      we really need to|we really should|we've got to|we must|we're going to|we gotta|we'll have to|we mustn't forget to|we must remember to|we can't forget to|we've got to remember to|
      we should|we promised to|we agreed to|we said we'd|we said we'll|we're supposed to|we're meant to|we could|we were going to|we might want to`),
    requests:
      phrases(`you'd have to|you'd need to|you'll want to|you may want to|you might like to|you ought to|i'd suggest you|i suggest you|i'd recommend you|i recommend you|i'd ask you to|i'd urge you to|can you|could you|would you|will you|can you please|could you please|would you please|
      can you maybe|can you just|could you just|could you maybe|please|you need to|you have to|you must|you should|
      you'll need to|you'll have to|you've got to|you can|i need you to|i want you to|i'd like you to|would you mind|
      you might want to|you better|you'd better|if you could|can you also|could you also|any chance you could|is there any chance you could|
      is there any way you could|any chance of you|do you think you could|do you mind|if you don't mind|would you be able to|
      will you be able to|are you able to|are you okay to|are you ok to|are you all right to|are you alright to|are you up for|
      could i get you to|can i get you to|can i ask you to|could i ask you to|could you possibly|i was hoping you could|
      i was wondering if you could|i wonder if you could|i'll need you to|i'd need you to|we'll need you to|we'd need you to|i'd like it if you|
      you still haven't|you haven't|you still need to|you still have to|you're to|you were to|you were going to|you were supposed to|you're supposed to|you're meant to|you were meant to|
      you said you'd|you said you would|you promised to|you promised you'd|you couldn't|if you wouldn't mind|
      be a dear and|be a love and|be an angel and|be so kind as to|would you be so kind as to|would it be possible for you to|
      is it possible for you to|can i leave you to|could i leave you to|can i leave it to you to|when you get a chance|when you get a minute|
      when you have a minute|when you have a moment|if you get a chance|it'd help if you could|
      if you two could|if you both could|if you can|if you would|if you'd|
      could i trouble you to|can i trouble you to|do me a favour and|do me a favor and|it would be great if you could|
      it'd be great if you could|i'd appreciate it if you could|we need you to`),
    reminders:
      phrases(`don't forget to|do not forget to|don't forget|remember to|make sure to|make sure you|make sure that you|
      be sure to|note to self|memo to self|reminder to|to do|todo|must remember to|mustn't forget to|need to|have to|got to|need a|need an|need some|need new|need more|
      never forget to|please remember to|gotta|must`),
    openRequests:
      phrases(`have we got|do we have|have you got|have you|have you already|did you|did you ever|did you get round to|did you manage to|are you|do you have|any news on|somebody needs to|someone needs to|somebody has to|someone has to|somebody should|someone should|
      who can|who could|who will|who's going to|who's gonna|who is going to|who wants to|who'd like to|who's up for|any volunteers to|
      one of us has to|one of us should|one of us needs to|one of us ought to|one of you needs to|one of you has to|
      could one of you|can one of you|would somebody|would someone|will somebody|will someone|someone's got to|somebody's got to|
      could i trouble you for|can i trouble you for|could i bother you for|i could do with|we could do with|i'm going to need|we're going to need|
      i'll need|we'll need|did anyone|did anybody|has anyone|has anybody|can somebody|can someone|could somebody|could someone|we need to|we have to|we need|
      i need|i'd like|we're out of|there's no`),
    offers:
      phrases(`should i|shall i|do you want me to|would you like me to|want me to|do you need me to|do you need somebody to|
      do you need someone to|would it help if i|can i help you|may i`),
    listMarks: phrases(
      `number one|number two|number three|number four|number five|number six|number seven|number eight|number nine|number ten|
      first of all|firstly|secondly|thirdly|lastly|finally|next|also|item one|item two|item three|so|then|okay|and|first|second`,
    ),
    takings:
      phrases(`you'll have it|you'll have them|you'll get it|you'll get them|you will have it|i can take that|i can take it|i've got that|i'll do it|i'll do that|i'll do so|will do|i can do that|i can do it|i'll take care of it|i'll take care of that|
      leave it to me|leave it with me|i'll see to it|i'll handle it|i'll handle that|i'll get on it|on it|consider it done|
      i'll take it|i'll take that|i'll get onto that|i'll get on to that|i'll get onto it|i'll get on to it|i'll get right on it|
      i'll sort that|i'll sort that out|i'll get that sorted|i'll get it sorted|i'll arrange that|i'll arrange it|i'll deal with it|
      i'll deal with that|i'll look after that|i'll look into it|i'll look into that|i'll see to that|i'll do them|i'd better do that|
      let me do that|let me handle that|let me take care of that|i can take care of that|i can handle that|i can sort that|
      it'll be with you|it will be with you|they'll be with you|it'll be done|it will be done|it'll be ready|you'll get one|you'll have one|
      you'll have that|you'll get that|you can have it|leave that to me|leave that with me|leave them with me|leave them to me|i can do those|
      i can do them|i don't mind doing that|i don't mind doing it|i'm happy to do that|i'm happy to do it|happy to do that|i'll get that out of the way|
      i'll get it out of the way|i'll have a go at that|i'll take charge of that|i'll be responsible for that|i'll get that organised|
      i'll get that organized|i'll have that done|i'll have it done|i'll have it ready|consider that done|i'll volunteer|
      count on me|i will do it|i will do that|i'm on it|i'll sort it|i'll sort it out|i'll get it done|put me down for that|put me down for it|put me down|that one's mine|that's mine|leave them with me|i'll pick that up|i'll own that|i'll take them|i'll take those|i'll do those|i'll do both`),
    yes: phrases(`course|yeah course|yes|yeah|yep|yup|sure|okay|ok|of course|right|no problem|will do|gladly|absolutely|noted|got it|fine|
      not a problem|sure thing|by all means|go on then|that's fine|that works|i know i know|fine by me|can do|happy to|i'd be happy to|i'd be glad to|
      glad to|i'd love to|with pleasure|very well|right you are|righto|okey doke|roger|copy that|you bet|aye|i will|not at all|don't worry i will|
      alright|all right|certainly|definitely|understood|good|great|perfect|you got it|no worries|deal|done|oh yes|
      oh yeah|oh okay|oh sure|ah yes|yes yes|fair enough|grand|sounds good|works for me|my pleasure`),
    refusals:
      phrases(`no|nope|sorry|i can't|i cannot|i won't|i don't|not me|never|no way|no chance|unfortunately|
      oh no|i'm afraid|absolutely not|yeah right|as if|not a chance|dream on|you wish|i'd rather not|not today`),
    done: phrases(`done|already|yesterday|i asked|i told|she's on it|he's on it|they're on it|i already|i've already|did that|did it|it's done|sent|sending it now|here you are|here you go|
      there you go|there done|just did|i did|i have already|right now|i just did|it's in already|that's done|i've done`),
    cancels:
      phrases(`never mind|nevermind|forget it|forget about it|forget that|don't bother|no need|scratch that|cross that off|
      not necessary|you don't have to|you don't need to|don't worry about it|no longer needed|strike that|leave it|it's off|on second thoughts|
      it's sorted|that's sorted|no don't|not here then|then don't|another day|some other time|not now`),
    negations: words(
      "not never no n't don't won't can't nothing nobody none neither nor cannot isn't doesn't didn't wouldn't",
    ),
    noPlanBefore:
      phrases(`hang on|hold on|wait|one day|some day|someday|if|unless|maybe|perhaps|would|wish|said|says|say|told|tells|goes|quote|asked|thought|used to|
      might|imagine|suppose|pretend|whenever|could have|should have|would have|he goes|she goes|who says|was like|
      probably|possibly|i doubt|whether|in case|before i|until i|how do i|why do i|when do i|what do i|do i|
      should i|once i|don't let me`),
    noPlanInside:
      phrases(`rather|right now|already|some day|someday|one day|bothers|bother|or not|or can i|or should i|haha|
      just kidding|kidding|if i were|ever again|in your dreams|at some point|for ever|forever|my word|this instant|this second|this minute|or was it|a seat|a look|your time|care|it easy|a while|a break|how|the point`),
    clauseStarts:
      phrases(`because|but|so|okay|ok|if|unless|anyway|since|although|when|right|cause|'cause|well|yes|yeah|no|
      and i|and i'll|and you|and you'll|and you're|and we'll|and he'll|and she'll|and they'll|and he|and she|and we|and they|and then|and it|and the|and that's|and what|and who|and if|and when|
      and please|and don't|and can|and could|and let|then i|then you|then he|then she|then we|then they|then it|i|i'm|i'll|i'd|i've|
      we|we'll|we're|we've|he|he's|she's|they|they're|it's|it is|it was|it will|it has|it can|it expires|it closes|it opens|it ends|it starts|it runs|it's|that's|there's|what|how|who|why|where's|do you|did you|have you|
      are you|can you|could you|will you|is it|is that|which|otherwise|or else|while|though|thanks|thank you|bye|promise|promised|
      you know|you can|you need|you have|you don't|don't|please|be gentle|oh|hey|as long|as soon|only|until we|or|shall|plus`),
    personal: words('him her'),
    pronouns: words(
      'it that this them those these him her one some any so there they do make thing things all both same everything',
    ),
    reflexives: words(''),
    determiners: words('a an the my your our his her their this that these those some any another more new'),
    prepositions: words(
      'in on at to for with by from of about into over under before after near behind through',
    ),
    toMe: phrases('to me|for me|me'),
    toYou: phrases('to you|for you|you'),
    yours: new Map([
      ['your', 'my'],
      ['yours', 'mine'],
      ['yourself', 'myself'],
    ]),
    fillers: words(
      'um uh er erm just please also then maybe kindly quickly really definitely certainly okay well hmm like first actually probably still anyway instead again love darling sir later',
    ),
    momentary: words(
      'open close shut hold pass hand turn wait sit stand look show stop speak switch hurry taste say repeat point press click start listen give swing catch pull drag',
    ),
    carrying: words('bring wear take bake cook'),
    joining: words('pick collect meet drive come bring fetch take'),
    sharing: phrases(
      `who's on|who's going to|who is going to|who can|who could|who'll|who does what|who's doing|who is doing|who's bringing|who is bringing|who wants to|who wants|who takes|who does`,
    ),
    emphatic: phrases(''),
    soon: phrases(`later|on the way home|on my way home|on the way back|on the way out|on my way out|after work|when i get home|
      when i get in|when i'm home|after this|straight after|on the way to work|on my way to work|as soon as i'm off the phone|
      as soon as i get home|as soon as i'm home|as soon as i'm back|once we're on the road|once i'm home|once i'm back|
      when we get home|when we get in|after school`),
    statives:
      words(`think know believe hope guess bet agree love like hate miss wait feel remember understand mean need want see
      hear admit imagine suppose wonder wish enjoy die live kill happen seem keep manage survive regret forget worry care never
      always probably possibly maybe certainly surely simply only even rather sooner hardly eventually definitely presumably
      continue carry pretend sound start stop appreciate trust recognise recognize notice become stick fast rest relax`),
    infinitiveEnding: null,
    musts: phrases('needs to|need to|has to|have to|must|should|needs|need|is due|are due'),
    appointments:
      words(`appointment meeting dentist doctor lunch dinner breakfast brunch flight train interview party concert rehearsal
      wedding training exam release game match class lesson lecture checkup session workshop conference drinks trip
      visit anniversary birthday shower funeral surgery operation fitting viewing picnic barbecue show movie
      tournament race marathon practice recital ceremony event demo review presentation course seminar hearing trial
      physio physiotherapist vet gp optician osteopath haircut counselling therapy relay catchup kickoff mot fundraiser bbq
      sleepover playdate prom parade induction webinar retreat regatta bingo vigil mass christening screening
      walk hike tour ferry delivery inspection handover graduation reunion festival bonfire competition christening
      baptism fair fete quiz gig sale auction camp assembly sync standup scan vaccination jab departure arrival holiday
      homecoming housewarming swap taxi raclette roast biopsy ultrasound endoscopy gala bazaar ballet gymnastics hustings ceilidh
      disco farewell debate cookout potluck matinee panto pantomime nativity appraisal tribunal valuation orthodontist podiatrist
      christening confirmation communion memorial vaccine colonoscopy mammogram x-ray mri`),
    happenings:
      phrases(`comes|is coming|are coming|coming|come|comes round|arrives|arriving|arrive|lands|land|landing|leaves|leaving|leave|starts|starting|start|begins|meets|
      meet|meeting|opens|visits|see you|see both|sees|fly|flies|flying|moves to|moved to|moving to|picks us up|pick up|gather|gathers|go up`),
    copulas: words("is are be 's it's that's will"),
    over: words(
      'was were went had yesterday did ago been last used paid got came saw told sent took bought made met',
    ),
    deadlines: words('by before until till due deadline'),
  },
};
