/**
 * Decides whether a transcript is worth keeping. One word that may mean something is enough, in any language.
 * Hesitation sounds, greetings and recognisers' output for silence are discarded.
 */
import type { SpokenSegment } from '../../../core/contract/plugin.ts';
import { words } from './tokens.ts';

/** Hesitation sounds, and words that only confirm that somebody is listening. */
const FILLERS = new Set(
  `a ah ahh aha ahem äh ähm eh ehm em er erm euh ha haha heh hey heu hm hmm hmmm hm-hm huh hä m mh mhm mm mmm mm-hmm
   mhm-mhm oh ohh ok okay öh ooh oops ow phew psst shh tsk uh uhh uh-huh uh-uh uhm um umm uhu ugh wow ya yeah yep yup`
    .split(/\s+/)
    .filter(word => word !== ''),
);
/** Words without meaning of their own. A conversation that consists of them is a greeting, or was cut off. */
const SMALL_WORDS = words(`
  the a an and you your of to it its that this is are was be been so well then all right alright thank thanks bye hello hi hey too
  me one have has could would they say always i we he she on in at for by as do did good morning evening afternoon nice
  see later enough worse better here there yes no not great
  danke bitte tja also na und der die das ja nein hallo tschüss guten tag morgen abend schönen noch auch ihnen dir so ist es wie gut geht
  merci bonjour bonsoir salut au revoir et le la les bonne journée soirée oui non ça va vous aussi
  test testing check probando prueba essai eins zwei drei two three un deux trois uno dos tres
  entschuldigung sorry pardon perdón disculpe excusez moi excuse
  gracias hola adiós buenos buenas días tardes noches el y sí qué tal hasta luego igualmente
`);
/** Weather words: a short segment with one of them is small talk. */
const WEATHER = words(`
  cold hot warm rain raining rainy snow sun sunny weather wind windy cloudy freezing wet kalt warm heiß regen regnet schnee sonne wetter
  nass froid chaud pluie pleut neige soleil temps frío calor lluvia llueve nieve sol tiempo
`);
const MAX_WEATHER_WORDS = 8;
/** Number of segments from which small words alone count as nothing: a single short answer may matter. */
const MIN_SMALL_SEGMENTS = 3;
/** Words of somebody who tests a microphone. */
const TRIAL =
  /(?<!\p{L})(?:test(?:ing)?|check|is this (?:thing )?on|can you hear me|microphone|mic|mikrofon|hört man mich|micro(?:phone)?|micrófono|probando|prueba|essai)(?!\p{L})/iu;
const TRIAL_WORDS = words(`
  it's i'm there's microphone mic working works on thing recording record hear can now four five mikrofon aufnahme läuft hört man mich geht vier fünf funktioniert
  micro marche m entends entend tu quatre cinq micrófono funciona oye oyes se me cuatro cinco graba grabando
`);
const MAX_SMALL_WORDS = 60;
/** Subtitle credits, which recognisers learnt in training and write for silence. */
const CREDITS: readonly string[] = [
  'thanks for watching',
  'thank you for watching',
  'subscribe to',
  'subtitles by',
  'amara.org',
  'untertitel',
  'vielen dank fürs zuschauen',
  'sous-titr',
  "merci d'avoir regardé",
  'subtítulos',
  'gracias por ver',
  'captions by',
  'transcribed by',
  'like and subscribe',
  'see you in the next video',
  'bis zum nächsten video',
  'www.',
];
const MAX_CREDIT_CHARS = 80;
const MAX_ANNOUNCED_CHARS = 300;
/** Loudspeakers in trains, and machines on the telephone. */
const ANNOUNCED =
  /(?<!\p{L})(?:(?:the )?next (?:stop|station)(?: is)?(?!\p{L})|mind the gap|your call is important|please (?:hold the line|stay on the line|continue to hold)|all (?:of )?our (?:agents|lines|operators|advisers|advisors) are|press (?:one|two|three|four|five|zero|\d|star|hash|the hash key)(?!\p{L})|(?:calls?|call) (?:may|will) be recorded|for (?:quality|training) (?:and \p{L}+ )?purposes|number \p{L}+ in the queue|thank you for (?:holding|your patience|calling)|leave (?:a|your) message after the (?:tone|beep)|the number you have dialled|the person you are (?:calling|trying to reach)|you have reached the voicemail|we apologise for the delay|nächster halt|ausstieg in fahrtrichtung|ihr anruf ist uns wichtig|(?:gespräche?|anrufe?) (?:kann|können|wird|werden) (?:\p{L}+ ){0,4}aufgezeichnet|drücken sie die (?:eins|zwei|drei|vier|fünf|\d)|nächste[rn]? freien? (?:mitarbeiter|leitung|platz)|bleiben sie (?:bitte )?(?:in der leitung|am apparat)|nachricht nach dem (?:signal)?ton|die gewünschte rufnummer|prochain arrêt|ne quittez pas|tapez (?:un|une|deux|trois|\d)(?!\p{L})|un conseiller va vous répondre|après le (?:bip|signal sonore)|nous allons donner suite à votre appel|próxima (?:parada|estación)|su llamada es importante|permanezca a la espera|pulse (?:uno|dos|tres|\d)(?!\p{L})|todos nuestros (?:agentes|operadores)|deje su mensaje)/u;
/** Brackets around sounds that recognisers describe: "[Music]", "(laughs)", "*coughs*". */
const NOTE_ENDS: Readonly<Record<string, string>> = { '[': ']', '(': ')', '*': '*', '<': '>' };
/** Words, and emojis, which count as words in written text. */
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*|\p{Extended_Pictographic}/gu;

export function saysNothing(segments: readonly Pick<SpokenSegment, 'text'>[]): boolean {
  let isEmpty = true;
  const isTrial =
    segments.length <= MIN_SMALL_SEGMENTS &&
    segments.some(({ text }) => TRIAL.test(text.slice(0, MAX_CREDIT_CHARS)));
  let isSmall = segments.length >= MIN_SMALL_SEGMENTS || isTrial;
  let count = 0;
  for (const { text } of segments) {
    const said = wordsIn(text);
    count += said.length;
    isEmpty &&= said.every(word => FILLERS.has(word));
    isSmall &&= count <= MAX_SMALL_WORDS && (isSmallTalk(said) || (isTrial && isOfTrial(said)));
    if (!isEmpty && !isSmall) return false;
  }
  return true;
}

function wordsIn(text: string): string[] {
  const lower = withoutNotes(text).toLowerCase();
  if (lower.length <= MAX_ANNOUNCED_CHARS && ANNOUNCED.test(lower)) return [];
  if (lower.length <= MAX_CREDIT_CHARS && CREDITS.some(credit => lower.includes(credit))) return [];
  return lower.match(WORD) ?? [];
}

function isOfTrial(said: readonly string[]): boolean {
  return said.every(word => TRIAL_WORDS.has(word) || SMALL_WORDS.has(word) || FILLERS.has(word));
}

function isSmallTalk(said: readonly string[]): boolean {
  if (said.length <= MAX_WEATHER_WORDS && said.some(word => WEATHER.has(word))) return true;
  return said.every(word => SMALL_WORDS.has(word) || FILLERS.has(word));
}

/**
 * Removes descriptions of sounds in linear time: once a closing bracket is missing, it is not searched for
 * again.
 */
function withoutNotes(text: string): string {
  const missing = new Set<string>();
  let kept = '';
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const end = NOTE_ENDS[text[at] ?? ''];
    if (end === undefined || missing.has(end)) continue;
    const endAt = text.indexOf(end, at + 1);
    if (endAt < 0) {
      missing.add(end);
      continue;
    }
    kept += `${text.slice(from, at)} `;
    from = endAt + 1;
    at = endAt;
  }
  return kept + text.slice(from);
}
