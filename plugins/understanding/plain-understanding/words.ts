/** English words that titles and overviews depend on, in lower case and in their base form. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(word => word !== ''));

/** Words that do not indicate the subject of a conversation. */
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

/** Openings without content, longer ones first. They are removed from the beginning of a title. */
export const OPENERS = [
  'please remember to',
  'don’t forget to',
  "don't forget to",
  'do not forget to',
  'remember to',
  'good morning',
  'morning',
  'guten morgen',
  'guten tag',
  'guten abend',
  'grüß gott',
  'hallo',
  'also',
  'und',
  'bonjour',
  'bonsoir',
  'allô',
  'allo',
  'alors',
  'd’accord',
  "d'accord",
  'et',
  'hola',
  'buenos días',
  'buenas tardes',
  'vale',
  'bueno',
  'oye',
  'pues',
  'ja',
  'ach',
  'ah',
  'oh',
  'genau',
  'bon',
  'oui',
  'sí',
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

/** Words that begin a new clause in speech without punctuation, if the clause before is long enough. */
export const CLAUSE_STARTS = words('i we you he she they it please but because although however so then');
