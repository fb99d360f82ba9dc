/** What the structure step knows of English: tables, and nothing else. Words are lower-case, in their base form. */
import type { Category } from '../domain/categories.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(word => word !== ''));

/** Words that say nothing of what a conversation is about. */
export const STOP_WORDS = words(`
  a about after again all also am an and any are as at be because been before being but by can could day did do does
  doing don't down each even few for from get go going got had has have having he her here hers him his how i if in
  into is it its it's i'm i've just know let like made make many may me mean might more most much must my no nor not
  now of off on once one only or other our out over own please really right said same say see she should so some such
  take than that that's the their them then there these they thing things think this those through time to too two
  under until up us very want was way we well were what when where which while who why will with would yes you your
`);

/** Small words that a title writes in lower case, except at its start and end. */
export const TITLE_SMALL_WORDS = words(
  'a an and as at but by for from in into nor of off on onto or over per so than the to up via with',
);

/** How people begin without having said anything yet; longer ones first. Taken off the front of a title. */
export const OPENERS = [
  'please remember to',
  'don’t forget to',
  "don't forget to",
  'do not forget to',
  'remember to',
  'good morning',
  'good afternoon',
  'good evening',
  'thank you',
  'thanks',
  'hello',
  'hi',
  'hey',
  'okay',
  'ok',
  'alright',
  'all right',
  'well',
  'so',
  'um',
  'uh',
  'er',
  'hmm',
  'mhm',
  'yeah',
  'yes',
  'no',
  'right',
  'and',
  'but',
  'then',
  'now',
  'like',
  'actually',
  'basically',
  'anyway',
  'you know',
  'i mean',
  'i think',
  'i guess',
  'let’s see',
  "let's see",
  'everybody',
  'everyone',
  'please',
].sort((a, b) => b.length - a.length);

/** Words with which speech without punctuation begins another clause, once the one before is long enough. */
export const CLAUSE_STARTS = words('i we you he she they it please but because although however so then');

/** What tells that a conversation is about something. A phrase of two words counts as one. */
export const CATEGORY_WORDS: Readonly<Partial<Record<Category, ReadonlySet<string>>>> = {
  personal: words('diary journal birthday myself habit routine wardrobe haircut'),
  education:
    words(`school teacher class classroom homework exam lesson student university college course lecture tutor
    study semester professor curriculum campus kindergarten degree grade`),
  health:
    words(`doctor hospital medicine health pain headache fever nurse dentist therapy symptom diet sleep vitamin
    exercise clinic prescription surgery blood allergy illness sick workout calorie appointment pharmacy vaccine walk`),
  finance:
    words(`money bank loan mortgage savings invest investment stock tax interest credit debt payment salary
    pension insurance budget account dividend portfolio bitcoin bill`),
  legal: words(`lawyer court contract law legal judge lawsuit attorney trial clause liability patent copyright
    sue evidence verdict notary`),
  philosophy: words(
    'philosophy ethics moral morality existence metaphysics socrates plato kant nietzsche stoic',
  ),
  spiritual: words(
    'god prayer pray church faith bible temple mosque meditation soul spiritual blessing sermon',
  ),
  science:
    words(`science scientist experiment physics chemistry biology laboratory molecule atom theory hypothesis
    telescope planet gene quantum research`),
  entrepreneurship: words(
    'startup founder pitch investor venture bootstrap accelerator entrepreneur seed valuation',
  ),
  parenting: words(
    'baby toddler diaper bedtime daycare nanny pregnant pregnancy stroller parenting breastfeeding',
  ),
  romantic: words(
    'love date boyfriend girlfriend romantic kiss wedding marry valentine anniversary fiancé engagement',
  ),
  travel:
    words(`train station ticket flight airport hotel trip travel journey passport luggage vacation holiday
    plane bus airline tourist itinerary suitcase booking visa`),
  inspiration: words(
    'inspire inspiration dream motivation motivate courage gratitude grateful believe passion',
  ),
  technology:
    words(`computer software app code server laptop phone internet program programming algorithm database
    robot website api browser bug deploy gpu ai battery device`),
  business:
    words(`customer client sales market revenue company business product profit supplier strategy brand
    invoice partner deal quarter order`),
  social: words(
    'party friend dinner barbecue gathering guest neighbor neighbour hangout invite reunion club drinks',
  ),
  work: words(`meeting report office project deadline colleague boss manager team task email presentation agenda
    schedule shift interview workload sprint review`),
  sports:
    words(`game match team football soccer tennis basketball baseball coach goal score league training marathon
    tournament player stadium championship swim golf cricket`),
  politics:
    words(`election vote president government parliament minister senate party policy campaign democrat
    republican congress senator politics political`),
  literature: words('book novel poem poet poetry author chapter writer literature fiction story shakespeare'),
  history: words('history war century ancient empire king queen medieval revolution emperor historian'),
  architecture: words('architect architecture building facade blueprint cathedral skyscraper bridge column'),
  music:
    words(`music song guitar piano concert band album singer melody drum violin orchestra playlist choir lyric
    rehearsal`),
  weather: words(
    'weather rain snow forecast storm sunny temperature wind cloud cloudy thunder humid umbrella warm',
  ),
  news: words('news headline newspaper journalist reporter breaking broadcast'),
  entertainment: words(
    'movie film series show actor actress cinema netflix episode theater theatre comedy television',
  ),
  psychology: words(
    'anxiety depression therapist psychology psychologist emotion stress trauma mental behavior',
  ),
  real: words('apartment rent landlord tenant realtor property lease mortgage square neighborhood estate'),
  design: words('design designer font logo color colour layout sketch palette typography prototype figma'),
  family:
    words(`mother father mom mum dad sister brother family grandmother grandfather grandma grandpa aunt uncle
    cousin son daughter wife husband parent kid child children`),
  economics: words(
    'economy economics inflation recession gdp unemployment tariff trade supply demand monetary',
  ),
  environment:
    words(`climate garden tree plant forest recycle recycling pollution environment carbon solar ocean
    wildlife compost flower seed nature`),
};
